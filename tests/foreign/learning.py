"""Machine learning: clusters, layers, attention, embeddings, statistics."""

import math

import numpy as np
from numba import cuda, float32, int32

from tests.foreign.cases import blocks, case, close, equal, rng

K = 5


@cuda.jit
def assign(labels, points, centres):
    i = cuda.grid(1)
    if i < points.shape[1]:
        best = float32(np.inf)
        label = 0
        for k in range(centres.shape[0]):
            d = float32(0)
            for c in range(points.shape[0]):
                diff = points[c, i] - centres[k, c]
                d += diff * diff
            if d < best:
                best = d
                label = k
        labels[i] = label


@cuda.jit
def accumulate(sums, counts, points, labels):
    local = cuda.shared.array((K, 2), float32)
    number = cuda.shared.array(K, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < K:
        number[tid] = 0
        for c in range(2):
            local[tid, c] = 0
    cuda.syncthreads()
    if i < labels.size:
        label = labels[i]
        cuda.atomic.add(number, label, 1)
        for c in range(2):
            cuda.atomic.add(local, (label, c), points[c, i])
    cuda.syncthreads()
    if tid < K:
        cuda.atomic.add(counts, tid, number[tid])
        for c in range(2):
            cuda.atomic.add(sums, (tid, c), local[tid, c])


@case(200, 65)
def kmeans(run, n):
    """Assignment and update, three rounds; whole coordinates add up exactly."""
    points = rng(n).integers(0, 100, (2, n)).astype(np.float32)
    centres = points[:, :K].T.copy()
    for _ in range(3):
        labels = np.zeros(n, np.int32)
        sums, counts = np.zeros((K, 2), np.float32), np.zeros(K, np.int32)
        run(assign)[blocks(n, 64), 64](labels, points, centres)
        apart = ((points.T[:, None, :] - centres[None]) ** 2).sum(-1, dtype=np.float32)
        near = np.sort(apart, axis=1)
        sure = near[:, 1] - near[:, 0] > 1e-2
        equal(labels[sure], apart.argmin(1)[sure])
        run(accumulate)[blocks(n, 64), 64](sums, counts, points, labels)
        equal(counts, np.bincount(labels, minlength=K))
        for c in range(2):
            equal(sums[:, c], np.bincount(labels, points[c], minlength=K))
        centres = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)


@cuda.jit
def layer_norm_kernel(out, x, gamma, beta, eps):
    s_sum = cuda.shared.array(4, float32)
    s_sq = cuda.shared.array(4, float32)
    row, tid = cuda.blockIdx.x, cuda.threadIdx.x
    n = x.shape[1]
    total = float32(0)
    squares = float32(0)
    for c in range(tid, n, cuda.blockDim.x):
        v = x[row, c]
        total += v
        squares = cuda.fma(v, v, squares)
    for d in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, d)
        squares += cuda.shfl_xor_sync(0xFFFFFFFF, squares, d)
    if tid % 32 == 0:
        s_sum[tid // 32] = total
        s_sq[tid // 32] = squares
    cuda.syncthreads()
    total = float32(0)
    squares = float32(0)
    for w in range(cuda.blockDim.x // 32):
        total += s_sum[w]
        squares += s_sq[w]
    mean = total / float32(n)
    scale = float32(1) / math.sqrt(squares / float32(n) - mean * mean + eps)
    for c in range(tid, n, cuda.blockDim.x):
        out[row, c] = (x[row, c] - mean) * scale * gamma[c] + beta[c]


@case((3, 200), (2, 70))
def layer_norm(run, shape):
    """Sum and sum of squares of a row per block; the variance loses some digits to the mean."""
    x = rng(1).normal(1, 2, shape).astype(np.float32)
    gamma, beta = (rng(k).normal(size=shape[1]).astype(np.float32) for k in (2, 3))
    out = np.zeros(shape, np.float32)
    run(layer_norm_kernel)[shape[0], 128](out, x, gamma, beta, np.float32(1e-5))
    wide = x.astype(np.float64)
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    close(out, want * gamma + beta, 1e-5, 1e-5)


D = 32


@cuda.jit
def attention_row(out, q, k, v, scale):
    scores = cuda.shared.array(0, float32)
    query = cuda.shared.array(D, float32)
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    n = k.shape[0]
    query[lane] = q[row, lane]
    cuda.syncwarp()
    top = float32(-np.inf)
    for j in range(lane, n, 32):
        s = float32(0)
        for c in range(D):
            s += query[c] * k[j, c]
        s = s * scale if j <= row else float32(-np.inf)
        scores[j] = s
        top = max(top, s)
    for d in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, d))
    norm = float32(0)
    for j in range(lane, n, 32):
        e = math.exp(scores[j] - top)
        scores[j] = e
        norm += e
    for d in (16, 8, 4, 2, 1):
        norm += cuda.shfl_xor_sync(0xFFFFFFFF, norm, d)
    cuda.syncwarp()
    acc = float32(0)
    for j in range(n):
        acc += scores[j] * v[j, lane]
    out[row, lane] = acc / norm


# A lane per key: rows of 128 bytes from lane to lane.
@case(45, 33, finds="uncoalesced")
def causal_attention(run, n):
    """One query per warp, scores in dynamic shared memory, later keys masked out."""
    q, k, v = (rng(i).normal(size=(n, D)).astype(np.float32) for i in range(3))
    out = np.zeros((n, D), np.float32)
    run(attention_row)[n, 32, 0, 4 * n](out, q, k, v, np.float32(D**-0.5))
    s = q.astype("f8") @ k.T.astype("f8") * D**-0.5
    s[np.triu_indices(n, 1)] = -np.inf
    e = np.exp(s - s.max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True) @ v, 1e-5, 1e-5)


