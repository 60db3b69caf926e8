"""What the Python of an operation costs: microseconds of a call that stops short of its launch.

    python -m tests.operations.python_part

For work on operations where there is no GPU: calls go the way of a GPU, with a stand-in for what
the driver would answer. `smemnb bench overhead` measures whole calls beside bare launches on a GPU.
"""

import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
from numba import cuda

from smemnb.operations import launching, matmul, transpose

CALLS, ROUNDS, EDGE = 100, 30, 128
PROCESSORS = 132


class Interface:
    """A device array that shows nothing but the interface."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@contextmanager
def without_launch():
    """Operations take the GPU's way up to the launch."""
    kept = launching.start, launching.on_gpu, launching.processors
    launching.start = lambda *launch: None
    launching.on_gpu = lambda: True
    launching.processors = lambda place: PROCESSORS
    try:
        yield
    finally:
        launching.start, launching.on_gpu, launching.processors = kept


def rows(rounds=ROUNDS):
    """(operation, kind of array, microseconds of a call: the lowest round, as noise only adds)."""
    host = np.ones((EDGE, EDGE), np.float32)
    for kind, shown in (("Numba", lambda array: array), ("interface", Interface)):
        out, a, b = (shown(cuda.to_device(host)) for _ in range(3))
        for operation, inputs in ((transpose, (a,)), (matmul, (a, b))):
            with without_launch():
                call = partial(operation, *inputs, out=out)
                call()
                yield operation.__name__, kind, min(microseconds(call) for _ in range(rounds))


def microseconds(call):
    """Of one call, from many in a row."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


if __name__ == "__main__":
    for operation, kind, microseconds_each in rows():
        sys.stdout.write(f"{operation:10} {kind:10} {microseconds_each:7.1f} us\n")
