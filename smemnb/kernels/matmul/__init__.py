"""Matrix product in float32: a ladder from one thread per element to the speed of the library.

Every rung is a file of `rungs/` that reads from top to bottom, and differs from the one before in
one thing (`matmul_overlapped` also computes its offsets in 64 bits again, which is faster there):

    matmul_scattered       neighbouring threads take rows: 16 sectors per load of a
    matmul_naive           neighbouring threads take columns
    matmul_tiled           tiles of 16x16 in shared memory
    matmul_tiled_32        tiles of 32x32
    matmul_column          8 rows of a column per thread, in registers
    matmul_square          4x4 per thread: 8 reads for 16 products
    matmul_8x8             8x8 per thread, 128x128 per block: 16 reads for 64 products
    matmul_turned          the tile of a is turned; its store is 8-way
    matmul_turned_padded   4 pad words per row of it: 1 wavefront
    matmul_unguarded       whole tiles only; 8 loads begin one after the other
    matmul_two_blocks      two blocks on a multiprocessor
    matmul_laid_out        the 8 steps along the depth stand one after the other
    matmul_unsigned        flat offsets of 32 bits without a sign
    matmul_by_quads        16 bytes per read of the tiles
    matmul_primed          the first tiles before the loop, the next ones at its end
    matmul_wide            16 bytes per load
    matmul_prefetched      two buffers: the next tiles load during the product
    matmul_warped          64x32 per warp in place of 16x128: prepares matmul_tall
    matmul_tall            16x8 per thread, 128 threads: 24 reads for 128 products
    matmul_snaking         the outer product turns back: a register is read again
    matmul_overlapped      fragments of step k + 1 are read during step k
    matmul_fastest         the loads of the next tiles stay at the top of the loop

`matmul_warped` is a preparation: no faster by itself, it brings the shape that the next rung needs.

`matmul_async` stands beside them: as `matmul_fastest`, its tiles come by asynchronous copies.

ladder      the rungs in order with their launches, and `fastest(out, a, b)`: the kernel that fits
staged      `matmul_async` and its like of 2 to 7 stages, as rungs to measure
tiling      the choices of the last rungs as a `Tiling`
cut         the choices of kernels for any shape and layout as a `Cut`
choosing    which cut for which shape, by a model of what each would cost
choosing_small  the same of products up to 1 GFLOP and of few rows or columns
unguarded   the same for tiles that lie inside the result, shared by blocks or not
variants    the same kernels from factories, for other shapes, rows and tiles, those for any layout
            (`balanced`), any shape (`guarded`), few rows or columns (`vectors`), small results and
            shallow depths (`direct`, `small`, `shallow`); nobody has to read them to understand a
            rung
"""

from .rungs.matmul_naive import matmul_naive
from .rungs.matmul_tiled import TILE, matmul_tiled

__all__ = ["TILE", "matmul_naive", "matmul_tiled"]
