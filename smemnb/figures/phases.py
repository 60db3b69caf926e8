"""`phase_map`: which part of shared memory is filled and which is read, from barrier to barrier.

A phase is what a block does between two barriers. With one buffer a phase fills it and the next one
reads it: loading and computing take turns. With two, a phase fills one buffer while it reads the
other, so that a load may wait behind arithmetic. The picture has a row per buffer and a column per
phase; the numbers are elements.

It is recorded, by `replay`: what the block touched in each phase. A buffer is a part of a shared
array that is touched apart from the others. Taught in `35_two_buffers`.

**Limits**: one block, its first `MOST` phases; a phase says what may overlap, not how long
it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .drawing import Drawing
from .words import counted, listed

if TYPE_CHECKING:
    from .replay.record import Box, Run
    from .sheet import Sheet

__all__ = ["Buffer", "PhaseMap", "alt", "measure", "phase_map", "text"]

MOST = 12
WIDTH, LEFT, RIGHT, ROW = 640, 128, 24, 30
HEAD, BELOW = 72, 22  # pixels above and below the rows of a run


class Recorded(Protocol):
    """What `replay` returns."""

    @property
    def run(self) -> Run: ...


@dataclass(frozen=True)
class Buffer:
    """A part of an array; `stored[p]` and `loaded[p]` are the elements touched in phase p."""

    name: str
    space: str
    stored: tuple[int, ...]
    loaded: tuple[int, ...]


@dataclass(frozen=True)
class PhaseMap:
    """One recorded block: its buffers over its phases, in the order in which it came to them.

    `barriers` has the line of the barrier at the end of each phase, None at the end of the kernel.
    """

    kernel: str
    barriers: tuple[int | None, ...]
    buffers: tuple[Buffer, ...]
    left_out: int = 0

    @property
    def overlapping(self) -> int:
        """Phases in which shared memory is stored and other parts of it are loaded."""
        shared = [buffer for buffer in self.buffers if buffer.space == "shared"]
        return sum(
            any(
                one.stored[phase] and other.loaded[phase] and one is not other
                for one in shared
                for other in shared
            )
            for phase in range(len(self.barriers))
        )


def phase_map(*replays: Recorded) -> Drawing:
    """Shared memory over the phases of recorded blocks, one below the other, drawn.

    >>> import numpy as np
    >>> from smemnb.figures.replay import replay
    >>> from smemnb.kernels.transpose import transpose_tiled
    >>> inp, out = np.zeros((2, 64, 64), np.float32)
    >>> phase_map(replay(transpose_tiled)[(2, 2), (32, 32)](out, inp))
    transpose_tiled: 2 phases, 0 of them store to one buffer and load from another (recorded)
               phase            0      1
    inp        load          1024      .
    tile       store         1024      .
    tile       load             .   1024
    out        store            .   1024

    Args:
        replays: what `replay(kernel)[grid, block](*args)` returned, of one to three kernels.

    Raises:
        ValueError: none, or more than three.
    """
    if not 1 <= len(replays) <= 3:
        raise ValueError(f"phase_map shows 1 to 3 replays, not {len(replays)}")
    found = tuple(measure(one.run) for one in replays)
    return Drawing(
        "\n".join(map(text, found)),
        " ".join(map(alt, found)),
        WIDTH,
        lambda: _png(found),
    )


def measure(run: Run) -> PhaseMap:
    """The buffers of a recorded run over its phases."""
    from .replay.film import parts_of_run  # when a picture is asked for, not with the package

    phases = min(run.phases, MOST)
    buffers: list[Buffer] = []
    found = parts_of_run(run)
    for number, tile in enumerate(run.tiles):
        touched = [one for one in found if one.tile == number]
        parts = _parts(one.box for one in touched) if tile.space == "shared" else [None]
        for part in parts:
            counts = {
                kind: tuple(
                    sum(
                        one.elements
                        for one in touched
                        if one.phase == phase
                        and part in (None, one.box)
                        and (one.kind == "load") == (kind == "load")
                    )
                    for phase in range(phases)
                )
                for kind in ("store", "load")
            }
            name = tile.name if part is None else f"{tile.name}{_index(part, tile.shape)}"
            buffers.append(Buffer(name, tile.space, counts["store"], counts["load"]))
    return PhaseMap(
        run.kernel, tuple(run.barriers[:phases]), tuple(buffers), max(0, run.phases - MOST)
    )


def _parts(boxes: Iterable[Box]) -> list[Box | None]:
    """The boxes that an array falls into, [None] for the whole where they overlap.

    >>> _parts([((0, 1), (0, 8)), ((1, 2), (0, 8)), ((0, 1), (0, 8))])
    [((0, 1), (0, 8)), ((1, 2), (0, 8))]
    >>> _parts([((0, 1), (0, 8)), ((0, 2), (0, 8))])
    [None]
    """
    known = sorted(set(boxes))
    for at, one in enumerate(known):
        for other in known[at + 1 :]:
            if all(a[0] < b[1] and b[0] < a[1] for a, b in zip(one, other, strict=True)):
                return [None]
    return list(known) if len(known) > 1 else [None]


def _index(part: Box, shape: tuple[int, ...]) -> str:
    """A part as it is written: only the axes that it does not take whole.

    >>> _index(((1, 2), (0, 8)), (2, 8)), _index(((0, 4), (8, 16)), (4, 16))
    ('[1]', '[:, 8:16]')
    """
    said = [
        ":" if (low, high) == (0, end) else str(low) if high == low + 1 else f"{low}:{high}"
        for (low, high), end in zip(part, shape, strict=True)
    ]
    while said and said[-1] == ":":
        said.pop()
    return f"[{', '.join(said)}]"


def text(found: PhaseMap) -> str:
    """The numbers of the map."""
    heads = "".join(f"{phase:>7}" for phase in range(len(found.barriers)))
    said = [_title(found), f"{'':11}phase      {heads}"]
    for buffer in found.buffers:
        for kind, counts in (("store", buffer.stored), ("load", buffer.loaded)):
            if any(counts):
                cells = "".join(f"{count or '.':>7}" for count in counts)
                said.append(f"{buffer.name:10} {kind:11}{cells}")
    return "\n".join([*said, *_more(found)])


def _title(found: PhaseMap) -> str:
    phases = len(found.barriers) + found.left_out
    return (
        f"{found.kernel}: {counted(phases, 'phase')}, {found.overlapping} of them store to one"
        " buffer and load from another (recorded)"
    )


def _more(found: PhaseMap) -> list[str]:
    return [f"{counted(found.left_out, 'phase')} more"] if found.left_out else []


def alt(found: PhaseMap) -> str:
    """One sentence for those who do not see the map."""
    parts = [buffer.name for buffer in found.buffers if buffer.space == "shared"]
    return f"Shared memory over the phases of {_title(found)}: {', '.join(parts)}."


def _png(found: tuple[PhaseMap, ...]) -> bytes:
    from .legend import Key, legend
    from .sheet import SERIES, painted

    highs = [HEAD + ROW * len(one.buffers) + BELOW for one in found]

    def paint(sheet: Sheet) -> None:
        y = 0
        for one, high in zip(found, highs, strict=True):
            _paint_run(sheet, one, y)
            y += high
        keys = [Key("stores", SERIES[0]), Key("loads", SERIES[2])]
        legend(sheet, LEFT, y + 8, keys)

    return painted(WIDTH, sum(highs) + 28, paint)


def _paint_run(sheet: Sheet, found: PhaseMap, y: float) -> None:
    from .sheet import ACCENT, FAINT

    title, _, more = _title(found).partition(": ")
    sheet.write(20, y + 20, title, size=13, bold=True, align="left")
    sheet.write(20, y + 40, more, align="left")
    top = y + HEAD
    wide = (WIDTH - LEFT - RIGHT) / max(4, len(found.barriers))
    sheet.write(LEFT - 8, top - 11, "phase", colour=FAINT, align="right")
    bottom = top + ROW * len(found.buffers)
    for phase in range(len(found.barriers)):
        x = LEFT + (phase + 0.5) * wide
        sheet.write(x, top - 11, str(phase), colour=FAINT)
    for row, buffer in enumerate(found.buffers):
        _paint_buffer(sheet, buffer, top + row * ROW, wide)
    between = range(1, len(found.barriers))
    ends = [(LEFT + n * wide, top - 4.0, LEFT + n * wide, bottom + 4.0) for n in between]
    sheet.lines(ends, colour=ACCENT, thick=1.6)
    lines = sorted({line for line in found.barriers if line is not None})
    said = f"upright: barrier ({listed('line', lines)})" if lines else ""
    more = "".join(f"; {one}" for one in _more(found))
    sheet.write(LEFT, bottom + 14, (said + more).removeprefix("; "), colour=FAINT, align="left")


def _paint_buffer(sheet: Sheet, buffer: Buffer, y: float, wide: float) -> None:
    from .sheet import DARK, EMPTY, FAINT, GRID, INK, SERIES

    shared = buffer.space == "shared"
    colour = INK if shared else FAINT
    sheet.write(LEFT - 8, y + ROW / 2, buffer.name, colour=colour, align="right")
    for phase, counts in enumerate(zip(buffer.stored, buffer.loaded, strict=True)):
        x = LEFT + phase * wide
        sheet.box(x, y, wide, ROW, fill=EMPTY, edge=GRID, below=True)
        done = [(count, SERIES[fill]) for count, fill in zip(counts, (0, 2), strict=True) if count]
        for at, (count, fill) in enumerate(done):
            part = (wide - 8) / len(done)
            left = x + 4 + at * part
            sheet.box(left, y + 4, part, ROW - 8, fill=fill)
            sheet.write(left + part / 2, y + ROW / 2, str(count), colour=DARK)
