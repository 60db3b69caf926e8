"""How many elements of a row lie between each two neighbouring edges."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

BINS, LANES = 64, 32
COUNTERS = BINS * LANES


@cuda.jit
def row_bins(out, inp, edges):
    """Elements of a row with edges[k] <= element < edges[k + 1]: out[row, k], a block per row.

    At most 64 bins; edges ascend, and elements outside of them are in no bin.
    """
    # FILL (about 24 lines)
    part = cuda.shared.array(COUNTERS, int32)
    marks = cuda.shared.array(65, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    bins = edges.shape[0] - 1
    if row < out.shape[0]:
        for i in range(tx, COUNTERS, cuda.blockDim.x):
            part[i] = 0
        for i in range(tx, bins + 1, cuda.blockDim.x):
            marks[i] = edges[i]
        cuda.syncthreads()  # counters are 0, marks are there
        for col in range(tx, inp.shape[1], cuda.blockDim.x):
            value = inp[row, col]
            below = 0
            for k in range(bins + 1):
                if marks[k] <= value:
                    below += 1
            if below > 0 and below <= bins:
                cuda.atomic.add(part, (below - 1) * LANES + tx % LANES, 1)
        cuda.syncthreads()  # all have added before anyone reads
        for k in range(tx, bins, cuda.blockDim.x):
            acc = 0
            for turn in range(LANES):
                acc += part[k * LANES + (k + turn) % LANES]
            out[row, k] = acc


def _counts(inp, edges):
    """The specification: the number of edges at or below an element says its bin."""
    below = (edges <= inp[:, :, None]).sum(2)
    bins = edges.size - 1
    return np.stack([(below == k + 1).sum(1) for k in range(bins)], 1).astype(np.int32)


def _inputs(rows, cols, bins, seed=0, unit=1):
    """Whole numbers, some of them edges, some beyond; `unit` takes them out of narrower types."""
    inp = scattered((rows, cols), rows * cols + seed)
    edges = np.sort(scattered(bins + 1, bins + seed, low=-80, high=80))
    return inp * np.float32(unit), edges * np.float32(unit)


def _cases():
    """A full size with its budget; one row, one bin, short rows, blocks of any size."""
    once = Budget(
        sectors_per_request=4,
        requests={"edges": 12, "inp": 64, "out": 8},
        shared_bytes=4 * (COUNTERS + 65),
        barriers=2,
    )
    yield Case(partial(_inputs, 4, 512, 64), (4,), (128,), budget=once)
    shapes = [
        (1, 300, 7),
        (3, 1, 4),
        (5, 97, 1),
        (2, 33, 64),
        (*sizes(2, seed=54, low=2, high=150), 38),
    ]
    for number, (rows, cols, bins) in enumerate(shapes):
        data = partial(_inputs, rows, cols, bins, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((256, 64, 96, 32, 128)[number],))


def _fresh(draw):
    """Whole rounds of a block, held to the budget; ragged rows of large numbers."""
    threads, rows = draw.one_of(64, 96, 128), draw.size(2, 5)
    data = partial(_inputs, rows, threads * draw.size(2, 5), 64, draw.numbers())
    yield Case(data, (rows,), (threads,), like=0)
    data = partial(_inputs, rows, draw.size(2, 300), draw.size(1, 63), draw.numbers(), 2.0**40)
    yield Case(data, (rows + 1,), (threads,))


EXERCISE = Exercise(
    name="ex53_bins",
    chapter="53_histogram",
    title="Elements between edges",
    specification=_counts,
    solution=row_bins,
    wrong=(
        Wrong(
            "Nobody waits until the counters are 0 and the edges are there.",
            {"cuda.syncthreads()  # counters": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits until all have added.",
            {"cuda.syncthreads()  # all have": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Adds without an atomic: lanes and warps lose each other's additions.",
            {"cuda.atomic": "part[(below - 1) * LANES + tx % LANES] += 1"},
            ("output", "wrong"),
        ),
        Wrong(
            "The counters begin with what was there.",
            {"part[i] = 0": "pass"},
            ("output", "stored"),
        ),
        Wrong(
            "An element that is an edge goes into the bin below it.",
            {"if marks": "if marks[k] < value:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Elements above the last edge are counted in the last bin.",
            {"if below": "if below > 0:\n    below = min(below, bins)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but one counter for each bin: lanes of different bins meet in a bank.",
            {
                "cuda.atomic": "cuda.atomic.add(part, below - 1, 1)",
                "for turn": "for turn in range(1):",
                "acc += part": "acc += part[k]",
            },
            ("wavefronts", "extra"),
        ),
        Wrong(
            "Right, but copy 0 is read by all threads first: lanes meet in one bank.",
            {"acc += part": "acc += part[k * LANES + turn]"},
            ("wavefronts", "extra"),
        ),
        Wrong(
            "Right, but each comparison loads its edge from global memory.",
            {"if marks": "if edges[k] <= value:"},
            ("requests", "edges"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Three parts with barriers between them: set counters to 0 and stage the edges, count,"
        " add up the copies.",
        "The bin of an element is the number of edges at or below it, less one. All lanes compare"
        " with the same edge at a time, which is a broadcast. A counter for each bin and lane,"
        " bin * 32 + lane, keeps lanes apart.",
        "shared.array(2048, int32) for 32 copies of 64 counters, shared.array(65, float32) for the"
        " edges. Loops in steps of the block: set to 0, stage, barrier; over the columns: count"
        " edges, and add the constant 1 by an atomic where there is a bin; barrier; over the bins:"
        " 32 copies from copy k on, and store.",
    ),
    budget=Budget(shared_bytes=4 * (COUNTERS + 65)),
)
