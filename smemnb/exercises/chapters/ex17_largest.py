"""The largest element of each row: a warp per row, and values that pass from lane to lane."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def row_maxima(out, inp):
    """The largest element of each row: out = inp.max(axis=1), one warp per row."""
    lane = cuda.threadIdx.x  # blocks have 32 threads along x: a warp for each y
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0]:
        best = inp[row, 0]
        for col in range(lane, inp.shape[1], 32):
            best = max(best, inp[row, col])
        # FILL (about 6 lines)
        step = 16
        while step > 0:
            best = max(best, cuda.shfl_down_sync(0xFFFFFFFF, best, step))
            step //= 2
        if lane == 0:
            out[row] = best


def _matrix(rows, cols, seed=0, low=-999, unit=1):
    """Whole numbers from `low` to 0 or to -low, larger by `unit`; below 0 throughout if asked."""
    high = -1 if low == -500 else -low
    return (scattered((rows, cols), rows + cols + seed, low=low, high=high) * np.float32(unit),)


def _cases():
    """Whole warps with their budget; rows below 0, shorter than a warp, blocks to spare."""
    once = Budget(sectors_per_request=4, requests={"out": 12, "inp": 60}, shared_bytes=0)
    yield Case(partial(_matrix, 12, 128), (3,), (32, 4), budget=once)
    yield Case(partial(_matrix, 9, 70, low=-500), (5,), (32, 2))
    shapes = [(1, 97), (13, 1), (7, 31), (5, 33), sizes(2, seed=17, low=2, high=90)]
    for rows, cols in shapes:
        data = partial(_matrix, rows, cols, unit=2.0**40 if cols == 97 else 1)
        yield Case(data, (cover((rows,), (3,))[0] + 1,), (32, 3))


def _fresh(draw):
    """Whole warps, held to the budget of the first case; a ragged matrix of large numbers."""
    for like, unit, edge in ((0, 1, 32), (None, 2.0**40, 1)):
        rows, cols = draw.size(2, 20), edge * draw.size(1, 96 // edge)
        high = draw.one_of(1, 2, 4, 8)
        data = partial(_matrix, rows, cols, draw.numbers(), unit=unit)
        yield Case(data, cover((rows,), (high,)), (32, high), like=like)


EXERCISE = Exercise(
    name="ex17_largest",
    chapter="17_warp",
    title="The largest element of each row",
    specification=lambda inp: inp.max(axis=1),
    solution=row_maxima,
    wrong=(
        Wrong(
            "Nothing passes between lanes: lane 0 knows only what it has read itself.",
            {"best = max(best, cuda": "pass"},
            ("output", "wrong"),
        ),
        Wrong(
            "Four rounds: lane 0 never hears of lanes 16 to 31.",
            {"step = 16": "step = 8"},
            ("output", "wrong"),
        ),
        Wrong(
            "Adds up where the larger one is asked for.",
            {"best = max(best, cuda": "best += cuda.shfl_down_sync(0xFFFFFFFF, best, step)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Half of the lanes stay away from each round, and the others read from them.",
            {
                "best = max(best, cuda": "if lane < step:\n"
                "    best = max(best, cuda.shfl_down_sync(0xFFFFFFFF, best, step))"
            },
            ("findings", "missing lane"),
        ),
        Wrong(
            "Every lane stores; only lane 0 has the largest of all.",
            {"if lane": "if True:"},
            ("output", "wrong"),
        ),
        Wrong(
            "The mask names 16 of the 32 lanes that come.",
            {
                "best = max(best, cuda": "best = max("
                "best, cuda.shfl_down_sync(0x0000FFFF, best, step))"
            },
            ("findings", "lane"),
        ),
        Wrong(
            "Right, but the largest goes back into memory in every lane's turn.",
            {
                "if lane": "for turn in range(32):\n    if lane == 0 and turn >= 0:",
                "out[row] = best": "    out[row] = best",
            },
            ("requests", "out"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Each lane holds the largest of what it has read. The tree of the sum does the rest, with "
        "another operation in place of the plus.",
        "Five rounds, from step 16 down to 1. In each, all 32 lanes shuffle, so no `if` stands "
        "around it; afterwards one lane stores.",
        "In a loop that halves a step: shuffle down the variable `best` by the step, with all 32 "
        "lanes in the mask, and keep the larger one of it and one's own. Behind the loop, lane 0 "
        "stores.",
    ),
    budget=Budget(shared_bytes=0),
)
