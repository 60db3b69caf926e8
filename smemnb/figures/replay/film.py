"""A block as a film: in each phase the parts of arrays that are read, filled, and brought along.

    film.parts      what each line reads or writes in each phase, of every array
    film.moves      which part of a global array a line brings into which part of a shared one
    film.buffers    the parts of a shared array that take turns: one is filled, another is read
    film.owned      the part of each global array that the block writes

All of it comes from the engine's accesses with all barriers, in lockstep. A film goes on where a
record of single elements is full.

**Limits**: whole phases, up to `camera.MOST_FILMED` elements touched by lanes and
`camera.MOST_PHASES` phases. Those of `staging` for moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .camera import Camera, Shot
from .record import Array, Box, Run, Tile
from .recorder import box_of
from .staging import Source

__all__ = ["Buffer", "Film", "Move", "Part", "film_of", "parts_of_run"]


class Part(NamedTuple):
    """What one line touched of an array in one phase.

    Attributes:
        phase: barriers passed before.
        tile: which array.
        kind: "load", "store", or an atomic's.
        function, line: of the access.
        elements: how many different ones.
        box: the smallest box of indices that holds them.
        full: whether they are all of the box.
        buffers: of a shared array, the buffers that they are in.
    """

    phase: int
    tile: int
    kind: str
    function: str
    line: int
    elements: int
    box: Box
    full: bool
    buffers: tuple[int, ...] = ()


class Move(NamedTuple):
    """What one line brings from a global array into a shared one in a phase.

    Attributes:
        phase: of the store.
        function, line: of the store.
        source: which global array.
        box: the smallest box that holds the elements of it.
        full: whether they are all of the box.
        loaded: phase, function and line of their loads.
        tile: which shared array.
        buffer: which of its buffers.
        to: the smallest box of it that holds where they went.
        elements: how many were brought.
    """

    phase: int
    function: str
    line: int
    source: int
    box: Box
    full: bool
    loaded: tuple[int, str, int]
    tile: int
    buffer: int
    to: Box
    elements: int


class Buffer(NamedTuple):
    """A part of a shared array that is filled as a whole: elements first to end - 1 of it."""

    tile: int
    number: int
    first: int
    end: int
    box: Box
    full: bool


@dataclass(frozen=True, eq=False)
class Film:
    """What a block does phase by phase.

    Attributes:
        kernel: its name.
        tiles: the arrays.
        barriers: the line of the barrier at the end of each phase, None at the end of the kernel.
        parts, moves, buffers: see the module; in order of phases.
        owned: per global array that the block writes, the box that holds all it writes.
        labels: per shared array, the buffer of each element; -1 in none.
        full: whether phases are left out at the end.
        known: whether it is known what moves where.
    """

    kernel: str
    tiles: tuple[Tile, ...]
    barriers: tuple[int | None, ...]
    parts: tuple[Part, ...]
    moves: tuple[Move, ...]
    buffers: tuple[Buffer, ...]
    owned: Mapping[int, Box]
    labels: Mapping[int, Array]
    full: bool
    known: bool

    @property
    def phases(self) -> int:
        """Phases that are in it, all of them whole."""
        return len(self.barriers)

    def buffers_of(self, tile: int) -> tuple[Buffer, ...]:
        """The buffers of a shared array, one that holds all of it where nothing takes turns."""
        return tuple(one for one in self.buffers if one.tile == tile)

    def role(self, phase: int, buffer: Buffer) -> str:
        """What a phase does with a buffer: "fill", "read", "fill and read", or "" for nothing."""
        kinds = {
            part.kind == "load"
            for part in self.parts
            if (part.phase, part.tile) == (phase, buffer.tile) and buffer.number in part.buffers
        }
        said = [word for word, reads in (("fill", False), ("read", True)) if reads in kinds]
        return " and ".join(said)


def film_of(kernel: str, camera: Camera, sources: Mapping[int, Source] | None) -> Film:
    """The film of a block.

    Args:
        kernel: its name.
        camera: its accesses.
        sources: whence shared stores come; None if that is not known.
    """
    tiles, shots = tuple(camera.tiles), camera.shots
    labels = {at: _labels(shots, at, tile) for at, tile in enumerate(tiles) if _shared(tile)}
    owned = {}
    for at, tile in enumerate(tiles):
        written = [shot.elements for shot in shots if shot.tile == at and shot.kind != "load"]
        if written and not _shared(tile):
            owned[at] = box_of(np.concatenate(written), tile.shape)
    return Film(
        kernel=kernel,
        tiles=tiles,
        barriers=tuple(camera.barriers),
        parts=_parts(shots, tiles, labels),
        moves=_moves(shots, tiles, labels, sources or {}),
        buffers=tuple(one for at in labels for one in _buffers(at, tiles[at], labels[at])),
        owned=owned,
        labels=labels,
        full=camera.full,
        known=sources is not None,
    )


def parts_of_run(run: Run, film: Film | None = None) -> tuple[Part, ...]:
    """What each line touched in each phase of a recorded run, with the buffers of a film."""
    known = {} if film is None else {film.tiles[at]: one for at, one in film.labels.items()}
    labels = {at: known[tile] for at, tile in enumerate(run.tiles) if tile in known}
    shots = [
        Shot(run.steps[one.step].phase, one.function, one.line, one.kind, one.tile, one.elements)
        for one in run.events
    ]
    return _parts(shots, run.tiles, labels)


def _shared(tile: Tile) -> bool:
    return tile.space == "shared"


def _parts(
    shots: Iterable[Shot], tiles: Sequence[Tile], labels: Mapping[int, Array]
) -> tuple[Part, ...]:
    """Shots of one line, kind and array in one phase, drawn together."""
    together: dict[tuple[int, int, str, str, int], list[Array]] = {}
    for shot in shots:
        key = (shot.phase, shot.tile, shot.kind, shot.function, shot.line)
        together.setdefault(key, []).append(shot.elements)
    found = []
    for key, pieces in together.items():
        elements = np.unique(np.concatenate(pieces))
        box = box_of(elements, tiles[key[1]].shape)
        here = labels.get(key[1])
        buffers = () if here is None else tuple(np.unique(here[elements]).tolist())
        found.append(Part(*key, elements.size, box, _is_full(box, elements), buffers))
    return tuple(sorted(found, key=lambda one: one.phase))


def _is_full(box: Box, elements: Array) -> bool:
    """Whether different elements are all of the box that holds them."""
    return math.prod(end - first for first, end in box) == elements.size


# --- buffers -------------------------------------------------------------------------------------


def _labels(shots: Sequence[Shot], tile: int, array: Tile) -> Array:
    """Of each element the number of its buffer.

    What a phase writes belongs together, and with what other phases write of the same elements.
    These are buffers if in every phase only one is read, which is not written, and if in some phase
    one is read while another is written; otherwise the array is one.
    """
    size = math.prod(array.shape)
    labels, used = np.full(size, -1), 0
    written, read = _touched(shots, tile, loads=False), _touched(shots, tile, loads=True)
    for elements in written.values():
        for old in np.unique(labels[elements]):
            if old >= 0:
                labels[labels == old] = used
        labels[elements] = used
        used += 1
    turns = False
    for phase, elements in read.items():
        now = set(np.unique(labels[elements]).tolist())
        filled = set(np.unique(labels[written[phase]]).tolist()) if phase in written else set()
        if len(now) > 1 or -1 in now or now & filled:
            return np.zeros(size, np.int64)
        turns = turns or bool(filled)
    if not turns:
        return np.zeros(size, np.int64)
    firsts = sorted((int(np.argmax(labels == one)), one) for one in set(labels.tolist()) - {-1})
    order = {one: number for number, (_, one) in enumerate(firsts)}
    return np.array([order.get(one, -1) for one in labels.tolist()])


def _touched(shots: Sequence[Shot], tile: int, *, loads: bool) -> dict[int, Array]:
    """Per phase the elements of an array that are read, or written."""
    found: dict[int, list[Array]] = {}
    for shot in shots:
        if shot.tile == tile and (shot.kind == "load") == loads:
            found.setdefault(shot.phase, []).append(shot.elements)
    return {phase: np.unique(np.concatenate(pieces)) for phase, pieces in found.items()}


def _buffers(tile: int, array: Tile, labels: Array) -> list[Buffer]:
    found = []
    for number in range(int(labels.max(initial=0)) + 1):
        elements = np.flatnonzero(labels == number)
        box = box_of(elements, array.shape)
        ends = int(elements[0]), int(elements[-1]) + 1
        found.append(Buffer(tile, number, *ends, box, _is_full(box, elements)))
    return found


# --- moves ---------------------------------------------------------------------------------------


def _moves(
    shots: Sequence[Shot],
    tiles: Sequence[Tile],
    labels: Mapping[int, Array],
    sources: Mapping[int, Source],
) -> tuple[Move, ...]:
    """The elements that stores brought, those of one line, array, buffer and load together."""
    loads = {at: _Loads(shots, at) for at, tile in enumerate(tiles) if not _shared(tile)}
    together: dict[tuple[int, ...], list[tuple[Array, Array]]] = {}
    for number, shot in enumerate(shots):
        if number not in sources:
            continue
        source = sources[number]
        buffer = labels[shot.tile][shot.elements]
        for at, known in loads.items():
            when = known.before(number, source.element)
            here = (source.tile == at) & (when >= 0)
            keys = np.stack([buffer[here], when[here]], axis=1)
            for one, load in np.unique(keys, axis=0).tolist():
                chosen = here & (buffer == one) & (when == load)
                key = (number, at, one, load)
                together.setdefault(key, []).append((source.element[chosen], shot.elements[chosen]))
    return _drawn_together(shots, tiles, together)


class _Loads:
    """The loads of a global array: which shot loaded an element last before another shot."""

    def __init__(self, shots: Sequence[Shot], tile: int) -> None:
        mine = [
            (at, shot.elements)
            for at, shot in enumerate(shots)
            if shot.tile == tile and shot.kind == "load"
        ]
        each = [np.stack([one, np.full(one.size, at)], axis=1) for at, one in mine]
        pairs = np.concatenate([np.zeros((0, 2), np.int64), *each])
        self._shots = len(shots)
        self._keys = np.unique(pairs[:, 0] * self._shots + pairs[:, 1])

    def before(self, number: int, elements: Array) -> Array:
        """The last shot before `number` that loaded each element, -1 where none did."""
        if not self._keys.size:
            return np.full(elements.size, -1)
        at = np.searchsorted(self._keys, elements * self._shots + number) - 1
        key = self._keys[np.maximum(at, 0)]
        found = (at >= 0) & (key // self._shots == elements)
        return np.where(found, key % self._shots, -1)


class _Together(NamedTuple):
    """What the elements of one move have in common."""

    phase: int
    function: str
    line: int
    source: int
    loaded: tuple[int, str, int]
    tile: int
    buffer: int


def _drawn_together(
    shots: Sequence[Shot],
    tiles: Sequence[Tile],
    moved: Mapping[tuple[int, ...], list[tuple[Array, Array]]],
) -> tuple[Move, ...]:
    groups: dict[_Together, list[tuple[Array, Array]]] = {}
    for (number, source, buffer, load), pairs in moved.items():
        shot, loaded = shots[number], shots[load]
        when = loaded.phase, loaded.function, loaded.line
        key = _Together(shot.phase, shot.function, shot.line, source, when, shot.tile, buffer)
        groups.setdefault(key, []).extend(pairs)
    found = []
    for key, pairs in groups.items():
        brought = np.unique(np.concatenate([one for one, _ in pairs]))
        went = np.unique(np.concatenate([to for _, to in pairs]))
        box = box_of(brought, tiles[key.source].shape)
        found.append(
            Move(
                **key._asdict(),
                box=box,
                full=_is_full(box, brought),
                to=box_of(went, tiles[key.tile].shape),
                elements=went.size,
            )
        )
    return tuple(found)
