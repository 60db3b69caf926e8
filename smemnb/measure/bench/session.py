"""A whole run: case after case, its results kept as they grow, also when it is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..results.model import Clocks, Overhead, Results, Row
from ..results.table import shape_words
from .case import Case
from .run import Kernels, Setting, rows_of

__all__ = ["Keeping", "measured"]


@dataclass(frozen=True)
class Keeping:
    """What happens to results on the way.

    Attributes:
        keep: called with all results after each case.
        show: called with the rows of each case.
        clocks: reads the clocks, given a moment's name.
        progress: called with the cases done, their number and what is going on.
    """

    keep: Callable[[Results], object] = lambda results: None
    show: Callable[[Sequence[Row]], object] = lambda rows: None
    clocks: Callable[[str], Clocks] | None = None
    progress: Callable[[int, int, str], object] = lambda done, number, words: None


def measured(
    plan: Sequence[Case],
    setting: Setting,
    base: Results,
    keeping: Keeping,
    *,
    kernels: Kernels | None = None,
    overheads: Callable[[], Iterable[Overhead]] | None = None,
    seconds: float = float("inf"),
    now: Callable[[], float] = time.monotonic,
) -> Results:
    """Measure a plan; after an interruption (Ctrl-C), or out of time, what there is.

    Args:
        plan: the cases.
        setting: how each is measured.
        base: results without rows.
        keeping: what happens to results on the way.
        kernels: has the kernels of a case ready.
        overheads: measures host times, at the end.
        seconds: after so many no further case begins.
        now: a clock in seconds.
    """
    began, results = now(), _clocked(base, keeping, "before")
    number = len(plan) + (overheads is not None)
    try:
        for done, case in enumerate(plan):
            if now() - began > seconds:
                return _kept(results, keeping, "out of time")
            words = f"{case.operation} {shape_words(*case.key)}"
            here = replace(setting, progress=_telling(keeping, done, number, words))
            rows = rows_of(case, here, kernels)
            results = _kept(results.grown(rows), keeping, f"after {words}")
            keeping.show(rows)
        if overheads is not None:
            keeping.progress(len(plan), number, "host time of a call")
            results = replace(results, overheads=tuple(overheads()))
        return _kept(replace(results, finished=True), keeping, "at the end")
    except KeyboardInterrupt:
        keeping.keep(results)
        return results


def _kept(results: Results, keeping: Keeping, when: str) -> Results:
    found = _clocked(results, keeping, when)
    keeping.keep(found)
    return found


def _clocked(results: Results, keeping: Keeping, when: str) -> Results:
    return results if keeping.clocks is None else results.grown((), (keeping.clocks(when),))


def _telling(keeping: Keeping, done: int, number: int, words: str) -> Callable[[str], object]:
    return lambda more: keeping.progress(done, number, f"{words}: {more}")
