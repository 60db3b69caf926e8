"""Host time of an operation on device arrays, beyond that of the bare launch of its kernel.

Where the operation makes its result, the other side makes one too, by the arrays' own library.

Beside both stands what the arrays' own library does for the same, where they have one.

Many calls in a row, so that the clock's own time does not count; the matrices are small, so that
the GPU is done before the host is and never makes it wait. They take turns, round by round, and the
difference of operation and launch is taken within a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..results.model import Overhead
from . import contenders
from .case import CHOICE, Case
from .device import matrices
from .libraries import Library
from .timing import spread, turns

__all__ = ["SMALL", "host_times", "overheads"]

SMALL = (Case("transpose", (64, 64)), Case("matmul", (64, 64, 64)))
CALLS, ROUNDS = 100, 21


def overheads(
    libraries: Sequence[Library] = (),
    *,
    cases: Sequence[Case] = SMALL,
    calls: int = CALLS,
    rounds: int = ROUNDS,
    now: Callable[[], float] = time.perf_counter,
) -> Iterator[Overhead]:
    """Both operations, on Numba's arrays and those of libraries, result given and made.

    Args:
        libraries: imported ones whose arrays are tried too.
        cases: the operations, at shapes small enough that the GPU is done first.
        calls: in a row, per time.
        rounds: of operation and launch in turns.
        now: a clock in seconds.
    """
    from numba.cuda import device_array

    from ...operations import matmul, transpose

    for case in cases:
        operation: Callable[..., Any] = transpose if case.operation == "transpose" else matmul
        held = matrices(case)
        launch = contenders.launch(case, CHOICE, held.arrays)
        for library in (None, *libraries):
            out, *inputs = held.arrays
            empty: Callable[[], Any] = partial(device_array, held.out.shape, "float32")
            if library is not None:
                out, *inputs = (library.array(one, 4) for one in held.arrays)
                empty = partial(library.like, *held.out.shape)
            for made in (False, True):
                runs = [
                    _call(operation, inputs, {} if made else {"out": out}),
                    _bare(launch, empty if made else None),
                ]
                if library is not None:
                    runs.append(_own(case, library, inputs, None if made else out))
                found = host_times(runs, calls=calls, rounds=rounds, now=now)
                name = "numba" if library is None else library.name
                yield _overhead(case, name, "made" if made else "given", found)


def host_times(
    runs: Sequence[Callable[[], object]],
    *,
    calls: int,
    rounds: int,
    now: Callable[[], float],
) -> list[list[float]]:
    """Microseconds per call of each run, round by round, after one round that warms up."""
    from numba import cuda

    times: list[list[float]] = []
    for number in range(rounds + 1):
        found = [0.0] * len(runs)
        for at in turns(len(runs), number):
            run = runs[at]
            cuda.synchronize()
            began = now()
            for _ in range(calls):
                run()
            found[at] = (now() - began) / calls * 1e6
        times.append(found)
    cuda.synchronize()
    return times[1:]


def _own(case: Case, library: Library, inputs: Sequence[Any], out: Any) -> Callable[[], object]:
    """The library's own way; `out` is None where it makes the result."""
    if case.operation == "transpose":
        (x,) = inputs
        if out is None:
            return partial(library.transposed, x)
        return partial(library.transposed_into, x, out)
    if out is None:
        return partial(library.module.matmul, *inputs)
    a, b = inputs
    return partial(library.product, a, b, out)


def _call(operation: Callable[..., Any], inputs: Sequence[Any], given: Any) -> Callable[[], object]:
    return lambda: operation(*inputs, **given)


def _bare(launch: contenders.TimedLaunch, empty: Callable[[], Any] | None) -> Callable[[], object]:
    """The launch as a user writes it, after a new array where one is asked for."""
    if empty is None:
        return lambda: launch.kernel[launch.grid, launch.block](*launch.args)
    return lambda: (empty(), launch.kernel[launch.grid, launch.block](*launch.args))


def _overhead(case: Case, arrays: str, result: str, times: list[list[float]]) -> Overhead:
    each = [spread(one) for one in zip(*times, strict=True)]
    beyond = spread([call - launch for call, launch, *_ in times])
    return Overhead(
        case.operation,
        arrays,
        result,
        call_us=each[0].median,
        launch_us=each[1].median,
        beyond_us=beyond.median,
        low_us=beyond.low,
        high_us=beyond.high,
        rounds=beyond.count,
        own_us=each[2].median if len(each) > 2 else None,
    )
