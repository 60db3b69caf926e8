"""A matrix turned, each of its rows by a factor of its own, in blocks of any height."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def turn_scaled(out, inp, factor):
    """Turned, with a factor per row: out[c, r] = factor[r] * inp[r, c].  Blocks of 32 x h."""
    # FILL (about 12 lines)
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < inp.shape[0] and left + tx < inp.shape[1]:
            tile[y, tx] = inp[top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if top + tx < out.shape[1]:
        mine = factor[top + tx]
        for y in range(ty, 32, cuda.blockDim.y):
            if left + y < out.shape[0]:
                out[left + y, top + tx] = mine * tile[tx, y]


def _data(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    inp = scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit)
    return inp, scattered(rows, seed=2 * rows + seed)


def _cases():
    """Full tiles with their budget; rows, columns, ragged sizes, other block heights."""
    once = Budget(
        sectors_per_request=4, requests={"inp": 192, "out": 192, "factor": 48}, shared_bytes=4224
    )
    yield Case(partial(_data, 64, 96), (3, 2), (32, 8), budget=once)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 4), (33, 65, 32), (97, 3, 16)]:
        data = partial(_data, rows, cols, 2.0**64 if high == 32 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large numbers."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 96 // edge) for _ in range(2))
        data = partial(_data, rows, cols, unit, draw.numbers())
        high = draw.one_of(4, 8, 16)
        yield Case(data, cover((cols, rows), (32, 32)), (32, high), like=like)


EXERCISE = Exercise(
    name="ex21_scaled",
    chapter="21_pad",
    title="A matrix turned, with a factor per row",
    specification=lambda inp, factor: np.ascontiguousarray((inp * factor[:, None]).T),
    solution=turn_scaled,
    wrong=(
        Wrong(
            "One row per thread: a block of 32 x 8 moves a quarter of its tile.",
            {"for y": "if True:\n    y = ty"},
            ("output", "not written"),
        ),
        Wrong(
            "Takes the factor of a column.",
            {"mine =": "mine = factor[(left + ty) % factor.shape[0]]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The tile has no pad: its column lies in one bank.",
            {"tile = cuda": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Loads the factor again for every row: right, and more requests than needed.",
            {"out[left": "out[left + y, top + tx] = factor[top + tx] * tile[tx, y]"},
            ("requests", "factor"),
        ),
        Wrong(
            "Right, without a tile: the lanes of a warp read down a column of inp.",
            {"out[left": "out[left + y, top + tx] = mine * inp[top + tx, left + y]"},
            ("sectors", "per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is the padded transpose, in blocks that have fewer rows than the tile: each thread "
        "goes over several rows, a block's height apart. The factor is what is new: in which of "
        "the two halves is it the same for one thread in every round?",
        "In the second half a thread keeps its column of `out`, which is a row of `inp`. So it "
        "loads one factor, in front of the loop, and the lanes of its warp load neighbours.",
        "First half: rows ty, ty + blockDim.y, ... of the tile, with a guard for row and column. "
        "Barrier. Second half: if `top + tx` is a column of `out`, take `factor[top + tx]`, then "
        "the same loop, with the guard for the row of `out`, and the tile's indices exchanged.",
    ),
    budget=Budget(shared_bytes=4224),  # ragged rows begin inside a sector: no bound on them
)
