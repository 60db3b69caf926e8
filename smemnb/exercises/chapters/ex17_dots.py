"""Row by row products, summed: shuffles in a warp, then an element of shared memory per warp."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def row_dots(out, a, b):
    """The products of two matrices, summed by row: out = (a * b).sum(axis=1), a block per row."""
    # FILL (about 18 lines)
    sums = cuda.shared.array(32, float32)  # a block has 32 warps at most
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        acc = float32(0)
        for col in range(tx, a.shape[1], cuda.blockDim.x):
            acc += a[row, col] * b[row, col]
        step = 16
        while step > 0:
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, step)
            step //= 2
        if tx % 32 == 0:
            sums[tx // 32] = acc
        cuda.syncthreads()  # every warp has put down its sum
        if tx == 0:
            whole = float32(0)
            for warp in range(cuda.blockDim.x // 32):
                whole += sums[warp]
            out[row] = whole


def _pair(rows, cols, seed=0, unit=1):
    """Two matrices of small whole numbers; the second is larger by `unit`, so sums are exact."""
    a, b = scattered((2, rows, cols), rows + cols + seed, low=-30, high=30)
    return a, b * np.float32(unit)


def _cases():
    """A full size with its budget; one row, one column, rows shorter than a block, spare blocks."""
    once = Budget(
        sectors_per_request=4, requests={"out": 6, "a": 96, "b": 96}, shared_bytes=128, barriers=1
    )
    yield Case(partial(_pair, 6, 512), (6,), (128,), budget=once)
    shapes = [(1, 300), (7, 1), (5, 97), (4, 33), sizes(2, seed=18, low=2, high=150)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_pair, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((256, 64, 96, 32, 1024)[number],))


def _fresh(draw):
    """Whole blocks, held to the budget of the full size; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads, rows = draw.one_of(64, 96, 128), draw.size(2, 8)
        cols = threads * draw.size(2, 4) if like == 0 else draw.size(2, 300)
        data = partial(_pair, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex17_dots",
    chapter="17_warp",
    title="The products of two rows, summed",
    specification=lambda a, b: (a * b).sum(axis=1),
    solution=row_dots,
    wrong=(
        Wrong(
            "Nobody waits until every warp has put down its sum.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The sum of the first warp only.",
            {"for warp": "for warp in range(1):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Adds up 32 elements, also where the block has fewer warps.",
            {"for warp": "for warp in range(32):"},
            ("output", "nan"),
        ),
        Wrong(
            "One product per thread: rows longer than the block lose their end.",
            {"for col": "col = tx\nif col < a.shape[1]:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Four rounds: half of each warp is left out.",
            {"step = 16": "step = 8"},
            ("output", "wrong"),
        ),
        Wrong(
            "Every lane puts its own number where only lane 0 has the sum of the warp.",
            {"if tx % 32": "if True:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but a tree over the whole block: an element per thread, a barrier per round.",
            {
                "sums =": "sums = cuda.shared.array(1024, float32)",
                "step = 16": "sums[tx] = acc\ncuda.syncthreads()\nstep = 512",
                "acc += cuda": "if tx < step and tx + step < cuda.blockDim.x:\n"
                "    sums[tx] += sums[tx + step]\ncuda.syncthreads()",
                "if tx % 32": "if False:",
                "for warp": "for warp in range(1):",
            },
            ("shared", "4096"),
        ),
        Wrong(
            "Right, but neighbours in a row go to one thread.",
            {
                "for col": "each = -(-a.shape[1] // cuda.blockDim.x)\n"
                "for col in range(tx * each, min(tx * each + each, a.shape[1])):"
            },
            ("sectors", "budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Three steps: each thread adds up products of its own, each warp adds up its lanes, and "
        "then somebody adds up the warps.",
        "The first loop goes by the number of threads of the block, so that lanes stay side by "
        "side. Lanes pass their sums down by shuffles. The sums of the warps meet in shared "
        "memory, an element each, and that wants a barrier.",
        "A shared array of 32 elements. A loop from the thread's place, in steps of the block. "
        "Five shuffles with halving steps. Lane 0 of each warp stores at the number of its warp. "
        "Barrier. Thread 0 adds up as many elements as the block has warps and stores the result.",
    ),
    budget=Budget(shared_bytes=128, barriers=1),
)
