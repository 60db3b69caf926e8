"""What is done with counts: those of the 256 values of a byte become those of bins; a copy."""

from __future__ import annotations

from numba import cuda, uint32

from ...ptx import load1
from ...unrolled import jit

VALUES = 256
NONE = -1
"""The bin of a value that is in none."""


@jit()
def folded(out, counts, bin_of):
    """out[bin_of[value]] += counts[value], where it is not `NONE`.  One block of 256 threads."""
    value = uint32(cuda.threadIdx.x)
    at = load1(bin_of, value)
    count = load1(counts, value)
    if at >= 0 and count > 0:
        cuda.atomic.add(out, uint32(at), count)


@jit()
def copied(out, inp):
    """out = inp, of one axis."""
    at = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    if at < out.size:
        out[at] = inp[at]
