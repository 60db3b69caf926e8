"""The logarithm of a row's sum of exponentials: a sum that is scaled when its maximum grows."""

# mypy: disable-error-code="attr-defined"

import math
from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def row_log_sums(out, inp):
    """The logarithm of the sum of exp(inp) over each row, read once; one warp per row.

    Elements may be -inf, as a mask makes them; a row of nothing else has -inf. Lanes exchange
    values by shuffles, without shared memory.
    """
    lane = cuda.threadIdx.x  # blocks have 32 threads along x: a warp for each y
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0]:
        # acc is the sum of exp(element - top); top begins with the lowest number, as -inf - -inf
        # is no number
        top, acc = float32(-3.4028235e38), float32(0)
        for col in range(lane, inp.shape[1], 32):
            value = inp[row, col]
            # FILL (about 4 lines)
            if value > top:
                acc *= math.exp(top - value)
                top = value
            acc += math.exp(value - top)
        own = top
        for mask in (16, 8, 4, 2, 1):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, mask))
        # FILL (about 3 lines)
        acc *= math.exp(own - top)
        for mask in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, mask)
        if lane == 0:
            out[row] = top + math.log(acc)


def _log_sums(inp):
    """In float64, with the maximum taken out."""
    wide = inp.astype(np.float64)
    top = np.maximum(wide.max(axis=1, keepdims=True), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):  # the logarithm of 0, of a row of -inf alone
        return (top[:, 0] + np.log(np.exp(wide - top).sum(axis=1))).astype(np.float32)


def _matrix(rows, cols, seed=0, high=99, unit=1, masked=False):
    """Whole numbers from -high to high, times `unit`: exp(89) already is no float32.

    Masked: -inf in the first elements of each row, of one more from row to row.
    """
    values = scattered((rows, cols), rows + cols + seed, low=-high, high=high) * np.float32(unit)
    if masked:
        values[np.arange(rows)[:, None] > np.arange(cols)] = -np.inf
    return (values,)


def _cases():
    """Whole warps with their budget; close and far numbers, short rows, blocks to spare."""
    once = Budget(sectors_per_request=4, requests={"out": 12, "inp": 48}, shared_bytes=0)
    yield Case(partial(_matrix, 12, 128), (3,), (32, 4), budget=once)
    yield Case(partial(_matrix, 9, 70, high=3), (5,), (32, 2))
    yield Case(partial(_matrix, 45, 43, high=9, masked=True), (23,), (32, 2))
    shapes = [(1, 97), (13, 1), (7, 31), (5, 33), sizes(2, seed=54, low=2, high=90)]
    for rows, cols in shapes:
        data = partial(_matrix, rows, cols, high=50, unit=2.0**40 if cols == 97 else 1)
        yield Case(data, (cover((rows,), (3,))[0] + 1,), (32, 3))


def _fresh(draw):
    """Whole warps, held to the budget of the first case; a ragged matrix of large numbers."""
    for like, unit, edge in ((0, 1, 32), (None, 2.0**40, 1)):
        rows, cols = draw.size(2, 20), edge * draw.size(1, 96 // edge)
        high = draw.one_of(1, 2, 4, 8)
        data = partial(_matrix, rows, cols, draw.numbers(), unit=unit, masked=like is None)
        yield Case(data, cover((rows,), (high,)), (32, high), like=like)


EXERCISE = Exercise(
    name="ex54_once",
    chapter="54_rows",
    title="Maximum and sum in one pass",
    specification=_log_sums,
    solution=row_log_sums,
    wrong=(
        Wrong(
            "No maximum is taken out: the exponential of 99 is no float32.",
            {"if value > top": "top = float32(0)\nif value > float32(3e38):"},
            ("output", "inf"),
        ),
        Wrong(
            "The sum stays as it is when the maximum grows.",
            {"acc *= math.exp(top - value)": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "The sum is scaled the wrong way round.",
            {"acc *= math.exp(top - value)": "acc *= math.exp(value - top)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Scaled after the maximum has changed: by exp(0).",
            {"acc *= math.exp(top - value)": "top = value\nacc *= math.exp(top - value)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Begins with the first element: if that is -inf, it is taken from itself.",
            {"top, acc =": "top, acc = inp[row, 0], float32(0)"},
            ("output", "is nan"),
        ),
        Wrong(
            "Right, but begins with a float64 that is as low.",
            {"top, acc =": "top, acc = -3.4028235e38, float32(0)"},
            ("findings", "float64"),
        ),
        Wrong(
            "Lanes add up sums that belong to different maxima.",
            {"acc *= math.exp(own - top)": ""},
            ("output", "wrong"),
        ),
        Wrong(
            "The lanes' sums are not added up.",
            {"acc += cuda": "pass"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but the row is read a second time.",
            {
                "acc += math.exp(value - top)": "",
                "acc *= math.exp(top - value)": "",
                "acc *= math.exp(own - top)": "for col in range(lane, inp.shape[1], 32):\n"
                "    acc += math.exp(inp[row, col] - top)",
            },
            ("requests", "inp"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    rtol=1e-5,
    hints=(
        "`acc` is a sum of exp(element - top). By what has it to be multiplied, so that it is one "
        "of exp(element - value)?",
        "Only where the new element is larger: first scale what is there, by exp of the old "
        "maximum minus the new one, then keep the new maximum. In either case the element adds "
        "exp(value - top). The maximum begins with the lowest number, and neither with the first "
        "element nor with -inf: a mask makes elements -inf, and -inf less -inf is nan. After "
        "the lanes have agreed on one maximum, each has to scale its own "
        "sum in the same way.",
        "In the loop: if value is larger than top, multiply acc by math.exp(top - value) and set "
        "top to value; then add math.exp(value - top). Behind the first exchange: multiply acc by "
        "math.exp(own - top), then add up acc over the lanes by shfl_down_sync, from 16 down to 1.",
    ),
    budget=Budget(shared_bytes=0),
)
