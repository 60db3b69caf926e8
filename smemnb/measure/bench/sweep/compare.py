"""Two sweeps, problem by problem: the new time over the old one.

Problems are those that both files timed, whatever seeds they have. The libraries' own new times
over their old ones stand beside, as they say what another machine or clock makes of the same work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from ....errors import SmemnbError
from ...results.compare import differences
from ...rows import Row
from .model import Reading, Sweep

__all__ = ["SLOWER", "Change", "changes", "check_operation", "lines", "lost"]

SLOWER = 1.05
"""New over old from which a problem is listed as slower; its inverse as faster."""
MOST_LISTED = 20


@dataclass(frozen=True)
class Change:
    """One problem in both files; each was timed."""

    before: Reading
    after: Reading

    @property
    def ratio(self) -> float:
        """New time over old time: above 1 is slower."""
        assert self.before.ms is not None and self.after.ms is not None
        return self.after.ms / self.before.ms


def changes(before: Sweep, after: Sweep) -> tuple[Change, ...]:
    """The problems that both timed, in the order of the new file.

    Raises:
        SmemnbError: the files are of different operations.
    """
    check_operation(before, after.operation)
    old = {one.problem: one for one in before.readings if one.ms is not None}
    return tuple(
        Change(old[one.problem], one)
        for one in after.readings
        if one.ms is not None and one.problem in old
    )


def lost(before: Sweep, after: Sweep) -> tuple[Reading, ...]:
    """New readings without a time, of problems that the old file timed."""
    old = {one.problem for one in before.readings if one.ms is not None}
    return tuple(one for one in after.readings if one.ms is None and one.problem in old)


def lines(before: Sweep, after: Sweep, name: str) -> Iterator[str]:
    """The comparison as text; `name` is that of the old file.

    Raises:
        SmemnbError: the files are of different operations, or have no problem in common.
    """
    found, gone = changes(before, after), lost(before, after)
    if not found and not gone:
        raise SmemnbError(
            f"--compare {name}: no problem of it was timed here; it has seed {before.seed}, this"
            f" sweep seed {after.seed}"
        )
    yield f"beside {name} ({before.date}), new time over old"
    for what in differences(before, after):
        yield f"  warning: the files differ in {what}"
    if found:
        ratios = [one.ratio for one in found]
        yield (
            f"  {len(found)} problems in both: geometric mean {geometric_mean(ratios):.3f},"
            f" {sum(ratio > SLOWER for ratio in ratios)} slower by more than 5 %,"
            f" {sum(ratio < 1 / SLOWER for ratio in ratios)} faster"
        )
        for library, means in _libraries(found).items():
            yield f"  {library} itself: geometric mean {geometric_mean(means):.3f}"
    slower = sorted((one for one in found if one.ratio > SLOWER), key=lambda one: -one.ratio)
    yield from _listed(slower)
    for one in gone:
        yield f"  no longer timed: {one.problem}: {one.status}, {one.reason}"


def check_operation(before: Sweep, operation: str) -> None:
    """Raise SmemnbError if an old sweep is of another operation."""
    if before.operation != operation:
        raise SmemnbError(
            f"--compare: the old file is a sweep of {before.operation}, not {operation}"
        )


def _libraries(found: Sequence[Change]) -> dict[str, list[float]]:
    """New over old of each library, where both have it."""
    ratios: dict[str, list[float]] = {}
    for one in found:
        old = one.before.libraries
        for name, ms in one.after.libraries.items():
            if name in old:
                ratios.setdefault(name, []).append(ms / old[name])
    return ratios


def _listed(slower: Sequence[Change]) -> Iterator[str]:
    for one in slower[:MOST_LISTED]:
        was, now = one.before, one.after
        line = f"  {one.ratio:>6.3f}  {now.problem}: {_us(was)} -> {_us(now)} us"
        plans = f"{was.plan} -> {now.plan}" if was.plan != now.plan else ""
        yield Row(
            line + (f"  {plans}" if plans else ""),
            (f"{one.ratio:.3f}", str(now.problem), _us(was), _us(now), plans),
            ("ratio", "", "us before", "us after", ""),
        )
    if len(slower) > MOST_LISTED:
        yield f"  and {len(slower) - MOST_LISTED} more"


def _us(one: Reading) -> str:
    assert one.ms is not None
    return f"{one.ms * 1000:.2f}"
