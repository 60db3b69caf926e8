"""Kernels compiled side by side, in processes of their own, while the GPU times others.

A compiled kernel comes back as Numba would store it in its cache: PTX and machine code, which the
process that times loads into its own context. What does not come back is compiled there, later.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections.abc import Sequence
from typing import Any

from ...errors import SmemnbError
from .case import Case
from .contenders import Launch, launch, stand_ins

__all__ = ["Ahead", "compiled", "take_over"]

MOST = 14
LONGEST_S = 180.0


class Ahead:
    """All kernels of a plan, in the making. Use it as a context: at its end nothing runs on."""

    def __init__(self, plan: Sequence[Case], processes: int | None = None, room: int = MOST):
        """Begin; `room` bounds the processes, each of which takes about 1 GiB of the GPU."""
        self._wanted: dict[Case, list[tuple[Launch, Any]]] = {case: [] for case in plan}
        count = processes or max(1, min(MOST, (os.cpu_count() or 1) - 2, room))
        spawn = multiprocessing.get_context("spawn")
        self._pool = spawn.Pool(count, signal.signal, (signal.SIGINT, signal.SIG_IGN))
        asked: dict[Any, Any] = {}
        for case in plan:
            for name in case.rungs:
                try:
                    made = launch(case, name, stand_ins(case))
                except SmemnbError:  # said again, in its row, when its turn comes
                    continue
                key = (id(made.kernel), made.types)
                if key not in asked:
                    asked[key] = self._pool.apply_async(compiled, (case, name))
                self._wanted[case].append((made, asked[key]))
        self._pool.close()

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.terminate()
        self._pool.join()

    def wait(self, case: Case) -> None:
        """Until the kernels of a case are there."""
        for made, coming in self._wanted[case]:
            # a worker that failed or died: the launch compiles, and says what is wrong
            with contextlib.suppress(Exception):
                take_over(made, coming.get(LONGEST_S))


def compiled(case: Case, name: str) -> bytes:
    """A rung compiled for the arrays of a case, as bytes."""
    made = launch(case, name, stand_ins(case))
    return pickle.dumps(made.kernel.compile(made.types))


def take_over(made: Launch, found: bytes) -> None:
    """Give a kernel what another process compiled for the types of this launch."""
    if made.types not in made.kernel.overloads:
        made.kernel.add_overload(pickle.loads(found), made.types)
