"""A matrix turned, times itself: tiles lie as they are read, sixteen results per thread."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

DEPTH = 16  # rows of inp that are staged at a time
EDGE = 64  # rows and columns of a block of 16 x 16 threads


@cuda.jit
def gram(out, inp):
    """out = inp.T @ inp.  Blocks of n x n threads make 4 n x 4 n elements, 16 per thread."""
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    top, left = cuda.blockIdx.y * 4 * n, cuda.blockIdx.x * 4 * n  # the block's corner in out
    acc = cuda.local.array((4, 4), float32)
    for i in range(4):
        for j in range(4):
            acc[i, j] = 0
    # FILL (about 25 lines)
    down = cuda.shared.array((DEPTH, EDGE), float32)  # columns of inp that are rows of out
    across = cuda.shared.array((DEPTH, EDGE), float32)
    ours, theirs = cuda.local.array(4, float32), cuda.local.array(4, float32)
    for k0 in range(0, inp.shape[0], DEPTH):
        for cell in range(ty * n + tx, DEPTH * 4 * n, n * n):
            k, m = cell // (4 * n), cell % (4 * n)  # neighbouring lanes load neighbours of a row
            down[k, m] = 0
            across[k, m] = 0
            if k0 + k < inp.shape[0] and top + m < inp.shape[1]:
                down[k, m] = inp[k0 + k, top + m]
            if k0 + k < inp.shape[0] and left + m < inp.shape[1]:
                across[k, m] = inp[k0 + k, left + m]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(DEPTH):
            for i in range(4):
                ours[i], theirs[i] = down[k, ty + n * i], across[k, tx + n * i]
            for i in range(4):
                for j in range(4):
                    acc[i, j] += ours[i] * theirs[j]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    for i in range(4):
        for j in range(4):
            row, col = top + ty + n * i, left + tx + n * j
            if row < out.shape[0] and col < out.shape[1]:
                out[row, col] = acc[i, j]


def _rows(count, width, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    rows = scattered((count, width), seed=count + 3 * width + seed, low=-9, high=9)
    return (rows * np.float32(unit),)


def _cases():
    """Two blocks of 32 rows with their budget; ragged and flat ones; blocks of 8 x 8."""
    counted = Budget(
        sectors_per_request=4,
        requests={"inp": 512, "out": 512},
        shared_bytes=8192,
        shared_requests=9216,  # 2 tiles in 4 blocks: 8 warps, 16 steps, 8 reads, and 128 to stage
    )
    yield Case(partial(_rows, 32, 128), grid=(2, 2), block=(16, 16), budget=counted)
    for count, width in ((20, 70), (3, 97), (1, 65), (40, 1)):
        data = partial(_rows, count, width, 2.0**40 if width == 97 else 1)
        yield Case(data, cover((width, width), (64, 64)), (16, 16))
    yield Case(partial(_rows, 21, 45), grid=(2, 2), block=(8, 8))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; ragged rows of large numbers."""
    n = draw.one_of(8, 16)
    count, width = 2 * DEPTH, 4 * n * draw.size(1, 2)
    data = partial(_rows, count, width, seed=draw.numbers())
    yield Case(data, cover((width, width), (4 * n, 4 * n)), (n, n), like=0)
    count, width, n = draw.size(1, 30), draw.size(1, 70), 24 - n
    data = partial(_rows, count, width, 2.0**40, draw.numbers())
    yield Case(data, cover((width, width), (4 * n, 4 * n)), (n, n))


EXERCISE = Exercise(
    name="ex08b_gram",
    chapter="43_checkpoint",
    title="A matrix turned, times itself",
    specification=lambda inp: np.ascontiguousarray(inp.T @ inp),
    solution=gram,
    wrong=(
        Wrong(
            "No barrier after staging.", {"cuda.syncthreads()  # both": ""}, ("findings", "race")
        ),
        Wrong(
            "No barrier at the end of the loop: the next tiles overwrite what others still read.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Only the first 16 rows of inp.",
            {"for k0": "for k0 in range(0, DEPTH, DEPTH):"},
            ("output", "wrong"),
        ),
        Wrong(
            "The loads are not guarded.", {"if k0 + k": "if True:"}, ("findings", "out of range")
        ),
        Wrong(
            "Blocks of 16 x 16 are taken for granted: smaller ones leave elements out.",
            {"tx, ty, n =": "tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, 16"},
            ("output", "block (8, 8)"),
        ),
        Wrong(
            "Four neighbouring columns per thread: lanes read 4 words apart, two in each bank.",
            {
                "ours[i], theirs[i] =": (
                    "ours[i], theirs[i] = down[k, ty + n * i], across[k, 4 * tx + i]"
                ),
                "row, col =": "row, col = top + ty + n * i, left + 4 * tx + j",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "One tile for both factors: right on the diagonal of blocks only.",
            {
                "ours[i], theirs[i] =": (
                    "ours[i], theirs[i] = down[k, ty + n * i], down[k, tx + n * i]"
                )
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Rows and columns of out exchanged: right, as out is its own mirror, but "
            "lanes go down.",
            {
                "ours[i], theirs[i] =": (
                    "ours[i], theirs[i] = down[k, tx + n * i], across[k, ty + n * i]"
                ),
                "row, col =": "row, col = top + tx + n * i, left + ty + n * j",
            },
            ("sectors", "16 per request; budget 4"),
        ),
        Wrong(
            "Tiles that lanes fill down the columns of inp, as if it had to be turned.",
            {"k, m =": "m, k = cell // DEPTH, cell % DEPTH"},
            ("wavefronts", "16-way"),
        ),
        Wrong(
            "Guards without zeros: beyond the edge the tiles keep what was there.",
            {"down[k, m] = 0": "", "across[k, m] = 0": ""},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "Right, but two reads for each product in place of eight for sixteen.",
            {
                "ours[i], theirs[i] =": "pass",
                "acc[i, j] +=": "acc[i, j] += down[k, ty + n * i] * across[k, tx + n * j]",
            },
            ("requests", "33792 requests go to shared memory; budget 9216"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Element (row, col) of out is the sum over k of inp[k, row] times inp[k, col]: two "
        "columns of inp. So a tile is 16 rows of inp and as many of its columns as the block has "
        "rows, or columns, of out. Which way do lanes go along such a tile when they load it, and "
        "when they read it?",
        "Along its rows, both times: nothing is turned, and no pad is needed. Two tiles: columns "
        "from top on, and from left on. The rest is the square of 32_register_tiles: a thread "
        "has 4 rows and 4 columns, n apart.",
        "Per 16 rows: a loop over cell, from ty * n + tx in steps of n * n, row cell "
        "over 4 n, column the remainder; a 0 and a guarded load for each tile; barrier; for each "
        "k, 4 elements of each tile into local arrays, 16 products; barrier. At the end a guarded "
        "store of each sum.",
    ),
    budget=Budget(shared_bytes=8192),
)
