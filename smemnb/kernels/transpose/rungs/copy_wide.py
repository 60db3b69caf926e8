"""copy_wide: out = inp, 16 bytes per thread: what any transpose is measured against.

Launch with blocks of 64x4 threads, one per 4 rows of 256 elements; below 2^32 elements, and rows of
both matrices begin at multiples of 16 bytes.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...ptx import load16, store16
from ...unrolled import jit

CHUNK = 4  # elements in 16 bytes
WIDE, HIGH = 64, 4  # threads of a block, across and down
THREADS = WIDE * HIGH


@jit(launch_bounds=(THREADS, 1))
def copy_wide(out, inp):
    """out = inp.  The limit: 16 bytes per thread, straight through; whole 16 bytes per row."""
    col = uint32(uint32(cuda.blockIdx.x * WIDE + cuda.threadIdx.x) * CHUNK)
    row = uint32(cuda.blockIdx.y * HIGH + cuda.threadIdx.y)
    if row < inp.shape[0] and col < inp.shape[1]:
        at = uint32(row * uint32(inp.strides[0] // 4) + col)
        to = uint32(row * uint32(out.strides[0] // 4) + col)
        store16(out, to, load16(inp, at))  # 16 sectors each
