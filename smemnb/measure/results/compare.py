"""Two files of results, row by row: what became faster or slower by more than the spread.

A change counts where the quartiles of the two rows do not overlap: then three of four rounds of
one file are beyond three of four of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..rows import Row as TableRow
from .model import Origin, Results, Row
from .table import shape_words

__all__ = ["Change", "changes", "differences", "lines", "only_in"]


@dataclass(frozen=True)
class Change:
    """One row in both files. `speedup` is the old median over the new: above 1 is faster."""

    before: Row
    after: Row

    @property
    def speedup(self) -> float:
        """Old time over new time."""
        assert self.before.ms is not None and self.after.ms is not None
        return self.before.ms / self.after.ms

    @property
    def spread(self) -> tuple[float, float]:
        """The speedup between the quartiles that lie farthest apart, lowest first."""
        old, new = self.before, self.after
        assert old.low_ms and old.high_ms and new.low_ms and new.high_ms
        return old.low_ms / new.high_ms, old.high_ms / new.low_ms

    @property
    def beyond(self) -> bool:
        """Whether the change exceeds the spread: the quartiles do not overlap."""
        low, high = self.spread
        return not low <= 1 <= high

    @property
    def verdict(self) -> str:
        """The change in a word."""
        if not self.beyond:
            return "within the spread"
        return "faster" if self.speedup > 1 else "SLOWER"


def changes(before: Results, after: Results) -> tuple[Change, ...]:
    """Rows that were timed in both files, in the order of the first."""
    later = {row.key: row for row in after.rows if row.ms is not None}
    return tuple(
        Change(row, later[row.key])
        for row in before.rows
        if row.ms is not None and row.key in later
    )


def only_in(one: Results, other: Results) -> tuple[Row, ...]:
    """Rows timed in one file and not in the other."""
    there = {row.key for row in other.rows if row.ms is not None}
    return tuple(row for row in one.rows if row.ms is not None and row.key not in there)


def differences(before: Origin, after: Origin) -> tuple[str, ...]:
    """What makes the two files hard to compare, in words."""
    pairs = {
        "GPU": (before.gpu.name, after.gpu.name),
        "driver": (before.driver, after.driver),
        "CUDA": (before.cuda, after.cuda),
        "L2 cache": (before.l2, after.l2),
    }
    for old, new in ((before.versions, after.versions), (before.libraries, after.libraries)):
        for name in old | new:
            pairs[name] = (old.get(name, "absent"), new.get(name, "absent"))
    return tuple(f"{what}: {a} / {b}" for what, (a, b) in pairs.items() if a != b)


def lines(before: Results, after: Results, names: tuple[str, str]) -> Iterator[str]:
    """The comparison as text; `names` are those of the files."""
    for what in differences(before, after):
        yield f"warning: the files differ in {what}"
    found = changes(before, after)
    moved = sum(change.beyond for change in found)
    both = "1 row" if len(found) == 1 else f"{len(found)} rows"
    yield f"{both} in both, {moved} changed by more than the spread"
    case = None
    for change in found:
        if change.before.case != case:
            case = change.before.case
            yield f"{case[0]} {shape_words(*case)}"
        low, high = change.spread
        was, now = f"{change.before.ms:.4f}", f"{change.after.ms:.4f}"
        speedup, spread = f"{change.speedup:.3f}", f"{low:.3f}-{high:.3f}"
        yield TableRow(
            f"  {change.before.name:<24}{was:>10} ->{now:>10} ms"
            f"  speedup {speedup} ({spread})  {change.verdict}",
            (change.before.name, was, now, speedup, spread, change.verdict),
            ("", "ms before", "ms after", "speedup", "spread", ""),
        )
    yield from _host_times(before, after)
    for name, rows in (
        (names[0], only_in(before, after)),
        (names[1], only_in(after, before)),
    ):
        for row in rows:
            yield f"only in {name}: {row.operation} {shape_words(*row.case)} {row.name}"


def _host_times(before: Results, after: Results) -> Iterator[str]:
    """What operations add to a launch, in both files."""
    later = {(one.operation, one.arrays, one.result): one for one in after.overheads}
    for old in before.overheads:
        new = later.get((old.operation, old.arrays, old.result))
        if new is not None:
            apart = new.high_us < old.low_us or new.low_us > old.high_us
            verdict = ("faster" if new.beyond_us < old.beyond_us else "SLOWER") if apart else ""
            verdict = verdict or "within the spread"
            what = f"{old.operation} on {old.arrays} arrays, result {old.result}"
            was, now = f"{old.beyond_us:.1f}", f"{new.beyond_us:.1f}"
            yield TableRow(
                f"{what}: beyond a launch {was} -> {now} us  {verdict}",
                (what, was, now, verdict),
                ("beyond a launch", "us before", "us after", ""),
            )
