"""Kernels that the tests of the replay record, small enough to be worked out by hand."""

from numba import cuda, float32, int32
from numba.cuda import syncthreads

TILE = 8


def product_of(*, full=True, read=True):
    """A tiled product of whole 8 x 8 tiles; either barrier can be left out."""

    @cuda.jit
    def product(out, a, b):
        a_tile = cuda.shared.array((TILE, TILE), float32)
        b_tile = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        col, row = cuda.grid(2)
        acc = float32(0)
        for k0 in range(0, a.shape[1], TILE):
            a_tile[ty, tx] = a[row, k0 + tx]
            b_tile[ty, tx] = b[k0 + ty, col]
            if full:
                cuda.syncthreads()  # both tiles are full
            for k in range(TILE):
                acc += a_tile[ty, k] * b_tile[k, tx]
            if read:
                cuda.syncthreads()  # everyone has read
        out[row, col] = acc

    return product


product = product_of()


@cuda.jit
def two_buffers(out, a):
    """Sums of neighbours, tile by tile; one buffer is filled while the other is read."""
    tile = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    tile[0, t] = a[0, t]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(a.shape[0]):
        if k + 1 < a.shape[0]:
            tile[(k + 1) % 2, t] = a[k + 1, t]
        acc += tile[k % 2, 63 - t]
        cuda.syncthreads()
    out[t] = acc


@cuda.jit
def ahead(out, a, b):
    """A product of whole 8 x 8 tiles in two buffers of each; past the end come zeros."""
    a_tile = cuda.shared.array((2, TILE, TILE), float32)
    b_tile = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    now, acc = 0, float32(0)
    a_tile[0, ty, tx] = a[row, tx]
    b_tile[0, ty, tx] = b[ty, col]
    cuda.syncthreads()  # the first tiles are full
    for k0 in range(TILE, a.shape[1] + TILE, TILE):
        a_next, b_next = float32(0), float32(0)
        if k0 < a.shape[1]:
            a_next, b_next = a[row, k0 + tx], b[k0 + ty, col]
        for k in range(TILE):
            acc += a_tile[now, ty, k] * b_tile[now, k, tx]
        now = 1 - now
        a_tile[now, ty, tx] = a_next
        b_tile[now, ty, tx] = b_next
        cuda.syncthreads()  # the next tiles are full
    out[row, col] = acc


