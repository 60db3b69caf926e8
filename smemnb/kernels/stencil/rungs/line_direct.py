"""line_direct: no tile: a thread loads its three chunks, two of which its neighbours load as well.

Launch with blocks of 256 threads, one per 1024 elements of out; the line is a multiple of 4
elements, begins at a multiple of 16 bytes, and has less than 2^31 elements; `weights` is a tuple of
9 numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load1, load16, store16
from ...unrolled import device, jit

SIZE = 9  # weights
CHUNK = 4  # elements in 16 bytes, and of the window on each side of its middle
THREADS = 256
EACH = THREADS * CHUNK  # of out, for a block
NEAR = 3 * CHUNK  # elements for a thread


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
def chunk_of(inp, at, size):
    """Elements at ... at + 3, mirrored where the line ends."""
    if at >= 0 and at + CHUNK <= size:
        return load16(inp, uint32(at))  # 16 sectors
    return (
        load1(inp, uint32(reflected(at, size))),
        load1(inp, uint32(reflected(at + 1, size))),
        load1(inp, uint32(reflected(at + 2, size))),
        load1(inp, uint32(reflected(at + 3, size))),
    )


@device
def weighed(c, weights, window):
    """Result c of four: 9 elements from the c-th one of the window on."""
    total = float32(0)
    for j in range(SIZE):
        total += weights[j] * window[c + j]
    return total


@jit(launch_bounds=(THREADS, 8))
def line_direct(out, inp, weights):
    """out = the window of 9 elements of inp, weighted.  As line_wide, without shared memory."""
    window = cuda.local.array(NEAR, float32)
    at = int32(cuda.blockIdx.x * EACH + CHUNK * cuda.threadIdx.x)
    size = int32(inp.shape[0])
    if at < size:
        # 1. load 3 chunks: two of them come from the L1 cache
        put4(window, 0, chunk_of(inp, int32(at - CHUNK), size))
        put4(window, 4, chunk_of(inp, at, size))
        put4(window, 8, chunk_of(inp, int32(at + CHUNK), size))

        # 2. weigh four windows
        four = (
            weighed(0, weights, window),
            weighed(1, weights, window),
            weighed(2, weights, window),
            weighed(3, weights, window),
        )
        store16(out, uint32(at), four)  # 16 sectors