@cuda.jit
def embedding_gather(out, table, ids):
    token, c = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y, cuda.threadIdx.x
    if token < ids.size and ids[token] >= 0:
        out[token, c] = table[ids[token], c]


@cuda.jit
def embedding_scatter(grad_table, grad, ids):
    token, c = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y, cuda.threadIdx.x
    if token < ids.size and ids[token] >= 0:
        cuda.atomic.add(grad_table, (ids[token], c), grad[token, c])


@case(50, 13)
def embedding(run, tokens):
    """Rows of a table by number, and the sum of gradients back; a row per warp stays coalesced."""
    table = rng(1).normal(size=(20, 32)).astype(np.float32)
    ids = rng(tokens).integers(-1, 20, tokens).astype(np.int32)
    out = np.zeros((tokens, 32), np.float32)
    run(embedding_gather)[blocks(tokens, 4), (32, 4)](out, table, ids)
    equal(out, np.where(ids[:, None] >= 0, table[ids], 0))
    grad = rng(2).integers(-9, 9, (tokens, 32)).astype(np.float32)
    back, want = np.zeros_like(table), np.zeros_like(table)
    run(embedding_scatter)[blocks(tokens, 4), (32, 4)](back, grad, ids)
    np.add.at(want, ids[ids >= 0], grad[ids >= 0])
    equal(back, want)


@cuda.jit
def dense_relu(out, x, w, b):
    j = cuda.grid(1)
    row = cuda.blockIdx.y
    if j < out.shape[1]:
        total = b[j]
        for k in range(x.shape[1]):
            total += x[row, k] * w[k, j]
        out[row, j] = max(total, float32(0))


@cuda.jit
def cross_entropy_step(loss, delta, logits, targets):
    row = cuda.grid(1)
    if row < logits.shape[1]:
        top = logits[0, row]
        for k in range(1, logits.shape[0]):
            top = max(top, logits[k, row])
        total = float32(0)
        for k in range(logits.shape[0]):
            total += math.exp(logits[k, row] - top)
        for k in range(logits.shape[0]):
            p = math.exp(logits[k, row] - top) / total
            delta[k, row] = p - (float32(1) if k == targets[row] else float32(0))
        cuda.atomic.add(loss, 0, math.log(total) + top - logits[targets[row], row])


# The logit of the right class is somewhere else in every lane.
@case((20, 12, 40), (33, 5, 33), finds="scattered")
def layer_and_loss(run, sizes):
    """A dense layer of whole numbers, and the loss of a softmax with its gradient."""
    batch, inner, classes = sizes
    x = rng(1).integers(-3, 4, (batch, inner)).astype(np.float32)
    w, b = rng(2).integers(-3, 4, (inner, classes)), rng(3).integers(-3, 4, classes)
    out = np.zeros((batch, classes), np.float32)
    run(dense_relu)[(blocks(classes, 32), batch), 32](out, x, w.astype("f4"), b.astype("f4"))
    equal(out, np.maximum(x @ w + b, 0))
    logits = np.ascontiguousarray(out.T) / np.float32(8)
    targets = rng(4).integers(0, classes, batch).astype(np.int32)
    loss, delta = np.zeros(1, np.float32), np.zeros_like(logits)
    run(cross_entropy_step)[blocks(batch, 32), 32](loss, delta, logits, targets)
    e = np.exp(logits.astype("f8"))
    p = e / e.sum(0)
    close(loss[0], -np.log(p[targets, np.arange(batch)]).sum(), 1e-5)
    p[targets, np.arange(batch)] -= 1
    close(delta, p, 1e-5, 1e-6)


@cuda.jit
def welford(means, variances, x):
    lane = cuda.threadIdx.x
    row = cuda.blockIdx.x
    count, mean, m2 = 0, float32(0), float32(0)
    for c in range(lane, x.shape[1], 32):
        count += 1
        delta = x[row, c] - mean
        mean += delta / float32(count)
        m2 += delta * (x[row, c] - mean)
    step = 16
    while step:
        other = cuda.shfl_down_sync(0xFFFFFFFF, count, step)
        other_mean = cuda.shfl_down_sync(0xFFFFFFFF, mean, step)
        other_m2 = cuda.shfl_down_sync(0xFFFFFFFF, m2, step)
        both = count + other
        if both > 0:
            delta = other_mean - mean
            share = float32(other) / float32(both)
            m2 += other_m2 + delta * delta * float32(count) * share
            mean += delta * share
        count = both
        step >>= 1
    if lane == 0:
        means[row], variances[row] = mean, m2 / float32(count)


@case((3, 100), (2, 7))
def running_variance(run, shape):
    """Welford's update, merged by shuffles, also where lanes had nothing."""
    x = rng(4).normal(5, 2, shape).astype(np.float32)
    means, variances = np.zeros(shape[0], np.float32), np.zeros(shape[0], np.float32)
    run(welford)[shape[0], 32](means, variances, x)
    close(means, x.mean(1, dtype="f8"), 1e-6)
    close(variances, x.var(1, dtype="f8"), 1e-5)
