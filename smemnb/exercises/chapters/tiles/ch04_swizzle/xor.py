"""A transpose through tiles of 32 x 64 cells, no byte to spare."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: F841 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

HIGH, WIDE = 32, 64


@cuda.jit
def transpose_long_stub(out, inp):
    """out = inp.T, through tiles of 32 rows and 64 columns.  Blocks of 32 x 8 or others."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE  # the tile's corner in inp
    for y in range(ty, HIGH, cuda.blockDim.y):
        for x in range(tx, WIDE, 32):
            if top + y < rows and left + x < cols:
                # FILL (about 1 line)
                pass
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, WIDE, cuda.blockDim.y):  # column x of the tile, from top to bottom
        if left + x < cols and top + tx < rows:
            # FILL (about 1 line)
            pass


@cuda.jit
def transpose_long(out, inp):
    """out = inp.T, through tiles of 32 rows and 64 columns.  Blocks of 32 x 8 or others."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE  # the tile's corner in inp
    for y in range(ty, HIGH, cuda.blockDim.y):
        for x in range(tx, WIDE, 32):
            if top + y < rows and left + x < cols:
                tile[y, x ^ y] = inp[top + y, left + x]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, WIDE, cuda.blockDim.y):  # column x of the tile, from top to bottom
        if left + x < cols and top + tx < rows:
            out[left + x, top + tx] = tile[tx, x ^ tx]


def _with(put, get, pitch=WIDE):
    """`transpose_long` with other places: cell (y, x) goes to column put(y, x), is read at get."""
    put, get = cuda.jit(device=True)(put), cuda.jit(device=True)(get)

    @cuda.jit(device=True)
    def moved(out, inp):
        tile = cuda.shared.array((HIGH, pitch), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE
        for y in range(ty, HIGH, cuda.blockDim.y):
            for x in range(tx, WIDE, 32):
                if top + y < inp.shape[0] and left + x < inp.shape[1]:
                    tile[y, put(y, x)] = inp[top + y, left + x]
        cuda.syncthreads()
        for x in range(ty, WIDE, cuda.blockDim.y):
            if left + x < inp.shape[1] and top + tx < inp.shape[0]:
                out[left + x, top + tx] = tile[tx, get(tx, x)]

    return moved


def _plain(y, x):
    return x


def _xored(y, x):
    return x ^ y


def _by_width(y, x):
    return x ^ (y // WIDE)


def _by_pairs(y, x):
    return x ^ (y // 2)


def _within_32(y, x):
    return (x + y) % 32


_move_plain = _with(_plain, _plain)
_move_by_width = _with(_by_width, _by_width)
_move_by_pairs = _with(_by_pairs, _by_pairs)
_move_one_side = _with(_xored, _plain)
_move_within_32 = _with(_within_32, _within_32)
_move_padded = _with(_plain, _plain, WIDE + 1)


@cuda.jit
def transpose_long_plain(out, inp):
    """Cells where they would be anyway: 64 words from row to row, a column is one bank."""
    _move_plain(out, inp)


@cuda.jit
def transpose_long_by_width(out, inp):
    """The published x ^ (y // width): y is below the width, so nothing moves."""
    _move_by_width(out, inp)


@cuda.jit
def transpose_long_by_pairs(out, inp):
    """x ^ (y // 2): two rows share a shift, their cells share a bank."""
    _move_by_pairs(out, inp)


@cuda.jit
def transpose_long_one_side(out, inp):
    """Stored at x ^ y, but read at x."""
    _move_one_side(out, inp)


@cuda.jit
def transpose_long_within_32(out, inp):
    """(x + y) % 32: both halves of a row land on the same 32 cells."""
    _move_within_32(out, inp)


@cuda.jit
def transpose_long_padded(out, inp):
    """No conflict, but a pad word per row takes 128 bytes more."""
    _move_padded(out, inp)


def _matrix(rows, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols) * np.float32(unit),)


def _cases():
    """Four full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 256, "out": 256}, shared_bytes=8192)
    yield Case(partial(_matrix, 64, 128), (2, 2), (32, 8), budget=clean)
    for rows, cols, high in [(40, 70, 8), (1, 130, 8), (70, 1, 8), (33, 97, 4), (33, 97, 32)]:
        data = partial(_matrix, rows, cols, 2.0**64 if high == 32 else 1)
        yield Case(data, cover((cols, rows), (WIDE, HIGH)), (32, high))


EXERCISE = Exercise(
    name="ex04_xor",
    chapter="04_swizzle",
    title="A transpose through a wide tile, without a pad",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    stub=transpose_long_stub,
    solution=transpose_long,
    wrong=(
        Wrong(transpose_long_plain, "wavefronts", "32-way"),
        Wrong(transpose_long_by_width, "wavefronts", "32-way"),
        Wrong(transpose_long_by_pairs, "wavefronts", "2-way"),
        Wrong(transpose_long_one_side, "output", "wrong"),
        Wrong(transpose_long_within_32, "output", "wrong"),
        Wrong(
            transpose_long_padded, "shared", "8320 bytes of shared memory per block; budget 8192"
        ),
    ),
    cases=tuple(_cases()),
    hints=(
        "Both lines name the cell in row y and column x of the tile. Where is it kept? Decide "
        "once, as a formula of row and column, then use it in both lines.",
        "The column becomes column xor row. Does that leave the row of 64? A row's number is below "
        "32, so the xor exchanges columns within each half.",
        "The first line stores to row y at x ^ y. In the second the row is tx and the column is "
        "still x: xor these two. The row of out is left + x, its column top + tx.",
    ),
    budget=Budget(shared_bytes=8192),
)
