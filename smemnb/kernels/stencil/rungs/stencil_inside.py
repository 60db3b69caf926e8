"""stencil_inside: threads inside of the picture have a loop of their own, which asks for no edge.

Most threads never see an edge. For them, offsets grow by a row at a time, no row or column is
compared with anything, and two rows stand one after the other: the window that was under way for
the first is the one at hand for the second, so no register is copied.

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
NEAR = CHUNK + 2 * LEFT  # elements of a row for a thread
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
def load_inside(inp, at, window):
    """The 12 elements from offset `at` on."""
    for chunk in range(3):
        first = CHUNK * chunk
        put4(window, first, load16(inp, uint32(at + uint32(first))))  # 16 sectors


@device
def load_row(inp, line, col, cols, window):
    """Elements col - 2 ... col + 5 of the row that begins at `line`, mirrored where it ends."""
    for x in range(LEFT - HALO, LEFT + CHUNK + HALO):
        from_col = reflected(int32(col - LEFT + x), cols)
        window[x] = load1(inp, uint32(line + from_col))


@device
def add(acc, weights, window):
    """Add a row to the 5 sums of each column."""
    add_row(0, acc, weights, window)
    add_row(1, acc, weights, window)
    add_row(2, acc, weights, window)
    add_row(3, acc, weights, window)
    add_row(4, acc, weights, window)


@device
def store(out, to, acc):
    """Store the sums that are complete."""
    store16(out, uint32(to), (acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3]))  # 16 sectors


@jit(launch_bounds=(THREADS, 8))
def stencil_inside(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_ahead, the inside apart."""
    window = cuda.local.array(NEAR, float32)
    coming = cuda.local.array(NEAR, float32)
    acc = cuda.local.array(SUMS, float32)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    pitch = int32(inp.strides[0] // 4)
    out_pitch = int32(out.strides[0] // 4)
    col = int32(cuda.blockIdx.x * COLS + CHUNK * cuda.threadIdx.x)
    row0 = int32(cuda.blockIdx.y * ROWS)
    for s in range(SIZE + 1):
        for c in range(CHUNK):
            acc[s, c] = float32(0)
    first = int32(row0 - HALO)
    left = int32(col - LEFT)
    if first >= 0 and row0 + ROWS + HALO <= rows and left >= 0 and left + NEAR <= cols:
        # 1. inside: pairs of rows, each loaded while the one before it is added
        at = uint32(first * pitch + left)
        to = uint32((row0 - 2 * HALO) * out_pitch + col)
        load_inside(inp, at, window)
        for y in range(0, ROWS + 2 * HALO, 2):
            load_inside(inp, uint32(at + uint32(pitch)), coming)
            add(acc, weights, window)
            if y >= 2 * HALO:
                store(out, to, acc)
            if y + 2 < ROWS + 2 * HALO:
                load_inside(inp, uint32(at + uint32(2 * pitch)), window)
            add(acc, weights, coming)
            if y >= 2 * HALO:
                store(out, uint32(to + uint32(out_pitch)), acc)
            at = uint32(at + uint32(2 * pitch))
            to = uint32(to + uint32(2 * out_pitch))
    elif col < cols:
        # 2. at an edge: element by element
        for y in range(first, min(row0 + ROWS, rows) + HALO):
            load_row(inp, int32(reflected(int32(y), rows) * pitch), col, cols, window)
            add(acc, weights, window)
            row = int32(y - HALO)
            if row >= row0:
                store(out, uint32(row * out_pitch + col), acc)
