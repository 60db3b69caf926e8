"""Smoothed shares: a row with a halo in shared memory, divided by its sum."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

MOST = 1024  # elements of a row
PADDED = MOST + 2  # with one more on each side


@cuda.jit
def smoothed_shares(out, inp):
    """out = (left + 2 * inp + right) / (4 * the row's sum); a block of whole warps per row.

    Beyond the ends of a row stand its first and its last element again. At most 1024 elements.
    """
    # FILL (about 24 lines)
    tile = cuda.shared.array(PADDED, float32)
    sums = cuda.shared.array(32, float32)  # a block has 32 warps at most
    tx, row, length = cuda.threadIdx.x, cuda.blockIdx.x, inp.shape[1]
    if row < inp.shape[0]:
        acc = float32(0)
        for col in range(tx, length, cuda.blockDim.x):
            value = inp[row, col]
            tile[col + 1] = value
            acc += value
            if col == 0:
                tile[0] = value
            if col == length - 1:
                tile[length + 1] = value
        for step in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, step)
        if tx % 32 == 0:
            sums[tx // 32] = acc
        cuda.syncthreads()  # the row and the sums of all warps are there
        total = float32(0)
        for warp in range(cuda.blockDim.x // 32):
            total += sums[warp]
        for col in range(tx, length, cuda.blockDim.x):
            here = tile[col + 1]
            out[row, col] = (tile[col] + here + here + tile[col + 2]) / (float32(4) * total)


def _shares(inp):
    """The specification, by a row with one element more on each side."""
    wide = np.pad(inp.astype(np.float64), ((0, 0), (1, 1)), mode="edge")
    smoothed = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    return (smoothed / (4 * inp.astype(np.float64).sum(axis=1, keepdims=True))).astype(np.float32)


def _rows(rows, cols, seed=0, unit=1):
    """Whole numbers above 0, larger by `unit`."""
    return (scattered((rows, cols), rows + cols + seed, low=1, high=99) * np.float32(unit),)


def _cases():
    """The longest rows with their budget; one row, one column, ragged rows, spare blocks."""
    once = Budget(
        sectors_per_request=4,
        requests={"inp": 96, "out": 96},
        shared_bytes=4 * (PADDED + 32),
        shared_requests=450,
        barriers=1,
    )
    yield Case(partial(_rows, 3, 1024), (3,), (128,), budget=once)
    shapes = [(1, 700), (5, 1), (4, 97), (2, 1023), sizes(2, seed=57, low=2, high=90)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_rows, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows + number % 2,), ((96, 64, 32, 256, 32)[number],))


def _fresh(draw):
    """Whole rows, held to the budget of the longest ones; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        rows, threads = draw.size(2, 6), draw.one_of(64, 96, 128)
        cols = threads * draw.size(2, 7) if like == 0 else draw.size(2, 500)
        data = partial(_rows, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex55_shares",
    chapter="55_checkpoint",
    title="Smoothed shares of a row",
    specification=_shares,
    solution=smoothed_shares,
    wrong=(
        Wrong(
            "Nobody waits for the row and for the sums of all warps.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody fills the halo on the left.",
            {"tile[0]": "pass"},
            ("output", "nan"),
        ),
        Wrong(
            "The halo on the right stands behind the longest row, not behind this one.",
            {"tile[length + 1]": "tile[MOST + 1] = value"},
            ("output", "nan"),
        ),
        Wrong(
            "Beyond the ends stands 0: the shares of a row do not come to 1.",
            {"tile[0]": "tile[0] = 0", "tile[length + 1]": "tile[length + 1] = 0"},
            ("output", "wrong"),
        ),
        Wrong(
            "Each warp divides by its own sum.",
            {"for warp": "for warp in range(1):", "total += sums": "total = acc"},
            ("output", "wrong"),
        ),
        Wrong(
            "A window without weights.",
            {"out[row, col]": "out[row, col] = (tile[col] + here + tile[col + 2]) / (3 * total)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but the neighbours come from global memory.",
            {
                "out[row, col]": "left = inp[row, max(col - 1, 0)]\n"
                "right = inp[row, min(col + 1, length - 1)]\n"
                "out[row, col] = (left + here + here + right) / (float32(4) * total)"
            },
            ("sectors", "budget"),
        ),
        Wrong(
            "Right, but a second barrier, between the row and the sums.",
            {"acc = float32(0)": "acc = float32(0)\ncuda.syncthreads()"},
            ("barriers", "budget"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    rtol=1e-6,
    hints=(
        "The row is wanted twice, the second time by neighbours. So where must it wait? Its sum "
        "can be on its way at the same time.",
        "A loop over the columns loads an element, stores it into the tile one place further, and "
        "adds it up. Who has the first or the last element of the row stores it once more, into "
        "the halo. Lanes add up by shuffles, and lane 0 of each warp leaves a sum. One barrier "
        "serves both, the tile and the sums.",
        "Shared arrays of 1026 and of 32 float32. The element of column col is tile[col + 1], the "
        "halo is tile[0] and tile[length + 1]. Five shuffles down. Barrier. Every thread adds up "
        "the sums of the block's warps. A second loop over the columns adds tile[col], twice "
        "tile[col + 1] and tile[col + 2], and divides by four times the sum.",
    ),
    budget=Budget(shared_bytes=4 * (PADDED + 32), barriers=1),
)
