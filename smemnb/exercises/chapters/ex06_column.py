"""Eight results of a column per thread: an element of b read once for all of them."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

RESULTS = 8  # of a thread, one below the other
DEPTH = 16  # columns of a, and rows of b, that are staged at a time
HIGHEST = 64  # rows of a block of 32 x 8 threads


@cuda.jit
def column(out, a, b):
    """out = a @ b.  Blocks of 32 x h threads make 8 h rows and 32 columns."""
    a_tile = cuda.shared.array((HIGHEST, DEPTH), float32)
    b_tile = cuda.shared.array((DEPTH, 32), float32)
    acc = cuda.local.array(RESULTS, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    top, col = cuda.blockIdx.y * RESULTS * high, cuda.blockIdx.x * 32 + tx
    for i in range(RESULTS):
        acc[i] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        for element in range(ty * 32 + tx, RESULTS * high * DEPTH, 32 * high):
            m, k = element // DEPTH, element % DEPTH
            a_tile[m, k] = 0
            if top + m < a.shape[0] and k0 + k < a.shape[1]:
                a_tile[m, k] = a[top + m, k0 + k]
        for k in range(ty, DEPTH, high):
            b_tile[k, tx] = 0
            if k0 + k < b.shape[0] and col < b.shape[1]:
                b_tile[k, tx] = b[k0 + k, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        # FILL (about 4 lines)
        for k in range(DEPTH):
            once = b_tile[k, tx]
            for i in range(RESULTS):
                acc[i] += a_tile[ty * RESULTS + i, k] * once
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    # FILL (about 3 lines)
    for i in range(RESULTS):
        if top + ty * RESULTS + i < out.shape[0] and col < out.shape[1]:
            out[top + ty * RESULTS + i, col] = acc[i]


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """Two full tiles with their budget; ragged, flat and deep ones; blocks of 32 x 4."""
    once = Budget(
        sectors_per_request=4,
        requests={"a": 128, "b": 64, "out": 128},
        shared_bytes=6144,
        # 8 warps, 16 steps, 9 reads; 96 to stage the tiles
        shared_requests=4992,
    )
    yield Case(partial(_factors, 64, 32, 64), grid=(2, 1), block=(32, 8), budget=once)
    for rows, depth, cols in ((70, 20, 35), (97, 3, 33), (1, 40, 33), (65, 17, 1)):
        data = partial(_factors, rows, depth, cols, 2.0**40 if depth == 40 else 1)
        yield Case(data, cover((cols, rows), (32, 64)), (32, 8))
    yield Case(partial(_factors, 45, 20, 40), grid=(2, 2), block=(32, 4))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    high = draw.one_of(4, 8)
    rows, depth, cols = 8 * high * draw.size(1, 2), 2 * DEPTH, 32 * draw.size(1, 3)
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, cover((cols, rows), (32, 8 * high)), (32, high), like=0)
    rows, depth, cols, high = draw.size(1, 70), draw.size(1, 30), draw.size(1, 70), 12 - high
    data = partial(_factors, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (32, 8 * high)), (32, high))


EXERCISE = Exercise(
    name="ex06_column",
    chapter="32_register_tiles",
    title="Eight results per thread",
    specification=lambda a, b: a @ b,
    solution=column,
    wrong=(
        Wrong(
            "The rows are not guarded: the last block stores beyond the edge.",
            {"if top + ty": "if col < out.shape[1]:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "Thread ty begins at row ty: threads share rows, and most rows have no thread.",
            {
                "acc[i] +=": "acc[i] += a_tile[ty + i, k] * once",
                "if top + ty": "if top + ty + i < out.shape[0] and col < out.shape[1]:",
                "out[top": "out[top + ty + i, col] = acc[i]",
            },
            ("output", "not written"),
        ),
        Wrong(
            "Only the first tile of the depth.",
            {"for k0": "for k0 in range(0, DEPTH, DEPTH):"},
            ("output", "wrong"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but the element of b is read again for each result.",
            {"once =": "", "acc[i] +=": "acc[i] += a_tile[ty * RESULTS + i, k] * b_tile[k, tx]"},
            ("requests", "8576 requests go to shared memory; budget 4992"),
        ),
        Wrong(
            "One sum for all results of a thread: each row gets that of all eight.",
            {
                "acc[i] +=": "acc[0] += a_tile[ty * RESULTS + i, k] * once",
                "out[top": "out[top + ty * RESULTS + i, col] = acc[0]",
            },
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Thread (tx, ty) makes column `col`, and 8 of the block's rows. At each k, all 8 sums "
        "need one and the same element of b's tile: read it once, into a variable.",
        "The thread's rows in the tile begin at `ty * RESULTS`. Two loops: k outside, and inside "
        "the 8 results, acc[0] to acc[7]. At the end a loop with a guard stores them.",
        "Inside: the variable is b_tile's element [k, tx]; acc[i] grows by that times the element "
        "of a_tile in row ty * RESULTS + i, column k. Row i of the thread is row top + ty * "
        "RESULTS + i of out; it may be beyond the last one, and so may col.",
    ),
    budget=Budget(sectors_per_request=4, shared_bytes=6144),
)
