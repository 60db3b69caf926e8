"""Host time of an operation on device arrays, beyond that of the bare launch of its kernel.

Where the operation makes its result, the other side makes one too, by the arrays' own library.

`costs` sets three calls side by side: ours, what the arrays' own library does for the same, and
Numba's bare launch; `cost_lines` is the table of them.

Many calls in a row, so that the clock's own time does not count; the matrices are small, so that
the GPU is done before the host is and never makes it wait. Operation and launch take turns, round
by round, and the difference is taken within a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from ..results.model import Overhead
from . import contenders
from .case import CHOICE, Case
from .device import matrices
from .libraries import Library
from .timing import spread, turns

__all__ = ["SMALL", "Cost", "cost_lines", "costs", "host_times", "overheads"]

SMALL = (Case("transpose", (64, 64)), Case("matmul", (64, 64, 64)))
CALLS, ROUNDS = 100, 21
RUNS, CALLS_OF_A_RUN = 5, 2000


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
        arrays, shape = {"numba": held.arrays}, held.out.shape
        empty: dict[str, Callable[[], Any]] = {"numba": partial(device_array, shape, "float32")}
        for library in libraries:
            arrays[library.name] = tuple(library.array(one, 4) for one in held.arrays)
            empty[library.name] = partial(library.like, *shape)
        for name, (out, *inputs) in arrays.items():
            for made in (False, True):
                given = {} if made else {"out": out}
                runs = _call(operation, inputs, given), _bare(launch, empty[name] if made else None)
                found = host_times(runs, calls=calls, rounds=rounds, now=now)
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


@dataclass(frozen=True)
class Cost:
    """Microseconds of the host per call: medians over runs of many calls in a row.

    Attributes:
        operation: its name.
        arrays: the arrays' library.
        result: "given" (out=) or "made".
        ours_us: our operation.
        own_us: the library's own for the same; None where it has none.
        launch_us: the bare launch by Numba, beside an allocation by the library for "made".
    """

    operation: str
    arrays: str
    result: str
    ours_us: float
    own_us: float | None
    launch_us: float


def costs(
    libraries: Sequence[Library] = (),
    *,
    cases: Sequence[Case] = SMALL,
    calls: int = CALLS_OF_A_RUN,
    runs: int = RUNS,
    now: Callable[[], float] = time.perf_counter,
) -> Iterator[Cost]:
    """Ours, the library's own call and Numba's bare launch, for Numba's arrays and of libraries.

    Args:
        libraries: imported ones.
        cases: the operations, at shapes small enough that the GPU is done first.
        calls: in a row, per run.
        runs: of which the median counts; one more warms up.
        now: a clock in seconds.
    """
    from numba.cuda import device_array

    from ...operations import matmul, transpose

    for case in cases:
        operation: Callable[..., Any] = transpose if case.operation == "transpose" else matmul
        held = matrices(case)
        launch = contenders.launch(case, CHOICE, held.arrays)
        for library in (None, *libraries):
            if library is None:
                name, (out, *inputs) = "numba", held.arrays
                empty: Callable[[], Any] = partial(device_array, held.out.shape, "float32")
            else:
                name = library.name
                out, *inputs = (library.array(one, 4) for one in held.arrays)
                empty = partial(library.like, *held.out.shape)
            for made in (False, True):
                own = (
                    None if library is None else _own(case, library, inputs, None if made else out)
                )
                tried = [
                    _call(operation, inputs, {} if made else {"out": out}),
                    _bare(launch, empty if made else None),
                    *([] if own is None else [own]),
                ]
                found = host_times(tried, calls=calls, rounds=runs, now=now)
                each = [median(times) for times in zip(*found, strict=True)]
                result, third = "made" if made else "given", each[2] if own is not None else None
                yield Cost(case.operation, name, result, each[0], third, each[1])


def _own(
    case: Case, library: Library, inputs: Sequence[Any], out: Any
) -> Callable[[], object] | None:
    """The library's own way; None where it cannot write a transpose to an array that is given."""
    if case.operation == "matmul":
        if out is None:
            return partial(library.module.matmul, *inputs)
        a, b = inputs
        return partial(library.product, a, b, out)
    return partial(library.transposed, inputs[0]) if out is None else None


def cost_lines(found: Sequence[Cost]) -> Iterator[str]:
    r"""The table of costs.

    >>> print(*cost_lines([Cost("matmul", "torch", "made", 13.2, 11.0, 19.4)]), sep="\n")
    microseconds of the host per call (medians)
      operation  arrays  result      ours     own  launch  ours/own  ours-launch
      matmul     torch   made        13.2    11.0    19.4      1.20         -6.2
    """
    yield "microseconds of the host per call (medians)"
    yield (
        f"  {'operation':<11}{'arrays':<8}{'result':<8}{'ours':>8}{'own':>8}{'launch':>8}"
        f"{'ours/own':>10}{'ours-launch':>13}"
    )
    for one in found:
        own, ratio = (
            ("", "")
            if one.own_us is None
            else (
                f"{one.own_us:.1f}",
                f"{one.ours_us / one.own_us:.2f}",
            )
        )
        yield (
            f"  {one.operation:<11}{one.arrays:<8}{one.result:<8}{one.ours_us:>8.1f}{own:>8}"
            f"{one.launch_us:>8.1f}{ratio:>10}{one.ours_us - one.launch_us:>13.1f}"
        )


def _call(operation: Callable[..., Any], inputs: Sequence[Any], given: Any) -> Callable[[], object]:
    return lambda: operation(*inputs, **given)


def _bare(launch: contenders.TimedLaunch, empty: Callable[[], Any] | None) -> Callable[[], object]:
    """The launch as a user writes it, after a new array where one is asked for."""
    if empty is None:
        return lambda: launch.kernel[launch.grid, launch.block](*launch.args)
    return lambda: (empty(), launch.kernel[launch.grid, launch.block](*launch.args))


def _overhead(case: Case, arrays: str, result: str, times: list[list[float]]) -> Overhead:
    beyond = spread([call - launch for call, launch in times])
    return Overhead(
        case.operation,
        arrays,
        result,
        call_us=spread([call for call, _ in times]).median,
        launch_us=spread([launch for _, launch in times]).median,
        beyond_us=beyond.median,
        low_us=beyond.low,
        high_us=beyond.high,
        rounds=beyond.count,
    )
