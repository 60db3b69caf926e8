"""Scans, sorts, searches and selections over lists, in blocks, warps and whole grids."""

import numpy as np
from numba import cuda, int32, int64, uint32

from tests.foreign.cases import blocks, case, equal, rng

THREADS = 128
FULL = 0xFFFFFFFF


@cuda.jit
def segmented_sums(out, values, heads):
    i = cuda.grid(1)
    lane = cuda.laneid
    x, head = 0, 1
    if i < values.size:
        x, head = values[i], heads[i]
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(FULL, x, step)
        other_head = cuda.shfl_up_sync(FULL, head, step)
        if lane >= step and head == 0:
            x += other
            head = other_head
        step *= 2
    if i < values.size:
        out[i] = x


@case(200, 45)
def segmented_scan(run, n):
    """Values and flags walk up the lanes together; every warp begins a segment."""
    values = rng(n).integers(0, 50, n).astype(np.int32)
    heads = (rng(1).uniform(0, 1, n) < 0.2).astype(np.int32)
    heads[::32] = 1
    out = np.zeros(n, np.int32)
    run(segmented_sums)[blocks(n, 64), 64](out, values, heads)
    starts = np.maximum.accumulate(np.where(heads, np.arange(n), 0))
    total = np.concatenate([[0], values.cumsum()])
    equal(out, total[1:] - total[starts])


@cuda.jit
def split_by_bit(keys, bit):
    zeros = cuda.shared.array(4, int32)
    tid = cuda.threadIdx.x
    lane, warp = tid % 32, tid // 32
    key = keys[cuda.grid(1)]
    zero = (key >> bit) & 1 == 0
    votes = cuda.ballot_sync(FULL, zero)
    if lane == 0:
        zeros[warp] = cuda.popc(votes)
    cuda.syncthreads()
    before = 0
    total = 0
    for w in range(4):
        if w < warp:
            before += zeros[w]
        total += zeros[w]
    rank = before + cuda.popc(votes & ((uint32(1) << uint32(lane)) - uint32(1)))
    place = rank if zero else total + tid - rank
    keys[cuda.blockIdx.x * THREADS + place] = key


@case(2, 3)
def split_sort(run, count):
    """A radix sort of each block, one stable split per bit, ranks from ballots."""
    keys = rng(count).integers(0, 32, count * THREADS).astype(np.int32)
    want = np.sort(keys.reshape(count, THREADS), axis=1)
    for bit in range(5):
        run(split_by_bit)[count, THREADS](keys, bit)
    equal(keys.reshape(count, THREADS), want)


@cuda.jit
def batcher(data):
    keys = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    keys[tid] = data[cuda.grid(1)]
    p = 1
    while p < THREADS:
        k = p
        while k > 0:
            cuda.syncthreads()
            first = k % p
            if tid >= first and (tid - first) // k % 2 == 0 and tid + k < THREADS:
                if tid // (2 * p) == (tid + k) // (2 * p) and keys[tid] > keys[tid + k]:
                    keys[tid], keys[tid + k] = keys[tid + k], keys[tid]
            k //= 2
        p *= 2
    cuda.syncthreads()
    data[cuda.grid(1)] = keys[tid]


@case(1, 3)
def odd_even_merge_sort(run, count):
    """Batcher's network, one comparison per thread and barrier."""
    data = rng(count).integers(0, 999, count * THREADS).astype(np.int32)
    want = np.sort(data.reshape(count, THREADS), axis=1)
    run(batcher)[count, THREADS](data)
    equal(data.reshape(count, THREADS), want)


@cuda.jit
def place_by_count(out, data, cursor):
    i = cuda.grid(1)
    if i < data.size:
        out[cuda.atomic.add(cursor, data[i], 1)] = data[i]


@case(600, 200, finds="scattered")
def counting_sort(run, n):
    """Each key takes the next place of its bin; equal keys may change places."""
    data = rng(n).integers(0, 200, n).astype(np.int32)
    counts = np.bincount(data, minlength=200)
    out = np.zeros(n, np.int32)
    run(place_by_count)[blocks(n, 64), 64](out, data, (counts.cumsum() - counts).astype(np.int32))
    equal(out, np.sort(data))


@cuda.jit
def keep_in_order(out, count, values, least):
    ranks = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    base = 0
    for start in range(0, values.size, THREADS):
        i = start + tid
        keep = i < values.size and values[i] >= least
        ranks[tid] = 1 if keep else 0
        cuda.syncthreads()
        step = 1
        while step < THREADS:
            add = ranks[tid - step] if tid >= step else 0
            cuda.syncthreads()
            ranks[tid] += add
            cuda.syncthreads()
            step *= 2
        if keep:
            out[base + ranks[tid] - 1] = values[i]
        base += ranks[THREADS - 1]
        cuda.syncthreads()
    if tid == 0:
        count[0] = base


