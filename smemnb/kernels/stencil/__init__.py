"""Stencils: sums of weighted neighbours, from 25 loads per element to the speed of a copy.

Every rung is a file of `rungs/` that reads from top to bottom, its numbers first. 5x5 weights on a
picture of float32, mirrored at its edges:

    stencil_naive      a thread reads all 25 elements of its window
    stencil_tiled      the block's elements and their halo go through a tile
    stencil_constant   the weights are arguments of the kernel: no loads of them
    stencil_column     a thread makes 8 elements of a column, and reads each row once for them
    stencil_sliding    a block walks down its columns; 5 sums under way, one row in shared memory
    stencil_unsigned   places are flat offsets of 32 bits
    stencil_wide       4 columns per thread, 16 bytes per access
    stencil_direct     no shared memory: the L1 cache is what neighbours share
    stencil_ahead      the next row is loaded before the one at hand is added
    stencil_inside     threads inside of the picture have a loop without edges
    stencil_framed     no walk: a thread makes 4x4 elements; edges have blocks of their own

9 weights along a line, and 15 down the columns times 15 along the rows:

    line_naive         9 loads per element
    line_tiled         through a tile with a halo
    line_wide          4 elements per thread, 16 bytes per access
    line_direct        no shared memory
    separable_twice    rows, then columns, through a second picture
    separable_tiled    both in one launch, what is between them in a tile
    separable_sliding  as stencil_direct: the sums of a row go straight into 15 sums under way

ladder      the rungs in order with their launches
choosing    how a convolution of any size is cut into launches of `variants`
variants    kernels of any size, type and edge; nobody has to read them to understand a rung

`TUNING.md` says what was predicted, tried and measured. Taught in `52_stencil`.
"""

from .rungs.stencil_ahead import stencil_ahead
from .rungs.stencil_direct import stencil_direct
from .rungs.stencil_naive import stencil_naive
from .rungs.stencil_sliding import stencil_sliding
from .rungs.stencil_tiled import stencil_tiled

__all__ = [
    "stencil_ahead",
    "stencil_direct",
    "stencil_naive",
    "stencil_sliding",
    "stencil_tiled",
]
