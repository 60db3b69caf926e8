"""One value everywhere: what an operation gives for an empty array, zeros before a launch."""

from __future__ import annotations

from typing import Any

from numba import cuda, uint32

from .step import Launch

THREADS = 256


@cuda.jit
def fill(out, value):
    """out[...] = value, of one axis.  A thread writes an element, and that of each grid on."""
    at = uint32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
    step = uint32(cuda.gridDim.x * THREADS)
    while at < out.size:
        out[at] = value
        at += step


def filling(out: Any, value: Any) -> Launch:
    """The launch that fills an array of one axis; `value` is of its dtype."""
    return Launch(fill, max(1, min(1024, -(-out.size // THREADS))), THREADS, (out, value))
