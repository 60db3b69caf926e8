"""A run in words: its phases line by line, its stale reads, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np

from ...tracing.model import place
from ..words import counted, listed
from .film import Film, Move
from .record import Box, Event, Run, Stale, Store
from .recorder import box_of
from .stale import lanes_meet

__all__ = [
    "Line",
    "left_out",
    "left_out_of_film",
    "lines_of",
    "order_explained",
    "phase_title",
    "said_move",
    "said_stale",
    "summary",
    "swapped",
    "text",
    "title",
]

PHASES_SAID, WIDTH = 6, 72
COMPARED = (
    "The kernel has no barrier at which its warps wait for each other. A read is stale if it sees"
    " another store than in lockstep order, in which all warps go from line to line together."
)
INSIDE = (
    "Lanes of one warp touch elements that other lanes of it store, without a barrier between. A"
    " replay reorders whole warps and shows no race inside a warp: trace does."
)


class Line(NamedTuple):
    """What the warps did in one phase by one line to one array.

    `each` is how many elements a warp touched, lanes counted, where that is the same for all of
    `warps`; `elements` how many different ones, in the smallest box of indices `box`.
    """

    line: int
    kind: str
    array: str
    elements: int
    box: str
    warps: tuple[int, ...]
    each: int


def text(
    run: Run, others: Sequence[Run] = (), notes: Sequence[str] = (), film: Film | None = None
) -> str:
    """The run phase by phase, then one line for each of the other runs.

    Args:
        run: the run.
        others: other runs of the same launch.
        notes: what was left out, in words.
        film: what moves where, for a run with all barriers.
    """
    said = [title(run)]
    shown = range(run.phases)
    if run.phases > PHASES_SAID:
        shown = range(PHASES_SAID - 1)
    for phase in shown:
        said += _phase(run, phase)
        whole = not run.full or phase < run.phases - 1
        if film is not None and run.without is None and whole:
            for one in _staged(film, phase):
                said += wrap(one, WIDTH, initial_indent="  ", subsequent_indent="    ")
    if len(shown) < run.phases:
        said.append(f"phases {len(shown) + 1} to {run.phases}: on the page")
    said.append(summary(run))
    if run.stale:
        first = f"first: {said_stale(run, run.stale[0])}"
        said += wrap(first, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    for more in ([COMPARED] if run.bare else []) + left_out(run):
        said += wrap(more, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    for other in others:
        which = _which(other)
        said.append(f"{which[0].upper()}{which[1:]}: {summary(other)}")
    return "\n".join([*said, *notes])


def title(run: Run) -> str:
    """What was recorded: "turn[2, 64], block 0, 2 warps, with all barriers"."""
    launch = f"{run.kernel}[{place(run.grid, run.grid)}, {place(run.block, run.block)}]"
    warps = counted(run.warps, "warp")
    return f"{launch}, block {place(run.place, run.grid)}, {warps}, {_which(run)}"


def _which(run: Run) -> str:
    if run.bare:
        return "no barriers"
    if run.without is None:
        return "with all barriers"
    return f"without the barrier of line {run.without}"


def order_said(run: Run) -> str:
    """In which order the warps ran."""
    if run.order == "random":
        return f"in random order, seed {run.seed}"
    if run.order == "late":
        return "in reversed order, copies land late"
    return f"in {run.order} order"


def order_explained(run: Run) -> str:
    """What the order of warps means, in one sentence; without barriers what it is compared with."""
    drawn = f"in an order drawn from seed {run.seed}"
    order = drawn if run.order == "random" else "the last one first"
    if run.order == "late":
        order += ", and asynchronous copies arrive no sooner than their thread waits for them"
    if run.bare:
        return f"The engine runs the warps one after the other, {order}. {COMPARED}"
    return (
        f"Between two barriers the engine runs the warps one after the other, {order}: one that"
        " need not wait goes ahead of the others."
    )


def phase_title(line: int | None, phase: int) -> str:
    """A phase and where it ends: "phase 1, to the barrier of line 23"; None for the end."""
    return f"phase {phase + 1}, to the {'end' if line is None else f'barrier of line {line}'}"


def summary(run: Run) -> str:
    """How many loads were stale, and in which order of warps."""
    read = counted(run.stale_count, "stale read") if run.stale_count else "no stale read"
    return f"{read} (engine, warps {order_said(run)})"


def left_out(run: Run) -> list[str]:
    """What is not recorded, or not judged."""
    said = []
    if run.full:
        kept = sum(event.elements.size for event in run.events)
        said.append(
            f"The record is full: {kept:,} elements touched by lanes, up to phase {run.phases};"
            " what comes later is left out."
        )
    if run.unmatched:
        said.append(
            f"Of {counted(run.unmatched, 'load')} it is not known what they see {_beside(run)}."
        )
    if run.without is None and not run.stale_count and lanes_meet(run):
        said.append(INSIDE)
    return said


def _beside(run: Run) -> str:
    """In which run a read sees what it should."""
    return "in lockstep order" if run.bare else "with all barriers"


def left_out_of_film(film: Film) -> list[str]:
    """What is not in a film."""
    said = []
    if film.full:
        said.append(
            f"The film ends with phase {film.phases}; what is staged later is left out."
            if film.phases
            else "There is no film: its first phase has too many accesses."
        )
    if not film.known:
        said.append(
            "Numbers of the arguments decide what is accessed: which of them a store to shared"
            " memory brings is not known."
        )
    return said


def _staged(film: Film, phase: int) -> list[str]:
    """What a phase stages, and which buffers it fills and reads."""
    said = [said_move(film, move) for move in film.moves if move.phase == phase]
    for tile in range(len(film.tiles)):
        said += swapped(film, phase, tile)
    return said


def said_move(film: Film, move: Move) -> str:
    """A move in words: "line 27 stages a[0:16, 16:32] in a_tile[0:16, 0:16]: 256 elements"."""
    tile, own = film.tiles[move.tile].name, film.tiles[move.source].name
    parts = "" if move.full else "parts of "
    said = f"{_by(move.line, move.function, film)} stages {parts}{_subscript(own, move.box)} in"
    if len(film.buffers_of(move.tile)) > 1:
        said += f" buffer {move.buffer},"
    said += f" {_subscript(tile, move.to)}: {counted(move.elements, 'element')}"
    phase, function, line = move.loaded
    if (phase, function, line) == (move.phase, move.function, move.line):
        return said
    when = "" if phase == move.phase else f" in phase {phase + 1}"
    return f"{said}, loaded by {_by(line, function, film)}{when}"


def swapped(film: Film, phase: int, tile: int) -> list[str]:
    """What a phase does with each buffer of an array that has several, in one sentence."""
    buffers = film.buffers_of(tile)
    if len(buffers) < 2:
        return []
    roles = {"fill": "filled", "read": "read", "": "at rest"}
    said = [
        f"buffer {one.number} {roles.get(film.role(phase, one), 'filled and read')}"
        for one in buffers
    ]
    return [f"{film.tiles[tile].name}: {', '.join(said)}"]


def _by(line: int, function: str, film: Film) -> str:
    """A line, with its function where that is not the kernel."""
    return f"line {line}" if function == film.kernel else f"line {line} of {function}()"


def _subscript(name: str, box: Box) -> str:
    return f"{name}[{', '.join(_range(*ends) for ends in box)}]"


def said_stale(run: Run, one: Stale) -> str:
    """A stale read in one sentence."""
    index = ", ".join(map(str, one.index))
    said = f"line {one.line}, thread {place(one.thread, run.block)} reads {one.array}[{index}], "
    passes = one.seen is not None and one.wanted is not None and one.seen.line == one.wanted.line
    if one.seen is None:
        said += "which nobody has written yet"
    elif one.kind == "older":
        said += f"still as {_written(run, one.seen, passes=passes)}"
    else:
        said += f"which is already as {_written(run, one.seen, passes=passes)}"
    if one.wanted is None:
        return f"{said}; in lockstep order nobody has written it then"
    return f"{said}; {_beside(run)} it is as {_written(run, one.wanted, passes=passes)}"


def _written(run: Run, store: Store, *, passes: bool) -> str:
    """Who wrote an element: "thread (1, 0) wrote it in line 22", with the pass if that helps."""
    which = f" (pass {store.times})" if passes else ""
    return f"thread {place(store.thread, run.block)} wrote it in line {store.line}{which}"


def _phase(run: Run, phase: int) -> Iterator[str]:
    yield phase_title(run.barriers[phase], phase)
    for line in lines_of(run, phase):
        warps = listed("warp", line.warps)
        done = {"load": "reads", "store": "writes"}.get(line.kind, "updates")
        elements = counted(line.elements, "element")
        yield f"  line {line.line} {done} {line.box}: {elements}; {warps}, {line.each} each"
    stale: dict[tuple[int, int], dict[int, int]] = {}
    for number, positions in run.stale_at.items():
        event = run.events[number]
        if run.steps[event.step].phase == phase:
            reads = stale.setdefault((event.line, event.tile), {})
            reads[event.warp] = reads.get(event.warp, 0) + positions.size
    for (line_number, tile), reads in sorted(stale.items()):
        read = counted(sum(reads.values()), "read")
        warps = listed("warp", sorted(reads))
        yield f"  line {line_number} STALE: {read} of {run.tiles[tile].name}; {warps}"


def lines_of(run: Run, phase: int) -> list[Line]:
    """What each line did in a phase, by line; warps that touched as many elements together."""
    found: dict[tuple[int, str, int], dict[int, list[Event]]] = {}
    for step in run.steps:
        if step.phase == phase:
            for event in run.events[step.first : step.end]:
                key = (event.line, event.kind, event.tile)
                found.setdefault(key, {}).setdefault(event.warp, []).append(event)
    lines = []
    for (line, kind, number), warps in sorted(found.items()):
        tile = run.tiles[number]
        sizes: dict[int, list[int]] = {}
        for warp, events in sorted(warps.items()):
            sizes.setdefault(sum(one.elements.size for one in events), []).append(warp)
        for each, same in sizes.items():
            elements = np.unique(
                np.concatenate([one.elements for warp in same for one in warps[warp]])
            )
            box = box_of(elements, tile.shape)
            said = _subscript(tile.name, box)
            lines.append(Line(line, kind, tile.name, elements.size, said, tuple(same), each))
    return lines


def _range(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first}:{end}"
