"""Where the tile of a block lies in the result."""

from __future__ import annotations

from typing import Any

from numba import uint32

from ...unrolled import device, smaller
from ..tensor_cut import TensorCut


def tile_place_of(cut: TensorCut) -> Any:
    """Where a tile begins: bands of tiles are walked together, so that L2 serves them."""
    rows, cols, band = cut.rows, cut.cols, cut.band

    @device
    def place(out, tile):
        high = uint32(uint32(out.shape[0] + (rows - 1)) // uint32(rows))
        across = uint32(uint32(out.shape[1] + (cols - 1)) // uint32(cols))
        first = uint32(uint32(tile // uint32(across * uint32(band))) * uint32(band))
        within = uint32(tile - first * across)
        tall = smaller(uint32(band), uint32(high - first))
        row = uint32(uint32(first + within % tall) * uint32(rows))
        return row, uint32(uint32(within // tall) * uint32(cols))

    return place
