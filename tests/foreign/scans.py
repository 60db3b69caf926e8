"""Reductions, scans, histograms and compaction, as parallel-primitives tutorials have them."""

import numpy as np
from numba import cuda, float32, int32
from numba.cuda import libdevice

from tests.foreign.cases import blocks, case, close, equal, rng

THREADS = 128
TWICE = 2 * THREADS


@cuda.jit
def reduce_tree(partial, values):
    cache = cuda.shared.array(THREADS, int32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x * 2 + tid
    mine = 0
    if i < values.size:
        mine = values[i]
    if i + cuda.blockDim.x < values.size:
        mine += values[i + cuda.blockDim.x]
    cache[tid] = mine
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            cache[tid] += cache[tid + s]
        cuda.syncthreads()
        s >>= 1
    if tid == 0:
        partial[cuda.blockIdx.x] = cache[0]


@case(1000, 77)
def tree_reduction(run, n):
    """First add during load, then a tree in shared memory."""
    values = rng(n).integers(-100, 100, n).astype(np.int32)
    partial = np.zeros(blocks(n, 2 * THREADS), np.int32)
    seen = run(reduce_tree)[partial.size, THREADS](partial, values)
    equal(partial.sum(), values.sum())
    if seen and n == 1000:  # per block: 4 stores; 64 lanes: 2 x 3, then 1 x 3 six times; 1 load
        assert seen.shared.wavefronts == 4 * (4 + 6 + 6 * 3 + 1)


@cuda.jit(device=True)
def warp_sum(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    return value


@cuda.jit
def reduce_shuffle(total, values):
    sums = cuda.shared.array(32, float32)
    tid = cuda.threadIdx.x
    lane, warp = tid % 32, tid // 32
    acc = float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        acc += values[i]
    acc = warp_sum(acc)
    if lane == 0:
        sums[warp] = acc
    cuda.syncthreads()
    if warp == 0:
        acc = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        acc = warp_sum(acc)
        if lane == 0:
            cuda.atomic.add(total, 0, acc)


@case(1000, 130)
def shuffle_reduction(run, n):
    """Grid-stride loop, warp shuffles, one atomic per block; whole numbers add up exactly."""
    values = rng(n).integers(0, 50, n).astype(np.float32)
    total = np.zeros(1, np.float32)
    run(reduce_shuffle)[3, THREADS](total, values)
    equal(total[0], values.sum(dtype=np.float64))


@cuda.jit
def reduce_last_block(out, partial, ticket, values):
    cache = cuda.shared.array(THREADS, float32)
    last = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[tid] = values[i] if i < values.size else float32(0)
    cuda.syncthreads()
    s = THREADS // 2
    while s > 0:
        if tid < s:
            cache[tid] += cache[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = cache[0]
        cuda.threadfence()
        last[0] = cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and tid == 0:
        acc = float32(0)
        for b in range(cuda.gridDim.x):
            acc += partial[b]
        out[0] = acc
        ticket[0] = 0


# The plain reset of the ticket is the custom of the samples: nobody else is there any more.
@case(1000, 129)
def last_block_reduction(run, n):
    """threadfence and a ticket: the block that comes last adds up the parts."""
    values = rng(n).integers(0, 50, n).astype(np.float32)
    out, ticket = np.zeros(1, np.float32), np.zeros(1, np.int32)
    grid = blocks(n, THREADS)
    partial = np.zeros(grid, np.float32)
    run(reduce_last_block)[grid, THREADS](out, partial, ticket, values)
    equal((out[0], ticket[0]), (values.sum(), 0))


@cuda.jit
def scan_hillis_steele(out, sums, values):
    temp = cuda.shared.array((2, THREADS), int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    pout, pin = 0, 1
    temp[pout, tid] = values[i] if i < values.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < THREADS:
        pout, pin = pin, pout
        if tid >= offset:
            temp[pout, tid] = temp[pin, tid] + temp[pin, tid - offset]
        else:
            temp[pout, tid] = temp[pin, tid]
        cuda.syncthreads()
        offset *= 2
    if i < values.size:
        out[i] = temp[pout, tid]
    if tid == THREADS - 1:
        sums[cuda.blockIdx.x] = temp[pout, tid]


@cuda.jit
def add_offsets(out, sums):
    i = cuda.grid(1)
    if cuda.blockIdx.x > 0 and i < out.size:
        out[i] += sums[cuda.blockIdx.x - 1]


@case(500, 131)
def inclusive_scan(run, n):
    """Double-buffered scan per block, then the sums of the blocks are added."""
    values = rng(n).integers(-9, 50, n).astype(np.int32)
    grid = blocks(n, THREADS)
    out, sums = np.zeros(n, np.int32), np.zeros(grid, np.int32)
    run(scan_hillis_steele)[grid, THREADS](out, sums, values)
    run(add_offsets)[grid, THREADS](out, np.cumsum(sums).astype(np.int32))
    equal(out, np.cumsum(values))


@cuda.jit
def scan_blelloch(out, values):
    temp = cuda.shared.array(TWICE, int32)
    tid = cuda.threadIdx.x
    base = 2 * THREADS * cuda.blockIdx.x
    n = values.size - base
    temp[tid] = values[base + tid] if tid < n else 0
    temp[tid + THREADS] = values[base + tid + THREADS] if tid + THREADS < n else 0
    offset = 1
    d = THREADS
    while d > 0:
        cuda.syncthreads()
        if tid < d:
            ai = offset * (2 * tid + 1) - 1
            bi = offset * (2 * tid + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d >>= 1
    if tid == 0:
        temp[2 * THREADS - 1] = 0
    d = 1
    while d < 2 * THREADS:
        offset >>= 1
        cuda.syncthreads()
        if tid < d:
            ai = offset * (2 * tid + 1) - 1
            bi = offset * (2 * tid + 2) - 1
            t = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += t
        d *= 2
    cuda.syncthreads()
    if tid < n:
        out[base + tid] = temp[tid]
    if tid + THREADS < n:
        out[base + tid + THREADS] = temp[tid + THREADS]


@case(600, 256)
def exclusive_scan(run, n):
    """Up-sweep and down-sweep, work-efficient; conflicts are its known price."""
    values = rng(n).integers(0, 50, n).astype(np.int32)
    out = np.zeros(n, np.int32)
    seen = run(scan_blelloch)[blocks(n, 2 * THREADS), THREADS](out, values)
    for start in range(0, n, 2 * THREADS):
        part = values[start : start + 2 * THREADS]
        equal(out[start : start + part.size], np.cumsum(part) - part)
    if seen and n == 256:
        assert seen.shared.ways == 8  # offset 8: 16 lanes, step 16 words; offset 4 has 8-way too


@cuda.jit
def scan_lookback(out, values, status, aggregate, inclusive, tickets):
    shared = cuda.shared.array(32, int32)
    which = cuda.shared.array(1, int32)
    before = cuda.shared.array(1, int32)
    lane = cuda.threadIdx.x
    if lane == 0:
        which[0] = cuda.atomic.add(tickets, 0, 1)
    cuda.syncthreads()
    tile = which[0]
    i = tile * 32 + lane
    x = values[i] if i < values.size else 0
    offset = 1
    while offset < 32:
        y = cuda.shfl_up_sync(0xFFFFFFFF, x, offset)
        if lane >= offset:
            x += y
        offset *= 2
    shared[lane] = x
    cuda.syncthreads()
    if lane == 0:
        total = shared[31]
        aggregate[tile] = total
        cuda.threadfence()
        cuda.atomic.exch(status, tile, 1)
        prefix = 0
        look = tile - 1
        while look >= 0:
            flag = cuda.atomic.add(status, look, 0)
            cuda.threadfence()
            if flag == 2:
                prefix += inclusive[look]
                break
            elif flag == 1:
                prefix += aggregate[look]
                look -= 1
        inclusive[tile] = prefix + total
        cuda.threadfence()
        cuda.atomic.exch(status, tile, 2)
        before[0] = prefix
    cuda.syncthreads()
    if i < out.size:
        out[i] = x + before[0]


@case(200, 33)
def decoupled_lookback(run, n):
    """One pass: each tile looks back at its neighbours' status until one is complete."""
    values = rng(n).integers(0, 50, n).astype(np.int32)
    tiles = blocks(n, 32)
    out = np.zeros(n, np.int32)
    status, aggregate, inclusive = (np.zeros(tiles, np.int32) for _ in range(3))
    run(scan_lookback)[tiles, 32](out, values, status, aggregate, inclusive, np.zeros(1, np.int32))
    equal(out, np.cumsum(values))


@cuda.jit
def histogram_shared(bins, data):
    local = cuda.shared.array(64, int32)
    tid = cuda.threadIdx.x
    if tid < 64:
        local[tid] = 0
    cuda.syncthreads()
    stride = cuda.gridsize(1)
    for i in range(cuda.grid(1), data.size, stride):
        cuda.atomic.add(local, data[i] >> 2, 1)
    cuda.syncthreads()
    if tid < 64:
        cuda.atomic.add(bins, tid, local[tid])


@cuda.jit
def histogram_global(hist, xs, lo, hi):
    nbins = hist.shape[0]
    width = (hi - lo) / nbins
    for i in range(cuda.grid(1), xs.shape[0], cuda.gridsize(1)):
        b = int32((xs[i] - lo) / width)
        if b >= 0 and b < nbins:
            cuda.atomic.add(hist, b, 1)


@case(2000, 301)
def privatised_histogram(run, n):
    """Bins of bytes in shared memory, merged at the end."""
    data = rng(n).integers(0, 256, n).astype(np.uint8)
    bins = np.zeros(64, np.int32)
    run(histogram_shared)[3, THREADS](bins, data)
    equal(bins, np.bincount(data >> 2, minlength=64))


# hi - lo of two Python floats is float64, so is all that follows: the classic of a float32 kernel
@case(500, 100, finds="float64_arithmetic")
def histogram_of_floats(run, n):
    """Straight to global memory; bins of whole numbers are exact."""
    xs = rng(n).integers(0, 70, n).astype(np.float32)
    hist = np.zeros(16, np.int32)
    run(histogram_global)[2, 64](hist, xs, 0.0, 64.0)
    equal(hist, np.histogram(xs[xs < 64], bins=16, range=(0, 64))[0])


@cuda.jit
def compact(out, count, values, threshold):
    i = cuda.grid(1)
    keep = i < values.size and values[i] > threshold
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    lane = cuda.laneid
    rank = cuda.popc(votes & ((1 << lane) - 1))
    base = 0
    if lane == 0 and votes != 0:
        base = cuda.atomic.add(count, 0, cuda.popc(votes))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    if keep:
        out[base + rank] = values[i]


@case(1000, 45)
def stream_compaction(run, n):
    """Ballot, popc, one atomic per warp; the order of the warps is free."""
    values = rng(n).integers(0, 100, n).astype(np.int32)
    out, count = np.zeros(n, np.int32), np.zeros(1, np.int32)
    run(compact)[blocks(n, THREADS), THREADS](out, count, values, 60)
    want = values[values > 60]
    equal(count[0], want.size)
    equal(np.sort(out[: want.size]), np.sort(want))


@cuda.jit
def argmin_packed(best, values):
    i = cuda.grid(1)
    if i < values.size:
        key = (np.int64(values[i]) << 32) | i
        cuda.atomic.min(best, 0, key)


@case(300, 65)
def argmin(run, n):
    """Value and index in one 64-bit atomic."""
    values = rng(n).integers(5, 40, n).astype(np.int32)
    best = np.full(1, np.iinfo(np.int64).max)
    run(argmin_packed)[blocks(n, 64), 64](best, values)
    equal((best[0] >> 32, best[0] & 0xFFFFFFFF), (values.min(), values.argmin()))


@cuda.jit
def online_softmax(out, logits):
    row = cuda.blockIdx.x
    lane = cuda.threadIdx.x
    top = float32(-np.inf)
    norm = float32(0)
    for c in range(lane, logits.shape[1], 32):
        x = logits[row, c]
        new = max(top, x)
        norm = norm * libdevice.expf(top - new) + libdevice.expf(x - new)
        top = new
    for step in (16, 8, 4, 2, 1):
        other_top = cuda.shfl_xor_sync(0xFFFFFFFF, top, step)
        other_norm = cuda.shfl_xor_sync(0xFFFFFFFF, norm, step)
        new = max(top, other_top)
        norm = norm * libdevice.expf(top - new) + other_norm * libdevice.expf(other_top - new)
        top = new
    for c in range(lane, logits.shape[1], 32):
        out[row, c] = libdevice.expf(logits[row, c] - top) / norm


@case((5, 100), (3, 32))
def softmax_rows(run, shape):
    """Maximum and sum in one sweep; 1e-6 is some 10 roundings of float32."""
    logits = rng(1).normal(0, 3, shape).astype(np.float32)
    out = np.zeros(shape, np.float32)
    run(online_softmax)[shape[0], 32](out, logits)
    e = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True), 2e-6, 1e-9)
