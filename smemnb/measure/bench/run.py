"""A plan, measured: per shape its contenders checked, then timed in rounds, then rows.

Nothing is timed that was not right. A contender that fails becomes a row that says why, and the
others go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from numba import cuda

from ...errors import SmemnbError
from ..results.model import LIMIT, Row
from . import contenders
from .ahead import Bounds
from .case import CHOICE, Case
from .device import Judge, Matrices, bytes_needed, matrices
from .libraries import Library, baselines
from .timing import Clock, in_rounds, spread

__all__ = ["WORST_ERROR", "Kernels", "Setting", "rows_of"]

WORST_ERROR = 1e-5
"""Largest error of a product over its largest value; float32 sums of thousands stay below it."""


class Kernels(Protocol):
    """What has the kernels and bounds of a case ready: `ahead.Ahead`."""

    def wait(self, case: Case) -> None:
        """Until the kernels are there."""

    def bounds(self, case: Case) -> Bounds:
        """The bounds that there are."""


@dataclass(frozen=True)
class Setting:
    """How to measure.

    Attributes:
        clock: times launches.
        libraries: imported ones.
        against: names that were asked for.
        between: done before each launch, such as a sweep of the L2 cache.
        least, most: rounds.
        budget_ms: time on the GPU for the rounds of one case.
        progress: called with words for a progress bar.
        foretold: called with the bounds of a case before it is measured.
    """

    clock: Clock
    libraries: Sequence[Library] = ()
    against: Sequence[str] = ()
    between: Callable[[], object] = lambda: None
    least: int = 7
    most: int = 31
    budget_ms: float = 2500.0
    progress: Callable[[str], object] = lambda words: None
    foretold: Callable[[Case, Bounds], object] = lambda case, bounds: None


@dataclass(frozen=True)
class _Contender:
    """Something to time, and its row so far."""

    row: Row
    run: Callable[[], Any]
    judged: Callable[[Any], tuple[bool, float | None]]
    launch: contenders.TimedLaunch | None = None


def rows_of(case: Case, setting: Setting, kernels: Kernels | None = None) -> tuple[Row, ...]:
    """Check and time the contenders of a case.

    Raises:
        SmemnbError: the case does not fit into the GPU's memory, or the clock is none.
    """
    need, free = bytes_needed(case), int(cuda.current_context().get_memory_info()[0])
    if need > free:
        reason = f"needs about {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
        return tuple(_row(case, name, "rung", failed=reason) for name in case.rungs)
    bounds: Bounds = {}
    if kernels is not None:
        setting.progress("compiling")
        kernels.wait(case)
        setting.progress("bounds")
        bounds = kernels.bounds(case)
        setting.foretold(case, bounds)
    held = matrices(case)
    judge = Judge(case, held)
    setting.progress("checking")
    checked = [_checked(one, judge) for one in _contenders(case, held, judge, setting)]
    ready = [one for one in checked if one.row.right]
    times: list[list[float]] = []
    runs = [one.run for one in ready]
    for number, found in enumerate(_rounds(runs, setting), 1):
        times.append(found)
        setting.progress(f"round {number}")
    timed = {
        one.row.key: _with_times(one.row, [found[at] for found in times])
        for at, one in enumerate(ready)
    }
    rows = tuple(timed.get(one.row.key, one.row) for one in checked)
    return tuple(_bounded(row, bounds) for row in _beside(case, rows))


def _rounds(runs: Sequence[Callable[[], Any]], setting: Setting) -> Iterator[list[float]]:
    if not runs:
        return iter(())
    return in_rounds(
        runs,
        setting.clock,
        least=setting.least,
        most=setting.most,
        budget_ms=setting.budget_ms,
        between=setting.between,
    )


def _contenders(case: Case, held: Matrices, judge: Judge, setting: Setting) -> Iterator[_Contender]:
    """Rungs in their order, the choice, the limit, the libraries."""
    verdict = _transpose_right if case.operation == "transpose" else _product_right
    for name in case.rungs:
        role = "choice" if name == CHOICE else "rung"
        try:
            made = contenders.launch(case, name, held.arrays)
        except SmemnbError as error:
            yield _never(_row(case, Path(name).name, role, failed=str(error)))
            continue
        row = _row(case, Path(name).name, role, kernel=made.name)  # of a file, its last part
        yield _Contender(row, made.starter(), partial(verdict, judge, held.out), made)
    if held.copies:
        made = contenders.copy(*held.copies)
        row = _row(case, LIMIT, "limit", kernel=made.name)
        yield _Contender(row, made.starter(), lambda _: (not judge.wrong_copies(), None), made)
    try:
        others = baselines(case, held, setting.libraries, setting.against)
    except Exception as error:  # a library's own errors, whatever they are
        yield _never(_row(case, "libraries", "library", failed=_said(error)))
        return
    for other in others:
        row = _row(case, other.name, "library")
        yield _Contender(row, other.run, partial(verdict, judge, None))


def _transpose_right(judge: Judge, out: Any, result: Any) -> tuple[bool, None]:
    return judge.wrong_elements(result if out is None else out) == 0, None


def _product_right(judge: Judge, out: Any, result: Any) -> tuple[bool, float]:
    error = judge.error(result if out is None else out)
    return error <= WORST_ERROR, error


def _checked(one: _Contender, judge: Judge) -> _Contender:
    """The contender after one launch whose result was compared; with what its kernel needs."""
    if one.row.failed is not None:
        return one
    row = one.row
    try:
        judge.spoil()
        right, error = one.judged(one.run())
        registers, local = one.launch.needs() if one.launch is not None else (None, None)
    except Exception as failure:  # one bad rung is no reason to lose the others
        return replace(one, row=replace(row, failed=_said(failure)))
    finite = error if error is not None and math.isfinite(error) else None
    reason = None if right else "wrong values" + (f", error {error:.1e}" if error else "")
    row = replace(
        row, right=right, error=finite, registers=registers, local_bytes=local, failed=reason
    )
    return replace(one, row=row)


def _with_times(row: Row, times: Sequence[float]) -> Row:
    found = spread(times)
    return replace(row, ms=found.median, low_ms=found.low, high_ms=found.high, rounds=found.count)


def _beside(case: Case, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """With ratios: to the copy for a transpose, to the first library for a product."""
    role = "limit" if case.operation == "transpose" else "library"
    other = next((row for row in rows if row.role == role and row.ms is not None), None)
    if other is None or other.ms is None:
        return rows
    return tuple(
        row if row.ms is None else replace(row, beside=other.name, ratio=other.ms / row.ms)
        for row in rows
    )


def _bounded(row: Row, bounds: Bounds) -> Row:
    if row.name not in bounds:
        return row
    ms, limiter = bounds[row.name]
    return replace(row, bound_ms=ms, limiter=limiter)


def _row(case: Case, name: str, role: str, *, kernel: str = "", failed: str | None = None) -> Row:
    return Row(
        case.operation,
        name,
        role,
        kernel,
        case.shape,
        case.itemsize,
        case.spare,
        right=False,
        failed=failed,
    )


def _never(row: Row) -> _Contender:
    return _Contender(row, lambda: None, lambda _: (False, None))


def _said(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:300]
