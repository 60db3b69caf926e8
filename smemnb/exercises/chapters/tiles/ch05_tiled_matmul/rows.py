"""A product with rows of b in place of columns: here the pitch of a tile decides."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: B007 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

EDGE = 32
PITCH = 33  # cells from row to row of b's tile: odd, so that 32 rows begin in 32 banks
WIDE = 34
CELLS = EDGE * PITCH


@cuda.jit
def by_rows_stub(out, a, b):
    """out = a @ b.T, whatever the shapes.  Blocks of n x n threads, one per cell of out."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array((EDGE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: EDGE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        # FILL (about 3 lines)
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            # FILL (about 1 line)
            pass
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def by_rows(out, a, b):
    """out = a @ b.T, whatever the shapes.  Blocks of n x n threads, one per cell of out."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array((EDGE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: EDGE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        b_row = cuda.blockIdx.x * n + ty  # a row of b, staged by the lanes of a warp
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty, tx] = b[b_row, k0 + tx]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[tx, k]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _by_rows(out, a, b, a_tile, b_tile, wait):
    """`by_rows` with any tiles; for the wrong kernels."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        b_row = cuda.blockIdx.x * n + ty
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty, tx] = b[b_row, k0 + tx]
        cuda.syncthreads()
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[tx, k]
        if wait:
            cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def by_rows_no_pad(out, a, b):
    """No pad: 32 rows of b's tile begin in one bank."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((EDGE, EDGE), float32), True)


@cuda.jit
def by_rows_pad_of_a(out, a, b):
    """The pad in the wrong tile: a's rows are read by all lanes at once."""
    a_tile = cuda.shared.array((EDGE, PITCH), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((EDGE, EDGE), float32), True)


@cuda.jit
def by_rows_pad_below(out, a, b):
    """The pad on the wrong axis: a row more, and rows as long as before."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((PITCH, EDGE), float32), True)


@cuda.jit
def by_rows_even(out, a, b):
    """Two pad cells: the pitch stays even, two lanes meet in each bank."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((EDGE, WIDE), float32), True)


@cuda.jit
def by_rows_both_padded(out, a, b):
    """A pad in both tiles, of which one has nothing to mend."""
    a_tile = cuda.shared.array((EDGE, PITCH), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((EDGE, PITCH), float32), True)


@cuda.jit
def by_rows_no_second(out, a, b):
    """No barrier at the end of the loop."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    _by_rows(out, a, b, a_tile, cuda.shared.array((EDGE, PITCH), float32), False)


@cuda.jit(device=True)
def _by_cells(out, a, b, b_row, b_col, per_row, per_col):
    """As `_by_rows` with a flat tile of b: from which cell b is loaded, and how it is read."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array(CELLS, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty * EDGE + tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if b_row < b.shape[0] and k0 + b_col < b.shape[1]:
            b_tile[ty * EDGE + tx] = b[b_row, k0 + b_col]
        cuda.syncthreads()
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[tx * per_row + k * per_col]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def by_rows_phantom(out, a, b):
    """The pad is declared, but the index leaves it out."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    _by_cells(out, a, b, cuda.blockIdx.x * cuda.blockDim.x + ty, tx, EDGE, 1)


@cuda.jit
def by_rows_scattered(out, a, b):
    """Clean in shared memory, but the lanes of a warp load from 32 rows of b."""
    _by_cells(out, a, b, cuda.grid(2)[0], cuda.threadIdx.y, 1, EDGE)


@cuda.jit
def by_rows_swapped(out, a, b):
    """The tile's indices as for a @ b: equal cells in b would hide it."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    _by_cells(out, a, b, cuda.blockIdx.x * cuda.blockDim.x + ty, tx, 1, EDGE)


def _factors(rows, depth, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth, low=-9, high=9) * np.float32(unit)
    return a, scattered((cols, depth), seed=cols, low=-9, high=9) * np.float32(unit)


def _cases():
    """Four full tiles with their budget; ragged, flat and deep ones; blocks of 16 x 16."""
    clean = Budget(sectors_per_request=4, requests={"a": 384, "b": 384}, shared_bytes=8320)
    yield Case(partial(_factors, 64, 96, 64), grid=(2, 2), block=(32, 32), budget=clean)
    for rows, depth, cols in ((70, 40, 35), (97, 3, 33), (1, 70, 33), (33, 1, 70)):
        yield Case(partial(_factors, rows, depth, cols), cover((cols, rows), (32, 32)), (32, 32))
    yield Case(partial(_factors, 20, 37, 12, 2.0**40), (1, 2), (16, 16), Budget(extra=None))


ROWS = Exercise(
    name="ex05_rows",
    chapter="05_tiled_matmul",
    title="Rows times rows",
    specification=lambda a, b: a @ b.T,
    stub=by_rows_stub,
    solution=by_rows,
    wrong=(
        Wrong(by_rows_no_pad, "wavefronts", "32-way"),
        Wrong(by_rows_pad_of_a, "wavefronts", "32-way"),
        Wrong(by_rows_pad_below, "wavefronts", "32-way"),
        Wrong(by_rows_even, "wavefronts", "2-way"),
        Wrong(by_rows_both_padded, "shared", "8448 bytes of shared memory per block; budget 8320"),
        Wrong(by_rows_no_second, "findings", "race"),
        Wrong(by_rows_phantom, "wavefronts", "32-way"),
        Wrong(by_rows_scattered, "sectors", "32 per request; budget 4"),
        Wrong(by_rows_swapped, "output", "wrong"),
    ),
    cases=tuple(_cases()),
    hints=(
        "Column col of out belongs to row col of b. The lanes of a warp should load neighbours, "
        "and neighbours lie in one row of b: which row does a warp stage?",
        "Warp ty stages the ty-th of the block's rows of b; the block's first one is "
        "`cuda.blockIdx.x * n`. In the product, lane tx then needs row tx of the tile: a column "
        "for the warp. Which pitch makes that clean?",
        "The row of b is `cuda.blockIdx.x * n + ty`; guard it, and the column k0 + tx, and store "
        "the cell at [ty, tx]. The product reads a's tile at [ty, k] as ever, and b's at [tx, k]. "
        "PITCH is the smallest odd number from 32 up.",
    ),
    budget=Budget(shared_bytes=8320),
)
