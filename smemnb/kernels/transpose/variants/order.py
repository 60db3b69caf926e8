"""What all variants share: the order in which blocks walk over the tiles, bytes of an element."""

from __future__ import annotations

from typing import Any

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


@device
def tile_in_batch(cols, tile_cols):
    """(matrix, row, column) of this block's tile: matrices of so many columns, side by side.

    In the order of `tile_turned`; the grid has as many columns of blocks as all matrices together.
    """
    across = uint32((uint32(cols) + uint32(tile_cols - 1)) // uint32(tile_cols))
    row, side = tile_turned()
    return uint32(side // across), row, uint32(side % across)


def chunk_of_column(chunks: int) -> Any:
    """A device function: (column, chunk of it) of a lane, of columns of so many chunks.

    A warp takes 8 neighbouring chunks of 4 columns, or all chunks of a column that has fewer.
    """
    side = min(8, chunks)
    groups, lanes = chunks // side, 32 // side

    @device
    def place(number):
        rest = uint32(number // uint32(32))
        column = uint32(
            number % uint32(32) // uint32(side) + rest // uint32(groups) * uint32(lanes)
        )
        return column, uint32(number % uint32(side) + rest % uint32(groups) * uint32(side))

    return place


def bytes_of(dtype: Any) -> int:
    """Bytes of an element of a Numba type that the variants move.

    Raises:
        ValueError: a type of other than 1, 2, 4 or 8 bytes.
    """
    bits = getattr(dtype, "bitwidth", None)
    if bits not in (8, 16, 32, 64):
        raise ValueError(
            f"dtype={dtype}, but elements of 1, 2, 4 or 8 bytes are moved. For others take a Numba"
            " type of the same size, such as uint64 for float64, and pass views of that type"
        )
    return int(bits) // 8
