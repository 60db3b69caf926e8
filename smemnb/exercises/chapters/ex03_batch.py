"""A batch of transposes, several rows of a tile per thread."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

PITCH = 33  # elements from row to row: an odd number, so that a column visits 32 banks


@cuda.jit
def transpose_batch(out, inp):
    """Each matrix of a batch: out[b] = inp[b].T.  Tiles of 32 x 32, blocks of 32 x 8 or others."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.z  # which matrix
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp[b]
    # FILL (about 3 lines)
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[1] and left + tx < inp.shape[2]:
            tile[y, tx] = inp[b, top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    # FILL (about 3 lines)
    for y in range(ty, 32, cuda.blockDim.y):
        if left + y < inp.shape[2] and top + tx < inp.shape[1]:
            out[b, left + y, top + tx] = tile[tx, y]


def _matrices(count, rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((count, rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Four full tiles with their budget; rows, columns, ragged sizes, other block heights."""
    clean = Budget(sectors_per_request=4, requests={"inp": 128, "out": 128}, shared_bytes=4224)
    yield Case(partial(_matrices, 2, 32, 64), (2, 1, 2), (32, 8), budget=clean)
    for count, rows, cols, high in [(3, 40, 35, 8), (2, 1, 70, 8), (1, 70, 1, 4), (2, 33, 65, 32)]:
        grid = (*cover((cols, rows), (32, 32)), count)
        data = partial(_matrices, count, rows, cols, 2.0**64 if high == 32 else 1)
        yield Case(data, grid, (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; ragged matrices of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 96 // edge) for _ in range(2))
        count, high = draw.size(1, 4), draw.one_of(4, 8, 16, 32)
        data = partial(_matrices, count, rows, cols, unit, draw.numbers())
        yield Case(data, (*cover((cols, rows), (32, 32)), count), (32, high), like=like)


EXERCISE = Exercise(
    name="ex03_batch",
    chapter="21_pad",
    title="A batch of transposes, several rows per thread",
    specification=lambda inp: np.ascontiguousarray(inp.transpose(0, 2, 1)),
    solution=transpose_batch,
    wrong=(
        Wrong(
            "One row per thread: a block of 32 x 8 moves a quarter of its tile.",
            {"for y": "if True:\n    y = ty"},
            ("output", "not written"),
        ),
        Wrong(
            "Steps of 8 rows are taken for granted: a block of 4 leaves rows out.",
            {"for y": "for y in range(ty, 32, 8):"},
            ("output", "block (32, 4)"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Rows of 32 elements: the lanes that read a column queue for one bank.",
            {"tile =": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Right, but a warp stores down a column of out, from a row of the tile.",
            {
                "if left + y": "if top + y < inp.shape[1] and left + tx < inp.shape[2]:",
                "out[b": "out[b, left + tx, top + y] = tile[y, tx]",
            },
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "The guard of the load stands before the store as well: the edges of a "
            "rectangle are lost.",
            {"if left + y": "if top + y < inp.shape[1] and left + tx < inp.shape[2]:"},
            ("output", "not written"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A block has fewer rows of threads than its tile has rows, so each thread goes through a "
        "loop, before the barrier and after it. How far apart are the rows of one thread?",
        "From ty to 32 in steps of the block's height. In the first loop y is a row of the tile; "
        "in the second, y is a column of it, so a row of out. Each has a guard of its own.",
        "Second loop: the row of out is left + y, below the columns of inp; its column is "
        "top + tx, below the rows of inp; the value is the tile's element in row tx, column y.",
    ),
    budget=Budget(shared_bytes=4224),
)
