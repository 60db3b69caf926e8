"""Drawings of what the rules count: the banks of one request, the banks of a tile.

    bank_map     lanes x banks of one request: who asks where, and which wavefront serves whom
    tile_map     the bank of each cell of a tile, in any layout of `rules.layout`

Both return a `Drawing`: the numbers as text, an alt text, a PNG. A notebook shows the picture
and stores the text beside it. Every number is the model's. Read `service` for who is served when,
`sheet` for how things are drawn. matplotlib is imported when a PNG is asked for, not before.
"""

from .drawing import Drawing
from .request_map import bank_map
from .tile import tile_map

__all__ = ["Drawing", "bank_map", "tile_map"]
