"""Tables, locks, graphs and texts: programs whose threads meet in memory."""

import numpy as np
from numba import cuda, int32, int64, uint8, uint32

from tests.foreign.cases import blocks, case, equal, rng

EMPTY = -1
PATTERN = np.frombuffer(b"abra", np.uint8)
MOST = 32
ROW = MOST + 1


@cuda.jit
def count_distinct(table, found, keys):
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        slot = (key * 2654435761 >> 7) % table.size
        while True:
            old = cuda.atomic.cas(table, slot, EMPTY, key)
            if old == EMPTY:
                cuda.atomic.add(found, 0, 1)
                break
            if old == key:
                break
            slot = (slot + 1) % table.size


@case(300, 100, finds="scattered")
def distinct_keys(run, n):
    """A set of 64-bit keys, open addressing, compare and swap."""
    keys = rng(n).integers(0, 150, n).astype(np.int64)
    table, found = np.full(512, EMPTY, np.int64), np.zeros(1, np.int32)
    run(count_distinct)[blocks(n, 64), 64](table, found, keys)
    want = np.unique(keys)
    equal(found[0], want.size)
    equal(np.sort(table[table != EMPTY]), want)


@cuda.jit(device=True)
def root_of(parent, node):
    up = cuda.atomic.add(parent, node, 0)
    while up != node:
        node = up
        up = cuda.atomic.add(parent, node, 0)
    return node


@cuda.jit
def join_edges(parent, sources, targets):
    e = cuda.grid(1)
    if e < sources.size:
        a, b = root_of(parent, sources[e]), root_of(parent, targets[e])
        while a != b:
            if a < b:
                a, b = b, a
            old = cuda.atomic.cas(parent, a, a, b)
            if old == a:
                break
            a, b = root_of(parent, old), root_of(parent, b)


@case(100, 120, finds="scattered")
def union_find(run, nodes):
    """Roots hang themselves under smaller ones; every look at a parent is an atomic."""
    ends = rng(nodes).integers(0, nodes, (2, nodes * 2 // 3)).astype(np.int32)
    parent = np.arange(nodes, dtype=np.int32)
    run(join_edges)[blocks(ends.shape[1], 32), 32](parent, ends[0], ends[1])
    want = np.arange(nodes)
    while True:
        low = np.minimum(want[ends[0]], want[ends[1]])
        new = want.copy()
        np.minimum.at(new, ends[0], low)
        np.minimum.at(new, ends[1], low)
        if (new == want).all():
            break
        want = new
    while (parent[parent] != parent).any():
        parent = parent[parent]
    equal(parent, want)


@cuda.jit
def occurrences(places, count, text):
    pattern = cuda.const.array_like(PATTERN)
    i = cuda.grid(1)
    if i + pattern.size <= text.size:
        same = True
        for j in range(pattern.size):
            if text[i + j] != pattern[j]:
                same = False
                break
        if same:
            places[cuda.atomic.add(count, 0, 1)] = i


@case(500, 70)
def string_matching(run, n):
    """The plain search over bytes; places come in any order."""
    letters = rng(n).integers(0, 2, n)
    words = [b"abra", b"cad"]
    text = b"".join(words[k] for k in letters)[:n]
    places, count = np.zeros(n, np.int32), np.zeros(1, np.int32)
    run(occurrences)[blocks(n, 64), 64](places, count, np.frombuffer(text, np.uint8))
    want = [i for i in range(n) if text[i : i + 4] == b"abra"]
    equal(np.sort(places[: count[0]]), want)


@cuda.jit
def edit_distance(out, first, second):
    rows = cuda.shared.array((3, ROW), int32)
    tid = cuda.threadIdx.x
    pair = cuda.blockIdx.x
    n = first.shape[1]
    for d in range(2 * n + 1):
        now, last, older = d % 3, (d + 2) % 3, (d + 1) % 3
        i, j = tid, d - tid
        if i <= n and 0 <= j <= n:
            if i == 0 or j == 0:
                rows[now, i] = i + j
            else:
                change = 0 if first[pair, i - 1] == second[pair, j - 1] else 1
                best = min(rows[last, i - 1], rows[last, i]) + 1
                rows[now, i] = min(best, rows[older, i - 1] + change)
        cuda.syncthreads()
    if tid == n:
        out[pair] = rows[2 * n % 3, n]


@case((3, 20), (2, 7))
def edit_distance_by_diagonals(run, shape):
    """A block per pair, three diagonals in shared memory."""
    first, second = rng(1).integers(97, 100, (2, *shape)).astype(np.uint8)
    out = np.zeros(shape[0], np.int32)
    run(edit_distance)[shape[0], MOST](out, first, second)
    for got, a, b in zip(out, first, second, strict=True):
        row = np.arange(shape[1] + 1)
        for i, letter in enumerate(a, 1):
            new = [i]
            for j, other in enumerate(b, 1):
                new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (letter != other)))
            row = np.array(new)
        equal(got, row[-1])


