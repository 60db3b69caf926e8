"""How many elements two rows have in common: a fill that never counts, a pitch that does."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

EDGE = 32
PITCH = 33  # from row to row of b's tile: odd, so that 32 rows begin in 32 banks


@cuda.jit
def matches(out, a, b):
    """out[i, j] = how many k have a[i, k] == b[j, k].  Blocks of n x n threads, n at most 32."""
    # FILL (about 21 lines)
    a_tile = cuda.shared.array((EDGE, EDGE), float32)
    b_tile = cuda.shared.array((EDGE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = cuda.blockDim.x
    b_row = cuda.blockIdx.x * n + ty
    count = int32(0)
    for k0 in range(0, a.shape[1], n):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 1
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if b_row < b.shape[0] and k0 + tx < b.shape[1]:
            b_tile[ty, tx] = b[b_row, k0 + tx]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(n):
            if a_tile[ty, k] == b_tile[tx, k]:
                count += 1
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = count


@cuda.jit
def _matches_direct(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        count = int32(0)
        for k in range(a.shape[1]):
            if a[row, k] == b[col, k]:
                count += 1
        out[row, col] = count


def _rows(rows, depth, cols, unit=1, seed=0):
    """Few different numbers, so that many match: 0 and its neighbours, or larger ones by `unit`."""
    a = scattered((rows, depth), seed=rows + depth + seed, low=-2, high=2) * np.float32(unit)
    return a, scattered((cols, depth), seed=cols + seed, low=-2, high=2) * np.float32(unit)


def _matching(a, b):
    return (a[:, None, :] == b[None, :, :]).sum(axis=2).astype(np.int32)


def _cases():
    """Two full tiles of out with their budget; ragged, flat and deep ones; blocks of 16 x 16."""
    clean = Budget(sectors_per_request=4, requests={"a": 128, "b": 128}, shared_bytes=8320)
    yield Case(partial(_rows, 32, 64, 64), grid=(2, 1), block=(32, 32), budget=clean)
    for rows, depth, cols in ((40, 50, 35), (97, 3, 33), (1, 70, 33), (33, 1, 70)):
        yield Case(partial(_rows, rows, depth, cols), cover((cols, rows), (32, 32)), (32, 32))
    yield Case(partial(_rows, 20, 37, 12, 2.0**40), (1, 2), (16, 16), Budget(extra=None))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged one of large numbers."""
    rows, depth, cols = (32 * draw.size(1, 2) for _ in range(3))
    data = partial(_rows, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 32, rows // 32), (32, 32), like=0)
    rows, depth, cols = (draw.size(2, 60) for _ in range(3))
    n = draw.one_of(16, 32)
    data = partial(_rows, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n), like=None if n == 32 else 5)


EXERCISE = Exercise(
    name="ex31_matches",
    chapter="31_limits",
    title="Elements that two rows have in common",
    specification=_matching,
    solution=matches,
    wrong=(
        Wrong(
            "Zeros beyond the edge in both tiles: they are equal, and are counted.",
            {"b_tile[ty, tx] = 1": "b_tile[ty, tx] = 0"},
            ("output", "wrong"),
        ),
        Wrong(
            "No fill: beyond the edge the tiles keep what was there.",
            {"a_tile[ty, tx] = 0": "", "b_tile[ty, tx] = 1": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "No pad: 32 rows of b's tile begin in one bank.",
            {"b_tile =": "b_tile = cuda.shared.array((EDGE, EDGE), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "The pad in the wrong tile: the lanes of a warp read one word of a's.",
            {
                "a_tile =": "a_tile = cuda.shared.array((EDGE, PITCH), float32)",
                "b_tile =": "b_tile = cuda.shared.array((EDGE, EDGE), float32)",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "A pad in both tiles, of which one has nothing to mend.",
            {"a_tile =": "a_tile = cuda.shared.array((EDGE, PITCH), float32)"},
            ("shared", "8448 bytes of shared memory per block; budget 8320"),
        ),
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
            "Only the first tile of the depth.",
            {"for k0": "for k0 in range(0, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Clean in shared memory, but the lanes of a warp load from 32 rows of b.",
            {
                "if b_row": "if col < b.shape[0] and k0 + ty < b.shape[1]:",
                "b_tile[ty, tx] = b[": "b_tile[ty, tx] = b[col, k0 + ty]",
                "if a_tile": "if a_tile[ty, k] == b_tile[k, tx]:",
            },
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "The tile's indices as for columns of b.",
            {"if a_tile": "if a_tile[ty, k] == b_tile[k, tx]:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but every number comes from global memory.",
            _matches_direct,
            ("sectors", "16.5 per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The tile loop of rows times rows, with a comparison in place of the product. Two things "
        "want a thought: what stands beyond the end of the depth, and which tile gets a pad.",
        "Beyond the end of the depth both tiles hold what you put there. These must not be equal "
        "to one another; what they are equal to otherwise does not matter. Lanes go down a column "
        "of one tile only.",
        "Fill the two tiles with two different numbers, then stage over them, each load with its "
        "guard: rows of a by the thread's row, rows of b by those of the block's columns. Give b's "
        "tile the odd pitch. Count in an integer, and store it where out has that element.",
    ),
    budget=Budget(shared_bytes=8320),
)
