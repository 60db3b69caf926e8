"""Another sum in the tile loop: the largest of all sums, for which 0 is not nothing."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16
NOTHING = np.float32(-np.inf)  # what the largest of no numbers is, and what it stays with any other


@cuda.jit
def longest(out, a, b):
    """out[i, j] = the largest of a[i, k] + b[k, j] over all k.  Blocks of n x n threads."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: TILE, or less
    best = float32(NOTHING)
    for k0 in range(0, a.shape[1], n):
        # FILL (about 6 lines)
        a_tile[ty, tx] = NOTHING
        b_tile[ty, tx] = NOTHING
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if k0 + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        # FILL (about 2 lines)
        for k in range(n):
            best = max(best, a_tile[ty, k] + b_tile[k, tx])
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = best


@cuda.jit
def _longest_direct(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        best = float32(NOTHING)
        for k in range(a.shape[1]):
            best = max(best, a[row, k] + b[k, col])
        out[row, col] = best


def _ways(rows, depth, cols, unit=1, seed=0):
    """Whole numbers below 0, so that a 0 from anywhere shows; `unit` takes them further down."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-99, high=-1)
    b = scattered((depth, cols), seed=cols + seed, low=-99, high=-1)
    return a * np.float32(unit), b * np.float32(unit)


def _cases():
    """Six full tiles with their budget; ragged, flat, deep and low ones; blocks of 8 x 8."""
    staged = Budget(sectors_per_request=4, requests={"a": 144, "b": 144}, shared_bytes=2048)
    yield Case(partial(_ways, 32, 48, 48), grid=(3, 2), block=(16, 16), budget=staged)
    for rows, depth, cols in ((70, 20, 33), (97, 3, 5), (1, 70, 33), (33, 1, 70)):
        yield Case(partial(_ways, rows, depth, cols), cover((cols, rows), (16, 16)), (16, 16))
    yield Case(partial(_ways, 20, 37, 12), grid=(2, 3), block=(8, 8))
    far = 2.0**120  # sums down to -2.6e38, where float32 ends at -3.4e38
    yield Case(partial(_ways, 33, 17, 20, far), grid=(2, 3), block=(16, 16))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; ragged ones of sums far below 0."""
    rows, depth, cols = (16 * draw.size(2, 4) for _ in range(3))
    data = partial(_ways, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 16, rows // 16), (16, 16), like=0)
    rows, depth, cols = (draw.size(1, 60) for _ in range(3))
    n = draw.one_of(8, 16)
    data = partial(_ways, rows, depth, cols, 2.0**120, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n))


EXERCISE = Exercise(
    name="ex05_longest",
    chapter="31_limits",
    title="The largest of all sums",
    specification=lambda a, b: (a[:, :, None] + b).max(axis=1),
    solution=longest,
    wrong=(
        Wrong(
            "Zeros beyond the edge, as for a product: a sum of 0 is larger than any of these.",
            {
                "a_tile[ty, tx] = NOTHING": "a_tile[ty, tx] = 0",
                "b_tile[ty, tx] = NOTHING": "b_tile[ty, tx] = 0",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "A number below all small sums: where sums lie further down, it wins.",
            {
                "best = float32": "best = float32(-1000)",
                "a_tile[ty, tx] = NOTHING": "a_tile[ty, tx] = -1000",
                "b_tile[ty, tx] = NOTHING": "b_tile[ty, tx] = -1000",
            },
            ("output", "is -1000"),
        ),
        Wrong(
            "The largest so far starts as 0, which is larger than all of them.",
            {"best = float32": "best = float32(0)"},
            ("output", "out[0, 0] is 0"),
        ),
        Wrong(
            "Only the first tile of the depth.",
            {"for k0": "for k0 in range(0, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Stages only where the thread has an element of out: the last rows of b's tiles "
            "are missing.",
            {
                "if row < a": (
                    "if row < out.shape[0] and col < out.shape[1] and k0 + tx < a.shape[1]:"
                ),
                "if k0 + ty": (
                    "if row < out.shape[0] and col < out.shape[1] and k0 + ty < b.shape[0]:"
                ),
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but every number comes from global memory.",
            _longest_direct,
            ("requests", "2304 requests touch a; budget 144"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Stage as in the product. NOTHING is needed twice: as the start value of best, before any "
        "sum has been seen, and beyond the edge. Which number is never the largest one?",
        "Every number here is below 0, so a 0 would win: best would keep a start value of 0, and a "
        "0 beyond the edge would be taken. NOTHING is the number that loses against all others, "
        "even far below 0, and stays what it is when something is added.",
        "Six lines stage: NOTHING into both elements, then, each in an if of its own, the element "
        "of a and that of b. Two lines: k goes over the n columns of the tile; best becomes the "
        "larger one of itself and the sum of a row's element k and a column's element k.",
    ),
    budget=Budget(extra=None, shared_bytes=2048),
)
