"""A column's sum made of four that do not wait for each other: another order, another rounding."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def four_sums(out, inp):
    """The sum of each column as (s0 + s1) + (s2 + s3), where s1 is that of the rows 1, 5, 9, ..."""
    col = cuda.grid(1)
    rows = inp.shape[0]
    if col < out.shape[0]:
        s0, s1, s2, s3 = float32(0), float32(0), float32(0), float32(0)
        for row in range(0, rows - 3, 4):
            # FILL (about 4 lines)
            s0 += inp[row, col]
            s1 += inp[row + 1, col]
            s2 += inp[row + 2, col]
            s3 += inp[row + 3, col]
        # up to three rows are left
        left = rows // 4 * 4
        if left < rows:
            s0 += inp[left, col]
        if left + 1 < rows:
            s1 += inp[left + 1, col]
        if left + 2 < rows:
            s2 += inp[left + 2, col]
        # FILL (about 1 line)
        out[col] = (s0 + s1) + (s2 + s3)


def _summed(inp):
    """Row by row, in float32: each addition rounds where the kernel's does."""
    sums = np.zeros((4, inp.shape[1]), np.float32)
    for row in range(inp.shape[0]):
        sums[row % 4] += inp[row]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


def _matrix(rows, cols, seed=0, whole=False):
    """Numbers of very different size, whose sum depends on the order; or whole ones."""
    numbers = scattered((rows, cols), seed=rows + cols + seed)
    high = 0 if whole else 30
    powers = scattered((rows, cols), rows + cols + seed + 1, low=0, high=high, dtype=np.int32)
    return (np.ldexp(numbers, powers),)


def _cases():
    """A full size with its budget, and ragged ones: one to three rows left, or no four at all."""
    once = Budget(sectors_per_request=4, requests={"out": 4, "inp": 192}, shared_bytes=0)
    yield Case(partial(_matrix, 48, 128), grid=(2,), block=(64,), budget=once)
    shapes = [
        (41, 35),
        (70, 1),
        (3, 97),
        (99, 33),
        (1, 40),
        (4, 32),
        sizes(2, seed=41, low=5, high=90),
    ]
    for number, shape in enumerate(shapes):
        data = partial(_matrix, shape[0], shape[1], whole=number == 4)
        yield Case(data, cover((shape[1],), (32,)), (32,))
    yield Case(partial(_matrix, 42, 35), grid=(1,), block=(96,))


def _fresh(draw):
    """Whole warps, held to the budget of the full size; a ragged size."""
    for like, unit, threads in ((0, 32, draw.one_of(32, 64)), (None, 1, draw.one_of(16, 32, 96))):
        rows, cols = draw.size(8, 60), unit * draw.size(1, 96 // unit)
        data = partial(_matrix, rows, cols, draw.numbers())
        yield Case(data, cover((cols,), (threads,)), (threads,), like=like)


EXERCISE = Exercise(
    name="ex41_sums",
    chapter="41_latency",
    title="One sum as four",
    specification=_summed,
    solution=four_sums,
    wrong=(
        Wrong(
            "One chain: all four rows go into one sum, in the order of the rows.",
            {
                "s1 += inp[row": "s0 += inp[row + 1, col]",
                "s2 += inp[row": "s0 += inp[row + 2, col]",
                "s3 += inp[row": "s0 += inp[row + 3, col]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Two chains of two rows each.",
            {
                "s2 += inp[row": "s0 += inp[row + 2, col]",
                "s3 += inp[row": "s1 += inp[row + 3, col]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The same row four times.",
            {
                "s1 += inp[row": "s1 += inp[row, col]",
                "s2 += inp[row": "s2 += inp[row, col]",
                "s3 += inp[row": "s3 += inp[row, col]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Adds the four from left to right: another rounding.",
            {"out[col] =": "out[col] = s0 + s1 + s2 + s3"},
            ("output", "wrong"),
        ),
        Wrong(
            "Stores the first of the four alone.",
            {"out[col] =": "out[col] = s0"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but each row is read twice.",
            {
                "s0 += inp[row": "s0 += inp[row, col]\ns1 += inp[row + 1, col] - inp[row + 1, col]",
            },
            ("requests", "inp"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A round of the loop has four rows. Which of the four sums does each belong to, so that no "
        "addition of the round needs the result of another one?",
        "The first sum gets the row of the round, and each of the others the row that lies so many "
        "behind it as its number says. At the end three additions are left, two of which do not "
        "wait for each other.",
        "In the loop four additions with an offset from 0 to 3, each to the sum of its number. "
        "Behind it the store: the brackets of the result stand in the docstring.",
    ),
    budget=Budget(shared_bytes=0),  # ragged rows begin inside a sector: no bound on them
)
