"""Each row less its largest element: what a block has found goes back to every thread of it."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def below_largest(out, inp):
    """Each row less its largest element: out = inp - inp.max(axis=1)[:, None], a block per row."""
    # FILL (about 17 lines)
    best = cuda.shared.array(32, float32)  # a block has 32 warps at most
    tx, row, cols = cuda.threadIdx.x, cuda.blockIdx.x, inp.shape[1]
    if row < inp.shape[0]:
        most = inp[row, 0]
        for col in range(tx, cols, cuda.blockDim.x):
            most = max(most, inp[row, col])
        step = 16
        while step > 0:
            most = max(most, cuda.shfl_down_sync(0xFFFFFFFF, most, step))
            step //= 2
        if tx % 32 == 0:
            best[tx // 32] = most
        cuda.syncthreads()  # every warp has put down its largest
        for warp in range(cuda.blockDim.x // 32):
            most = max(most, best[warp])
        for at in range(tx, cols, cuda.blockDim.x):
            out[row, at] = inp[row, at] - most


def _matrix(rows, cols, seed=0, unit=1, lift=0):
    """Whole numbers around `lift`, larger by `unit`."""
    return (
        (scattered((rows, cols), rows + cols + seed, low=-999, high=999) + lift) * np.float32(unit),
    )


def _cases():
    """A full size with its budget; rows below 0, one row, one column, short rows, spare blocks."""
    once = Budget(
        sectors_per_request=4, requests={"out": 80, "inp": 180}, shared_bytes=128, barriers=1
    )
    yield Case(partial(_matrix, 5, 512), (5,), (128,), budget=once)
    yield Case(partial(_matrix, 4, 90, lift=-2000), (4,), (64,))
    shapes = [(1, 300), (7, 1), (5, 97), (4, 33), sizes(2, seed=19, low=2, high=150)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_matrix, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((256, 64, 96, 32, 1024)[number],))


def _fresh(draw):
    """Whole blocks, held to the budget of the full size; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads, rows = draw.one_of(64, 96, 128), draw.size(2, 8)
        cols = threads * draw.size(1, 3) if like == 0 else draw.size(2, 300)
        data = partial(_matrix, rows, cols, draw.numbers(), unit, draw.one_of(-3000, 3000))
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex18_above",
    chapter="18_checkpoint",
    title="Each row less its largest element",
    specification=lambda inp: inp - inp.max(axis=1)[:, None],
    solution=below_largest,
    wrong=(
        Wrong(
            "Begins at 0, which is too much where a whole row is below it.",
            {"most = inp": "most = float32(0)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody waits until every warp has put down its largest.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Each warp takes the largest of its own lanes, and the other warps' are lost.",
            {"most = max(most, best": "pass"},
            ("output", "wrong"),
        ),
        Wrong(
            "Looks at 32 elements, also where the block has fewer warps.",
            {"for warp": "for warp in range(32):"},
            ("findings", "stored"),
        ),
        Wrong(
            "Four rounds: half of each warp is left out.",
            {"step = 16": "step = 8"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but every thread goes over the whole row.",
            {"for col": "for col in range(cols):"},
            ("requests", "inp"),
        ),
        Wrong(
            "Right, but an element of shared memory for every thread, and nothing passes by lanes.",
            {
                "best =": "best = cuda.shared.array(1024, float32)",
                "most = max(most, cuda": "pass",
                "if tx % 32": "if True:",
                "best[tx": "best[tx] = most",
                "for warp": "for warp in range(cuda.blockDim.x):",
            },
            ("shared", "4096"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A block for each row finds the largest first, as it would find a sum. What differs is the "
        "end: not one thread wants the result, but all of them.",
        "Lanes pass their largest on by shuffles, warps through an element each of shared memory. "
        "After the barrier every thread may read all of these elements: many lanes, one word.",
        "The variable begins with an element of the row, not with 0. A loop in steps of the block; "
        "five shuffles; lane 0 of each warp stores at the number of its warp; barrier; every "
        "thread takes the largest of as many elements as there are warps; a second loop over the "
        "row subtracts it.",
    ),
    budget=Budget(shared_bytes=128, barriers=1),
)
