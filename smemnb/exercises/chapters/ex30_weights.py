"""A product in which every step of the depth has a weight: what to do while staging."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16


@cuda.jit
def weighted(out, a, weights, b):
    """out = (a * weights) @ b, whatever the shapes.  Blocks of n x n threads, n at most TILE."""
    # FILL (about 19 lines)
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx] * weights[k0 + tx]
        if k0 + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def _weighted_direct(out, a, weights, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * weights[k] * b[k, col]
        out[row, col] = acc


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit` in each array, beyond what narrower ones hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9)
    weights = scattered(depth, seed=depth + seed + 1, low=-3, high=3)
    b = scattered((depth, cols), seed=cols + seed, low=-9, high=9)
    return tuple(array * np.float32(unit) for array in (a, weights, b))


def _cases():
    """Eight full tiles with their budget; ragged, flat and deep ones; blocks of 8 x 8."""
    staged = Budget(sectors_per_request=4, requests={"a": 192, "weights": 192, "b": 192, "out": 64})
    yield Case(partial(_factors, 32, 48, 64), grid=(4, 2), block=(16, 16), budget=staged)
    for rows, depth, cols in ((50, 70, 35), (97, 3, 20), (1, 70, 33), (33, 40, 1), (40, 1, 35)):
        yield Case(partial(_factors, rows, depth, cols), cover((cols, rows), (16, 16)), (16, 16))
    yield Case(partial(_factors, 20, 37, 12, 2.0**34), grid=(2, 3), block=(8, 8))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    rows, depth, cols = (16 * draw.size(2, 4) for _ in range(3))
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 16, rows // 16), (16, 16), like=0)
    rows, depth, cols = (draw.size(2, 60) for _ in range(3))
    n = draw.one_of(8, 16)
    data = partial(_factors, rows, depth, cols, 2.0**34, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n))


EXERCISE = Exercise(
    name="ex30_weights",
    chapter="30_tiles",
    title="A product with weights",
    specification=lambda a, weights, b: (a * weights) @ b,
    solution=weighted,
    wrong=(
        Wrong(
            "No barrier after staging.",
            {"cuda.syncthreads()  # both": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The weights are left out: a plain product.",
            {"a_tile[ty, tx] = a[": "a_tile[ty, tx] = a[row, k0 + tx]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Every tile takes the weights of the first one.",
            {"a_tile[ty, tx] = a[": "a_tile[ty, tx] = a[row, k0 + tx] * weights[tx]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Each row of a's tile has one weight: that of its number, not of its columns.",
            {"a_tile[ty, tx] = a[": "a_tile[ty, tx] = a[row, k0 + tx] * weights[k0 + ty]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The weight comes twice: with a and with b.",
            {"b_tile[ty, tx] = b[": "b_tile[ty, tx] = b[k0 + ty, col] * weights[k0 + ty]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Only the first tile of the depth is added.",
            {"for k0": "for k0 in range(0, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Guards without zeros.",
            {"a_tile[ty, tx] = 0": "", "b_tile[ty, tx] = 0": ""},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "No guard on the loads.",
            {"if row < a": "if True:", "if k0 + ty": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Threads without an element leave before the barriers, and stage nothing for others.",
            {
                "acc =": "acc = float32(0)\n"
                "if row >= out.shape[0] or col >= out.shape[1]:\n"
                "    return"
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Tiles for a and b, but the weight is loaded anew in each step.",
            {
                "a_tile[ty, tx] = a[": "a_tile[ty, tx] = a[row, k0 + tx]",
                "for k in": "for k in range(min(n, a.shape[1] - k0)):",
                "acc +=": "acc += a_tile[ty, k] * weights[k0 + k] * b_tile[k, tx]",
            },
            ("requests", "3072 requests touch weights; budget 192"),
        ),
        Wrong(
            "Right, but every factor comes from global memory.",
            _weighted_direct,
            ("requests", "3072 requests touch a; budget 192"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is the tile loop of the product, with one more factor. The weight belongs to a column "
        "of a: whoever stages an element of a knows its column.",
        "Multiply while staging: an element of a goes into the tile with its weight already on "
        "it, and the loop over the tile stays as it was. The weights need no tile of their own.",
        "The weight has the column of a for its index, k0 and the thread's x together, so the "
        "guard of a's load covers it. Set both tiles to 0 first, guard each load, wait, add n "
        "products, wait; behind the loop store the sum where out has that element.",
    ),
    budget=Budget(extra=None),
)
