"""The tile loop of a product for any shapes: guards, zero fill, both barriers."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16


@cuda.jit
def product(out, a, b):
    """out = a @ b, whatever the shapes.  Blocks of n x n threads, one per element of out."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: TILE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        # FILL (about 10 lines)
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
    # FILL (about 2 lines)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def _product_direct(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * b[k, col]
        out[row, col] = acc


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


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


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    rows, depth, cols = (16 * draw.size(2, 4) for _ in range(3))
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 16, rows // 16), (16, 16), like=0)
    rows, depth, cols = (draw.size(1, 60) for _ in range(3))
    n = draw.one_of(8, 16)
    data = partial(_factors, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n))


EXERCISE = Exercise(
    name="ex05_product",
    chapter="30_tiles",
    title="A product of any shapes",
    specification=lambda a, b: a @ b,
    solution=product,
    wrong=(
        Wrong(
            "No barrier after staging: a fast warp reads elements that nobody has stored yet.",
            {"cuda.syncthreads()  # both": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier at the end of the loop: a fast warp overwrites what others still read.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Only the first tile of the depth is added.",
            {"for k0": "for k0 in range(0, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "As many tiles as the grid is wide: the depth may have more.",
            {"for k0": "for k0 in range(0, cuda.gridDim.x * n, n):"},
            ("output", "grid (3, 5)"),
        ),
        Wrong(
            "Guards without zeros: beyond the edge the tiles keep what was there.",
            {"a_tile[ty, tx] = 0": "", "b_tile[ty, tx] = 0": ""},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "No guard on the loads: threads past the edge load elements that are not there.",
            {"if row < a": "if True:", "if k0 + ty": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The indices of b's tile exchanged where it is read: equal elements in b would hide "
            "it.",
            {"acc +=": "acc += a_tile[ty, k] * b_tile[tx, k]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Threads without an element leave before the barriers, and stage nothing for the "
            "others.",
            {
                "acc =": "acc = float32(0)\n"
                "if row >= out.shape[0] or col >= out.shape[1]:\n"
                "    return"
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The sum starts as 0.0, which is a float64, and so is every sum after it.",
            {"acc =": "acc = 0.0"},
            ("findings", "float64"),
        ),
        Wrong(
            "Right, but every factor comes from global memory.",
            _product_direct,
            ("requests", "7680 requests touch a; budget 480"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "One pass of the loop: stage a tile of a and one of b, an element of each per thread; "
        "wait; add n products; wait. Thread (tx, ty) stages the elements of its own place in both "
        "tiles.",
        "A thread may have an element of a and none of b, or none at all: two ifs for the two "
        "loads, and a 0 in every element that gets none. All threads stage for others, so no "
        "return.",
        "In a, the row is the thread's own and the column k0 + tx; in b, the row is k0 + ty and "
        "the column its own. Set both elements to 0, then overwrite them where row and column "
        "exist. At the end, store acc where out has that element.",
    ),
    budget=Budget(extra=None, shared_bytes=2048),
)
