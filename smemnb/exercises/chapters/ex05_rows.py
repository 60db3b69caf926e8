"""A product with rows of b in place of columns: here the pitch of a tile decides."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

EDGE = 32
PITCH = 33  # elements from row to row of b's tile: odd, so that 32 rows begin in 32 banks


@cuda.jit
def by_rows(out, a, b):
    """out = a @ b.T, whatever the shapes.  Blocks of n x n threads, one per element of out."""
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array((EDGE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x  # edge of a tile: EDGE, or less
    acc = float32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        # FILL (about 3 lines)
        b_row = cuda.blockIdx.x * n + ty  # a row of b, staged by the lanes of a warp
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty, tx] = b[b_row, k0 + tx]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            # FILL (about 1 line)
            acc += a_tile[ty, k] * b_tile[tx, k]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


def _factors(rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-9, high=9) * np.float32(unit)
    return a, scattered((cols, depth), seed=cols + seed, low=-9, high=9) * np.float32(unit)


def _cases():
    """Four full tiles with their budget; ragged, flat and deep ones; blocks of 16 x 16."""
    clean = Budget(sectors_per_request=4, requests={"a": 384, "b": 384}, shared_bytes=8320)
    yield Case(partial(_factors, 64, 96, 64), grid=(2, 2), block=(32, 32), budget=clean)
    for rows, depth, cols in ((70, 40, 35), (97, 3, 33), (1, 70, 33), (33, 1, 70)):
        yield Case(partial(_factors, rows, depth, cols), cover((cols, rows), (32, 32)), (32, 32))
    yield Case(partial(_factors, 20, 37, 12, 2.0**40), (1, 2), (16, 16), Budget(extra=None))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged product of large numbers."""
    rows, depth, cols = (32 * draw.size(2, 3) for _ in range(3))
    data = partial(_factors, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 32, rows // 32), (32, 32), like=0)
    rows, depth, cols = (draw.size(1, 70) for _ in range(3))
    n = draw.one_of(16, 32)
    data = partial(_factors, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n), like=None if n == 32 else 5)


EXERCISE = Exercise(
    name="ex05_rows",
    chapter="31_limits",
    title="Rows times rows",
    specification=lambda a, b: a @ b.T,
    solution=by_rows,
    wrong=(
        Wrong(
            "No pad: 32 rows of b's tile begin in one bank.",
            {"b_tile =": "b_tile = cuda.shared.array((EDGE, EDGE), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "The pad in the wrong tile: a's rows are read by all lanes at once.",
            {
                "a_tile =": "a_tile = cuda.shared.array((EDGE, PITCH), float32)",
                "b_tile =": "b_tile = cuda.shared.array((EDGE, EDGE), float32)",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "The pad on the wrong axis: a row more, and rows as long as before.",
            {"b_tile =": "b_tile = cuda.shared.array((PITCH, EDGE), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Two pad elements: the pitch stays even, two lanes meet in each bank.",
            {"b_tile =": "b_tile = cuda.shared.array((EDGE, 34), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "A pad in both tiles, of which one has nothing to mend.",
            {"a_tile =": "a_tile = cuda.shared.array((EDGE, PITCH), float32)"},
            ("shared", "8448 bytes of shared memory per block; budget 8320"),
        ),
        Wrong(
            "No barrier at the end of the loop.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The pad is declared, but the index leaves it out.",
            {
                "b_tile =": "b_tile = cuda.shared.array(1056, float32)  # 32 x 33",
                "b_tile[ty, tx] = 0": "b_tile[ty * 32 + tx] = 0",
                "b_tile[ty, tx] = b[": "b_tile[ty * 32 + tx] = b[b_row, k0 + tx]",
                "acc +=": "acc += a_tile[ty, k] * b_tile[tx * 32 + k]",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Clean in shared memory, but the lanes of a warp load from 32 rows of b.",
            {
                "if b_row": "if col < b.shape[0] and k0 + ty < b.shape[1]:",
                "b_tile[ty, tx] = b[": "b_tile[ty, tx] = b[col, k0 + ty]",
                "acc +=": "acc += a_tile[ty, k] * b_tile[k, tx]",
            },
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "The tile's indices as for a @ b: equal elements in b would hide it.",
            {"acc +=": "acc += a_tile[ty, k] * b_tile[k, tx]"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Column col of out belongs to row col of b. The lanes of a warp should load neighbours, "
        "and neighbours lie in one row of b: which row does a warp stage?",
        "Warp ty stages the ty-th of the block's rows of b; the block's first one is "
        "`cuda.blockIdx.x * n`. In the product, lane tx then needs row tx of the tile: a column "
        "for the warp. Which pitch makes that clean?",
        "The row of b is `cuda.blockIdx.x * n + ty`; guard it, and the column k0 + tx, and store "
        "the element at [ty, tx]. The product reads a's tile at [ty, k] as ever, and b's at [tx, "
        "k]. PITCH is the smallest odd number from 32 up.",
    ),
    budget=Budget(shared_bytes=8320),
)
