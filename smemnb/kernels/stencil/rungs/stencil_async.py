"""stencil_async: the next rows come into shared memory by themselves, three of them under way.

A row that is on its way into registers keeps these registers, so there is room for one. Here each
warp has a ring of four rows in shared memory. It asks for a row three rows ahead, by a copy that
needs no register and wakes nobody; then it waits for the row at hand, which was asked for long ago.
No warp reads what another one has asked for, so warps wait for nobody else.

Launch with blocks of 128 threads, one per 32x512 elements of out; rows of both pictures begin at
multiples of 16 bytes, and there are less than 2^31 elements; `weights` is a tuple of 25 numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load16, store16
from ...ptx_async import commit, copy1, copy16, wait_for
from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
CHUNK = 4  # elements in 16 bytes
THREADS = 128
COLS, ROWS = THREADS * CHUNK, 32  # of out, for a block
LEFT = 4  # elements of a row that are loaded on each side: whole chunks
NEAR = CHUNK + 2 * LEFT  # elements of a row for a thread
SUMS = (SIZE + 1, CHUNK)  # under way, and zeros below them
SLOT = 32 * CHUNK + 2 * LEFT  # elements of a row for a warp
SLOTS = 4  # rows of a ring
WARP = SLOTS * SLOT
RINGS = THREADS // 32 * WARP

wait = wait_for(SLOTS - 2)  # groups that are younger than the row at hand


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def ask_chunk(rings, to, inp, start, col, cols):
    """Ask for elements col ... col + 3 of the row at `start`, mirrored where it ends."""
    if col >= 0 and col + CHUNK <= cols:
        copy16(rings, uint32(to), inp, uint32(start + col))  # 16 sectors, 4 wavefronts
    else:
        for x in range(CHUNK):
            copy1(rings, uint32(to + x), inp, uint32(start + reflected(int32(col + x), cols)))


@device
def ask_row(rings, slot, inp, y, last, rows, cols, col, lane):
    """Ask for a row: a chunk per lane, and one more on each side by lanes 0 and 31."""
    if y < last:
        start = int32(reflected(y, rows) * cols)
        ask_chunk(rings, int32(slot + LEFT + CHUNK * lane), inp, start, col, cols)
        if lane == 0:
            ask_chunk(rings, slot, inp, start, int32(col - LEFT), cols)
        if lane == 31:
            ask_chunk(rings, int32(slot + SLOT - LEFT), inp, start, int32(col + CHUNK), cols)
    commit()


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


@jit(launch_bounds=(THREADS, 10))
def stencil_async(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_ahead, three rows ahead by themselves."""
    rings = cuda.shared.array(RINGS, float32, alignment=16)
    window = cuda.local.array(NEAR, float32)
    acc = cuda.local.array(SUMS, float32)
    tx = int32(cuda.threadIdx.x)
    lane = int32(tx % 32)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    col = int32(cuda.blockIdx.x * COLS + CHUNK * tx)
    row0 = int32(cuda.blockIdx.y * ROWS)
    for s in range(SIZE + 1):
        for c in range(CHUNK):
            acc[s, c] = float32(0)
    last = int32(min(row0 + ROWS, rows) + HALO)

    # 1. ask for the first three rows
    ring = int32(tx // 32 * WARP)
    y = int32(row0 - HALO)
    for k in range(SLOTS - 1):
        ask_row(rings, int32(ring + k * SLOT), inp, int32(y + k), last, rows, cols, col, lane)
    slot = int32(0)
    while y < last:
        # 2. wait for the row at hand, and read this thread's part of it
        wait()
        cuda.syncwarp()  # it has arrived for all lanes, and all have read the row before it
        at = int32(ring + slot + CHUNK * lane)
        put4(window, 0, load16(rings, uint32(at)))  # 4 wavefronts
        put4(window, 4, load16(rings, uint32(at + 4)))  # 4 wavefronts
        put4(window, 8, load16(rings, uint32(at + 8)))  # 4 wavefronts

        # 3. ask for the row that takes the place of the one before it
        behind = int32(slot - SLOT if slot else WARP - SLOT)
        ahead = int32(y + SLOTS - 1)
        ask_row(rings, int32(ring + behind), inp, ahead, last, rows, cols, col, lane)

        # 4. add the row at hand to the 5 sums of each column
        add_row(0, acc, weights, window)
        add_row(1, acc, weights, window)
        add_row(2, acc, weights, window)
        add_row(3, acc, weights, window)
        add_row(4, acc, weights, window)

        # 5. store the one that is complete
        row = int32(y - HALO)
        if row >= row0 and col < cols:
            four = acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3]
            store16(out, uint32(row * cols + col), four)  # 16 sectors
        slot = int32(slot + SLOT if slot < WARP - SLOT else 0)
        y = int32(y + 1)
