"""The runs of a replay as plain data that JSON can hold.

    runs     one per run: without, title, summary, how, order, tiles, phases, steps, events
    run      which of them is shown first
    copies   of a run with asynchronous copies: [event, how many events came before it arrived]
    lines    the kernel's source, by line number
    patterns lists of elements, which accesses share
    notes    what was left out, in words

An event is [line, kind, tile, lanes, number of a pattern, stale, sentence, values]. Numbers that
grow by one step are written as {"from": 0, "by": 1, "times": 32}; lanes of a whole warp as null.
`stale` are positions in the event, the sentence speaks of the first of them; `values` are those of
a store.

A part is [phase, tile, kind, line, function, box, full, buffers], a move [phase, line, source, box,
tile, buffer, sentence], a buffer [tile, number, first element, one after its last], as in `film`;
`order` is that in which the block comes to the arrays.

**Limits**: of a run the steps with the first `ELEMENTS` elements are on the page, of the others is
said how many there are; with all barriers whole phases follow them, as far as the film goes. A step
with more stale reads than are listed has no sentence.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...lockstep.source import source
from .film import Film, Part, parts_of_run
from .record import Array, Box, Event, Run, Step
from .words import left_out, order_explained, phase_title, said_move, said_stale, summary, title

__all__ = ["ELEMENTS", "SCHEMA", "packed", "state"]

State = dict[str, Any]

SCHEMA: Final = "smemnb.replay/2"
ELEMENTS: Final = 1 << 16


def state(
    runs: Sequence[Run],
    begin: int,
    function: Any,
    film: Film,
    notes: Sequence[str] = (),
    *,
    elements: int = ELEMENTS,
) -> State:
    """What the page shows.

    Args:
        runs: with all barriers, and without each of them.
        begin: which of them is shown first.
        function: the kernel's Python function, for its source.
        film: what the block does phase by phase with all barriers.
        notes: what was left out, in words.
        elements: how many of a run are on the page, counted by lanes.
    """
    patterns = _Patterns()
    shown = [_run(run, film, elements, patterns) for run in runs]
    return {
        "schema": SCHEMA,
        "kernel": runs[0].kernel,
        "block": list(runs[0].block),
        "warps": runs[0].warps,
        "lines": _lines(function),
        "runs": shown,
        "patterns": patterns.packed,
        "run": begin,
        "notes": list(notes),
    }


def packed(numbers: Array) -> Any:
    """Numbers as a list, or as {"from", "by", "times"} where they grow by one step.

    >>> packed(np.array([3, 5, 7])), packed(np.array([1, 1, 2]))
    ({'from': 3, 'by': 2, 'times': 3}, [1, 1, 2])
    """
    if numbers.size > 2:
        by = int(numbers[1]) - int(numbers[0])
        if (np.diff(numbers.astype(np.int64)) == by).all():
            return {"from": int(numbers[0]), "by": by, "times": int(numbers.size)}
    return [int(one) for one in numbers]


class _Patterns:
    """Lists of elements, each of them once: most accesses come again, tile by tile."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self.packed: list[Any] = []

    def number(self, elements: Array) -> int:
        """The place of a list in `packed`."""
        number = self._known.setdefault(elements.tobytes(), len(self.packed))
        if number == len(self.packed):
            self.packed.append(packed(elements))
        return number


