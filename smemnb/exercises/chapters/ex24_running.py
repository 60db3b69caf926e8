"""The running sum of each row: a lane per row, and a tile that is read both ways."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def running_sums(out, inp):
    """The running sum of each row: out = np.cumsum(inp, axis=1).  A block has 32 rows."""
    # FILL (about 17 lines)
    tile = cuda.shared.array((32, 33), float32)
    tx, ty, top = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x * 32
    rows, cols = inp.shape
    acc = float32(0)  # of the first warp: the sum of row top + tx so far
    for left in range(0, cols, 32):
        for y in range(ty, 32, cuda.blockDim.y):  # lanes along a row of inp
            if top + y < rows and left + tx < cols:
                tile[y, tx] = inp[top + y, left + tx]
        cuda.syncthreads()  # the tile is full before anyone adds
        if ty == 0 and top + tx < rows:
            for x in range(min(32, cols - left)):  # a row of the tile for each lane
                acc += tile[tx, x]
                tile[tx, x] = acc
        cuda.syncthreads()  # all sums are there before anyone stores them
        for y in range(ty, 32, cuda.blockDim.y):
            if top + y < rows and left + tx < cols:
                out[top + y, left + tx] = tile[y, tx]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers whose sums float32 holds exactly; larger by `unit`, beyond narrower tiles."""
    return (scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Two blocks of whole tiles with their budget; one row, one column, ragged; other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 192, "out": 192}, shared_bytes=4224)
    yield Case(partial(_matrix, 64, 96), (2,), (32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (40, 35, 1), (1, 70, 4), (37, 1, 16), (33, 65, 2)]:
        data = partial(_matrix, rows, cols, 2.0**64 if rows == 33 else 1)
        yield Case(data, cover((rows,), (32,)), (32, high))


def _fresh(draw):
    """Whole tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 96 // edge) for _ in range(2))
        data = partial(_matrix, rows, cols, unit, draw.numbers())
        high = draw.one_of(2, 4, 8)
        yield Case(data, cover((rows,), (32,)), (32, high), like=like)


EXERCISE = Exercise(
    name="ex24_running",
    chapter="24_checkpoint",
    title="The running sum of each row",
    specification=lambda inp: np.cumsum(inp, axis=1, dtype=np.float32),
    solution=running_sums,
    wrong=(
        Wrong(
            "Neither pad nor swizzle: a column of the tile is one bank.",
            {"tile =": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Each tile begins its sums anew.",
            {"if ty == 0": "acc = float32(0)\nif ty == 0 and top + tx < rows:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Runs down the columns, as axis=0 would.",
            {"acc +=": "acc += tile[x, tx]", "tile[tx, x] =": "tile[x, tx] = acc"},
            ("output", "wrong"),
        ),
        Wrong(
            "Each element of the result lacks its own number.",
            {"acc +=": "before = acc\nacc += tile[tx, x]", "tile[tx, x] =": "tile[tx, x] = before"},
            ("output", "wrong"),
        ),
        Wrong(
            "Every warp adds, so elements are added to several times.",
            {"if ty == 0": "if top + tx < rows:"},
            ("findings", "race"),
        ),
        Wrong(
            "The first barrier is missing: lanes add what others have not stored yet.",
            {"cuda.syncthreads()  # the tile": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The second barrier is missing: sums are stored before others have made them.",
            {"cuda.syncthreads()  # all": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but each lane loads its own row from global memory.",
            {
                "tile[y, tx] =": "pass",
                "acc +=": "acc += inp[top + tx, left + x]",
            },
            ("sectors", "per request; budget 4"),
        ),
        Wrong(
            "Right, but the sums have a tile of their own.",
            {
                "tile =": "tile = cuda.shared.array((32, 33), float32)\n"
                "sums = cuda.shared.array((32, 33), float32)",
                "tile[tx, x] =": "sums[tx, x] = acc",
                "out[top": "out[top + y, left + tx] = sums[y, tx]",
            },
            ("shared", "8448 bytes of shared memory per block"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A lane adds up its row from left to right, but lanes side by side must load and store "
        "elements side by side. A tile stands between both, 32 columns at a time.",
        "Per 32 columns there are three steps: lanes go along the rows of inp into the tile, each "
        "lane goes along a row of the tile, lanes go along the rows of the tile into out. What "
        "does a lane keep from one tile to the next, and where do lanes wait for each other?",
        "The sum starts at `float32(0)` in front of the loop over tiles. In the middle step, lane "
        "tx of the first warp alone adds element x of its tile row and leaves the sum in that "
        "element's place. A barrier stands before and after the middle step, outside of every "
        "`if`; the tile needs a pad or a swizzle.",
    ),
    budget=Budget(shared_bytes=4224),
)
