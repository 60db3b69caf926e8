"""The counts of a row, from 32 copies of its counters: who reads which copy when."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

BINS, LANES = 64, 32
COUNTERS = BINS * LANES


@cuda.jit
def row_counts(out, inp):
    """How often each number below 64 occurs in a row: out[row, k], a block per row.

    Blocks are of whole warps; they may have fewer threads than there are numbers.
    """
    part = cuda.shared.array(COUNTERS, int32)  # of number k and a lane at 32 * k + lane
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        for i in range(tx, COUNTERS, cuda.blockDim.x):
            part[i] = 0
        cuda.syncthreads()  # all counters are 0 before anyone adds
        for col in range(tx, inp.shape[1], cuda.blockDim.x):
            cuda.atomic.add(part, inp[row, col] * LANES + tx % LANES, 1)
        # FILL (about 6 lines)
        cuda.syncthreads()  # all have added before anyone reads
        for k in range(tx, BINS, cuda.blockDim.x):
            acc = 0
            for turn in range(LANES):
                acc += part[k * LANES + (k + turn) % LANES]
            out[row, k] = acc


def _counts(inp):
    """The specification: a row of counts for each row."""
    return np.stack([np.bincount(row, minlength=BINS) for row in inp]).astype(np.int32)


def _inputs(rows, cols, seed=0, high=BINS - 1):
    """Numbers from 0 to 63, or fewer of them."""
    return (scattered((rows, cols), rows * cols + seed, low=0, high=high, dtype=np.int32),)


def _cases():
    """A full size with its budget; one row, short rows, equal numbers, blocks of any size."""
    once = Budget(
        sectors_per_request=4,
        shared_bytes=4 * COUNTERS,
        shared_loads=4 * COUNTERS // 32,
        barriers=2,
    )
    yield Case(partial(_inputs, 4, 512), (4,), (128,), budget=once)
    shapes = [(1, 300), (3, 1), (5, 97), (2, 33), sizes(2, seed=53, low=2, high=150)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_inputs, rows, cols, high=0 if number == 0 else BINS - 1)
        yield Case(data, (rows + number % 2,), ((256, 64, 96, 32, 128)[number],))


def _fresh(draw):
    """Whole rounds of a block, held to the budget of the full size; ragged rows."""
    threads, rows = draw.one_of(64, 96, 128), draw.size(2, 5)
    data = partial(_inputs, rows, threads * draw.size(2, 5), draw.numbers())
    yield Case(data, (rows,), (threads,), like=0)
    yield Case(partial(_inputs, rows, draw.size(2, 300), draw.numbers()), (rows + 1,), (threads,))


EXERCISE = Exercise(
    name="ex53_copies",
    chapter="53_histogram",
    title="The counts from their copies",
    specification=_counts,
    solution=row_counts,
    wrong=(
        Wrong(
            "Nobody waits until all have added.",
            {"cuda.syncthreads()  # all have": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but every thread begins with copy 0: all lanes of a request meet in one bank.",
            {"acc += part": "acc += part[k * LANES + turn]"},
            ("wavefronts", "extra"),
        ),
        Wrong(
            "Right, but a pair of copies after the other: lanes meet in two banks.",
            {"acc += part": "acc += part[k * LANES + (k // 16 + turn) % LANES]"},
            ("wavefronts", "extra"),
        ),
        Wrong(
            "Right, but thread 0 adds up all copies of all numbers.",
            {"for k in": "for k in range(BINS if tx == 0 else 0):"},
            ("requests", "load from shared memory"),
        ),
        Wrong(
            "Leaves out the last copy.",
            {"for turn": "for turn in range(LANES - 1):"},
            ("output", "wrong"),
        ),
        Wrong(
            "A thread for each number: where the block has fewer, numbers stay without a count.",
            {"for k": "k = tx\nif k < BINS:"},
            ("output", "written"),
        ),
        Wrong(
            "The sum goes on from number to number.",
            {"acc = 0": "", "for k": "acc = 0\nfor k in range(tx, BINS, cuda.blockDim.x):"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A thread takes a number and adds up its 32 copies. Before it reads them, all threads of"
        " the block must have counted.",
        "In one request, lanes hold neighbouring numbers. Copy c of number k is word 32 * k + c,"
        " so its bank is c alone: which copies may the lanes read at the same time?",
        "Let the thread of number k begin with copy k % 32 and go around: (k + turn) % 32 for"
        " turn = 0 to 31. Then store the sum at out[row, k]; a loop in steps of the block gives"
        " every number a thread.",
    ),
    budget=Budget(shared_bytes=4 * COUNTERS),
)
