"""stencil_wide: four columns per thread, 16 bytes per access.

The windows of four neighbouring columns have 8 elements of a row between them. A thread reads these
with 3 reads of 16 bytes for 4 results, where 4 threads made 20 reads.

Launch with blocks of 128 threads, one per 32x512 elements of out; rows of both pictures begin at
multiples of 16 bytes, and there are less than 2^31 elements; `weights` is a tuple of 25 numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load1, load16, store16
from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
CHUNK = 4  # elements in 16 bytes
THREADS = 128
COLS, ROWS = THREADS * CHUNK, 32  # of out, for a block
LEFT = 4  # elements of a row that are loaded on each side: whole chunks
WIDE = COLS + 2 * LEFT  # elements of a row in shared memory
NEAR = CHUNK + 2 * LEFT  # of them for a thread
SUMS = (SIZE + 1, CHUNK)  # under way, and zeros below them


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def add_row(s, acc, weights, window):
    """Sums s of four columns move up by one row, and take what their windows have of this row."""
    for c in range(CHUNK):
        total = acc[s + 1, c]
        for j in range(SIZE):
            total += weights[(SIZE - 1 - s) * SIZE + j] * window[LEFT - HALO + c + j]
        acc[s, c] = total


@device
def put4(registers, first, four):
    """Put four neighbours into registers."""
    registers[first] = four[0]
    registers[first + 1] = four[1]
    registers[first + 2] = four[2]
    registers[first + 3] = four[3]


@device
def chunk_of(inp, line, col, cols):
    """Elements col ... col + 3 of the row that begins at `line`, mirrored where it ends."""
    if col >= 0 and col + CHUNK <= cols:
        return load16(inp, uint32(line + col))  # 16 sectors
    return (
        load1(inp, uint32(line + reflected(col, cols))),
        load1(inp, uint32(line + reflected(col + 1, cols))),
        load1(inp, uint32(line + reflected(col + 2, cols))),
        load1(inp, uint32(line + reflected(col + 3, cols))),
    )


@jit(launch_bounds=(THREADS, 8))
def stencil_wide(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_sliding, four columns per thread."""
    line = cuda.shared.array(WIDE, float32, alignment=16)
    window = cuda.local.array(NEAR, float32)
    acc = cuda.local.array(SUMS, float32)
    tx = int32(cuda.threadIdx.x)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    pitch = int32(inp.strides[0] // 4)
    out_pitch = int32(out.strides[0] // 4)
    col0 = int32(cuda.blockIdx.x * COLS)
    col = int32(col0 + CHUNK * tx)
    row0 = int32(cuda.blockIdx.y * ROWS)
    for s in range(SIZE + 1):
        for c in range(CHUNK):
            acc[s, c] = float32(0)
    for y in range(row0 - HALO, min(row0 + ROWS, rows) + HALO):
        # 1. load the next row: 16 bytes per thread, and a chunk on each side of them
        start = int32(reflected(int32(y), rows) * pitch)
        for x in range(CHUNK * tx, WIDE, COLS):
            four = chunk_of(inp, start, int32(col0 + x - LEFT), cols)
            store16(line, uint32(x), four)  # 4 wavefronts, then 1
        cuda.syncthreads()  # the row is complete before anyone reads it

        # 2. add it to the 5 sums of each column
        put4(window, 0, load16(line, uint32(CHUNK * tx)))  # 4 wavefronts
        put4(window, 4, load16(line, uint32(CHUNK * tx + 4)))  # 4 wavefronts
        put4(window, 8, load16(line, uint32(CHUNK * tx + 8)))  # 4 wavefronts
        add_row(0, acc, weights, window)
        add_row(1, acc, weights, window)
        add_row(2, acc, weights, window)
        add_row(3, acc, weights, window)
        add_row(4, acc, weights, window)

        # 3. store the one that is complete
        row = int32(y - HALO)
        if row >= row0 and col < cols:
            four = acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3]
            store16(out, uint32(row * out_pitch + col), four)  # 16 sectors
        cuda.syncthreads()  # everyone has read the row before the next one takes its place
