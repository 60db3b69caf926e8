"""The largest element so far: a warp per row scans 32 elements and carries on to the next 32."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def running_peaks(out, inp):
    """The largest so far of each row: np.maximum.accumulate(inp, axis=1), a warp per row.

    Blocks have 32 threads along x. Along y, block b has rows b * blockDim.y and those that follow,
    a row for each threadIdx.y; the grid may have more warps than there are rows. No shared memory
    is needed: lanes exchange values by shuffles.
    """
    # FILL (about 17 lines)
    lane = cuda.threadIdx.x
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0]:
        peak = inp[row, 0]
        for start in range(0, inp.shape[1], 32):
            col, best = start + lane, peak
            if col < inp.shape[1]:
                best = max(peak, inp[row, col])
            step = 1
            while step < 32:
                left = cuda.shfl_up_sync(0xFFFFFFFF, best, step)
                if lane >= step:
                    best = max(best, left)
                step *= 2
            if col < inp.shape[1]:
                out[row, col] = best
            peak = cuda.shfl_sync(0xFFFFFFFF, best, 31)


def _matrix(rows, cols, seed=0, low=-999, unit=1):
    """Whole numbers from `low` to 0 or to -low, larger by `unit`; below 0 throughout if asked."""
    high = -1 if low == -500 else -low
    return (scattered((rows, cols), rows + cols + seed, low=low, high=high) * np.float32(unit),)


def _cases():
    """Whole warps with their budget; rows below 0, shorter than a warp, blocks to spare."""
    once = Budget(sectors_per_request=4, requests={"out": 48, "inp": 60}, shared_bytes=0)
    yield Case(partial(_matrix, 12, 128), (3,), (32, 4), budget=once)
    yield Case(partial(_matrix, 9, 70, low=-500), (5,), (32, 2))
    shapes = [(1, 97), (13, 1), (7, 31), (5, 33), sizes(2, seed=52, low=2, high=90)]
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
    name="ex51_peaks",
    chapter="51_scan",
    title="The largest so far",
    specification=lambda inp: np.maximum.accumulate(inp, axis=1),
    solution=running_peaks,
    wrong=(
        Wrong(
            "Every 32 elements begin anew.",
            {"peak = cuda.shfl_sync": "peak = inp[row, col] if col < inp.shape[1] else best"},
            ("output", "wrong"),
        ),
        Wrong(
            "Four rounds: lane 31 never hears of lanes 0 to 15.",
            {"while step": "while step < 16:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Values come from above, not from below.",
            {
                "left = ": "left = cuda.shfl_down_sync(0xFFFFFFFF, best, step)",
                "if lane >=": "if lane + step < 32:",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Begins with 0, which is larger than a row of negative numbers.",
            {"peak = inp[row, 0]": "peak = inp[row, 0] * 0"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but begins with a float64: each maximum and each shuffle is one of 8 bytes.",
            {"peak = inp[row, 0]": "peak = -np.inf"},
            ("findings", "float64"),
        ),
        Wrong(
            "Lanes that have nothing to take in stay away from the shuffle.",
            {
                "left = ": "left = best",
                "if lane >=": "if lane >= step:\n"
                "    left = cuda.shfl_up_sync(0xFFFFFFFF, best, step)",
            },
            ("findings", "missing lane"),
        ),
        Wrong(
            "Right, but each lane looks through all elements before its own.",
            {
                "best = max(peak": "best = peak\nfor k in range(start, col + 1):\n"
                "    best = max(best, inp[row, k])",
            },
            ("requests", "inp"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Take 32 elements of a row at a time. The scan of a warp does them; what they had in all "
        "goes on to the next 32.",
        "In each round a lane takes in what the lane `step` below it has, if there is one: steps "
        "1, 2, 4, 8, 16. All lanes shuffle, also those without an element or a lane below. Lane 31 "
        "then has the largest so far of all, which every lane needs for the next 32.",
        "A loop over the row in steps of 32. Each lane begins with the larger one of the carry and "
        "its element, or with the carry alone behind the end. Five rounds of `shfl_up_sync`. Store "
        "where there is an element. `shfl_sync` of lane 31 is the new carry.",
    ),
    budget=Budget(shared_bytes=0),
)
