"""Recorded results beside the ladders as they are now: rungs come and go, a file stays.

A rung that has no row is a row of its own that says `not measured`, wherever the rest of its ladder
was measured. Rows of rungs that there are no more are left out; they stay in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from ...kernels.further import FURTHER
from ...kernels.matmul import ladder as products
from ...kernels.transpose import ladder as transposes
from .model import NOT_MEASURED, Results, Row

__all__ = ["ladder_names", "of_now", "rows_of_now"]


def ladder_names() -> dict[str, tuple[str, ...]]:
    """Operation -> the names of its rungs, in the order of the ladder."""
    return {
        "transpose": tuple(rung.name for rung in transposes.LADDER),
        "matmul": tuple(rung.name for rung in products.LADDER),
    }


def of_now(results: Results) -> Results:
    """The results with rows for the rungs that there are, in the order of the ladder."""
    cases = groupby(results.rows, key=lambda row: row.case)
    rows = tuple(row for _, case in cases for row in rows_of_now(list(case)))
    return replace(results, rows=rows)


def rows_of_now(
    rows: Sequence[Row], ladders: Mapping[str, Sequence[str]] | None = None
) -> tuple[Row, ...]:
    """The rows of one case for the rungs that there are, rungs first, in the order of the ladder.

    Args:
        rows: of one case.
        ladders: names of rungs by operation; None for those of the package.
    """
    if not rows:
        return ()
    first = rows[0]
    names = (ladder_names() if ladders is None else ladders)[first.operation]
    further = {rung.name for rung in FURTHER.get((first.operation, first.itemsize), ())}
    measured = {row.name: row for row in rows if row.role == "rung"}
    known = [measured[name] for name in names if name in measured]
    if len(known) > 1:  # a ladder, not a rung or two that were asked for
        known = [measured.get(name) or _missing(first, name) for name in names]
    others = [row for row in rows if row.role != "rung" or row.name in further]
    return (*known, *others)


def _missing(like: Row, name: str) -> Row:
    """A row of the same case for a rung that was not measured."""
    return Row(
        like.operation,
        name,
        "rung",
        name,
        like.shape,
        like.itemsize,
        like.spare,
        right=False,
        failed=NOT_MEASURED,
    )
