"""A batch of transposes, several rows of a tile per thread."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

PITCH = 33  # cells from row to row: an odd number, so that a column visits 32 banks


@cuda.jit
def transpose_batch_stub(out, inp):
    """Each matrix of a batch: out[b] = inp[b].T.  Tiles of 32 x 32, blocks of 32 x 8 or others."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.z  # which matrix
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp[b]
    # FILL (about 3 lines)
    cuda.syncthreads()  # the tile is full before anyone reads it
    # FILL (about 3 lines)


@cuda.jit
def transpose_batch(out, inp):
    """Each matrix of a batch: out[b] = inp[b].T.  Tiles of 32 x 32, blocks of 32 x 8 or others."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.z  # which matrix
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp[b]
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[1] and left + tx < inp.shape[2]:
            tile[y, tx] = inp[b, top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for y in range(ty, 32, cuda.blockDim.y):
        if left + y < inp.shape[2] and top + tx < inp.shape[1]:
            out[b, left + y, top + tx] = tile[tx, y]


@cuda.jit(device=True)
def _load(tile, inp, rows, step):
    """Rows of the tile, from the thread's own on, `step` apart; for the wrong kernels."""
    tx, b = cuda.threadIdx.x, cuda.blockIdx.z
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(cuda.threadIdx.y, rows, step):
        if top + y < inp.shape[1] and left + tx < inp.shape[2]:
            tile[y, tx] = inp[b, top + y, left + tx]


@cuda.jit(device=True)
def _store(out, tile, rows, step):
    """Columns of the tile, from the thread's own on, `step` apart; for the wrong kernels."""
    tx, b = cuda.threadIdx.x, cuda.blockIdx.z
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(cuda.threadIdx.y, rows, step):
        if left + y < out.shape[1] and top + tx < out.shape[2]:
            out[b, left + y, top + tx] = tile[tx, y]


@cuda.jit
def transpose_batch_one_row(out, inp):
    """One row per thread: a block of 32 x 8 moves a quarter of its tile."""
    tile = cuda.shared.array((32, PITCH), float32)
    _load(tile, inp, cuda.blockDim.y, 32)
    cuda.syncthreads()
    _store(out, tile, cuda.blockDim.y, 32)


@cuda.jit
def transpose_batch_of_8(out, inp):
    """Steps of 8 rows are taken for granted: a block of 4 leaves rows out."""
    tile = cuda.shared.array((32, PITCH), float32)
    _load(tile, inp, 32, 8)
    cuda.syncthreads()
    _store(out, tile, 32, 8)


@cuda.jit
def transpose_batch_no_barrier(out, inp):
    """Nobody waits until the tile is full."""
    tile = cuda.shared.array((32, PITCH), float32)
    _load(tile, inp, 32, cuda.blockDim.y)
    _store(out, tile, 32, cuda.blockDim.y)


@cuda.jit
def transpose_batch_no_pad(out, inp):
    """Rows of 32 cells: the lanes that read a column queue for one bank."""
    tile = cuda.shared.array((32, 32), float32)
    _load(tile, inp, 32, cuda.blockDim.y)
    cuda.syncthreads()
    _store(out, tile, 32, cuda.blockDim.y)


@cuda.jit
def transpose_batch_columns(out, inp):
    """Right, but a warp stores down a column of out, from a row of the tile."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, b = cuda.threadIdx.x, cuda.blockIdx.z
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    _load(tile, inp, 32, cuda.blockDim.y)
    cuda.syncthreads()
    for y in range(cuda.threadIdx.y, 32, cuda.blockDim.y):
        if top + y < inp.shape[1] and left + tx < inp.shape[2]:
            out[b, left + tx, top + y] = tile[y, tx]


@cuda.jit
def transpose_batch_guard_of_load(out, inp):
    """The guard of the load stands before the store as well: the edges of a rectangle are lost."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, b = cuda.threadIdx.x, cuda.blockIdx.z
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    _load(tile, inp, 32, cuda.blockDim.y)
    cuda.syncthreads()
    for y in range(cuda.threadIdx.y, 32, cuda.blockDim.y):
        if top + y < inp.shape[1] and left + tx < inp.shape[2]:
            out[b, left + y, top + tx] = tile[tx, y]


def _matrices(count, rows, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((count, rows, cols), seed=rows + 3 * cols) * np.float32(unit),)


def _cases():
    """Four full tiles with their budget; rows, columns, ragged sizes, other block heights."""
    clean = Budget(sectors_per_request=4, requests={"inp": 128, "out": 128}, shared_bytes=4224)
    yield Case(partial(_matrices, 2, 32, 64), (2, 1, 2), (32, 8), budget=clean)
    for count, rows, cols, high in [(3, 40, 35, 8), (2, 1, 70, 8), (1, 70, 1, 4), (2, 33, 65, 32)]:
        grid = (*cover((cols, rows), (32, 32)), count)
        data = partial(_matrices, count, rows, cols, 2.0**64 if high == 32 else 1)
        yield Case(data, grid, (32, high))


EXERCISE = Exercise(
    name="ex03_batch",
    chapter="03_transpose",
    title="A batch of transposes, several rows per thread",
    specification=lambda inp: np.ascontiguousarray(inp.transpose(0, 2, 1)),
    stub=transpose_batch_stub,
    solution=transpose_batch,
    wrong=(
        Wrong(transpose_batch_one_row, "output", "not written"),
        Wrong(transpose_batch_of_8, "output", "block (32, 4)"),
        Wrong(transpose_batch_no_barrier, "findings", "race"),
        Wrong(transpose_batch_no_pad, "wavefronts", "32-way"),
        Wrong(transpose_batch_columns, "sectors", "per request; budget 4"),
        Wrong(transpose_batch_guard_of_load, "output", "not written"),
    ),
    cases=tuple(_cases()),
    hints=(
        "A block has fewer rows of threads than its tile has rows, so each thread goes through a "
        "loop, before the barrier and after it. How far apart are the rows of one thread?",
        "From ty to 32 in steps of the block's height. In the first loop y is a row of the tile; "
        "in the second, y is a column of it, so a row of out. Each has a guard of its own.",
        "Second loop: the row of out is left + y, below the columns of inp; its column is "
        "top + tx, below the rows of inp; the value is the tile's cell in row tx, column y.",
    ),
    budget=Budget(shared_bytes=4224),
)
