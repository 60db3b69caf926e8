"""Drawings of what the rules count and of what a launch does.

    bank_map        lanes x banks of one request: who asks where, and which wavefront serves whom
    tile_map        the bank of each element of a tile, in any layout of `rules.layout`
    grid_map        blocks over a matrix, the warps of one block, the lanes of one warp
    sector_map      the lanes of one request on a matrix in global memory, and its sectors
    reuse_map       how often a block loads each element of a global array
    staging_map     what each line of a launch moves from memory to memory
    product_map     the tiles of a, b and out that a block has in one step of a tiled product
    register_map    the elements of out that one thread makes, among those of its warp
    fragment_map    the elements of small matrices that each lane of a warp holds
    occupancy_map   the blocks that a multiprocessor holds, in what it has
    warp_timeline   what each warp of a multiprocessor does or waits for, cycle by cycle
    phase_map       which buffer is filled and which is read, from barrier to barrier

All return a `Drawing`: the numbers as text, an alt text, a PNG. A notebook shows the picture
and stores the text beside it. The numbers are the model's or, in `phase_map`, recorded. Each has a
module of its own, whose `measure` returns them as data. Read `service` for who is served when,
`sheet` for how things are drawn. matplotlib is imported when a PNG is asked for, not before.
"""

from .drawing import Drawing
from .fragments import fragment_map
from .grid import grid_map
from .multiprocessor import occupancy_map
from .phases import phase_map
from .product import product_map
from .registers import register_map
from .request_map import bank_map
from .reuse import reuse_map
from .sectors import sector_map
from .staging import staging_map
from .tile import tile_map
from .timeline import warp_timeline

__all__ = [
    "Drawing",
    "bank_map",
    "fragment_map",
    "grid_map",
    "occupancy_map",
    "phase_map",
    "product_map",
    "register_map",
    "reuse_map",
    "sector_map",
    "staging_map",
    "tile_map",
    "warp_timeline",
]
