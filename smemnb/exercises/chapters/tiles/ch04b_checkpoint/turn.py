"""A quarter turn to the right, of doubles, without a pad."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, float64

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def turn_right_stub(out, inp):
    """A quarter turn to the right: out = np.rot90(inp, -1).  32 x 32 doubles per block."""
    # FILL (about 11 lines)


@cuda.jit
def turn_right(out, inp):
    """A quarter turn to the right: out = np.rot90(inp, -1).  32 x 32 doubles per block."""
    tile = cuda.shared.array((32, 32), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            tile[y, tx ^ y] = inp[top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, 32, cuda.blockDim.y):  # column x of the tile becomes a row, backwards
        if left + x < cols and top + tx < rows:
            out[left + x, rows - 1 - top - tx] = tile[tx, x ^ tx]


@cuda.jit(device=True)
def _turn(out, inp, tile, mask, height):
    """`turn_right` with any tile; `mask` is what the xor sees of a row; for the wrong kernels."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, height):
        if top + y < inp.shape[0] and left + tx < inp.shape[1]:
            tile[y, tx ^ (y & mask)] = inp[top + y, left + tx]
    cuda.syncthreads()
    for x in range(ty, 32, height):
        if left + x < inp.shape[1] and top + tx < inp.shape[0]:
            out[left + x, inp.shape[0] - 1 - top - tx] = tile[tx, x ^ (tx & mask)]


@cuda.jit
def turn_right_plain(out, inp):
    """Neither pad nor swizzle: half a warp at a time meets in one pair of banks."""
    _turn(out, inp, cuda.shared.array((32, 32), float64), 0, cuda.blockDim.y)


@cuda.jit
def turn_right_padded(out, inp):
    """No conflict, but a pad of a double per row takes 256 bytes more."""
    _turn(out, inp, cuda.shared.array((32, 33), float64), 0, cuda.blockDim.y)


@cuda.jit
def turn_right_of_8(out, inp):
    """The shift goes round after 8 rows: of 16 lanes of a phase, two meet."""
    _turn(out, inp, cuda.shared.array((32, 32), float64), 7, cuda.blockDim.y)


@cuda.jit
def turn_right_height_8(out, inp):
    """Blocks of 8 rows are taken for granted: a block of 4 leaves rows out."""
    _turn(out, inp, cuda.shared.array((32, 32), float64), 31, 8)


@cuda.jit
def turn_right_single(out, inp):
    """A tile of float32: a double leaves the lower half of its digits there."""
    _turn(out, inp, cuda.shared.array((32, 32), float32), 31, cuda.blockDim.y)


@cuda.jit
def turn_right_left(out, inp):
    """The other way round: a quarter turn to the left."""
    tile = cuda.shared.array((32, 32), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[0] and left + tx < inp.shape[1]:
            tile[y, tx ^ y] = inp[top + y, left + tx]
    cuda.syncthreads()
    for x in range(ty, 32, cuda.blockDim.y):
        if left + x < inp.shape[1] and top + tx < inp.shape[0]:
            out[inp.shape[1] - 1 - left - x, top + tx] = tile[tx, x ^ tx]


@cuda.jit
def turn_right_no_barrier(out, inp):
    """Nobody waits until the tile is full."""
    tile = cuda.shared.array((32, 32), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[0] and left + tx < inp.shape[1]:
            tile[y, tx ^ y] = inp[top + y, left + tx]
    for x in range(ty, 32, cuda.blockDim.y):
        if left + x < inp.shape[1] and top + tx < inp.shape[0]:
            out[left + x, inp.shape[0] - 1 - top - tx] = tile[tx, x ^ tx]


@cuda.jit
def turn_right_direct(out, inp):
    """Right, but without a tile: the stores go down the columns of out."""
    col, top = cuda.blockIdx.x * 32 + cuda.threadIdx.x, cuda.blockIdx.y * 32
    for y in range(cuda.threadIdx.y, 32, cuda.blockDim.y):
        if top + y < inp.shape[0] and col < inp.shape[1]:
            out[col, inp.shape[0] - 1 - top - y] = inp[top + y, col]


def _matrix(rows, cols, unit=1):
    """Whole numbers of up to 13 digits, which neither float32 nor int32 holds; larger by `unit`."""
    seed = rows + 3 * cols
    return (unit * scattered((rows, cols), seed, low=-(10**13), high=10**13, dtype=np.float64),)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=8, requests={"inp": 192, "out": 192}, shared_bytes=8192)
    yield Case(partial(_matrix, 64, 96), (3, 2), (32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 8), (33, 65, 4), (33, 65, 16)]:
        data = partial(_matrix, rows, cols, 2.0**60 if high == 16 else 1)  # above any int64
        yield Case(data, cover((cols, rows), (32, 32)), (32, high))


EXERCISE = Exercise(
    name="ex04b_turn",
    chapter="04b_checkpoint",
    title="A quarter turn of doubles",
    specification=lambda inp: np.rot90(inp, -1).copy(),
    stub=turn_right_stub,
    solution=turn_right,
    wrong=(
        Wrong(turn_right_plain, "wavefronts", "16-way"),
        Wrong(turn_right_padded, "shared", "8448 bytes of shared memory per block; budget 8192"),
        Wrong(turn_right_of_8, "wavefronts", "2-way"),
        Wrong(turn_right_height_8, "output", "block (32, 4)"),
        Wrong(turn_right_single, "output", "wrong"),
        Wrong(turn_right_left, "output", "wrong"),
        Wrong(turn_right_no_barrier, "findings", "race"),
        Wrong(turn_right_direct, "sectors", "per request; budget 8"),
    ),
    cases=tuple(_cases()),
    hints=(
        "It is the transpose of several rows per thread, with one index of out counted backwards. "
        "Which one: where does the first row of inp go?",
        "The first row of inp becomes the last column of out, rows - 1. The tile may have no pad: "
        "exchange the columns of each row, as in the chapter before.",
        "Loop over rows y from ty, guarded: tile row y, column tx xor y. Barrier. Loop over "
        "columns x from ty, guarded: out's row is left + x, its column counts back from rows - 1 "
        "by top and tx; the tile's row is tx, its column x xor tx.",
    ),
    budget=Budget(shared_bytes=8192),
)
