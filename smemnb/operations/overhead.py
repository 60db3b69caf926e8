"""What a call of an operation costs the host beyond Numba's own launch: microseconds per call.

    python -m smemnb.operations.overhead

On a GPU, calls on small device arrays with `out=` are timed in turns with bare launches of the same
kernels on the same arrays, 100 at a time, the device awaited between; the difference is the cost.
Without a GPU the launch is left out of the call, so what remains is the Python of the operation;
the driver's answers (which context is current) then come from a stand-in for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from . import launching, multiplying, transposing
from .choice import Layout, matmul_plan, transpose_plan

CALLS, ROUNDS, EDGE = 100, 30, 128
_MOST_PROCESSORS = 132


def _microseconds(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    wait()
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    seconds = time.perf_counter() - begin
    wait()
    return seconds / CALLS * 1e6


def _in_turns(calls: list[Callable[[], Any]], wait: Callable[[], Any]) -> list[float]:
    """Microseconds of each call: the lowest round, as noise only adds."""
    for call in calls:
        call()
    rounds = [[_microseconds(call, wait) for call in calls] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _makers() -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, a new EDGE x EDGE matrix of float32) for each library that is here."""
    from numba import cuda

    host = np.ones((EDGE, EDGE), np.float32)
    yield "Numba", lambda: cuda.to_device(host)
    yield "__cuda_array_interface__", lambda: _Interface(cuda.to_device(host))
    for name in ("torch", "cupy"):
        try:
            library = import_module(name)
        except ImportError:
            continue
        if name == "cupy":
            yield "CuPy", partial(library.asarray, host)
        elif library.cuda.is_available():
            yield "PyTorch", partial(library.tensor, host, device="cuda")


class _Interface:
    """A device array that shows nothing but the interface."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def rows() -> Iterator[tuple[str, str, float, float]]:
    """(operation, library, microseconds of a call, of a bare launch); 0 for none without a GPU."""
    from numba import cuda

    bare = Layout(EDGE, EDGE, 4 * EDGE, 0)
    turned = transpose_plan(None, 4, bare, bare)
    product = matmul_plan(None, bare, bare, bare, True, launching.processors(0) or _MOST_PROCESSORS)
    scalars = np.float32(1), np.float32(0)
    seen = [cuda.to_device(np.ones((EDGE, EDGE), np.float32)) for _ in range(3)]
    for name, make in _makers():
        out, a, b = make(), make(), make()
        calls: list[Callable[[], Any]] = [
            partial(transposing.transpose, a, out),
            partial(multiplying.matmul, a, b, out),
        ]
        if launching.on_gpu():
            calls += [
                lambda: turned.kernel[turned.grid, turned.block, 0](*seen[:2]),
                lambda: product.kernel[product.grid, product.block, 0](*seen, *scalars),
            ]
            times = _in_turns(calls, cuda.synchronize)
        else:
            with _without_launch():
                times = [*_in_turns(calls, lambda: None), 0.0, 0.0]
        yield "transpose", name, times[0], times[2]
        yield "matmul", name, times[1], times[3]


@contextmanager
def _without_launch() -> Iterator[None]:
    """Operations go the way of a GPU and stop short of the launch."""
    kept = launching.start, launching.on_gpu, launching.processors
    launching.start = lambda *launch: None
    launching.on_gpu = lambda: True
    launching.processors = lambda place: _MOST_PROCESSORS  # type: ignore[assignment]
    try:
        yield
    finally:
        launching.start, launching.on_gpu, launching.processors = kept


def main() -> None:
    """Print the table."""
    from ..simulator import device

    what = "a call less a bare launch" if launching.on_gpu() else "a call without its launch"
    sys.stdout.write(f"microseconds of {what}, {EDGE} x {EDGE} float32, on {device()}\n")
    for operation, library, call, launch in rows():
        said = f"{call - launch:7.1f}"
        if launch:
            said += f"   ({call:.1f} and {launch:.1f})"
        sys.stdout.write(f"{operation:10} {library:26} {said}\n")


if __name__ == "__main__":
    main()
