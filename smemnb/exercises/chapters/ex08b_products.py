"""A sum of products: one row of tiles through two buffers, also from one pair to the next."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

TILE = 16


@cuda.jit
def products(out, a, b):
    """out = the sum of a[p] @ b[p] over all p.  Blocks of n x n threads, one per element of out."""
    # FILL (about 22 lines)
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    col, row = cuda.grid(2)
    tiles = (a.shape[2] + n - 1) // n  # of a pair; a ragged one at its end
    now, acc = 0, float32(0)
    for step in range(tiles * a.shape[0] + 1):  # loads tile `step`, multiplies the one before
        p, k0 = step // tiles, step % tiles * n
        of_a, of_b = float32(0), float32(0)
        if p < a.shape[0] and row < a.shape[1] and k0 + tx < a.shape[2]:
            of_a = a[p, row, k0 + tx]
        if p < b.shape[0] and k0 + ty < b.shape[1] and col < b.shape[2]:
            of_b = b[p, k0 + ty, col]
        if step > 0:
            for k in range(n):
                acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        a_tile[now, ty, tx] = of_a
        b_tile[now, ty, tx] = of_b
        cuda.syncthreads()  # the next tiles are full, and everyone has read these
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


def _pairs(count, rows, depth, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((count, rows, depth), seed=rows + depth + seed, low=-9, high=9)
    b = scattered((count, depth, cols), seed=cols + seed, low=-9, high=9)
    return a * np.float32(unit), b * np.float32(unit)


def _cases():
    """Three pairs of two tiles with their budget; ragged and flat ones; blocks of 8 x 8."""
    once = Budget(
        sectors_per_request=4,
        requests={"a": 192, "b": 192, "out": 32},  # 8 warps in 4 blocks, 6 tiles
        shared_bytes=4096,
        barriers=7,  # one per tile, and one for the first
    )
    yield Case(partial(_pairs, 3, 32, 32, 32), grid=(2, 2), block=(16, 16), budget=once)
    for count, rows, depth, cols in ((2, 35, 20, 18), (4, 1, 3, 33), (1, 33, 17, 1)):
        extent = cover((cols, rows), (16, 16))
        data = partial(_pairs, count, rows, depth, cols, 2.0**40 if count == 4 else 1)
        yield Case(data, extent, (16, 16))
    yield Case(partial(_pairs, 2, 20, 13, 12), grid=(2, 3), block=(8, 8))


def _fresh(draw):
    """Pairs of full tiles, held to the budget of the first case; ragged ones of large numbers."""
    count, rows, depth, cols = draw.size(2, 4), *(16 * draw.size(1, 3) for _ in range(3))
    data = partial(_pairs, count, rows, depth, cols, seed=draw.numbers())
    yield Case(data, (cols // 16, rows // 16), (16, 16), like=0)
    count, rows, depth, cols = draw.size(1, 4), *(draw.size(1, 40) for _ in range(3))
    n = draw.one_of(8, 16)
    data = partial(_pairs, count, rows, depth, cols, 2.0**40, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n))


EXERCISE = Exercise(
    name="ex08b_products",
    chapter="43_checkpoint",
    title="A sum of products, without a pause",
    specification=lambda a, b: (a @ b).sum(axis=0),
    solution=products,
    wrong=(
        Wrong("No barrier at all.", {"cuda.syncthreads()": ""}, ("findings", "race")),
        Wrong(
            "One barrier per tile, and one buffer: the next tiles go where others still read.",
            {"now = 1 - now": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Tiles of a pair, rounded down: the ragged one at its end is left out.",
            {"tiles =": "tiles = max(1, a.shape[2] // n)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Ends one pair early.",
            {"for step": "for step in range(tiles * (a.shape[0] - 1) + 1):"},
            ("output", "wrong"),
        ),
        Wrong(
            "The first pair only.",
            {"for step": "for step in range(tiles + 1):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Depths end to end, as one long product, but a tile that lies in two pairs "
            "counts as one's.",
            {
                "tiles =": "depth = a.shape[2]",
                "for step": "for step in range((depth * a.shape[0] + n - 1) // n + 1):",
                "p, k0 =": "p, k0 = step * n // depth, step * n % depth",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The sum starts as 0.0, a float64.",
            {"now, acc =": "now, acc = 0, 0.0"},
            ("findings", "float64"),
        ),
        Wrong(
            "Right, but in one buffer, with two barriers per tile: nothing is loaded meanwhile.",
            {"now = 1 - now": "cuda.syncthreads()"},
            ("barriers", "passes 14 barriers; budget 7"),
        ),
        Wrong(
            "Right, but where a pair begins, everyone waits once more.",
            {
                "cuda.syncthreads()": "cuda.syncthreads()\n"
                "if step % tiles == 0:\n"
                "    cuda.syncthreads()"
            },
            ("barriers", "passes 11 barriers; budget 7"),
        ),
        Wrong(
            "Right, but with a third buffer, which nobody needs.",
            {
                "a_tile =": "a_tile = cuda.shared.array((3, TILE, TILE), float32)",
                "b_tile =": "b_tile = cuda.shared.array((3, TILE, TILE), float32)",
                "now = 1 - now": "now = (now + 1) % 3",
            },
            ("shared", "6144 bytes of shared memory per block; budget 4096"),
        ),
        Wrong(
            "The barrier before the stores: nobody waits for what is stored.",
            {
                "now = 1 - now": "now = 1 - now\ncuda.syncthreads()",
                "cuda.syncthreads()  # the next": "",
            },
            ("findings", "race"),
        ),
        Wrong(
            "The indices of b's tile exchanged.",
            {"acc +=": "acc += a_tile[now, ty, k] * b_tile[now, tx, k]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Past the last pair nothing is guarded: there is one step more than tiles.",
            {
                "if p < a": "if row < a.shape[1] and k0 + tx < a.shape[2]:",
                "if p < b": "if k0 + ty < b.shape[1] and col < b.shape[2]:",
            },
            ("findings", "out of range"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Two buffers and one barrier per tile, as in 35_two_buffers. But the tiles of all "
        "pairs are one row: the first tile of the next pair is loaded while the last one of this "
        "pair is multiplied. How do you find pair and depth of tile number `step`?",
        "A pair has as many tiles as its depth takes, the last one ragged: p is step over that "
        "number, the depth begins at the remainder times n. Each element that is loaded has three "
        "guards, for p, row and column; a 0 where one fails.",
        "One loop, with a step more than there are tiles. In it: p and k0; the two elements, into "
        "variables, 0 or loaded; unless it is the first step, n products from buffer now; now "
        "becomes 1 minus itself; the two elements into that buffer; a barrier. Then a guarded "
        "store.",
    ),
    budget=Budget(extra=None, shared_bytes=4096),
)
