"""stencil_framed: no walk: a thread makes 4x4 elements and ends; edges have blocks of their own.

A walk of 32 rows keeps few loads under way, and blocks that begin together end together. Here a
thread loads the 8 rows of its windows at once and makes 16 results. Its block is done soon, and the
next one takes its place. Rows of a block's neighbours come from the L1 and L2 caches.

What reaches beyond an edge is kept out: the picture has an inside, whose windows lie within it, and
a frame around it, which blocks of its own make element by element.

Launch with blocks of 128 threads: first those of the frame, an element for each thread, then one
per 16x128 elements of the inside (`blocks`); rows of both pictures begin at multiples of 16 bytes,
and there are less than 2^31 elements; `weights` is a tuple of 25 numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
CHUNK = 4  # elements in 16 bytes
HIGH = 4  # rows of a thread
LANES, WARPS = 32, 4
THREADS = LANES * WARPS
LEFT = 4  # columns of the frame on each side: whole chunks
NEAR = CHUNK + 2 * LEFT  # elements of a row for a thread
RESULTS = (HIGH, CHUNK)


def blocks(rows, cols):
    """Blocks of the frame, and of the inside down and across; 0 inside where there is none."""
    down, across = max(0, rows - 2 * HALO) // HIGH, max(0, cols - 2 * LEFT) // CHUNK
    frame = rows * cols - down * HIGH * across * CHUNK
    return -(-frame // THREADS), -(-down // WARPS), -(-across // LANES)


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
def add(i, y, acc, weights, window):
    """Add row y of a thread's windows to the results for which it is row i, if it has them."""
    if y - i >= 0 and y - i < HIGH:
        for c in range(CHUNK):
            for j in range(SIZE):
                acc[y - i, c] += weights[i * SIZE + j] * window[LEFT - HALO + c + j]


@device
def take_row(y, inp, at, pitch, acc, weights, window):
    """Load row y of a thread's windows, 3 x 16 bytes, and add it to all results that have it."""
    start = uint32(at + uint32(y) * pitch)
    put4(window, 0, load16(inp, start))  # 16 sectors
    put4(window, 4, load16(inp, uint32(start + uint32(4))))  # 16 sectors
    put4(window, 8, load16(inp, uint32(start + uint32(8))))  # 16 sectors
    add(0, y, acc, weights, window)
    add(1, y, acc, weights, window)
    add(2, y, acc, weights, window)
    add(3, y, acc, weights, window)
    add(4, y, acc, weights, window)


@device
def edge_row(i, inp, row, col, rows, cols, weights):
    """Row i of the window of an element of the frame, weighted."""
    start = int32(reflected(int32(row + i - HALO), rows) * cols)
    total = float32(0)
    for j in range(SIZE):
        from_col = reflected(int32(col + j - HALO), cols)
        total += weights[i * SIZE + j] * load1(inp, uint32(start + from_col))
    return total


@jit(launch_bounds=(THREADS, 8))
def stencil_framed(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_inside, 4 rows per thread, and a frame."""
    acc = cuda.local.array(RESULTS, float32)
    window = cuda.local.array(NEAR, float32)
    tx, block = int32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    down = int32(max(int32(rows - 2 * HALO), int32(0)) // HIGH)
    across = int32(max(int32(cols - 2 * LEFT), int32(0)) // CHUNK)
    rows_in, cols_in = int32(down * HIGH), int32(across * CHUNK)
    frame = int32(rows * cols - rows_in * cols_in)
    frame_blocks = uint32((frame + THREADS - 1) // THREADS)
    if block >= frame_blocks:
        # 1. inside: this thread's chunk of four columns and tile of four rows
        block = uint32(block - frame_blocks)
        blocks_across = uint32((across + LANES - 1) // LANES)
        chunk = int32(block % blocks_across * uint32(LANES) + uint32(tx % LANES))
        tile = int32(block // blocks_across * uint32(WARPS) + uint32(tx // LANES))
        if chunk < across and tile < down:
            row, col = int32(HALO + HIGH * tile), int32(LEFT + CHUNK * chunk)
            for r in range(HIGH):
                for c in range(CHUNK):
                    acc[r, c] = float32(0)

            # 2. 8 rows of the picture, each for up to 4 rows of results
            at, pitch = uint32((row - HALO) * cols + col - LEFT), uint32(cols)
            take_row(0, inp, at, pitch, acc, weights, window)
            take_row(1, inp, at, pitch, acc, weights, window)
            take_row(2, inp, at, pitch, acc, weights, window)
            take_row(3, inp, at, pitch, acc, weights, window)
            take_row(4, inp, at, pitch, acc, weights, window)
            take_row(5, inp, at, pitch, acc, weights, window)
            take_row(6, inp, at, pitch, acc, weights, window)
            take_row(7, inp, at, pitch, acc, weights, window)

            # 3. store them
            to = uint32(row * cols + col)
            for r in range(HIGH):
                four = acc[r, 0], acc[r, 1], acc[r, 2], acc[r, 3]
                store16(out, uint32(to + uint32(r) * pitch), four)  # 16 sectors
    else:
        # 4. an element of the frame: the rows above and below the inside, then both sides of it
        element = int32(block * uint32(THREADS) + uint32(tx))
        bands = int32((rows - rows_in) * cols)
        if element < frame:
            if element < bands:
                row, col = int32(element // cols), int32(element % cols)
                if row >= HALO:
                    row = int32(row + rows_in)
            else:
                sides = int32(cols - cols_in)
                element = int32(element - bands)
                row, col = int32(HALO + element // sides), int32(element % sides)
                if col >= LEFT:
                    col = int32(col + cols_in)
            total = edge_row(0, inp, row, col, rows, cols, weights)
            total += edge_row(1, inp, row, col, rows, cols, weights)
            total += edge_row(2, inp, row, col, rows, cols, weights)
            total += edge_row(3, inp, row, col, rows, cols, weights)
            total += edge_row(4, inp, row, col, rows, cols, weights)
            store1(out, uint32(row * cols + col), total)