@cuda.jit
def blurred(out, inp):
    """Sums of three neighbours; a tile with a halo of one element on either side."""
    tile = cuda.shared.array(34, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < inp.size:
        tile[t + 1] = inp[i]  # own
    if t == 0:
        tile[0] = inp[i - 1] if i > 0 else float32(0)  # left
    if t == 31 or i == inp.size - 1:
        tile[t + 2] = inp[i + 1] if i + 1 < inp.size else float32(0)  # right
    cuda.syncthreads()
    if i < inp.size:
        out[i] = tile[t] + tile[t + 1] + tile[t + 2]


@cuda.jit
def chunks(out, inp):
    """The sum of an array, chunk by chunk; the last one is not whole."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for first in range(0, inp.size, 64):
        if first + t < inp.size:
            tile[t] = inp[first + t]
        else:
            tile[t] = 0
        cuda.syncthreads()
        acc += tile[63 - t]
        cuda.syncthreads()
    out[t] = acc


@cuda.jit
def combined(out, a, b):
    """Numbers that are no copies of one element: a multiple, a sum, the larger one, a constant."""
    tile = cuda.shared.array((4, 32), float32)
    t = cuda.threadIdx.x
    tile[0, t] = a[t] * 2
    tile[1, t] = a[t] + b[t]
    tile[2, t] = max(a[t], b[t])
    tile[3, t] = 1
    cuda.syncthreads()
    out[t] = tile[0, t] + tile[1, t] + tile[2, t] + tile[3, t]


@cuda.jit
def gathered(out, inp, places):
    """What a table of indices names."""
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[places[t]]
    cuda.syncthreads()
    out[t] = tile[31 - t]


@cuda.jit
def positive(out, inp):
    """Which elements are stored depends on the numbers."""
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = 0
    if inp[t] > 0:
        tile[t] = inp[t]
    cuda.syncthreads()
    out[t] = tile[31 - t]


@cuda.jit
def thirds(out, inp):
    """A tile that is filled in three phases, and of which two thirds are read at once."""
    tile = cuda.shared.array(96, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    cuda.syncthreads()
    tile[t + 32] = inp[t + 32]
    cuda.syncthreads()
    tile[t + 64] = tile[63 - t] + tile[31 - t]
    cuda.syncthreads()
    out[t] = tile[95 - t]


@cuda.jit
def volume(out, inp):
    """A slice of an array of three dimensions."""
    tile = cuda.shared.array((4, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[cuda.blockIdx.x, ty, tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x, ty, tx] = tile[3 - ty, 7 - tx]


@cuda.jit
def histogram(out, inp):
    """Counts by atomics, between two barriers."""
    bins = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    if t < 8:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, inp[t] % 8, 1)
    cuda.syncthreads()
    if t < 8:
        out[t] = bins[t]


@cuda.jit
def tall(out):
    """A tile of more rows than are drawn, read upside down."""
    tile = cuda.shared.array((96, 2), float32)
    t = cuda.threadIdx.x
    tile[t + 32, 1] = t
    cuda.syncthreads()
    out[t] = tile[95 - t, 1]


@cuda.jit
def sums(out, inp):
    """A tree of sums; its barriers are called by their bare name."""
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    syncthreads()  # all are there
    step = 64
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        syncthreads()  # a level is done
        step //= 2
    if t == 0:
        out[0] = tile[0]


@cuda.jit
def same_value(out, inp):
    """Every thread stores the same number into one element: a race that changes nothing."""
    first = cuda.shared.array(1, float32)
    first[0] = inp[0]
    cuda.syncthreads()
    out[cuda.threadIdx.x] = first[0]


@cuda.jit
def never_written(out):
    """Half of a tile is read that nobody ever writes."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < 32:
        tile[t] = t
    cuda.syncthreads()
    out[t] = tile[t]


@cuda.jit
def aliases(out):
    """Two arrays over the same dynamic memory: what one stores the other loads."""
    words = cuda.shared.array(0, int32)
    floats = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    words[t] = t + 1065353216
    cuda.syncthreads()
    out[t] = floats[63 - t]


@cuda.jit
def long_walk(out, rounds):
    """As many rounds as are asked for, each with a barrier."""
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    acc = int32(0)
    for _ in range(rounds):
        cuda.syncthreads()
        acc += tile[63 - t]
    out[t] = acc


@cuda.jit
def idle(out, rounds):
    """Long rounds in which nothing is accessed."""
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    acc = tile[31 - t]
    for _ in range(rounds):
        acc += 1
    out[t] = acc


@cuda.jit(debug=True, opt=False)
def asserts(out):
    """Raises where a number is not there yet."""
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    assert tile[63 - t] >= 0
    out[t] = tile[63 - t]


@cuda.jit
def bare(out, inp):
    """No barrier at all, and each thread reads what another one stored."""
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    out[t] = tile[inp.size - 1 - t]


@cuda.jit
def moved_up(out, inp):
    """Each lane overwrites what its neighbour has read, without a barrier between."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    cuda.syncthreads()
    own = tile[t // 32 * 32 + (t + 1) % 32]
    tile[t] = own + 1
    cuda.syncthreads()
    out[t] = tile[t]


@cuda.jit
def warp_waits(out, inp):
    """The lanes of each warp read each other's elements, behind a barrier of the warp."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    cuda.syncwarp()
    out[t] = tile[t // 32 * 32 + 31 - t % 32]


@cuda.jit(device=True)
def wait():
    cuda.syncthreads()


@cuda.jit
def waits_elsewhere(out, inp):
    """Its only barrier stands in a device function."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    wait()
    out[t] = tile[63 - t]


@cuda.jit
def no_tile(out):
    """No shared memory at all."""
    out[cuda.threadIdx.x] = 1


def line_of(kernel, text):
    """The line of a kernel's file that holds a text."""
    import inspect

    lines, first = inspect.getsourcelines(kernel.py_func)
    (at,) = [at for at, line in enumerate(lines) if text in line]
    return first + at
