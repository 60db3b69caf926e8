"""In which order blocks walk over the tiles of a matrix."""

from __future__ import annotations

from numba import cuda, uint32

from ...unrolled import device


@device
def tile_turned():
    """(row, column) of this block's tile: neighbours in number read neighbouring tiles of a column.

    They write neighbouring tiles of a row of the output, so DRAM pages are written whole.
    """
    number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
    high = uint32(cuda.gridDim.y)
    return uint32(number % high), uint32(number // high)