@cuda.jit
def fill_knapsack(best, weights, worths):
    rows = cuda.shared.array((2, 128), int32)
    tid = cuda.threadIdx.x
    rows[0, tid] = 0
    cuda.syncthreads()
    for item in range(weights.size):
        old, new = item & 1, item & 1 ^ 1
        value = rows[old, tid]
        if tid >= weights[item]:
            value = max(value, rows[old, tid - weights[item]] + worths[item])
        rows[new, tid] = value
        cuda.syncthreads()
    best[tid] = rows[weights.size & 1, tid]


@case(10, 7)
def knapsack(run, items):
    """One thread per capacity, two rows in turn."""
    weights = rng(items).integers(1, 40, items).astype(np.int32)
    worths = rng(1).integers(1, 90, items).astype(np.int32)
    best = np.zeros(128, np.int32)
    run(fill_knapsack)[1, 128](best, weights, worths)
    row = np.zeros(128, int)
    for weight, worth in zip(weights, worths, strict=True):
        row[weight:] = np.maximum(row[weight:], row[:-weight] + worth)
    equal(best, row)


@cuda.jit
def deposit(lock, account, amounts):
    total = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, amounts[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        account[0] += total[0]
        account[1] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@case(6, 3)
def guarded_account(run, count):
    """A mutex of the grid with fences on both sides; two numbers change together."""
    amounts = rng(count).integers(-9, 9, count * 32).astype(np.int32)
    lock, account = np.zeros(1, np.int32), np.zeros(2, np.int32)
    run(deposit)[count, 32](lock, account, amounts)
    equal((*account, lock[0]), (amounts.sum(), count, 0))


@cuda.jit
def relax_edges(distance, changed, sources, targets, lengths):
    e = cuda.grid(1)
    if e < sources.size:
        start = cuda.atomic.min(distance, sources[e], 1 << 30)
        new = start + lengths[e]
        if start < 1 << 30 and new < cuda.atomic.min(distance, targets[e], new):
            changed[0] = 1


# every thread that finds something stores the same 1
@case(80, 100, finds="scattered race_same_value")
def bellman_ford(run, nodes):
    """Rounds over all edges until no distance falls."""
    ends = rng(nodes).integers(0, nodes, (2, 4 * nodes)).astype(np.int32)
    lengths = rng(1).integers(1, 20, 4 * nodes).astype(np.int32)
    distance = np.full(nodes, 1 << 30, np.int32)
    distance[0] = 0
    want = distance.copy()
    while True:
        changed = np.zeros(1, np.int32)
        run(relax_edges)[blocks(lengths.size, 64), 64](distance, changed, *ends, lengths)
        if not changed[0]:
            break
    for _ in range(nodes):
        np.minimum.at(want, ends[1], np.minimum(want[ends[0]] + lengths, 1 << 30))
    equal(distance, want)


@cuda.jit
def place_queens(counts, n):
    first = cuda.grid(1)
    if first >= n:
        return
    free = cuda.local.array(16, uint32)
    columns = cuda.local.array(16, uint32)
    down = cuda.local.array(16, uint32)
    up = cuda.local.array(16, uint32)
    every = uint32((1 << n) - 1)
    bit = uint32(1) << uint32(first)
    columns[1], down[1], up[1] = bit, bit << uint32(1), bit >> uint32(1)
    free[1] = every & ~(columns[1] | down[1] | up[1])
    row, found = 1, 0
    while row > 0:
        if free[row] == 0:
            row -= 1
            continue
        bit = free[row] & (~free[row] + uint32(1))
        free[row] ^= bit
        if row == n - 1:
            found += 1
            continue
        columns[row + 1] = columns[row] | bit
        down[row + 1] = (down[row] | bit) << uint32(1)
        up[row + 1] = (up[row] | bit) >> uint32(1)
        row += 1
        free[row] = every & ~(columns[row] | down[row] | up[row])
    counts[first] = found


# stacks of 16 words with indices of the run: the compiler may pick from registers
@case(6, 5, finds="open_local_array")
def queens(run, n):
    """Backtracking with a stack of bits in each thread."""
    counts = np.zeros(n, np.int32)
    run(place_queens)[1, 32](counts, n)
    equal(counts.sum(), {5: 10, 6: 4}[n])
    equal(counts, counts[::-1])


@cuda.jit
def transitions(counts, text):
    own = cuda.shared.array((4, 4), int32)
    tid = cuda.threadIdx.x
    if tid < 16:
        own[tid // 4, tid % 4] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i + 1 < text.size:
        cuda.atomic.add(own, (text[i] & uint8(3), text[i + 1] & uint8(3)), 1)
    cuda.syncthreads()
    if tid < 16 and own[tid // 4, tid % 4] > 0:
        cuda.atomic.add(counts, (tid // 4, tid % 4), int64(own[tid // 4, tid % 4]))


@case(300, 65)
def pairs_of_letters(run, n):
    """A table of two axes, indexed by bytes, first per block and then for all."""
    text = rng(n).integers(0, 256, n).astype(np.uint8)
    counts = np.zeros((4, 4), np.int64)
    run(transitions)[blocks(n, 64), 64](counts, text)
    want = np.zeros_like(counts)
    np.add.at(want, (text[:-1] & 3, text[1:] & 3), 1)
    equal(counts, want)
