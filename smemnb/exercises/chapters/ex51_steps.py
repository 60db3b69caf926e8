"""Running sums of a row in one block: each step reads one buffer and stores to the other."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def running_sums(out, inp):
    """The running sums of each row: out = inp.cumsum(axis=1), a block per row."""
    buffers = cuda.shared.array((2, 256), float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        acc = float32(0)
        if tx < inp.shape[1]:
            acc = inp[row, tx]
        buffers[0, tx] = acc
        cuda.syncthreads()  # the row is there
        old, step = 0, 1
        while step < cuda.blockDim.x:
            # FILL (about 6 lines)
            acc = buffers[old, tx]
            if tx >= step:
                acc += buffers[old, tx - step]
            buffers[1 - old, tx] = acc
            cuda.syncthreads()  # all sums of this step are there
            old = 1 - old
            step *= 2
        if tx < inp.shape[1]:
            out[row, tx] = buffers[old, tx]


def _matrix(rows, cols, seed=0, unit=1):
    """Small whole numbers, larger by `unit`, so that sums are exact."""
    return (scattered((rows, cols), rows + cols + seed, low=-30, high=30) * np.float32(unit),)


def _cases():
    """Whole rows with their budget; one row, one column, rows shorter than a block."""
    once = Budget(sectors_per_request=4, requests={"out": 12, "inp": 12}, barriers=8)
    yield Case(partial(_matrix, 3, 128), (3,), (128,), budget=once)
    shapes = [(1, 97), (7, 1), (4, 33), (2, 127), sizes(2, seed=51, low=2, high=120)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_matrix, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((128, 32, 64, 256, 128)[number],))


def _fresh(draw):
    """Whole rows, held to the budget of the full size; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        rows, threads = draw.size(2, 6), draw.one_of(64, 96, 128, 256)
        threads = 128 if like == 0 else threads
        cols = threads if like == 0 else draw.size(2, threads)
        data = partial(_matrix, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex51_steps",
    chapter="51_scan",
    title="Running sums, step by step",
    specification=lambda inp: inp.cumsum(axis=1),
    solution=running_sums,
    wrong=(
        Wrong(
            "Nobody waits until all sums of a step are there.",
            {"cuda.syncthreads()  # all": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Stores where others still read.",
            {"buffers[1 - old, tx]": "buffers[old, tx] = acc", "old = 1 - old": "old = old"},
            ("findings", "race"),
        ),
        Wrong(
            "Forgets what stands where there is nothing to add.",
            {
                "acc = buffers[old, tx]": "acc = float32(0)",
                "acc += buffers": "acc = buffers[old, tx] + buffers[old, tx - step]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Adds what lies behind, not before.",
            {
                "if tx >= step": "if tx + step < cuda.blockDim.x:",
                "acc += buffers": "acc += buffers[old, tx + step]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Reads the same buffer in every step.",
            {"old = 1 - old": "old = 0"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but with a second barrier in every step.",
            {"acc = buffers[old, tx]": "cuda.syncthreads()\nacc = buffers[old, tx]"},
            ("barriers", "15"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "In the step of 4, thread 9 adds what stands at place 5 to what stands at its own place. "
        "Threads 0 to 3 have nothing to add, but their sums must be in the new buffer, too.",
        "Read from the buffer `old`, add if there is something `step` places before, store into "
        "the other buffer, and wait. Then the other buffer is the old one.",
        "The sum begins as the element of `old` at the thread's own place. Where the place is at "
        "least `step`, the element `step` before it is added. It goes into buffer `1 - old` at "
        "the same place. A barrier, and `old` becomes `1 - old`.",
    ),
    budget=Budget(),
)
