"""Sorting networks, radix passes, merging, selection, queues and tables."""

import numpy as np
from numba import cuda, float32, int32, uint32

from tests.foreign.cases import blocks, case, equal, rng

SIZE = 128


@cuda.jit
def bitonic_shared(keys, values):
    s_key = cuda.shared.array(SIZE, int32)
    s_val = cuda.shared.array(SIZE, int32)
    tid = cuda.threadIdx.x
    base = cuda.blockIdx.x * SIZE
    for part in range(0, SIZE, SIZE // 2):
        s_key[tid + part] = keys[base + tid + part]
        s_val[tid + part] = values[base + tid + part]
    size = 2
    while size <= SIZE:
        ddd = (cuda.blockIdx.x & 1) ^ ((tid & (size // 2)) != 0)
        stride = size // 2
        while stride > 0:
            cuda.syncthreads()
            pos = 2 * tid - (tid & (stride - 1))
            if (s_key[pos] > s_key[pos + stride]) != ddd:
                s_key[pos], s_key[pos + stride] = s_key[pos + stride], s_key[pos]
                s_val[pos], s_val[pos + stride] = s_val[pos + stride], s_val[pos]
            stride //= 2
        size *= 2
    cuda.syncthreads()
    for part in range(0, SIZE, SIZE // 2):
        keys[base + tid + part] = s_key[tid + part]
        values[base + tid + part] = s_val[tid + part]


@case(1, 3)
def bitonic_pairs(run, count):
    """Keys and values in shared memory; every other block sorts downwards."""
    keys = rng(count).permutation(1000)[: count * SIZE].astype(np.int32)
    values = np.arange(count * SIZE, dtype=np.int32)
    before = keys.copy()
    run(bitonic_shared)[count, SIZE // 2](keys, values)
    equal(before[values], keys)
    for b in range(count):
        part = np.sort(before[b * SIZE : (b + 1) * SIZE])
        equal(keys[b * SIZE : (b + 1) * SIZE], part[::-1] if b % 2 else part)


@cuda.jit
def bitonic_step(data, j, k):
    i = cuda.grid(1)
    other = i ^ j
    if i < data.size and other > i:
        a, b = data[i], data[other]
        if (a > b) if (i & k) == 0 else (a < b):
            data[i] = b
            data[other] = a


@case(256, 64)
def bitonic_global(run, n):
    """One launch per step, straight on global memory."""
    data = rng(n).uniform(0, 1, n).astype(np.float32)
    want = np.sort(data)
    k = 2
    while k <= n:
        j = k // 2
        while j > 0:
            run(bitonic_step)[blocks(n, 64), 64](data, j, k)
            j //= 2
        k *= 2
    equal(data, want)


@cuda.jit
def odd_even(data):
    n = data.shape[0]
    t = cuda.threadIdx.x
    buf = cuda.shared.array(0, float32)
    for i in range(t, n, cuda.blockDim.x):
        buf[i] = data[i]
    cuda.syncthreads()
    for phase in range(n):
        i = 2 * t + phase % 2
        if i + 1 < n and buf[i] > buf[i + 1]:
            tmp = buf[i]
            buf[i] = buf[i + 1]
            buf[i + 1] = tmp
        cuda.syncthreads()
    for i in range(t, n, cuda.blockDim.x):
        data[i] = buf[i]


@case(40, 61)
def odd_even_transposition(run, n):
    """One block, dynamic shared memory."""
    data = rng(n).uniform(0, 1, n).astype(np.float32)
    want = np.sort(data)
    run(odd_even)[1, 32, 0, 4 * n](data)
    equal(data, want)


@cuda.jit
def radix_pass(out, keys, offsets, shift):
    counts = cuda.shared.array((16, 64), int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    digit = -1
    for d in range(16):
        counts[d, tid] = 0
    if i < keys.size:
        digit = (keys[i] >> shift) & 15
        counts[digit, tid] = 1
    cuda.syncthreads()
    if tid < 16:
        run = 0
        for t in range(64):
            c = counts[tid, t]
            counts[tid, t] = run
            run += c
    cuda.syncthreads()
    if digit >= 0:
        out[offsets[digit, cuda.blockIdx.x] + counts[digit, tid]] = keys[i]


# 16 lanes walk down a column of 64 words each: they all meet in one bank. The price shows in the
# counts, not as a finding. Where a key goes is up to the data.
@case(300, 129, finds="scattered")
def radix_sort(run, n):
    """Four stable passes of 4 bits; the offsets are scanned on the host."""
    keys = rng(n).integers(0, 1 << 16, n).astype(np.uint32)
    want = np.sort(keys)
    grid = blocks(n, 64)
    for shift in (0, 4, 8, 12):
        digits = (keys >> shift) & 15
        counts = [np.bincount(digits[b * 64 : b * 64 + 64], minlength=16) for b in range(grid)]
        table = np.array(counts, np.int32).T
        offsets = (np.cumsum(table) - table.ravel()).reshape(table.shape).astype(np.int32)
        out = np.zeros_like(keys)
        seen = run(radix_pass)[grid, 64](out, keys, offsets, shift)
        if seen:
            assert seen.shared.ways == 16
        keys = out
    equal(keys, want)


@cuda.jit(device=True)
def diagonal_search(a, b, diagonal):
    lo = max(0, diagonal - b.size)
    hi = min(diagonal, a.size)
    while lo < hi:
        mid = (lo + hi) >> 1
        if a[mid] <= b[diagonal - 1 - mid]:
            lo = mid + 1
        else:
            hi = mid
    return lo


@cuda.jit
def merge_path(out, a, b, per_thread):
    first = cuda.grid(1) * per_thread
    if first >= out.size:
        return
    i = diagonal_search(a, b, first)
    j = first - i
    for k in range(first, min(first + per_thread, out.size)):
        if j >= b.size or (i < a.size and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1


# 7 items in a row per thread: stores jump by 28 bytes; loads by what the data say.
@case((150, 91), finds="uncoalesced scattered")
def merging(run, sizes):
    """Each thread finds its diagonal by binary search and merges 7 items."""
    a, b = (np.sort(rng(n).integers(0, 999, n)).astype(np.int32) for n in sizes)
    out = np.zeros(sum(sizes), np.int32)
    run(merge_path)[blocks(blocks(out.size, 7), 32), 32](out, a, b, 7)
    equal(out, np.sort(np.concatenate((a, b))))


K = 4


@cuda.jit
def topk_rows(values, indices, x):
    row = cuda.blockIdx.x
    lane = cuda.threadIdx.x
    best = cuda.local.array(K, float32)
    where = cuda.local.array(K, int32)
    for k in range(K):
        best[k] = -np.inf
        where[k] = -1
    for c in range(lane, x.shape[1], 32):
        v = x[row, c]
        if v > best[K - 1]:
            k = K - 1
            while k > 0 and best[k - 1] < v:
                best[k] = best[k - 1]
                where[k] = where[k - 1]
                k -= 1
            best[k] = v
            where[k] = c
    head = 0
    for k in range(K):
        mine = best[head] if head < K else float32(-np.inf)
        top = mine
        for step in (16, 8, 4, 2, 1):
            top = max(top, cuda.shfl_xor_sync(-1, top, step))
        owner = cuda.ffs(cuda.ballot_sync(-1, mine == top)) - 1
        if lane == owner:
            values[row, k] = top
            indices[row, k] = where[head]
            head += 1


@case((3, 100), (2, 40), finds="open_local_array")
def top_k(run, shape):
    """The best of each lane in local arrays, then a tournament by shuffles."""
    x = rng(5).permutation(shape[0] * shape[1]).reshape(shape).astype(np.float32)
    values, indices = np.zeros((shape[0], K), np.float32), np.zeros((shape[0], K), np.int32)
    run(topk_rows)[shape[0], 32](values, indices, x)
    want = np.argsort(-x, axis=1)[:, :K]
    equal(indices, want)
    equal(values, np.take_along_axis(x, want, 1))


EMPTY = 0xFFFFFFFF


@cuda.jit(device=True)
def mix(k):
    k = uint32(k)
    k ^= k >> uint32(16)
    k = uint32(k * uint32(0x85EBCA6B))
    k ^= k >> uint32(13)
    k = uint32(k * uint32(0xC2B2AE35))
    return k ^ (k >> uint32(16))


@cuda.jit
def table_insert(slots, values, keys):
    i = cuda.grid(1)
    if i >= keys.size:
        return
    key = keys[i]
    slot = mix(key) & (slots.size - 1)
    while True:
        prev = cuda.atomic.cas(slots, slot, uint32(EMPTY), key)
        if prev == EMPTY or prev == key:
            cuda.atomic.add(values, slot, 1)
            return
        slot = (slot + 1) & (slots.size - 1)


@cuda.jit
def table_lookup(out, slots, values, keys):
    i = cuda.grid(1)
    if i < keys.size:
        slot = mix(keys[i]) & (slots.size - 1)
        out[i] = 0
        while slots[slot] != EMPTY:
            if slots[slot] == keys[i]:
                out[i] = values[slot]
                break
            slot = (slot + 1) & (slots.size - 1)


# Hashing sends lanes everywhere.
@case(200, 65, finds="scattered")
def hash_table(run, n):
    """Open addressing with compare-and-swap; keys counted, then looked up."""
    keys = rng(n).integers(0, 90, n).astype(np.uint32) * np.uint32(77)
    slots, values = np.full(512, EMPTY, np.uint32), np.zeros(512, np.int32)
    run(table_insert)[blocks(n, 64), 64](slots, values, keys)
    out = np.zeros(n, np.int32)
    run(table_lookup)[blocks(n, 64), 64](out, slots, values, keys)
    equal(out, [(keys == key).sum() for key in keys])


@cuda.jit
def locked_update(lock, total, log, x):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        old = total[0]
        total[0] = old + x[cuda.blockIdx.x]
        log[cuda.blockIdx.x] = old
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@case(5, 12)
def spin_lock(run, count):
    """One thread per block in a critical section; each sees what the others left."""
    x = rng(count).integers(1, 100, count).astype(np.int32)
    total, log = np.zeros(1, np.int32), np.zeros(count, np.int32)
    run(locked_update)[count, 64](np.zeros(1, np.int32), total, log, x)
    equal(total[0], x.sum())
    order = np.argsort(log)
    equal(log[order], np.cumsum(x[order]) - x[order])


@cuda.jit
def drain(out, head, work):
    mine = cuda.shared.array(1, int32)
    while True:
        if cuda.threadIdx.x == 0:
            mine[0] = cuda.atomic.add(head, 0, 1)
        cuda.syncthreads()
        item = mine[0]
        cuda.syncthreads()
        if item >= work.shape[0]:
            break
        acc = work[item, cuda.threadIdx.x]
        for d in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, d)
        if cuda.threadIdx.x == 0:
            out[item] = acc


@case(7, 10)
def ticket_queue(run, items):
    """Persistent blocks take items from a counter until none is left."""
    work = rng(items).integers(0, 99, (items, 32)).astype(np.int32)
    out = np.zeros(items, np.int32)
    run(drain)[3, 32](out, np.zeros(1, np.int32), work)
    equal(out, work.sum(1))
