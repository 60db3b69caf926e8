"""The model's counts of a case, named as the counters that answer them: of a launch, and per line.

    counts     what the source asks for: `trace` of the launch
    lines      the same by source line

A line is (file name, line number); of a device function it is its own line.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePath

from ...tracing import AccessRow, Trace, trace
from .case import Case
from .counters import COUNTS

Line = tuple[str, int]


def traced(case: Case) -> Trace:
    """The case's launch under `trace`.

    Raises:
        SmemnbError: what a launch is refused for, or stopped by.
    """
    configured = trace(case.kernel)[case.grid, case.block, 0, case.shared_bytes]
    return configured(*case.arguments())


def counts(found: Trace) -> dict[str, int]:
    """The counts of `COUNTS` over the launch."""
    totals = dict.fromkeys(COUNTS, 0)
    for row in found.lines:
        for name, value in _of(row).items():
            totals[name] += value
    return totals


def lines(found: Trace) -> dict[Line, dict[str, int]]:
    """The counts of each source line that touches memory; those that are 0 are left out."""
    totals: dict[Line, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in found.lines:
        place = PurePath(found.files.get(row.function, "")).name, row.line
        for name, value in _of(row).items():
            totals[place][name] += value
    return {place: dict(found) for place, found in totals.items()}


def _of(row: AccessRow) -> dict[str, int]:
    kind = row.kind if row.kind in ("load", "store") else "atomic"
    unit, value = ("wavefronts", row.wavefronts)
    if row.space == "global":
        unit, value = ("sectors", row.sectors)
    return {f"{row.space}_{kind}_requests": row.requests, f"{row.space}_{kind}_{unit}": value}
