"""Each row by its largest size: a row that waits in registers for the maximum of its block."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def unit_rows(out, inp):
    """out = inp / abs(inp).max(axis=1, keepdims=True); a block per row, 8 elements per thread.

    A block has whole warps, at most 32, and a row has at most 8 elements for each thread. The grid
    may have more blocks than there are rows.
    """
    # FILL (about 22 lines)
    tops = cuda.shared.array(32, float32)  # a block has 32 warps at most
    held = cuda.local.array(8, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < inp.shape[0]:
        top = float32(0)
        for k in range(8):
            col = tx + k * cuda.blockDim.x
            held[k] = float32(0)
            if col < inp.shape[1]:
                held[k] = inp[row, col]
            top = max(top, abs(held[k]))
        for step in (16, 8, 4, 2, 1):
            top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
        if tx % 32 == 0:
            tops[tx // 32] = top
        cuda.syncthreads()  # the maxima of all warps are there
        for warp in range(cuda.blockDim.x // 32):
            top = max(top, tops[warp])
        for k in range(8):
            col = tx + k * cuda.blockDim.x
            if col < inp.shape[1]:
                out[row, col] = held[k] / top


def _matrix(rows, cols, seed=0, unit=1):
    """Whole numbers that are not all 0, in whose rows the largest size is often below 0."""
    values = scattered((rows, cols), rows + cols + seed, low=-99, high=40)
    values[:, 0] -= 41
    return (values * np.float32(unit),)


def _cases():
    """The longest rows with their budget; one element, one warp, ragged rows, spare blocks."""
    once = Budget(
        sectors_per_request=4, requests={"out": 96, "inp": 96}, shared_bytes=128, barriers=1
    )
    yield Case(partial(_matrix, 3, 1024), (3,), (128,), budget=once)
    shapes = [(1, 700), (5, 1), (4, 97), (2, 1023), sizes(2, seed=55, low=2, high=240)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_matrix, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((96, 64, 32, 256, 32)[number],))


def _fresh(draw):
    """Whole rows, held to the budget of the longest ones; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        rows, threads = draw.size(2, 6), draw.one_of(64, 96, 128)
        cols = 8 * threads if like == 0 else draw.size(2, 8 * threads - 1)
        data = partial(_matrix, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex54_unit",
    chapter="54_rows",
    title="Each row by its largest size",
    specification=lambda inp: inp / np.abs(inp).max(axis=1, keepdims=True),
    solution=unit_rows,
    wrong=(
        Wrong(
            "Nobody waits until the maxima of all warps are there.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The largest element, where the largest size is asked for.",
            {"top = max(top, abs": "top = max(top, held[k])"},
            ("output", "wrong"),
        ),
        Wrong(
            "Each warp divides by its own maximum.",
            {"for warp": "for warp in range(0):"},
            ("output", "wrong"),
        ),
        Wrong(
            "The last warp is left out.",
            {"for warp": "for warp in range(cuda.blockDim.x // 32 - 1):"},
            ("output", "wrong"),
        ),
        Wrong(
            "One element per thread: longer rows lose their end.",
            {"for k": "for k in range(1):"},
            ("output", "not written"),
        ),
        Wrong(
            "Stores beyond the end of the row.",
            {"if col": "if True:"},
            ("findings", "out"),
        ),
        Wrong(
            "Right, but the row is read a second time.",
            {"out[row, col]": "out[row, col] = inp[row, col] / top"},
            ("requests", "inp"),
        ),
        Wrong(
            "Right, but the row waits in shared memory.",
            {
                "held =": "held = cuda.shared.array(2048, float32)",
                "held[k] = float32(0)": "held[col] = float32(0)",
                "held[k] = inp": "held[col] = inp[row, col]",
                "top = max(top, abs": "top = max(top, abs(held[col]))",
                "out[row, col]": "out[row, col] = held[col] / top",
            },
            ("shared", "8320"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    rtol=1e-6,
    hints=(
        "A thread keeps 8 elements in a local array, each as many columns behind the one before as "
        "the block has threads. It needs them twice, and the row is read once.",
        "Load 8 elements, 0 where the row has ended, and keep the largest size. Lanes pass theirs "
        "down, and lane 0 of each warp puts what it has into shared memory. After a barrier every "
        "thread reads those of all warps. Then divide what was kept, and store it.",
        "A shared array of 32 float32, a local one of 8. In a loop of 8 the thread takes the "
        "column that is k blocks of threads behind its own, keeps 0 or the element, and the larger "
        "size. Five shuffles down, from 16 to 1. Lane 0 stores at the number of its warp. "
        "Barrier. A loop over the block's warps that keeps the largest. A second loop of 8 stores "
        "what was kept, divided by it, where the column lies inside.",
    ),
    budget=Budget(shared_bytes=128, barriers=1),
)
