"""A transpose over the other diagonal, in square blocks."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

PITCH = 33  # cells from row to row: an odd number, so that a column visits 32 banks


@cuda.jit
def flip_over_stub(out, inp):
    """Over the other diagonal: out = inp[::-1, ::-1].T.  Square blocks, up to 32 x 32."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    # 1. a warp loads along a row of inp
    col, row = cuda.grid(2)
    if row < rows and col < cols:
        tile[ty, tx] = inp[row, col]
    # 2. a warp stores along a row of out
    # FILL (about 5 lines)


@cuda.jit
def flip_over(out, inp):
    """Over the other diagonal: out = inp[::-1, ::-1].T.  Square blocks, up to 32 x 32."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    # 1. a warp loads along a row of inp
    col, row = cuda.grid(2)
    if row < rows and col < cols:
        tile[ty, tx] = inp[row, col]
    # 2. a warp stores along a row of out
    cuda.syncthreads()  # the tile is full before anyone reads it
    below = cuda.blockIdx.y * cuda.blockDim.y + tx  # row of inp: now it goes with the lane
    right = cuda.blockIdx.x * cuda.blockDim.x + ty  # column of inp: the same for a warp
    if below < rows and right < cols:
        out[cols - 1 - right, rows - 1 - below] = tile[tx, ty]


@cuda.jit(device=True)
def _store_flipped(out, tile, tx, ty):
    """The store of `flip_over`, for the wrong kernels."""
    below, right = cuda.blockIdx.y * cuda.blockDim.y + tx, cuda.blockIdx.x * cuda.blockDim.x + ty
    if below < out.shape[1] and right < out.shape[0]:
        out[out.shape[0] - 1 - right, out.shape[1] - 1 - below] = tile[tx, ty]


@cuda.jit
def flip_over_no_barrier(out, inp):
    """Nobody waits until the tile is full."""
    tile = cuda.shared.array((32, PITCH), float32)
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = inp[row, col]
    _store_flipped(out, tile, cuda.threadIdx.x, cuda.threadIdx.y)


@cuda.jit
def flip_over_no_pad(out, inp):
    """Rows of 32 cells: the lanes that read a column queue for one bank."""
    tile = cuda.shared.array((32, 32), float32)
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = inp[row, col]
    cuda.syncthreads()
    _store_flipped(out, tile, cuda.threadIdx.x, cuda.threadIdx.y)


@cuda.jit
def flip_over_same_blocks(out, inp):
    """Row and column of the load are kept for the store: the published slip, blocks stay put."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    if col < inp.shape[1] and row < inp.shape[0]:
        out[inp.shape[1] - 1 - col, inp.shape[0] - 1 - row] = tile[tx, ty]


@cuda.jit
def flip_over_direct(out, inp):
    """Right, but each thread stores the cell that it loaded: lanes store down a column."""
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[inp.shape[1] - 1 - col, inp.shape[0] - 1 - row] = inp[row, col]


@cuda.jit
def flip_over_unguarded(out, inp):
    """The store has no guard: below 0, an index counts from the end, onto cells of others."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    below, right = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    out[inp.shape[1] - 1 - right, inp.shape[0] - 1 - below] = tile[tx, ty]


@cuda.jit
def flip_over_of_32(out, inp):
    """32 is taken for granted: of blocks of 16 x 16, each would store beside its place."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    below, right = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    if below < inp.shape[0] and right < inp.shape[1]:
        out[inp.shape[1] - 1 - right, inp.shape[0] - 1 - below] = tile[tx, ty]


@cuda.jit
def flip_over_plain(out, inp):
    """The plain transpose: a square of one value on either diagonal would not show it."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    below, right = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    if below < inp.shape[0] and right < inp.shape[1]:
        out[right, below] = tile[tx, ty]


def _matrix(rows, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols) * np.float32(unit),)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, more blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 192, "out": 192}, shared_bytes=4224)
    yield Case(partial(_matrix, 64, 96), (3, 2), (32, 32), budget=clean)
    for rows, cols in [(40, 35), (1, 70), (70, 1), (33, 97)]:
        data = partial(_matrix, rows, cols, 2.0**64 if cols == 97 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, 32))
    yield Case(partial(_matrix, 20, 32), (1, 2), (32, 32))
    half_warps = Budget(extra=None, shared_bytes=4224)  # of 16 lanes, two rows: no pad is clean
    yield Case(partial(_matrix, 45, 37), (3, 3), (16, 16), budget=half_warps)


EXERCISE = Exercise(
    name="ex03_flip",
    chapter="03_transpose",
    title="A transpose over the other diagonal",
    specification=lambda inp: np.ascontiguousarray(inp[::-1, ::-1].T),
    stub=flip_over_stub,
    solution=flip_over,
    wrong=(
        Wrong(flip_over_no_barrier, "findings", "race"),
        Wrong(flip_over_no_pad, "wavefronts", "32-way"),
        Wrong(flip_over_same_blocks, "output", "wrong"),
        Wrong(flip_over_direct, "sectors", "18 per request; budget 4"),
        Wrong(flip_over_unguarded, "output", "is nan"),
        Wrong(flip_over_of_32, "output", "block (16, 16)"),
        Wrong(flip_over_plain, "output", "wrong"),
    ),
    cases=tuple(_cases()),
    hints=(
        "The lanes of a warp are to stand side by side in out. A row of out comes from a column of "
        "inp: so the lane now counts rows of inp, and the warp has one column.",
        "Row of inp: the block's first row plus tx. Column: the block's first column plus ty. In "
        "the tile that is the cell [tx, ty]; before it is read, all threads must have stored. On "
        "which side can an index leave the array once cols - 1 - x is formed?",
        "Barrier; below = first row of the block + tx; right = first column + ty; a guard with "
        "both; the store goes to row cols - 1 - right and column rows - 1 - below.",
    ),
    budget=Budget(shared_bytes=4224),
)
