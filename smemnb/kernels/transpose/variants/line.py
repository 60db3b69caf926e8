"""The transpose of a matrix of one row or one column: its elements in a line, copied.

16 bytes per thread, as `copy_wide`. Both lines begin at multiples of 16 bytes and have no gaps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import jit, named
from .order import bytes_of
from .wide import CHUNK_BYTES

THREADS = 256


@cache
def transpose_line_of(dtype: Any, *, pairs: bool = False) -> Any:
    """`transpose_line` for elements of this Numba type, of 1, 2, 4 or 8 bytes.

    Args:
        dtype: of an element, or of the half of one.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
    """
    each, units = CHUNK_BYTES // bytes_of(dtype), 1 + pairs

    @jit(launch_bounds=(THREADS, 1))
    def transpose_line(out, inp):
        """out = inp.T of one row or one column.  Blocks of 256 threads, 16 bytes each."""
        number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        at = uint32(uint32(number * uint32(THREADS) + cuda.threadIdx.x) * uint32(each))
        total = uint32(inp.shape[0] * (inp.shape[1] // units) * units)
        if at < total:
            if uint32(total - at) >= each:
                store16(out, at, load16(inp, at))
            else:
                for one in range(at, total):
                    store1(out, uint32(one), load1(inp, uint32(one)))

    return named(transpose_line, "transpose_line")
