"""How far each element is below the largest of its row: rows staged, and read by columns."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered

PITCH = 65  # elements from one row of the tile to the next


@cuda.jit
def below_peak(out, inp):
    """Each element less the largest of its row, of up to 64.  Blocks of 32 x h have 32 rows."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    rows, cols = inp.shape
    first = cuda.blockIdx.x * 32  # the block's first row
    # 1. stage: neighbouring lanes load neighbouring elements
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            # FILL (about 2 lines)
            if first + r < rows:
                tile[r, c] = inp[first + r, c]
    cuda.syncthreads()  # the tile is full before anyone reads it
    # 2. lane tx of the first warp looks for the peak of row tx
    if ty == 0 and first + tx < rows:
        # FILL (about 4 lines)
        largest = tile[tx, 0]
        for c in range(1, cols):
            largest = max(largest, tile[tx, c])
        peak[tx] = largest
    cuda.syncthreads()  # the peaks are known before anyone reads them
    # 3. store: neighbouring lanes store neighbouring elements
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            # FILL (about 2 lines)
            if first + r < rows:
                out[first + r, c] = tile[r, c] - peak[r]


@cuda.jit
def _below_peak_given(out, inp):
    row = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if cuda.threadIdx.y == 0 and row < inp.shape[0]:
        largest = inp[row, 0]
        for c in range(1, inp.shape[1]):
            largest = max(largest, inp[row, c])
        for c in range(inp.shape[1]):
            out[row, c] = inp[row, c] - largest


def _rows(rows, cols, high=-1, unit=1, seed=0):
    """Whole numbers below 0, so that a 0 from anywhere shows; `unit` takes them further down."""
    below = scattered((rows, cols), seed=rows + 3 * cols + seed, low=-99, high=high)
    return (below * np.float32(unit),)


def _cases():
    """Two full blocks with their budget; ragged, flat, high and low ones; other blocks."""
    staged = Budget(sectors_per_request=4, requests={"inp": 128, "out": 128}, shared_bytes=8448)
    yield Case(partial(_rows, 64, 64), grid=(2,), block=(32, 8), budget=staged)
    for rows, cols, high in ((70, 35, 8), (1, 64, 8), (97, 1, 4), (40, 33, 16)):
        yield Case(partial(_rows, rows, cols), (-(-rows // 32),), (32, high))
    far = 2.0**121  # peaks from -2.6e38 to -2.4e38, where float32 ends at -3.4e38
    yield Case(partial(_rows, 33, 61, -90, far), grid=(2,), block=(32, 4))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; ragged rows of numbers far below 0."""
    blocks, cols = draw.size(1, 2), draw.one_of(32, 64)
    data = partial(_rows, 32 * blocks, cols, seed=draw.numbers())
    yield Case(data, (blocks,), (32, draw.one_of(4, 8, 16)), like=0)
    rows, cols = draw.size(2, 64), draw.size(1, 64)
    data = partial(_rows, rows, cols, -90, 2.0**121, draw.numbers())
    yield Case(data, (-(-rows // 32),), (32, draw.one_of(4, 8, 16)))


EXERCISE = Exercise(
    name="ex09_peaks",
    chapter="42_profiling",
    title="Mend a kernel by its table",
    specification=lambda inp: inp - inp.max(axis=1, keepdims=True),
    solution=below_peak,
    wrong=(
        Wrong(
            "The kernel as it was given: each lane goes along a row of its own in global memory.",
            _below_peak_given,
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "Rows of 64 elements: the 32 lanes that read a column meet in one bank.",
            {"tile =": "tile = cuda.shared.array((32, 64), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Clean, but two elements of pad per row more than it takes.",
            {"tile =": "tile = cuda.shared.array((32, 67), float32)"},
            ("shared", "8704 bytes of shared memory per block; budget 8448"),
        ),
        Wrong(
            "The largest so far starts as 0: a row of numbers below 0 has another peak.",
            {"largest = tile": "largest = float32(0)", "for c in range(1": "for c in range(cols):"},
            ("output", "wrong"),
        ),
        Wrong(
            "The largest so far starts as -100: a row of numbers further down has another peak.",
            {
                "largest = tile": "largest = float32(-100)",
                "for c in range(1": "for c in range(cols):",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Blocks of 8 rows of threads are taken for granted: with 4, rows are left out.",
            {"tx, ty, high =": "tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, 8"},
            ("output", "block (32, 4)"),
        ),
        Wrong(
            "The peaks are looked for before the tile is full.",
            {"cuda.syncthreads()  # the tile": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The other warps do not wait until the first one has the peaks.",
            {"cuda.syncthreads()  # the peaks": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but every element is loaded a second time, though it stands in the tile.",
            {"out[first": "out[first + r, c] = inp[first + r, c] - peak[r]"},
            ("requests", "256 requests touch inp; budget 128"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The table of the given kernel has no wavefront and 32 sectors per request in each line. "
        "Stage first, trace again, and see which column of the table is bad then.",
        "Three steps, each with its guard for the block's last rows: copy into the tile along "
        "rows, let each lane of the first warp go along one row of the tile, subtract along rows. "
        "Step 2 makes all lanes read one column of the tile: the pitch decides its n-way.",
        "Step 1: if the row first + r exists, its element c goes to the tile. Step 2: begin with "
        "the row's first element, compare with those from 1 on, put the result into peak at tx. "
        "Step 3: under the same guard as step 1, the tile's element less the peak of r. An odd "
        "PITCH, the smallest that 64 columns fit into.",
    ),
    budget=Budget(shared_bytes=8448),
)
