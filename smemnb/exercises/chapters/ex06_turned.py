"""A tile that is turned on the way in: the pitch that keeps its store clean."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

DEPTH = 16  # columns of a, and rows of b, that are staged at a time
EDGE = 64  # columns of a block, and rows of one of 16 x 16 threads
PITCH = 66  # 16 lanes store one below the other, two elements per row: rows begin 2 banks apart


@cuda.jit
def turned(out, a, b):
    """out = a @ b.  Blocks of 16 x h threads make 4 h rows and 64 columns; a's tile is turned."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)
    b_tile = cuda.shared.array((DEPTH, EDGE), float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    top, left = cuda.blockIdx.y * 4 * high, cuda.blockIdx.x * EDGE
    acc = cuda.local.array((4, 4), float32)
    clear(acc)
    for k0 in range(0, a.shape[1], DEPTH):
        for element in range(ty * 16 + tx, 4 * high * DEPTH, 16 * high):
            # FILL (about 4 lines)
            m, k = element // DEPTH, element % DEPTH  # neighbouring lanes load neighbouring k
            a_tile[k, m] = 0
            if top + m < a.shape[0] and k0 + k < a.shape[1]:
                a_tile[k, m] = a[top + m, k0 + k]
        stage_b(b, b_tile, left, k0)
        cuda.syncthreads()  # both tiles are full before anyone reads them
        multiply(acc, a_tile, b_tile)
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    store(out, acc, top + ty * 4, left + tx)


@cuda.jit(device=True)
def clear(acc):
    """Set all 4 x 4 sums of a thread to 0."""
    for i in range(4):
        for j in range(4):
            acc[i, j] = 0


@cuda.jit(device=True)
def stage_b(b, b_tile, left, k0):
    """Stage 64 columns of b, DEPTH rows deep, with 0 beyond the edge."""
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    for element in range(ty * 16 + tx, EDGE * DEPTH, 16 * high):
        k, n = element // EDGE, element % EDGE
        b_tile[k, n] = 0
        if k0 + k < b.shape[0] and left + n < b.shape[1]:
            b_tile[k, n] = b[k0 + k, left + n]


@cuda.jit(device=True)
def multiply(acc, a_tile, b_tile):
    """Add the products of both tiles: rows 4 ty to 4 ty + 3, columns tx, tx + 16, ..."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    a_part, b_part = cuda.local.array(4, float32), cuda.local.array(4, float32)
    for k in range(DEPTH):
        for i in range(4):
            a_part[i] = a_tile[k, ty * 4 + i]  # neighbours: a compiler may read 16 bytes at once
            b_part[i] = b_tile[k, tx + 16 * i]
        for i in range(4):
            for j in range(4):
                acc[i, j] += a_part[i] * b_part[j]


@cuda.jit(device=True)
def store(out, acc, row, col):
    """Store what of a thread's square lies inside of out."""
    for i in range(4):
        for j in range(4):
            if row + i < out.shape[0] and col + 16 * j < out.shape[1]:
                out[row + i, col + 16 * j] = acc[i, j]


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((depth, cols), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """Two full tiles with their budget; ragged, flat and deep ones; blocks of 16 x 8."""
    clean = Budget(sectors_per_request=4, requests={"a": 128, "b": 128}, shared_bytes=8320)
    yield Case(partial(_factors, 64, 32, 128), grid=(2, 1), block=(16, 16), budget=clean)
    for rows, depth, cols in ((70, 20, 67), (97, 3, 33), (1, 40, 33), (65, 9, 1)):
        data = partial(_factors, rows, depth, cols, 2.0**40 if depth == 40 else 1)
        yield Case(data, cover((cols, rows), (64, 64)), (16, 16))
    yield Case(partial(_factors, 45, 20, 70), grid=(2, 2), block=(16, 8))


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
    name="ex06_turned",
    chapter="33_turned_tile",
    title="A turned tile",
    specification=lambda a, b: a @ b,
    solution=turned,
    wrong=(
        Wrong(
            "No pad: 16 lanes store one below the other, all in one bank.",
            {"a_tile =": "a_tile = cuda.shared.array((DEPTH, 64), float32)"},
            ("wavefronts", "16-way"),
        ),
        Wrong(
            "One pad element, as in a transpose: here a warp stores two of each of 16 rows.",
            {"a_tile =": "a_tile = cuda.shared.array((DEPTH, 65), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Four pad elements, as for a depth of 8.",
            {"a_tile =": "a_tile = cuda.shared.array((DEPTH, 68), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "The pad on the wrong axis: two rows more, and rows as long as before.",
            {"a_tile =": "a_tile = cuda.shared.array((18, 64), float32)"},
            ("wavefronts", "16-way"),
        ),
        Wrong(
            "Neighbouring lanes take neighbouring rows of a: clean in the tile, 32 "
            "sectors per request.",
            {"m, k =": "m, k = element % (4 * high), element // (4 * high)"},
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No zeros where the depth ends: the tile keeps what was there.",
            {"a_tile[k, m] = 0": ""},
            ("output", "no thread has stored"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "`element` is the number of an element of the block's part of a, DEPTH per row. Which row "
        "m and column k is that, so that neighbouring lanes load neighbours of memory? In the tile "
        "it lies at row k, column m: turned.",
        "`element // DEPTH` is the row, `element % DEPTH` the column. A warp then stores for 16 "
        "values of k two values of m: words k * PITCH and k * PITCH + 1. These are 32 words. In "
        "how many banks, for PITCH 64, 65, 66?",
        "Four lines: m and k; a 0 into the tile; an if on row top + m and column k0 + k of a; the "
        "load into the tile's [k, m]. The 16 rows must begin at even banks, no two at one.",
    ),
    budget=Budget(shared_bytes=8320),
)
