"""How far each cell is below the largest of its row: rows staged, and read by columns."""

# mypy: disable-error-code="attr-defined"
# ruff: noqa: B007, F841 (a stub has names that wait for the learner)

from functools import partial

import numpy as np
from numba import cuda, float32

from ....exercise import Budget, Case, Exercise, Wrong, scattered

PITCH = 65  # cells from one row of the tile to the next
UNPADDED, WIDER = 64, 67


@cuda.jit
def below_peak_stub(out, inp):
    """Each cell less the largest of its row; up to 64 columns.  Blocks of 32 x h have 32 rows."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    rows, cols = inp.shape
    first = cuda.blockIdx.x * 32  # the block's first row
    # 1. stage: neighbouring lanes load neighbouring cells
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            # FILL (about 2 lines)
            pass
    cuda.syncthreads()  # the tile is full before anyone reads it
    # 2. lane tx of the first warp looks for the peak of row tx
    if ty == 0 and first + tx < rows:
        # FILL (about 4 lines)
        pass
    cuda.syncthreads()  # the peaks are known before anyone reads them
    # 3. store: neighbouring lanes store neighbouring cells
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            # FILL (about 2 lines)
            pass


@cuda.jit
def below_peak(out, inp):
    """Each cell less the largest of its row; up to 64 columns.  Blocks of 32 x h have 32 rows."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    tx, ty, high = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.y
    rows, cols = inp.shape
    first = cuda.blockIdx.x * 32  # the block's first row
    # 1. stage: neighbouring lanes load neighbouring cells
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            if first + r < rows:
                tile[r, c] = inp[first + r, c]
    cuda.syncthreads()  # the tile is full before anyone reads it
    # 2. lane tx of the first warp looks for the peak of row tx
    if ty == 0 and first + tx < rows:
        largest = tile[tx, 0]
        for c in range(1, cols):
            largest = max(largest, tile[tx, c])
        peak[tx] = largest
    cuda.syncthreads()  # the peaks are known before anyone reads them
    # 3. store: neighbouring lanes store neighbouring cells
    for r in range(ty, 32, high):
        for c in range(tx, cols, 32):
            if first + r < rows:
                out[first + r, c] = tile[r, c] - peak[r]


@cuda.jit(device=True)
def _stage(inp, tile, first, high):
    """Step 1 for the wrong kernels."""
    for r in range(cuda.threadIdx.y, 32, high):
        for c in range(cuda.threadIdx.x, inp.shape[1], 32):
            if first + r < inp.shape[0]:
                tile[r, c] = inp[first + r, c]


@cuda.jit(device=True)
def _peaks(inp, tile, peak, first, largest, begin):
    """Step 2 for the wrong kernels: from `largest` and column `begin` on."""
    tx = cuda.threadIdx.x
    if cuda.threadIdx.y == 0 and first + tx < inp.shape[0]:
        if begin:
            largest = tile[tx, 0]
        for c in range(begin, inp.shape[1]):
            largest = max(largest, tile[tx, c])
        peak[tx] = largest


@cuda.jit(device=True)
def _store(out, tile, peak, first, high):
    """Step 3 for the wrong kernels."""
    for r in range(cuda.threadIdx.y, 32, high):
        for c in range(cuda.threadIdx.x, out.shape[1], 32):
            if first + r < out.shape[0]:
                out[first + r, c] = tile[r, c] - peak[r]


@cuda.jit(device=True)
def _below(out, inp, tile, high, largest, begin):
    """The whole kernel with any tile, block height and start of the search."""
    peak = cuda.shared.array(32, float32)
    first = cuda.blockIdx.x * 32
    _stage(inp, tile, first, high)
    cuda.syncthreads()
    _peaks(inp, tile, peak, first, largest, begin)
    cuda.syncthreads()
    _store(out, tile, peak, first, high)


@cuda.jit
def below_peak_given(out, inp):
    """The kernel as it was given: each lane goes along a row of its own in global memory."""
    row = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if cuda.threadIdx.y == 0 and row < inp.shape[0]:
        largest = inp[row, 0]
        for c in range(1, inp.shape[1]):
            largest = max(largest, inp[row, c])
        for c in range(inp.shape[1]):
            out[row, c] = inp[row, c] - largest


@cuda.jit
def below_peak_unpadded(out, inp):
    """Rows of 64 cells: the 32 lanes that read a column meet in one bank."""
    tile = cuda.shared.array((32, UNPADDED), float32)
    _below(out, inp, tile, cuda.blockDim.y, float32(0), 1)


@cuda.jit
def below_peak_wider(out, inp):
    """Clean, but two cells of pad per row more than it takes."""
    tile = cuda.shared.array((32, WIDER), float32)
    _below(out, inp, tile, cuda.blockDim.y, float32(0), 1)


