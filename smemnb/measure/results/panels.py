"""Results as what a chart shows: the rungs of each ladder, and the choice at every shape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ...errors import SmemnbError
from ...figures.bars import Bar, Panel
from .model import Origin, Results, Row, rate, unit
from .table import shape_words

__all__ = ["ladder_panel", "panels", "source"]


def panels(results: Results) -> tuple[Panel, ...]:
    """Per operation its ladder where one was measured, and its choice beside copy or library.

    Raises:
        SmemnbError: nothing in the results was timed.
    """
    timed = [row for row in results.rows if row.ms is not None]
    cases = [list(rows) for _, rows in groupby(timed, key=lambda row: row.case)]
    found = [ladder_panel(rows) for rows in cases if sum(row.role == "rung" for row in rows) > 1]
    for operation in dict.fromkeys(row.operation for row in timed):
        ours = [row for row in timed if row.operation == operation and row.role == "choice"]
        bars = tuple(_ratio(row) for row in ours if row.ratio is not None)
        if bars:
            beside = next(row.beside for row in ours if row.ratio is not None)
            title = f"{operation}: the choice by shape, speed over {beside}'s"
            found.append(Panel(title, "times", bars, ((str(beside), 1.0),)))
    if not found:
        raise SmemnbError("the results hold no ladder and no ratio that a chart could show")
    return tuple(found)


def source(results: Origin) -> str:
    """Where the values come from, for below the chart."""
    return f"measured ({results.gpu.name}, driver {results.driver}, {results.date[:10]})"


def ladder_panel(rows: Sequence[Row]) -> Panel:
    """The bars of one shape: rungs, choice and limit; libraries as lines."""
    first = rows[0]
    bars = tuple(_bar(row) for row in rows if row.role != "library")
    lines = tuple(
        (row.name, row.rate) for row in rows if row.role == "library" and row.rate is not None
    )
    title = f"{first.operation} {shape_words(*first.case)}"
    return Panel(title, unit(first.operation), bars, lines)


def _bar(row: Row) -> Bar:
    def speed(ms: float | None) -> float:
        assert ms is not None
        return rate(row.operation, row.shape, row.itemsize, ms)

    mark = None if not row.bound_ms else speed(row.bound_ms)
    return Bar(row.name, speed(row.ms), speed(row.high_ms), speed(row.low_ms), row.role, mark)


def _ratio(row: Row) -> Bar:
    assert row.ratio is not None and row.ms and row.low_ms and row.high_ms
    low, high = row.ratio * row.ms / row.high_ms, row.ratio * row.ms / row.low_ms
    words = shape_words(*row.case).replace("-byte elements", " B").replace(" per row", "")
    return Bar(words, row.ratio, low, high, "choice")
