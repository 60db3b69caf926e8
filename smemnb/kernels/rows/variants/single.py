"""Softmax of rows of one element: 1, or 0 of the logarithm, and NaN of what is not finite.

`single_of(form, dtype)` makes the kernel `(out, inp)` of arrays of one axis. Other kernels give the
same; this one has no maximum and no sum to wait for, and 4 elements in a thread.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, store1
from ...unrolled import jit, named
from .pieces import Form

THREADS = 256
HELD = 4


@cache
def single_of(form: Form, dtype: Any) -> Any:
    """The kernel. Launched with one block of `THREADS` for `THREADS * HELD` rows."""
    alone = dtype(0 if form.what == "log_softmax" else 1)

    @jit(launch_bounds=(THREADS, 1))
    def rows_of_one(out, inp):
        held = cuda.local.array(HELD, dtype)
        count = uint32(inp.shape[0])
        first = uint32(cuda.blockIdx.x * uint32(THREADS * HELD) + cuda.threadIdx.x)
        for k in range(HELD):
            at = uint32(first + k * THREADS)
            held[k] = load1(inp, at) if at < count else alone
        for k in range(HELD):
            at = uint32(first + k * THREADS)
            if at < count:
                store1(out, at, held[k] - held[k] + alone)  # inf - inf is NaN

    return named(rows_of_one, f"{form.what}_of_one")
