"""Each line of a forecast against the trace: right, misjudged or open, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...tracing.patterns import AccessPatterns, patterns_of
from ...tracing.trace import Trace
from . import tries
from .accesses import Access
from .answer import Line, Misjudged, State
from .figures import Figures
from .words import FOLLOWS, because, rule, slip


def judged(
    exercise: str, trace: Trace, accesses: Sequence[Access], given: Mapping[str, Figures]
) -> tuple[Line, ...]:
    """Each access with its figures, and for each figure that is wrong the rule behind it.

    Wrong figures are remembered as tries. A rule is said at the first line that it concerns.

    Args:
        exercise: its name, under which tries are remembered.
        trace: of the launch that was forecast.
        accesses: those of the trace.
        given: what was forecast, by the names of the accesses.
    """
    wrong = {one.name: _wrong(one, given[one.name]) for one in accesses}
    rows = [one.row for one in accesses if wrong[one.name] and one.row.requests]
    found = iter(patterns_of(trace, rows) if rows else ())
    ruled = set[str]()
    lines = []
    for one in accesses:
        figures = given[one.name]
        patterns = next(found) if wrong[one.name] and one.row.requests else None
        misjudged = tuple(
            _misjudged(exercise, one, column, figures, patterns, trace.launch.blocks, ruled)
            for column in wrong[one.name]
        )
        missing = tuple(column for column, number in figures.items() if number is None)
        state: State = "misjudged" if misjudged else "open" if missing else "right"
        said = tuple((column, number) for column, number in figures.items() if number is not None)
        where = _where(one, trace.launch.kernel)
        lines.append(Line(one.name, where, state, said, missing, misjudged))
    return tuple(lines)


def right_at_first_try(exercise: str, accesses: Sequence[Access]) -> int:
    """How many of these accesses never had a wrong figure."""
    return sum(
        not any(
            tries.ever_missed(exercise, one.name, column, one.counted(column))
            for column in one.columns
        )
        for one in accesses
    )


def _wrong(access: Access, figures: Figures) -> list[str]:
    """The columns with a figure that is not what was counted."""
    return [
        column
        for column, number in figures.items()
        if number is not None and number != access.counted(column)
    ]


def _misjudged(
    exercise: str,
    access: Access,
    column: str,
    figures: Figures,
    patterns: AccessPatterns | None,
    blocks: int,
    ruled: set[str],
) -> Misjudged:
    """A wrong figure with its rule, unless that is in `ruled` already."""
    given, row = figures[column], access.row
    assert given is not None
    number = tries.missed(exercise, access.name, column, access.counted(column), given)
    said = [slip(row, column, given, figures["requests"], blocks)]
    law = ""
    if number > 1 or said != [FOLLOWS]:
        said += because(row, column, patterns, told=number > 1)
        law = rule(row, column)
    here = " ".join(filter(None, said))
    text = "\n".join(filter(None, (law if law not in ruled else "", here)))
    ruled.add(law)
    return Misjudged(column, given, text, number)


def _where(access: Access, kernel: str) -> str:
    """The source line of an access, with its function where that is not the kernel."""
    row = access.row
    return f"line {row.line}" + ("" if row.function == kernel else f" of {row.function}")
