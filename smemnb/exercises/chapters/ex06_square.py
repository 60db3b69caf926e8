"""Sixteen results per thread: which rows and columns a thread takes decides about banks."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

DEPTH = 16  # columns of a, and rows of b, that are staged at a time
EDGE = 64  # columns of a block, and rows of one of 16 x 16 threads


@cuda.jit
def square(out, a, b):
    """out = a @ b.  Blocks of 16 x h threads make 4 h rows and 64 columns."""
    a_tile = cuda.shared.array((EDGE, DEPTH), float32)
    b_tile = cuda.shared.array((DEPTH, EDGE), float32)
    acc = cuda.local.array((4, 4), float32)
    a_part, b_part = cuda.local.array(4, float32), cuda.local.array(4, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    top, left = cuda.blockIdx.y * 4 * high, cuda.blockIdx.x * EDGE
    for i in range(4):
        for j in range(4):
            acc[i, j] = 0
    for k0 in range(0, a.shape[1], DEPTH):
        stage(a, b, a_tile, b_tile, top, left, k0)
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(DEPTH):
            # FILL (about 7 lines)
            for i in range(4):
                a_part[i] = a_tile[ty + high * i, k]
            for j in range(4):
                b_part[j] = b_tile[k, tx + 16 * j]
            for i in range(4):
                for j in range(4):
                    acc[i, j] += a_part[i] * b_part[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    # FILL (about 5 lines)
    for i in range(4):
        for j in range(4):
            row, col = top + ty + high * i, left + tx + 16 * j
            if row < out.shape[0] and col < out.shape[1]:
                out[row, col] = acc[i, j]


@cuda.jit(device=True)
def stage(a, b, a_tile, b_tile, top, left, k0):
    """Stage 4 h rows of a, 64 columns of b, DEPTH deep, with 0 beyond the edge."""
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    for element in range(ty * 16 + tx, 4 * high * DEPTH, 16 * high):
        m, k = element // DEPTH, element % DEPTH
        a_tile[m, k] = 0
        if top + m < a.shape[0] and k0 + k < a.shape[1]:
            a_tile[m, k] = a[top + m, k0 + k]
    for element in range(ty * 16 + tx, EDGE * DEPTH, 16 * high):
        k, n = element // EDGE, element % EDGE
        b_tile[k, n] = 0
        if k0 + k < b.shape[0] and left + n < b.shape[1]:
            b_tile[k, n] = b[k0 + k, left + n]


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """Two full tiles with their budget; ragged, flat and deep ones; blocks of 16 x 8."""
    once = Budget(
        sectors_per_request=4,
        requests={"a": 128, "b": 128, "out": 256},
        shared_bytes=8192,
        shared_requests=4608,  # 2 tiles in each block: 8 warps, 16 steps, 8 reads, and 128 to stage
    )
    yield Case(partial(_factors, 64, 32, 128), grid=(2, 1), block=(16, 16), budget=once)
    for rows, depth, cols in ((70, 20, 67), (97, 3, 33), (1, 40, 33), (65, 9, 1)):
        data = partial(_factors, rows, depth, cols, 2.0**40 if depth == 40 else 1)
        yield Case(data, cover((cols, rows), (64, 64)), (16, 16))
    yield Case(partial(_factors, 45, 12, 70), grid=(2, 2), block=(16, 8))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    high = draw.one_of(8, 16)
    rows, depth, cols = 4 * high * draw.size(1, 2), 2 * DEPTH, EDGE * draw.size(1, 2)
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, cover((cols, rows), (EDGE, 4 * high)), (16, high), like=0)
    rows, depth, cols, high = draw.size(1, 90), draw.size(1, 30), draw.size(1, 90), 24 - high
    data = partial(_factors, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (EDGE, 4 * high)), (16, high))


EXERCISE = Exercise(
    name="ex06_square",
    chapter="32_register_tiles",
    title="Sixteen results per thread",
    specification=lambda a, b: a @ b,
    solution=square,
    wrong=(
        Wrong(
            "Four neighbouring columns per thread: lanes lie 4 words apart, two of them "
            "in each bank.",
            {
                "b_part[j] =": "b_part[j] = b_tile[k, tx * 4 + j]",
                "row, col =": "row, col = top + ty + high * i, left + tx * 4 + j",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "The same with a pad in each row of b's tile, which a warp that reads one row "
            "never meets.",
            {
                "b_tile =": "b_tile = cuda.shared.array((DEPTH, 65), float32)",
                "b_part[j] =": "b_part[j] = b_tile[k, tx * 4 + j]",
                "row, col =": "row, col = top + ty + high * i, left + tx * 4 + j",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Four neighbouring rows per thread: the two rows of threads in a warp meet in "
            "one bank.",
            {
                "a_part[i] =": "a_part[i] = a_tile[ty * 4 + i, k]",
                "row, col =": "row, col = top + ty * 4 + i, left + tx + 16 * j",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Rows 16 apart, as if a block always had 16 rows of threads.",
            {
                "a_part[i] =": "a_part[i] = a_tile[ty + 16 * i, k]",
                "row, col =": "row, col = top + ty + 16 * i, left + tx + 16 * j",
            },
            ("output", "block (16, 8)"),
        ),
        Wrong(
            "Right, but two reads for each product in place of eight for sixteen.",
            {
                "a_part[i] =": "pass",
                "b_part[j] =": "pass",
                "acc[i, j] +=": "acc[i, j] += a_tile[ty + high * i, k] * b_tile[k, tx + 16 * j]",
            },
            ("requests", "16896 requests go to shared memory; budget 4608"),
        ),
        Wrong(
            "The indices of acc exchanged: the thread's square comes out transposed.",
            {"acc[i, j] +=": "acc[j, i] += a_part[i] * b_part[j]"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Per k: read 4 elements of a's tile into a_part, 4 of b's into b_part, then add all 16 "
        "products to acc. The verdict on banks depends on which rows and columns a thread takes.",
        "Of a warp's 32 lanes, 16 have one ty and neighbouring tx. For each j they should read "
        "neighbours: so the four columns of a thread lie 16 apart. And its rows? A row of the "
        "tile has 16 elements: the two ty of a warp read in different banks if they read "
        "neighbouring rows, in one bank if rows 2 or 4 apart. A block is `high` threads high, not "
        "always 16.",
        "The thread's rows are ty, ty + high, ty + 2 * high, ...; its columns tx, tx + 16, ... "
        "The same rows and columns, from top and left on, are those of out; each may lie beyond "
        "the edge.",
    ),
    budget=Budget(shared_bytes=8192),
)