@case(500, 130)
def stable_selection(run, n):
    """One block goes over the list and keeps the order."""
    values = rng(n).integers(0, 100, n).astype(np.int32)
    out, count = np.zeros(n, np.int32), np.zeros(1, np.int32)
    run(keep_in_order)[1, THREADS](out, count, values, 40)
    want = values[values >= 40]
    equal(out[: count[0]], want)


@cuda.jit
def insertion_points(out, table, wanted):
    i = cuda.grid(1)
    if i < wanted.size:
        low, high = 0, table.size
        while low < high:
            middle = (low + high) // 2
            if table[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@case(300, 128, finds="scattered")
def binary_search(run, n):
    """Every thread its own way down the table."""
    table = np.sort(rng(n).integers(0, 5000, 4096)).astype(np.int32)
    wanted = rng(1).integers(-10, 5010, n).astype(np.int32)
    out = np.zeros(n, np.int64)
    run(insertion_points)[blocks(n, 64), 64](out, table, wanted)
    equal(out, np.searchsorted(table, wanted))


@cuda.jit(device=True)
def join(a, b):
    total = a[0] + b[0]
    prefix = max(a[1], a[0] + b[1])
    suffix = max(b[2], a[2] + b[0])
    best = max(max(a[3], b[3]), a[2] + b[1])
    return total, prefix, suffix, best


@cuda.jit
def largest_sums(out, values):
    i = cuda.grid(1)
    x = int64(values[i])
    part = (x, x, x, x)
    step = 1
    while step < 32:
        other = (
            cuda.shfl_down_sync(FULL, part[0], step),
            cuda.shfl_down_sync(FULL, part[1], step),
            cuda.shfl_down_sync(FULL, part[2], step),
            cuda.shfl_down_sync(FULL, part[3], step),
        )
        part = join(part, other)
        step *= 2
    if cuda.laneid == 0:
        out[i // 32] = part[3]


@case(5, 2)
def largest_subarray(run, rows):
    """Tuples of four are reduced in order by shuffles of 64 bits."""
    values = rng(rows).integers(-50, 50, (rows, 32)).astype(np.int32)
    out = np.zeros(rows, np.int64)
    run(largest_sums)[rows, 32](out, values.ravel())
    for row, got in zip(values, out, strict=True):
        total = np.concatenate([[0], row.cumsum()])
        equal(got, max(total[b] - total[a] for a in range(32) for b in range(a + 1, 33)))


@cuda.jit
def whole_grid_sum(parts, values):
    cells = cuda.shared.array(64, int64)
    grid = cuda.cg.this_grid()
    tid = cuda.threadIdx.x
    acc = int64(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        acc += values[i]
    cells[tid] = acc
    cuda.syncthreads()
    half = 32
    while half > 0:
        if tid < half:
            cells[tid] += cells[tid + half]
        cuda.syncthreads()
        half //= 2
    if tid == 0:
        parts[cuda.blockIdx.x] = cells[0]
    grid.sync()
    if cuda.grid(1) == 0:
        for b in range(1, cuda.gridDim.x):
            parts[0] += parts[b]


@case(700, 65)
def cooperative_sum(run, n):
    """Parts of all blocks, a barrier of the grid, one thread adds them up."""
    values = rng(n).integers(-50, 50, n).astype(np.int32)
    parts = np.zeros(4, np.int64)
    run(whole_grid_sum)[4, 64](parts, values)
    equal(parts[0], values.sum())


@cuda.jit
def count_dynamic(counts, data):
    own = cuda.shared.array(0, int32)
    bins = counts.size
    for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(own, data[i] % bins, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        cuda.atomic.add(counts, b, own[b])


@case((500, 100), (300, 7))
def histogram_of_any_size(run, sizes):
    """The launch gives the room for the bins."""
    n, bins = sizes
    data = rng(n).integers(0, 10_000, n).astype(np.int32)
    counts = np.zeros(bins, np.int32)
    run(count_dynamic)[2, 64, 0, 4 * bins](counts, data)
    equal(counts, np.bincount(data % bins, minlength=bins))


@cuda.jit
def add_together(counts, keys):
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        mates = cuda.match_any_sync(cuda.activemask(), key)
        if cuda.laneid == cuda.ffs(mates) - 1:
            cuda.atomic.add(counts, key, cuda.popc(mates))


@case(200, 45)
def aggregated_atomics(run, n):
    """Lanes of one key send one atomic."""
    keys = rng(n).integers(0, 6, n).astype(np.int32)
    counts = np.zeros(6, np.int32)
    run(add_together)[blocks(n, 64), 64](counts, keys)
    equal(counts, np.bincount(keys, minlength=6))
