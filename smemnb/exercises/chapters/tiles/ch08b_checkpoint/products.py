"""A sum of products: one row of tiles through two buffers, also from one pair to the next."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16
THREE = 3


@cuda.jit
def products_stub(out, a, b):
    """out = the sum of a[p] @ b[p] over all p.  Blocks of n x n threads, one per cell of out."""
    # FILL (about 22 lines)


@cuda.jit
def products(out, a, b):
    """out = the sum of a[p] @ b[p] over all p.  Blocks of n x n threads, one per cell of out."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    tiles = (a.shape[2] + n - 1) // n  # of a pair; a ragged one at its end
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):  # loads tile `step`, multiplies the one before
        p, k0 = step // tiles, step % tiles * n
        of_a, of_b = float32(0), float32(0)
        if p < a.shape[0] and row < a.shape[1] and k0 + tx < a.shape[2]:
            of_a = a[p, row, k0 + tx]
        if p < b.shape[0] and k0 + ty < b.shape[1] and col < b.shape[2]:
            of_b = b[p, k0 + ty, col]
        if step > 0:
            for k in range(n):
                acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _fetch(a, b, p, k0):
    """This thread's cells of the tiles at depth k0 of pair p, 0 beyond the edge."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    of_a, of_b = float32(0), float32(0)
    if p < a.shape[0] and row < a.shape[1] and k0 + tx < a.shape[2]:
        of_a = a[p, row, k0 + tx]
    if p < b.shape[0] and k0 + ty < b.shape[1] and col < b.shape[2]:
        of_b = b[p, k0 + ty, col]
    return of_a, of_b


@cuda.jit(device=True)
def _add(acc, a_tile, b_tile, now):
    for k in range(cuda.blockDim.x):
        acc += a_tile[now, cuda.threadIdx.y, k] * b_tile[now, k, cuda.threadIdx.x]
    return acc


@cuda.jit(device=True)
def _store(out, acc):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit(device=True)
def _products(out, a, b, acc, pairs, tiles, swap, wait):
    """`products` of so many pairs and tiles; goes on in buffer `swap - now`."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    now = 0
    for step in range(tiles * pairs + 1):
        of_a, of_b = _fetch(a, b, step // tiles, step % tiles * n)
        if step > 0:
            acc = _add(acc, a_tile, b_tile, now)
        now = swap - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        if wait:
            cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_no_barrier(out, a, b):
    """No barrier at all."""
    n = cuda.blockDim.x
    _products(out, a, b, float32(0), a.shape[0], (a.shape[2] + n - 1) // n, 1, False)


@cuda.jit
def products_one_buffer(out, a, b):
    """One barrier per tile, and one buffer: the next tiles go where others still read."""
    n = cuda.blockDim.x
    _products(out, a, b, float32(0), a.shape[0], (a.shape[2] + n - 1) // n, 0, True)


@cuda.jit
def products_whole_tiles(out, a, b):
    """Tiles of a pair, rounded down: the ragged one at its end is left out."""
    n = cuda.blockDim.x
    _products(out, a, b, float32(0), a.shape[0], max(1, a.shape[2] // n), 1, True)


@cuda.jit
def products_last_missing(out, a, b):
    """Ends one pair early."""
    n = cuda.blockDim.x
    _products(out, a, b, float32(0), a.shape[0] - 1, (a.shape[2] + n - 1) // n, 1, True)


@cuda.jit
def products_first_pair(out, a, b):
    """The first pair only."""
    n = cuda.blockDim.x
    _products(out, a, b, float32(0), 1, (a.shape[2] + n - 1) // n, 1, True)


@cuda.jit
def products_double(out, a, b):
    """The sum starts as 0.0, a float64."""
    n = cuda.blockDim.x
    _products(out, a, b, 0.0, a.shape[0], (a.shape[2] + n - 1) // n, 1, True)


@cuda.jit
def products_two_barriers(out, a, b):
    """Right, but in one buffer, with two barriers per tile: nothing is loaded meanwhile."""
    a_tile = cuda.shared.array((1, TILE, TILE), float32)
    b_tile = cuda.shared.array((1, TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for p in range(a.shape[0]):
        for k0 in range(0, a.shape[2], cuda.blockDim.x):
            a_tile[0, ty, tx], b_tile[0, ty, tx] = _fetch(a, b, p, k0)
            cuda.syncthreads()
            acc = _add(acc, a_tile, b_tile, 0)
            cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_per_pair(out, a, b):
    """Right, but each pair begins anew: at its first tile everyone waits once more."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    acc = float32(0)
    for p in range(a.shape[0]):
        now = 0
        a_tile[now, ty, tx], b_tile[now, ty, tx] = _fetch(a, b, p, 0)
        cuda.syncthreads()
        for k0 in range(0, a.shape[2], n):
            of_a, of_b = _fetch(a, b, p, k0 + n)
            acc = _add(acc, a_tile, b_tile, now)
            now = 1 - now
            a_tile[now, ty, tx] = of_a
            b_tile[now, ty, tx] = of_b
            cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_three(out, a, b):
    """Right, but with a third buffer, which nobody needs."""
    a_tile = cuda.shared.array((THREE, TILE, TILE), float32)
    b_tile = cuda.shared.array((THREE, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    tiles = (a.shape[2] + n - 1) // n
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):
        of_a, of_b = _fetch(a, b, step // tiles, step % tiles * n)
        if step > 0:
            acc = _add(acc, a_tile, b_tile, now)
        now = (now + 1) % THREE
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_barrier_first(out, a, b):
    """The barrier before the stores: nobody waits for what is stored."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    tiles = (a.shape[2] + n - 1) // n
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):
        of_a, of_b = _fetch(a, b, step // tiles, step % tiles * n)
        if step > 0:
            acc = _add(acc, a_tile, b_tile, now)
        now = 1 - now
        cuda.syncthreads()
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
    _store(out, acc)


@cuda.jit
def products_swapped(out, a, b):
    """The indices of b's tile exchanged."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    tiles = (a.shape[2] + n - 1) // n
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):
        of_a, of_b = _fetch(a, b, step // tiles, step % tiles * n)
        if step > 0:
            for k in range(n):
                acc += a_tile[now, ty, k] * b_tile[now, tx, k]
        now = 1 - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_no_guard(out, a, b):
    """Past the last pair nothing is guarded: there is one step more than tiles."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    tiles = (a.shape[2] + n - 1) // n
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):
        p, k0 = step // tiles, step % tiles * n
        of_a, of_b = float32(0), float32(0)
        if row < a.shape[1] and k0 + tx < a.shape[2]:
            of_a = a[p, row, k0 + tx]
        if k0 + ty < b.shape[1] and col < b.shape[2]:
            of_b = b[p, k0 + ty, col]
        if step > 0:
            acc = _add(acc, a_tile, b_tile, now)
        now = 1 - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()
    _store(out, acc)


@cuda.jit
def products_end_to_end(out, a, b):
    """Depths end to end, as one long product, but a tile that lies in two pairs counts as one's."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n, depth = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x, a.shape[2]
    now, acc = 0, float32(0)
    for step in range((depth * a.shape[0] + n - 1) // n + 1):
        of_a, of_b = _fetch(a, b, step * n // depth, step * n % depth)
        if step > 0:
            acc = _add(acc, a_tile, b_tile, now)
        now = 1 - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()
    _store(out, acc)


def _pairs(count, rows, depth, cols, unit=1):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((count, rows, depth), seed=rows + depth, low=-9, high=9)
    b = scattered((count, depth, cols), seed=cols, low=-9, high=9)
    return a * np.float32(unit), b * np.float32(unit)


def _cases():
    """Three pairs of two tiles with their budget; ragged and flat ones; blocks of 8 x 8."""
    once = Budget(
        sectors_per_request=4,
        requests={"a": 192, "b": 192, "out": 32},  # 8 warps in 4 blocks, 6 tiles
        shared_bytes=4096,
        barriers=7,  # one per tile, and one for the first
    )
    yield Case(partial(_pairs, 3, 32, 32, 32), grid=(2, 2), block=(16, 16), budget=once)
    for count, rows, depth, cols in ((2, 35, 20, 18), (4, 1, 3, 33), (1, 33, 17, 1)):
        extent = cover((cols, rows), (16, 16))
        data = partial(_pairs, count, rows, depth, cols, 2.0**40 if count == 4 else 1)
        yield Case(data, extent, (16, 16))
    yield Case(partial(_pairs, 2, 20, 13, 12), grid=(2, 3), block=(8, 8))


EXERCISE = Exercise(
    name="ex08b_products",
    chapter="08b_checkpoint",
    title="A sum of products, without a pause",
    specification=lambda a, b: (a @ b).sum(axis=0),
    stub=products_stub,
    solution=products,
    wrong=(
        Wrong(products_no_barrier, "findings", "race"),
        Wrong(products_one_buffer, "findings", "race"),
        Wrong(products_whole_tiles, "output", "wrong"),
        Wrong(products_last_missing, "output", "wrong"),
        Wrong(products_first_pair, "output", "wrong"),
        Wrong(products_end_to_end, "output", "wrong"),
        Wrong(products_double, "findings", "float64"),
        Wrong(products_two_barriers, "barriers", "passes 12 barriers; budget 7"),
        Wrong(products_per_pair, "barriers", "passes 9 barriers; budget 7"),
        Wrong(products_three, "shared", "6144 bytes of shared memory per block; budget 4096"),
        Wrong(products_barrier_first, "findings", "race"),
        Wrong(products_swapped, "output", "wrong"),
        Wrong(products_no_guard, "findings", "out of range"),
    ),
    cases=tuple(_cases()),
    hints=(
        "Two buffers and one barrier per tile, as in 07_double_buffering. But the tiles of all "
        "pairs are one row: the first tile of the next pair is loaded while the last one of this "
        "pair is multiplied. How do you find pair and depth of tile number `step`?",
        "A pair has as many tiles as its depth takes, the last one ragged: p is step over that "
        "number, the depth begins at the remainder times n. Each cell that is loaded has three "
        "guards, for p, row and column; a 0 where one fails.",
        "One loop, with a step more than there are tiles. In it: p and k0; the two cells, into "
        "variables, 0 or loaded; unless it is the first step, n products from buffer now; now "
        "becomes 1 minus itself; the two cells into that buffer; a barrier. Then a guarded store.",
    ),
    budget=Budget(extra=None, shared_bytes=4096),
)
