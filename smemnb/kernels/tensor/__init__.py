"""Matrix product by tensor cores: float16, bfloat16 and tf32, with sums in float32.

Every rung is a file of `rungs/` that reads from top to bottom, of float16, and differs from the one
before in one thing:

    mma_unswizzled     fragments straight from tiles as they lie: reads are 4-way and 8-way
    mma_swizzled       chunks of 16 bytes change places within their lines: no conflicts
    mma_staged         copies of two more stages are under way
    mma_one_barrier    one barrier a step in place of two
    mma_tall           64x64 per warp in place of 32x32: half the reads for each mma
    mma_overlapped     fragments of the next step are read during this one
    mma_by_rows        results are stored by whole rows, 16 bytes at a time
    mma_banded         tiles below each other at the same time, so that L2 serves them
    mma_tf32           the same of float32, rounded to tf32

`TUNING.md` says what was measured and tried, and which command measures.

ladder      the rungs in order with their launches
tensor_cut  the choices of the other kernels as a `TensorCut`
choosing    which cut for which shape, by a model of what each would cost
variants    kernels for any type, layout and shape, from factories: what `smemnb.matmul` launches
"""
