"""Candidates timed on a GPU: checked, then in the same rounds, beside the library.

All of it is what `smemnb bench` does with a rung of the ladder: results are compared, every
element, before anything is timed; rounds are interleaved; the L2 cache is read full of other data
before each launch.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...kernels.matmul.tiling import Tiling
from ..bench.ahead import take_over
from ..bench.case import Case
from ..bench.contenders import launch, stand_ins
from ..bench.run import Kernels, Setting, rows_of
from ..results.model import Row
from .outcome import Timed
from .search import Timing
from .space import Choices, Chunks, differences, rung_of

__all__ = ["Compilers", "GpuTimer", "case_of"]

BEST = "as it is"
LONGEST_S = 120.0
MOST = 12


def case_of(
    operation: str, shape: tuple[int, ...], itemsize: int, candidates: Sequence[Choices]
) -> Case:
    """The case whose contenders are these candidates, the first under the name `BEST`."""
    names = [BEST]
    for one in candidates[1:]:
        changes = differences(one, candidates[0]).items()
        names.append(", ".join(f"{name}={value}" for name, value in changes))
    tries = tuple((name, rung_of(one)) for name, one in zip(names, candidates, strict=True))
    return Case(operation, shape, itemsize, rungs=tuple(names), tries=tries)


@dataclass(frozen=True)
class GpuTimer:
    """Times candidates at one shape: a `search.Timer`.

    Attributes:
        operation, shape, itemsize: what is done.
        setting: how it is measured.
        compilers: compile candidates side by side; None to compile one after another.
    """

    operation: str
    shape: tuple[int, ...]
    itemsize: int
    setting: Setting
    compilers: Compilers | None = None

    def __call__(self, candidates: Sequence[Choices]) -> Timing:
        """The times of candidates in the same rounds."""
        case = case_of(self.operation, self.shape, self.itemsize, candidates)
        kernels: Kernels | None = None
        if self.compilers is not None:
            kernels = self.compilers.of(candidates)
        rows = rows_of(case, self.setting, kernels)
        found = {row.name: _timed(row) for row in rows if row.role == "rung"}
        beside = {row.name: _timed(row) for row in rows if row.role in ("limit", "library")}
        return Timing(tuple(found[name] for name in case.rungs), beside)


class Compilers:
    """Processes that compile candidates; at the end of the context nothing runs on.

    Args:
        operation, shape, itemsize: as of the timer.
        processes: at a time.
    """

    def __init__(
        self, operation: str, shape: tuple[int, ...], itemsize: int, processes: int | None = None
    ) -> None:
        self._what = operation, shape, itemsize
        most = min(MOST, processes or (os.cpu_count() or 1) - 2)
        spawn = multiprocessing.get_context("spawn")
        self._pool = spawn.Pool(max(1, most), signal.signal, (signal.SIGINT, signal.SIG_IGN))

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.terminate()
        self._pool.join()

    def of(self, candidates: Sequence[Choices]) -> Kernels:
        """Begin to compile these candidates; what waits for them."""
        coming = [
            self._pool.apply_async(compiled, (*self._what, asdict(one))) for one in candidates
        ]
        return _Coming(coming)


@dataclass(frozen=True)
class _Coming:
    """Candidates in the making."""

    coming: Sequence[Any]

    def wait(self, case: Case) -> None:
        """Until the kernels are there; what is late or failed is compiled by its launch."""
        for name, found in zip(case.rungs, self.coming, strict=True):
            with contextlib.suppress(Exception):
                take_over(launch(case, name, stand_ins(case)), found.get(LONGEST_S))

    def bounds(self, case: Case) -> dict[str, tuple[float, str]]:
        """None are worked out."""
        return {}


def compiled(operation: str, shape: tuple[int, ...], itemsize: int, words: dict[str, Any]) -> bytes:
    """The kernel of some choices compiled for the arrays of a case, as bytes."""
    choices = Tiling(**words) if operation == "matmul" else Chunks(**words)
    case = case_of(operation, shape, itemsize, [choices])
    made = launch(case, BEST, stand_ins(case))
    return pickle.dumps(made.kernel.compile(made.types))


def _timed(row: Row) -> Timed:
    return Timed(row.ms, row.low_ms, row.high_ms, row.registers, row.local_bytes, row.failed)