@cuda.jit
def below_peak_from_zero(out, inp):
    """The largest so far starts as 0: a row of numbers below 0 has another peak."""
    tile = cuda.shared.array((32, PITCH), float32)
    _below(out, inp, tile, cuda.blockDim.y, float32(0), 0)


@cuda.jit
def below_peak_from_hundred(out, inp):
    """The largest so far starts as -100: a row of numbers further down has another peak."""
    tile = cuda.shared.array((32, PITCH), float32)
    _below(out, inp, tile, cuda.blockDim.y, float32(-100), 0)


@cuda.jit
def below_peak_height_8(out, inp):
    """Blocks of 8 rows of threads are taken for granted: with 4, rows are left out."""
    tile = cuda.shared.array((32, PITCH), float32)
    _below(out, inp, tile, 8, float32(0), 1)


@cuda.jit
def below_peak_no_first(out, inp):
    """The peaks are looked for before the tile is full."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    first = cuda.blockIdx.x * 32
    _stage(inp, tile, first, cuda.blockDim.y)
    _peaks(inp, tile, peak, first, float32(0), 1)
    cuda.syncthreads()
    _store(out, tile, peak, first, cuda.blockDim.y)


@cuda.jit
def below_peak_no_second(out, inp):
    """The other warps do not wait until the first one has the peaks."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    first = cuda.blockIdx.x * 32
    _stage(inp, tile, first, cuda.blockDim.y)
    cuda.syncthreads()
    _peaks(inp, tile, peak, first, float32(0), 1)
    _store(out, tile, peak, first, cuda.blockDim.y)


@cuda.jit
def below_peak_twice(out, inp):
    """Right, but every cell is loaded a second time, though it stands in the tile."""
    tile = cuda.shared.array((32, PITCH), float32)
    peak = cuda.shared.array(32, float32)
    first = cuda.blockIdx.x * 32
    _stage(inp, tile, first, cuda.blockDim.y)
    cuda.syncthreads()
    _peaks(inp, tile, peak, first, float32(0), 1)
    cuda.syncthreads()
    _store(out, inp[first:], peak, first, cuda.blockDim.y)


def _rows(rows, cols, high=-1, unit=1):
    """Whole numbers below 0, so that a 0 from anywhere shows; `unit` takes them further down."""
    below = scattered((rows, cols), seed=rows + 3 * cols, low=-99, high=high)
    return (below * np.float32(unit),)


def _cases():
    """Two full blocks with their budget; ragged, flat, high and low ones; other blocks."""
    staged = Budget(sectors_per_request=4, requests={"inp": 128, "out": 128}, shared_bytes=8448)
    yield Case(partial(_rows, 64, 64), grid=(2,), block=(32, 8), budget=staged)
    for rows, cols, high in ((70, 35, 8), (1, 64, 8), (97, 1, 4), (40, 33, 16)):
        yield Case(partial(_rows, rows, cols), (-(-rows // 32),), (32, high))
    far = 2.0**121  # peaks from -2.6e38 to -2.4e38, where float32 ends at -3.4e38
    yield Case(partial(_rows, 33, 61, -90, far), grid=(2,), block=(32, 4))


EXERCISE = Exercise(
    name="ex09_peaks",
    chapter="09_profiling",
    title="Mend a kernel by its table",
    specification=lambda inp: inp - inp.max(axis=1, keepdims=True),
    stub=below_peak_stub,
    solution=below_peak,
    wrong=(
        Wrong(below_peak_given, "sectors", "32 per request; budget 4"),
        Wrong(below_peak_unpadded, "wavefronts", "32-way"),
        Wrong(below_peak_wider, "shared", "8704 bytes of shared memory per block; budget 8448"),
        Wrong(below_peak_from_zero, "output", "wrong"),
        Wrong(below_peak_from_hundred, "output", "wrong"),
        Wrong(below_peak_height_8, "output", "block (32, 4)"),
        Wrong(below_peak_no_first, "findings", "race"),
        Wrong(below_peak_no_second, "findings", "race"),
        Wrong(below_peak_twice, "requests", "budget 128"),
    ),
    cases=tuple(_cases()),
    hints=(
        "The table of the given kernel has no wavefront and 32 sectors per request in each line. "
        "Stage first, trace again, and see which column of the table is bad then.",
        "Three steps, each with its guard for the block's last rows: copy into the tile along "
        "rows, let each lane of the first warp go along one row of the tile, subtract along rows. "
        "Step 2 makes all lanes read one column of the tile: the pitch decides its n-way.",
        "Step 1: if the row first + r exists, its cell c goes to the tile. Step 2: begin with the "
        "row's first cell, compare with those from 1 on, put the result into peak at tx. Step 3: "
        "under the same guard as step 1, the tile's cell less the peak of r. An odd PITCH, the "
        "smallest that 64 columns fit into.",
    ),
    budget=Budget(shared_bytes=8448),
)
