"""Kernels compiled and bounds worked out side by side, in processes, while the GPU times others.

A compiled kernel comes back as Numba would store it in its cache: PTX and machine code, which the
process that times loads into its own context. What does not come back is compiled there, later.
Bounds are worked out by processes whose launches run in the engine.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import SmemnbError
from ...hardware import Chip
from ..results.model import LIMIT
from .case import Case
from .contenders import TimedLaunch, copied, launch, stand_ins

__all__ = ["Ahead", "Bounds", "bound", "compiled", "take_over"]

MOST = 14
LONGEST_S = 180.0

Bounds = dict[str, tuple[float, str]]
"""Rung -> the least time in milliseconds, and what sets it."""


class Ahead:
    """All kernels and bounds of a plan, in the making; at the end of the context nothing runs on.

    Args:
        plan: the cases, whose order is that of the work.
        processes: at a time; half of them for each of the two kinds of work.
        chip: for which bounds hold; none are worked out if None.
        room: bounds the processes that compile, each of which takes about 1 GiB of the GPU.
    """

    def __init__(
        self,
        plan: Sequence[Case],
        processes: int | None = None,
        chip: Chip | None = None,
        room: int = MOST,
    ) -> None:
        self._kernels: dict[Case, list[tuple[TimedLaunch, Any]]] = {}
        self._bounds: dict[Case, dict[str, Any]] = {case: {} for case in plan}
        most = min(MOST, processes or (os.cpu_count() or 1) - 2)
        half = max(1, min(most // 2, sum(len(case.rungs) for case in plan)))
        spawn = multiprocessing.get_context("spawn")
        deaf = signal.signal, (signal.SIGINT, signal.SIG_IGN)
        self._compiling = spawn.Pool(max(1, min(half, room)), *deaf)
        with _launches_in_the_engine():
            self._bounding = spawn.Pool(half, *deaf)
        self._ask_kernels(plan)
        if chip is not None:
            self._ask_bounds(plan, chip)

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *error: object) -> None:
        for pool in (self._compiling, self._bounding):
            pool.terminate()
            pool.join()

    def wait(self, case: Case) -> None:
        """Until the kernels of a case are there."""
        for made, coming in self._kernels[case]:
            # a worker that died or is late: the launch compiles, and says what is wrong
            with contextlib.suppress(Exception):
                take_over(made, coming.get(LONGEST_S))

    def bounds(self, case: Case) -> Bounds:
        """The bounds of a case, once they are known; those that there are."""
        found: Bounds = {}
        for name, coming in self._bounds[case].items():
            with contextlib.suppress(multiprocessing.TimeoutError):
                one = coming.get(LONGEST_S)
                found |= {} if one is None else {name: one}
        return found

    def _ask_kernels(self, plan: Sequence[Case]) -> None:
        asked: dict[Any, Any] = {}
        for case in plan:
            self._kernels[case] = []
            for name in case.rungs:
                try:
                    made = launch(case, name, stand_ins(case))
                except SmemnbError:  # said again, in its row, when its turn comes
                    continue
                key = (id(made.kernel), made.types)
                if key not in asked:
                    words = (compiled, case, name)
                    asked[key] = self._compiling.apply_async(_answered, words)
                self._kernels[case].append((made, asked[key]))

    def _ask_bounds(self, plan: Sequence[Case], chip: Chip) -> None:
        for case in plan:
            asked = [(case, name) for name in case.rungs]
            if case.operation == "transpose":
                asked.append((copied(case), LIMIT))
            for what, name in asked:
                words = (bound, what, name, chip)
                self._bounds[case][name] = self._bounding.apply_async(_answered, words)


def compiled(case: Case, name: str) -> bytes:
    """A rung compiled for the arrays of a case, as bytes."""
    made = launch(case, name, stand_ins(case))
    return pickle.dumps(made.kernel.compile(made.types))


def take_over(made: TimedLaunch, found: bytes) -> None:
    """Give a kernel what another process compiled for the types of this launch."""
    if made.types not in made.kernel.overloads:
        made.kernel.add_overload(pickle.loads(found), made.types)


def bound(case: Case, name: str, chip: Chip) -> tuple[float, str]:
    """The least time of a rung, in milliseconds, and what sets it.

    Raises:
        SmemnbError: the rung does not take such matrices.
    """
    from ..bounds import bound_of_rung

    found = bound_of_rung(name, case.shape, case.itemsize, chip, spare=case.spare)
    return found.ms, found.limiter


def _answered(function: Callable[..., Any], *words: Any) -> Any:
    """What the function returns; None for any error, as not every error can be sent back."""
    try:
        return function(*words)
    except Exception:
        return None


@contextmanager
def _launches_in_the_engine() -> Iterator[None]:
    """Processes that begin here have no GPU."""
    kept = os.environ.get("SMEMNB_DEVICE")
    os.environ["SMEMNB_DEVICE"] = "lockstep"
    try:
        yield
    finally:
        if kept is None:
            del os.environ["SMEMNB_DEVICE"]
        else:
            os.environ["SMEMNB_DEVICE"] = kept