def _run(run: Run, film: Film, most: int, patterns: _Patterns) -> State:
    notes = left_out(run)
    touched = np.cumsum([event.elements.size for event in run.events])
    steps = [step for step in run.steps if touched[step.end - 1] <= most]
    if run.without is None and not run.stale_count:
        steps = _whole_phases(run, steps, film)
    kept = steps[-1].end if steps else 0
    if len(steps) < len(run.steps):
        notes.append(f"Of {len(run.steps):,} recorded steps the first {len(steps):,} are shown.")
    phases = steps[-1].phase + 1 if steps else 0
    titles = [phase_title(run.barriers[phase], phase) for phase in range(phases)]
    parts = [_part(one) for one in parts_of_run(run, film) if one.phase < phases]
    tiles = [*run.tiles, *(one for one in film.tiles if one not in run.tiles)]
    at = [tiles.index(one) for one in film.tiles]
    if run.without is None and phases < film.phases and not run.stale_count:
        later = range(phases, film.phases)
        notes.append(f"From phase {phases + 1} on whole phases are shown, no single elements.")
        titles += [phase_title(film.barriers[phase], phase) for phase in later]
        rest = (one for one in film.parts if one.phase in later)
        parts += [_part(one._replace(tile=at[one.tile])) for one in rest]
    first = {one.event: one for one in reversed(run.stale)}
    said = {number: said_stale(run, one) for number, one in first.items() if number < kept}
    return {
        "without": run.without,
        "title": title(run),
        "summary": summary(run),
        "how": order_explained(run),
        "stale": run.stale_count,
        "tiles": [
            {"name": tile.name, "space": tile.space, "shape": list(tile.shape), "dtype": tile.dtype}
            for tile in tiles
        ],
        "phases": titles,
        "steps": [list(step) for step in steps],
        "events": [_event(run, number, said, patterns) for number in range(kept)],
        "parts": parts,
        **_of_film(film, at, moves=run.without is None),
        "notes": notes,
        **_copies(run, kept),
    }


def _copies(run: Run, kept: int) -> State:
    """When copies arrive that are on the page; nothing of a run without copies."""
    sent = [
        number for number, event in enumerate(run.events[:kept]) if event.copy and not event.reads
    ]
    never = len(run.events) + 1
    return {"copies": [[one, run.arrivals.get(one, never)] for one in sent]} if sent else {}


def _whole_phases(run: Run, steps: list[Step], film: Film) -> list[Step]:
    """The steps without those of a last phase that is cut, where the film shows it whole."""
    if not steps or (len(steps) == len(run.steps) and not run.full):
        return steps
    last = steps[-1].phase
    cut = len(steps) == len(run.steps) or run.steps[len(steps)].phase == last
    return [step for step in steps if step.phase < last] if cut and last < film.phases else steps


def _of_film(film: Film, at: Sequence[int], *, moves: bool) -> State:
    """The parts of arrays that stay the same whichever barrier stands, and moves if they do."""
    moved = [
        [
            one.phase,
            one.line,
            at[one.source],
            _ends(one.box),
            at[one.tile],
            one.buffer,
            said_move(film, one),
        ]
        for one in film.moves
    ]
    return {
        "moves": moved if moves else [],
        "buffers": [[at[one.tile], one.number, one.first, one.end] for one in film.buffers],
        "order": list(at),
        "owned": [[at[tile], _ends(box)] for tile, box in film.owned.items()],
    }


def _part(one: Part) -> list[Any]:
    function, box = one.function, _ends(one.box)
    buffers = list(one.buffers)
    return [one.phase, one.tile, one.kind, one.line, function, box, one.full, buffers]


def _ends(box: Box) -> list[list[int]]:
    return [list(ends) for ends in box]


def _event(run: Run, number: int, said: dict[int, str], patterns: _Patterns) -> list[Any]:
    event = run.events[number]
    stale = packed(run.stale_at[number]) if number in run.stale_at else None
    lanes = None if np.array_equal(event.lanes, np.arange(32)) else packed(event.lanes)
    values = None if event.reads or event.values is None else _values(event)
    return [
        event.line,
        event.kind,
        event.tile,
        lanes,
        patterns.number(event.elements),
        stale,
        said.get(number, ""),
        values,
    ]


def _values(event: Event) -> list[Any]:
    """What a store wrote: numbers that JSON can hold, with six digits."""
    assert event.values is not None
    return [_number(one) for one in event.values.tolist()]


def _number(value: Any) -> Any:
    if isinstance(value, bool | int):
        return int(value)
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _lines(function: Any) -> dict[str, str]:
    """The kernel's text, line by line; device functions that it calls are not in it."""
    found = source(function)
    text = textwrap.dedent("\n".join(line.rstrip() for line in found.lines)).split("\n")
    return {str(number): line for number, line in enumerate(text, found.first)}
