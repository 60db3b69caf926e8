"""Matrix product in float32: a ladder from one thread per element to the speed of the library.

staged      matmul_naive, matmul_tiled: one element per thread
wider       the uncoalesced product, and tiles of 32x32
registers   several elements per thread, element by element
wide        16 bytes at a time; `tiling` holds the choices, `loads` and `pieces` what it is made of
sliced      the same for small results: groups of warps share a tile and part the depth
streamed    blocks that stay, and share tiles that do not come out even
ladder      all rungs in order, and `fastest(out, a, b)`: the kernel that fits
"""

from .staged import TILE, matmul_naive, matmul_tiled

__all__ = ["TILE", "matmul_naive", "matmul_tiled"]
