"""Sparse matrices by the format they are stored in; graphs: searches, labels, ranks."""

import numpy as np
from numba import cuda, float32, int32

from tests.foreign.cases import blocks, case, close, equal, rng


def sparse(rows, columns, seed, most=10):
    """(dense, indptr, indices, data) with fewer than `most` whole entries per row."""
    r = rng(seed)
    dense = np.zeros((rows, columns), np.float32)
    for row in range(rows):
        used = r.choice(columns, r.integers(0, most), replace=False)
        dense[row, used] = r.integers(1, 20, used.size)
    row, indices = np.nonzero(dense)
    indptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
    return dense, indptr, indices.astype(np.int32), dense[row, indices]


@cuda.jit
def spmv_csr(y, indptr, indices, data, x):
    row = cuda.grid(1)
    if row < y.shape[0]:
        acc = float32(0)
        for jj in range(indptr[row], indptr[row + 1]):
            acc += data[jj] * x[indices[jj]]
        y[row] = acc


@cuda.jit
def spmv_csr_vector(y, indptr, indices, data, x):
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if row < y.shape[0]:
        acc = float32(0)
        for jj in range(indptr[row] + lane, indptr[row + 1], 32):
            acc += data[jj] * x[indices[jj]]
        for d in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, d)
        if lane == 0:
            y[row] = acc


# Rows of 0 to 9 entries: lanes jump by the length of their row, and x is gathered.
@case(200, 130, finds="scattered")
def csr_scalar(run, rows):
    """A thread per row."""
    dense, indptr, indices, data = sparse(rows, 150, rows)
    x = rng(1).integers(1, 9, 150).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_csr)[blocks(rows, 64), 64](y, indptr, indices, data, x)
    equal(y, dense @ x)


@case(50, 61, finds="scattered")
def csr_vector(run, rows):
    """A warp per row; the gather from x stays."""
    dense, indptr, indices, data = sparse(rows, 3000, rows, most=40)
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_csr_vector)[blocks(rows, 4), 128](y, indptr, indices, data, x)
    equal(y, dense @ x)


@cuda.jit
def spmv_coo(y, rows, cols, vals, x):
    k = cuda.grid(1)
    if k < vals.size:
        cuda.atomic.add(y, rows[k], vals[k] * x[cols[k]])


@cuda.jit
def spmv_ell(y, cols, vals, x):
    row = cuda.grid(1)
    if row < y.size:
        dot = float32(0)
        for k in range(vals.shape[0]):
            col = cols[k, row]
            if col >= 0:
                dot += vals[k, row] * x[col]
        y[row] = dot


@case(90, finds="scattered")
def coo(run, rows):
    """An entry per thread, added atomically."""
    dense, _, indices, data = sparse(rows, 3000, rows)
    row = np.nonzero(dense)[0].astype(np.int32)
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_coo)[blocks(data.size, 64), 64](y, row, indices, data, x)
    equal(y, dense @ x)


@case(90, 131, finds="scattered")
def ell(run, rows):
    """Entries stored column by column: all but the gather is coalesced."""
    dense, indptr, indices, data = sparse(rows, 3000, rows)
    cols, vals = np.full((10, rows), -1, np.int32), np.zeros((10, rows), np.float32)
    for row in range(rows):
        own = slice(indptr[row], indptr[row + 1])
        cols[: own.stop - own.start, row] = indices[own]
        vals[: own.stop - own.start, row] = data[own]
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_ell)[blocks(rows, 64), 64](y, cols, vals, x)
    equal(y, dense @ x)


def graph(nodes, edges, seed):
    """(indptr, indices, pairs) of a graph whose edges go both ways."""
    pairs = rng(seed).integers(0, nodes, (edges, 2))
    pairs = np.unique(np.concatenate((pairs, pairs[:, ::-1])), axis=0)
    indptr = np.searchsorted(pairs[:, 0], np.arange(nodes + 1))
    return indptr.astype(np.int32), pairs[:, 1].astype(np.int32), pairs


def distances(indptr, indices, source):
    """Edges from the source to each node, -1 where there is no way."""
    found, level, frontier = np.full(indptr.size - 1, -1), 0, [source]
    found[source] = 0
    while frontier:
        level += 1
        reached = {int(v) for u in frontier for v in indices[indptr[u] : indptr[u + 1]]}
        frontier = [v for v in reached if found[v] < 0]
        found[frontier] = level
    return found


@cuda.jit
def bfs_frontier(distance, following, count, frontier, size, indptr, indices, level):
    i = cuda.grid(1)
    if i < size:
        u = frontier[i]
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if cuda.atomic.cas(distance, v, -1, level) == -1:
                following[cuda.atomic.add(count, 0, 1)] = v


