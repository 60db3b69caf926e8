"""Programs with the mistakes that beginners make: each is found, by the name of what it is.

Where the values hang on the order of the threads, nothing is said of them.
"""

import numpy as np
from numba import cuda, float32, int32

from tests.foreign.cases import blocks, case, equal, rng

THREADS = 64


@cuda.jit
def reverse_too_soon(out, values):
    cells = cuda.shared.array(THREADS, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    cells[tid] = values[i]
    out[i] = cells[THREADS - 1 - tid]


# thread 0 reads from the other warp, whatever the warp
@case(1, 3, finds="race")
def no_barrier_after_the_load(run, count):
    """Each block reversed, the barrier forgotten."""
    values = np.ones(count * THREADS, np.float32)
    run(reverse_too_soon)[count, THREADS](np.zeros_like(values), values)


@cuda.jit
def sum_without_barrier(out, values):
    cells = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    cells[tid] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if tid < half:
            cells[tid] += cells[tid + half]
        half //= 2
    if tid == 0:
        out[cuda.blockIdx.x] = cells[0]


# from 32 on only warp 0 works: its lanes race with one another, and nobody with another warp
@case(1, 3, finds="race_in_warp")
def no_barrier_in_the_loop(run, count):
    """A tree whose rounds are not kept apart."""
    values = np.ones(count * THREADS, np.int32)
    run(sum_without_barrier)[count, THREADS](np.zeros(count, np.int32), values)


@cuda.jit
def add_one_too_far(out, a, b):
    i = cuda.grid(1)
    if i <= out.size:
        out[i] = a[i] + b[i]


@case(100, 65, finds="out_of_range")
def off_by_one(run, n):
    """`<=` for `<`: the cell behind the last."""
    a, b = rng(n).integers(0, 9, (2, n)).astype(np.int32)
    out = np.zeros(n, np.int32)
    run(add_one_too_far)[blocks(n, THREADS), THREADS](out, a, b)
    equal(out, a + b)


@cuda.jit
def difference(out, values):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = values[i] - values[i - 1]


# the load before the cell begins inside a sector, but the other load of the array does not
@case(100, 65, finds="wrapped_index")
def index_minus_one(run, n):
    """The first thread takes the last cell, as Python counts from the end."""
    values = rng(n).integers(0, 9, n).astype(np.int32)
    out = np.zeros(n, np.int32)
    run(difference)[blocks(n, THREADS), THREADS](out, values)
    equal(out, values - np.roll(values, 1))


@cuda.jit
def copy_by_rows(out, inp):
    x, y = cuda.grid(2)
    if x < inp.shape[0] and y < inp.shape[1]:
        out[x, y] = inp[x, y]


@case((64, 40), (33, 50), finds="uncoalesced")
def axes_exchanged(run, shape):
    """x for the rows, as in mathematics: right, and slow."""
    inp = rng(1).integers(0, 99, shape).astype(np.int32)
    out = np.zeros_like(inp)
    run(copy_by_rows)[(blocks(shape[0], 32), blocks(shape[1], 4)), (32, 4)](out, inp)
    equal(out, inp)


@cuda.jit
def barrier_of_some(out, values):
    cells = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < values.size:
        cells[tid] = values[i]
        cuda.syncthreads()
        out[i] = cells[tid] + 1


@case(100, 70, finds="divergent_barrier")
def barrier_in_a_branch(run, n):
    """The last block's threads beyond the end do not come."""
    values = np.ones(n, np.int32)
    run(barrier_of_some)[blocks(n, THREADS), THREADS](np.zeros(n, np.int32), values)


@cuda.jit
def smooth_in_place(values):
    i = cuda.grid(1)
    if 0 < i < values.size - 1:
        values[i] = (values[i - 1] + values[i] + values[i + 1]) // 3


# a pair of accesses is told once, where no barrier helps any more
@case(200, 130, finds="race_between_blocks")
def stencil_in_place(run, n):
    """Neighbours are read while others store them: in the warp, the block and the grid."""
    run(smooth_in_place)[blocks(n, THREADS), THREADS](np.arange(n, dtype=np.int32))


@cuda.jit
def count_plainly(counts, data):
    i = cuda.grid(1)
    if i < data.size:
        counts[data[i]] += 1


@case(300, 200, finds="race_between_blocks")
def histogram_without_atomics(run, n):
    """Many threads add to few bins; what one adds another overwrites."""
    data = rng(n).integers(0, 4, n).astype(np.int32)
    run(count_plainly)[blocks(n, THREADS), THREADS](np.zeros(4, np.int32), data)


@cuda.jit
def count_from_nothing(out, values):
    total = cuda.shared.array(1, int32)
    cuda.atomic.add(total, 0, values[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total[0]


@case(1, finds="uninitialised")
def shared_sum_without_zero(run, count):
    """Shared memory does not begin with zeros."""
    values = np.ones(count * THREADS, np.int32)
    run(count_from_nothing)[count, THREADS](np.zeros(count, np.int32), values)


@cuda.jit
def sum_half_a_warp(out, values):
    lane = cuda.laneid
    x = values[lane]
    if lane < 16:
        for step in (8, 4, 2, 1):
            x += cuda.shfl_down_sync(0xFFFFFFFF, x, step)
    if lane == 0:
        out[0] = x


@case(0, finds="missing_lane stray_shuffle")
def full_mask_in_half_a_warp(run, start):
    """The mask names lanes that do not come, and lane 8 reads one of them."""
    values = np.arange(start, start + 32, dtype=np.int32)
    run(sum_half_a_warp)[1, 32](np.zeros(1, np.int32), values)


@cuda.jit
def hand_over(data, ready, out):
    if cuda.blockIdx.x == 0:
        if cuda.threadIdx.x == 0:
            data[0] = 7
            ready[0] = 1
    elif cuda.threadIdx.x == 0 and ready[0] == 1:
        out[0] = data[0]


@case(2, finds="race_between_blocks")
def flag_of_another_block(run, grid):
    """A plain flag, and no fence between the data and it."""
    data, ready, out = (np.zeros(1, np.int32) for _ in range(3))
    run(hand_over)[grid, 32](data, ready, out)
    assert out[0] in (0, 7)


@cuda.jit
def padded_transpose(out, inp):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = inp[y, x]
    cuda.syncthreads()
    out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


# the tile is turned, its place in the grid is not: right for one tile only
@case(1, 2)
def tile_turned_but_not_moved(run, tiles):
    """No finding can tell this one, the values do."""
    inp = rng(1).integers(0, 99, (32, 32 * tiles)).astype(np.float32)
    out = np.zeros_like(inp)
    run(padded_transpose)[(tiles, 1), (32, 32)](out, inp)
    equal(out[:, :32], inp[:, :32].T)
    equal(out[:, -32:], inp[:, -32:].T)


@cuda.jit
def halves(out, values):
    i = cuda.grid(1)
    if i < values.size:
        out[i] = values[i] * 0.5 + 1.0 / 3.0


@case(100, 64, finds="float64_arithmetic")
def literals_of_float64(run, n):
    """A third is a float64 and draws the sum with it."""
    values = rng(n).uniform(0, 1, n).astype(np.float32)
    out = np.zeros(n, np.float32)
    run(halves)[blocks(n, THREADS), THREADS](out, values)
    equal(out, (values.astype(np.float64) * 0.5 + 1 / 3).astype(np.float32))
