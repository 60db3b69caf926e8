"""The tile loop of a product for any shapes: guards, zero fill, both barriers."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: B007, F841, RUF059 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16


@cuda.jit
def product_stub(out, a, b):
    """out = a @ b, whatever the shapes.  Blocks of n x n threads, one per cell of out."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: TILE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        # FILL (about 10 lines)
        pass
    # FILL (about 2 lines)


@cuda.jit
def product(out, a, b):
    """out = a @ b, whatever the shapes.  Blocks of n x n threads, one per cell of out."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: TILE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if k0 + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _staged(a, b, k0, a_tile, b_tile):
    """Stage a tile of each with zeros beyond the edge; for the wrong kernels."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    a_tile[ty, tx] = 0
    b_tile[ty, tx] = 0
    if row < a.shape[0] and k0 + tx < a.shape[1]:
        a_tile[ty, tx] = a[row, k0 + tx]
    if k0 + ty < b.shape[0] and col < b.shape[1]:
        b_tile[ty, tx] = b[k0 + ty, col]


@cuda.jit(device=True)
def _dot(a_tile, b_tile, acc):
    """Add a row of one tile times a column of the other; for the wrong kernels."""
    for k in range(cuda.blockDim.x):
        acc += a_tile[cuda.threadIdx.y, k] * b_tile[k, cuda.threadIdx.x]
    return acc


@cuda.jit(device=True)
def _stored(out, acc):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _product(out, a, b, depth, first, second):
    """`product` over the first `depth` of k, with its barriers or without."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    acc = float32(0)
    for k0 in range(0, depth, cuda.blockDim.x):
        _staged(a, b, k0, a_tile, b_tile)
        if first:
            cuda.syncthreads()
        acc = _dot(a_tile, b_tile, acc)
        if second:
            cuda.syncthreads()
    _stored(out, acc)


@cuda.jit
def product_no_first(out, a, b):
    """No barrier after staging: a fast warp reads cells that nobody has stored yet."""
    _product(out, a, b, a.shape[1], False, True)


@cuda.jit
def product_no_second(out, a, b):
    """No barrier at the end of the loop: a fast warp overwrites what others still read."""
    _product(out, a, b, a.shape[1], True, False)


@cuda.jit
def product_first_tile(out, a, b):
    """Only the first tile of the depth is added."""
    _product(out, a, b, cuda.blockDim.x, True, True)


@cuda.jit
def product_by_grid(out, a, b):
    """As many tiles as the grid is wide: the depth may have more."""
    _product(out, a, b, cuda.gridDim.x * cuda.blockDim.x, True, True)


@cuda.jit
def product_no_zeros(out, a, b):
    """Guards without zeros: beyond the edge the tiles keep what was there."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)
    for k0 in range(0, a.shape[1], cuda.blockDim.x):
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if k0 + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()
        acc = _dot(a_tile, b_tile, acc)
        cuda.syncthreads()
    _stored(out, acc)


@cuda.jit
def product_no_guard(out, a, b):
    """No guard on the loads: threads past the edge load cells that are not there."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)
    for k0 in range(0, a.shape[1], cuda.blockDim.x):
        a_tile[ty, tx] = a[row, k0 + tx]
        b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()
        acc = _dot(a_tile, b_tile, acc)
        cuda.syncthreads()
    _stored(out, acc)


@cuda.jit
def product_swapped(out, a, b):
    """The indices of b's tile exchanged where it is read: equal cells in b would hide it."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    acc = float32(0)
    for k0 in range(0, a.shape[1], cuda.blockDim.x):
        _staged(a, b, k0, a_tile, b_tile)
        cuda.syncthreads()
        for k in range(cuda.blockDim.x):
            acc += a_tile[cuda.threadIdx.y, k] * b_tile[cuda.threadIdx.x, k]
        cuda.syncthreads()
    _stored(out, acc)


@cuda.jit
def product_early_return(out, a, b):
    """Threads without a cell leave before the barriers, and stage nothing for the others."""
    col, row = cuda.grid(2)
    if row >= out.shape[0] or col >= out.shape[1]:
        return
    _product(out, a, b, a.shape[1], True, True)


@cuda.jit
def product_double(out, a, b):
    """The sum starts as 0.0, which is a float64, and so is every sum after it."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    acc = 0.0
    for k0 in range(0, a.shape[1], cuda.blockDim.x):
        _staged(a, b, k0, a_tile, b_tile)
        cuda.syncthreads()
        for k in range(cuda.blockDim.x):
            acc += a_tile[cuda.threadIdx.y, k] * b_tile[k, cuda.threadIdx.x]
        cuda.syncthreads()
    _stored(out, acc)


@cuda.jit
def product_direct(out, a, b):
    """Right, but every factor comes from global memory."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * b[k, col]
        out[row, col] = acc


def _factors(rows, depth, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols, low=-9, high=9) * np.float32(unit)


def _cases():
    """Twenty full tiles with their budget; ragged, flat and deep ones; blocks of 8 x 8."""
    staged = Budget(
        sectors_per_request=4, requests={"a": 480, "b": 480, "out": 160}, shared_bytes=2048
    )
    yield Case(partial(_factors, 64, 48, 80), grid=(5, 4), block=(16, 16), budget=staged)
    shapes = ((70, 70, 35), (97, 3, 50), (1, 70, 33), (33, 40, 1), (40, 1, 35))
    for rows, depth, cols in shapes:
        yield Case(partial(_factors, rows, depth, cols), cover((cols, rows), (16, 16)), (16, 16))
    yield Case(partial(_factors, 20, 37, 12, 2.0**40), grid=(2, 3), block=(8, 8))


PRODUCT = Exercise(
    name="ex05_product",
    chapter="05_tiled_matmul",
    title="A product of any shapes",
    specification=lambda a, b: a @ b,
    stub=product_stub,
    solution=product,
    wrong=(
        Wrong(product_no_first, "findings", "race"),
        Wrong(product_no_second, "findings", "race"),
        Wrong(product_first_tile, "output", "wrong"),
        Wrong(product_by_grid, "output", "grid (3, 5)"),
        Wrong(product_no_zeros, "output", "no thread has stored"),
        Wrong(product_no_guard, "findings", "out of range"),
        Wrong(product_swapped, "output", "wrong"),
        Wrong(product_early_return, "output", "wrong"),
        Wrong(product_double, "findings", "float64"),
        Wrong(product_direct, "requests", "budget 480"),
    ),
    cases=tuple(_cases()),
    hints=(
        "One pass of the loop: stage a tile of a and one of b, a cell of each per thread; wait; "
        "add n products; wait. Thread (tx, ty) stages the cells of its own place in both tiles.",
        "A thread may have a cell of a and none of b, or none at all: two ifs for the two loads, "
        "and a 0 in every cell that gets none. Nobody may skip a barrier, so no return.",
        "In a, the row is the thread's own and the column k0 + tx; in b, the row is k0 + ty and "
        "the column its own. Set both cells to 0, then overwrite them where row and column exist. "
        "At the end, store acc where out has that cell.",
    ),
    budget=Budget(extra=None, shared_bytes=2048),
)