@case(150, 64, finds="scattered")
def bfs_with_queues(run, nodes):
    """A launch per level; compare-and-swap decides who finds a node, a counter where it goes."""
    indptr, indices, _ = graph(nodes, nodes * 3 // 2, nodes)
    distance = np.full(nodes, -1, np.int32)
    distance[3] = 0
    frontier, size, level = np.full(nodes, 3, np.int32), 1, 0
    while size:
        level += 1
        following, count = np.zeros(nodes, np.int32), np.zeros(1, np.int32)
        run(bfs_frontier)[blocks(size, 64), 64](
            distance, following, count, frontier, size, indptr, indices, level
        )
        frontier, size = following, int(count[0])
    equal(distance, distances(indptr, indices, 3))


@cuda.jit
def bfs_level(distance, changed, indptr, indices, level):
    u = cuda.grid(1)
    if u < distance.size and distance[u] == level:
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if distance[v] < 0:
                distance[v] = level + 1
                changed[0] = 1


# What textbooks call a benign race: distance is read and written by different blocks with nothing
# between them; changed is stored by many, always with 1. What the few lanes on the level gather is
# not much.
@case(150, finds="race race_between_blocks race_same_value")
def bfs_by_levels(run, nodes):
    """All nodes look in each launch whether they are on the level."""
    indptr, indices, _ = graph(nodes, nodes * 3 // 2, nodes)
    distance = np.full(nodes, -1, np.int32)
    distance[3] = 0
    level, changed = 0, np.ones(1, np.int32)
    while changed[0]:
        changed[0] = 0
        run(bfs_level)[blocks(nodes, 64), 64](distance, changed, indptr, indices, level)
        level += 1
    equal(distance, distances(indptr, indices, 3))


@cuda.jit
def spread_labels(labels, changed, pairs):
    e = cuda.grid(1)
    if e < pairs.shape[1]:
        u, v = pairs[0, e], pairs[1, e]
        low = cuda.atomic.min(labels, v, cuda.atomic.min(labels, u, np.int32(0x7FFFFFFF)))
        if low > cuda.atomic.min(labels, v, np.int32(0x7FFFFFFF)):
            cuda.atomic.add(changed, 0, 1)


# The far ends of the edges lie anywhere.
@case(90, 61, finds="scattered")
def connected_components(run, nodes):
    """The least label goes along every edge until nothing changes, all by atomics."""
    indptr, indices, pairs = graph(nodes, nodes * 2 // 3, nodes)
    edges = np.ascontiguousarray(pairs.T).astype(np.int32)
    labels, changed = np.arange(nodes, dtype=np.int32), np.ones(1, np.int32)
    while changed[0]:
        changed[0] = 0
        run(spread_labels)[blocks(edges.shape[1], 64), 64](labels, changed, edges)
    want = np.arange(nodes)
    for node in range(nodes):
        if want[node] == node:
            want[distances(indptr, indices, node) >= 0] = node
    equal(labels, want)


@cuda.jit
def pagerank_pull(new, old, indptr, indices, degree, damping):
    v = cuda.grid(1)
    n = new.size
    if v < n:
        s = float32(0)
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            s += old[u] / float32(degree[u])
        new[v] = (float32(1) - damping) / float32(n) + damping * s


@case(150, finds="scattered")
def pagerank(run, nodes):
    """Ranks pulled along the edges, ten rounds; 1e-5 allows for 10 x 10 roundings."""
    indptr, indices, pairs = graph(nodes, 2 * nodes, nodes)
    degree = np.diff(indptr).astype(np.int32)
    old = np.full(nodes, 1 / nodes, np.float32)
    rank = np.full(nodes, 1 / nodes)
    matrix = np.zeros((nodes, nodes))
    matrix[pairs[:, 0], pairs[:, 1]] = 1 / degree[pairs[:, 1]]
    for _ in range(10):
        new = np.zeros(nodes, np.float32)
        run(pagerank_pull)[blocks(nodes, 64), 64](
            new, old, indptr, indices, degree, np.float32(0.85)
        )
        old = new
        rank = 0.15 / nodes + 0.85 * matrix @ rank
    close(old, rank, 1e-5)


@cuda.jit
def count_triangles(total, indptr, indices):
    mine = cuda.shared.array(64, int32)
    u = cuda.grid(1)
    found = 0
    if u < indptr.size - 1:
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if v <= u:
                continue
            a, b = indptr[u], indptr[v]
            while a < indptr[u + 1] and b < indptr[v + 1]:
                left, right = indices[a], indices[b]
                if left == right:
                    found += left > v
                    a += 1
                    b += 1
                elif left < right:
                    a += 1
                else:
                    b += 1
    mine[cuda.threadIdx.x] = found
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        block = 0
        for part in mine:
            block += part
        cuda.atomic.add(total, 0, block)


@case(70, finds="scattered")
def triangles(run, nodes):
    """Neighbours of neighbours by walking two sorted lists at once."""
    indptr, indices, pairs = graph(nodes, 5 * nodes, nodes)
    matrix = np.zeros((nodes, nodes), int)
    matrix[pairs[:, 0], pairs[:, 1]] = 1
    np.fill_diagonal(matrix, 0)
    total = np.zeros(1, np.int32)
    run(count_triangles)[blocks(nodes, 64), 64](total, indptr, indices)
    equal(total[0], np.trace(matrix @ matrix @ matrix) // 6)
