"""separable_sliding: the sums of a row go straight into the 15 sums under way in their columns.

A thread walks down four columns, as in stencil_direct. Of each row it makes four sums along the
row, and adds these, weighted, to 15 rows of out that are under way: 60 multiply-adds and 60 more
for 4 results. Nothing between rows and columns is stored anywhere.

Launch with blocks of 128 threads, one per 64x512 elements of out; rows of both pictures begin at
multiples of 16 bytes, and there are less than 2^31 elements; `down` and `across` are tuples of 15
numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load1, load16, store16
from ...unrolled import device, jit

SIZE = 15  # weights in each direction
HALO = 7  # elements of the window on each side of its middle
CHUNK = 4  # elements in 16 bytes
THREADS = 128
COLS, ROWS = THREADS * CHUNK, 64  # of out, for a block
LEFT = 8  # elements of a row that are loaded on each side: whole chunks
NEAR = CHUNK + 2 * LEFT  # elements of a row for a thread
SUMS = (SIZE + 1, CHUNK)  # under way, and zeros below them


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def put4(registers, first, four):
    """Put four neighbours into registers."""
    registers[first] = four[0]
    registers[first + 1] = four[1]
    registers[first + 2] = four[2]
    registers[first + 3] = four[3]


@device
def load_row(inp, line, col, cols, window):
    """Elements col - 8 ... col + 11 of the row that begins at `line`, mirrored where it ends."""
    if col >= LEFT and col + CHUNK + LEFT <= cols:
        for chunk in range(5):
            first = CHUNK * chunk
            put4(window, first, load16(inp, uint32(line + col - LEFT + first)))  # 16 sectors
    else:
        for x in range(LEFT - HALO, LEFT + CHUNK + HALO):
            from_col = reflected(int32(col - LEFT + x), cols)
            window[x] = load1(inp, uint32(line + from_col))


@device
def weigh_row(across, window, along):
    """The sums along the row of four neighbouring columns."""
    for c in range(CHUNK):
        total = float32(0)
        for j in range(SIZE):
            total += across[j] * window[LEFT - HALO + c + j]
        along[c] = total


@device
def add_row(s, acc, down, along):
    """Sums s of four columns move up by one row, and take the row's sums."""
    for c in range(CHUNK):
        acc[s, c] = acc[s + 1, c] + down[SIZE - 1 - s] * along[c]


@jit(launch_bounds=(THREADS, 4))
def separable_sliding(out, inp, down, across):
    """out = the 15x15 window of inp, weighted by down[i] * across[j].  All sums in registers."""
    window = cuda.local.array(NEAR, float32)
    along = cuda.local.array(CHUNK, float32)
    acc = cuda.local.array(SUMS, float32)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    pitch = int32(inp.strides[0] // 4)
    out_pitch = int32(out.strides[0] // 4)
    col = int32(cuda.blockIdx.x * COLS + CHUNK * cuda.threadIdx.x)
    row0 = int32(cuda.blockIdx.y * ROWS)
    for s in range(SIZE + 1):
        for c in range(CHUNK):
            acc[s, c] = float32(0)
    if col < cols:
        for y in range(row0 - HALO, min(row0 + ROWS, rows) + HALO):
            # 1. load what this thread needs of the next row: 5 x 16 bytes
            load_row(inp, int32(reflected(int32(y), rows) * pitch), col, cols, window)

            # 2. weigh it, and add it to the 15 sums of each column
            weigh_row(across, window, along)
            for s in range(SIZE):
                add_row(s, acc, down, along)

            # 3. store the one that is complete
            row = int32(y - HALO)
            if row >= row0:
                four = acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3]
                store16(out, uint32(row * out_pitch + col), four)  # 16 sectors
