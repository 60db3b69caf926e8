"""Linear algebra: products, factorisations, iterative solvers."""

import math

import numpy as np
from numba import complex64, cuda, float32, int32

from tests.foreign.cases import blocks, case, close, equal, rng

TPB = 16


@cuda.jit
def matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = float32(0.0)
    for i in range((A.shape[1] + TPB - 1) // TPB):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@case((40, 35, 50), (16, 48, 17))
def tiled_product(run, shape):
    """The tiled product of the Numba manual; whole numbers are exact."""
    m, k, n = shape
    a = rng(m).integers(-9, 9, (m, k)).astype(np.float32)
    b = rng(n).integers(-9, 9, (k, n)).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    run(matmul)[(blocks(n, TPB), blocks(m, TPB)), (TPB, TPB)](a, b, c)
    equal(c, a.astype(np.int64) @ b.astype(np.int64))


@cuda.jit
def matmul_naive(A, B, C):
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.0
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp


# Lanes go down the rows: A's column (16 rows) and C are uncoalesced; 0.0 makes tmp float64.
@case((33, 40, 35), finds="uncoalesced float64_arithmetic")
def manual_product(run, shape):
    """The first product of the Numba manual, with its (row, column) from cuda.grid."""
    m, k, n = shape
    a = rng(m).integers(-9, 9, (m, k)).astype(np.float32)
    b = rng(n).integers(-9, 9, (k, n)).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    run(matmul_naive)[(blocks(m, TPB), blocks(n, TPB)), (TPB, TPB)](a, b, c)
    equal(c, a.astype(np.int64) @ b.astype(np.int64))


@cuda.jit
def hgemm(out, a, b):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += float32(a[row, k]) * float32(b[k, col])
        out[row, col] = np.float16(acc)


@case((20, 30, 40))
def half_product(run, shape):
    """float16 in and out, float32 in between; the sums stay below 2048, so they are exact."""
    m, k, n = shape
    a = rng(m).integers(-4, 5, (m, k)).astype(np.float16)
    b = rng(n).integers(-4, 5, (k, n)).astype(np.float16)
    out = np.zeros((m, n), np.float16)
    run(hgemm)[(blocks(n, 32), blocks(m, 8)), (32, 8)](out, a, b)
    equal(out, a.astype(np.int32) @ b.astype(np.int32))


@cuda.jit
def cgemm(out, a, b):
    tile = cuda.shared.array((8, 32), complex64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = complex64(0)
    for start in range(0, b.shape[0], 8):
        k = start + ty
        tile[ty, tx] = b[k, col] if k < b.shape[0] and col < b.shape[1] else complex64(0)
        cuda.syncthreads()
        if row < a.shape[0]:
            for j in range(min(8, b.shape[0] - start)):
                acc += a[row, start + j] * tile[j, tx]
        cuda.syncthreads()
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


# a part of complex64 takes half of the sectors, where lanes are idle too
@case((9, 20, 40), finds="interleaved")
def complex_product(run, shape):
    """complex64 with whole parts is exact."""
    m, k, n = shape
    a = (rng(m).integers(-4, 5, (m, k)) + 1j * rng(1).integers(-4, 5, (m, k))).astype(np.complex64)
    b = (rng(n).integers(-4, 5, (k, n)) + 1j * rng(2).integers(-4, 5, (k, n))).astype(np.complex64)
    out = np.zeros((m, n), np.complex64)
    run(cgemm)[(blocks(n, 32), blocks(m, 8)), (32, 8)](out, a, b)
    equal(out, a.astype(np.complex128) @ b)


N = 4


@cuda.jit
def lu_batched(x, matrices, rhs):
    b = cuda.grid(1)
    if b >= matrices.shape[0]:
        return
    a = cuda.local.array((N, N), float32)
    y = cuda.local.array(N, float32)
    for i in range(N):
        y[i] = rhs[i, b]
        for j in range(N):
            a[i, j] = matrices[b, i, j]
    for k in range(N):
        for i in range(k + 1, N):
            a[i, k] /= a[k, k]
            y[i] -= a[i, k] * y[k]
            for j in range(k + 1, N):
                a[i, j] -= a[i, k] * a[k, j]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            y[i] -= a[i, j] * y[j]
        y[i] /= a[i, i]
    for i in range(N):
        x[i, b] = y[i]


# 64 bytes from lane to lane; but all 16 elements of a matrix are read in turn: interleaved fields
@case(100, 33, finds="uncoalesced")
def batched_lu(run, count):
    """A 4x4 system per thread, without pivots (the diagonal dominates), in local arrays."""
    a = rng(count).uniform(-1, 1, (count, N, N)).astype(np.float32) + 5 * np.eye(N, dtype="f4")
    rhs = rng(1).uniform(-1, 1, (N, count)).astype(np.float32)
    x = np.zeros((N, count), np.float32)
    run(lu_batched)[blocks(count, 64), 64](x, a, rhs)
    close(x.T, np.linalg.solve(a.astype(np.float64), rhs.T[:, :, None])[:, :, 0], 1e-5, 1e-6)


@cuda.jit
def cholesky_shared(out, a):
    n = a.shape[0]
    s = cuda.shared.array((16, 17), float32)
    i = cuda.threadIdx.x
    if i < n:
        for j in range(n):
            s[j, i] = a[j, i]
    cuda.syncthreads()
    for k in range(n):
        if i == 0:
            s[k, k] = math.sqrt(s[k, k])
        cuda.syncthreads()
        if i > k and i < n:
            s[i, k] = s[i, k] / s[k, k]
        cuda.syncthreads()
        if i > k and i < n:
            for j in range(k + 1, i + 1):
                s[i, j] -= s[i, k] * s[j, k]
        cuda.syncthreads()
    if i < n:
        for j in range(n):
            out[j, i] = s[j, i] if i <= j else float32(0)


# Each thread has loaded what it takes next: the first barrier could go, the next one orders all.
@case(16, 13, finds="unused_barrier")
def block_cholesky(run, n):
    """One matrix in shared memory, a thread per row."""
    half = rng(n).uniform(-1, 1, (n, n)).astype(np.float32)
    a = half @ half.T + n * np.eye(n, dtype=np.float32)
    out = np.zeros((n, n), np.float32)
    run(cholesky_shared)[1, 32](out, a)
    close(out, np.linalg.cholesky(a.astype(np.float64)), 1e-5, 1e-6)


@cuda.jit
def jacobi_step(new, old, b, residual):
    j, i = cuda.grid(2)
    diff = float32(0)
    if 1 <= i < old.shape[0] - 1 and 1 <= j < old.shape[1] - 1:
        v = (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1] + b[i, j]) / 4
        new[i, j] = v
        diff = abs(v - old[i, j])
    cuda.atomic.max(residual, 0, diff)


# "/ 4" divides by an int64, which makes v a float64; the sums are exact either way.
@case((20, 45), (9, 34), finds="float64_arithmetic")
def jacobi(run, shape):
    """Five sweeps with swapped arrays and the largest change; division by 4 is exact."""
    u = rng(3).integers(0, 50, shape).astype(np.float32)
    b = rng(4).integers(0, 50, shape).astype(np.float32)
    old, new = u.copy(), u.copy()
    ref = u.copy()
    for _ in range(5):
        residual = np.zeros(1, np.float32)
        run(jacobi_step)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](
            new, old, b, residual
        )
        old, new = new, old
        s = ref[:-2, 1:-1] + ref[2:, 1:-1]
        inner = (s + ref[1:-1, :-2] + ref[1:-1, 2:] + b[1:-1, 1:-1]) / np.float32(4)
        change = np.abs(inner - ref[1:-1, 1:-1]).max()
        ref[1:-1, 1:-1] = inner
        equal(residual[0], change)
        equal(old, ref)


@cuda.jit
def red_black(u, f, colour):
    j, i = cuda.grid(2)
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1 and (i + j) % 2 == colour:
        u[i, j] = float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


# Every other cell of a row: twice the sectors, though never 4 too many in a request.
@case((20, 45))
def gauss_seidel(run, shape):
    """Red cells, then black ones, in place."""
    u = rng(5).integers(0, 50, shape).astype(np.float32)
    f = rng(6).integers(0, 50, shape).astype(np.float32)
    ref = u.copy()
    for colour in (0, 1, 0, 1):
        run(red_black)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](u, f, colour)
        before = ref.copy()
        for i in range(1, shape[0] - 1):
            for j in range(1, shape[1] - 1):
                if (i + j) % 2 == colour:
                    s = before[i - 1, j] + before[i + 1, j] + before[i, j - 1] + before[i, j + 1]
                    ref[i, j] = np.float32(0.25) * (s - f[i, j])
    equal(u, ref)


@cuda.jit
def floyd_tile(d, k0):
    tile = cuda.shared.array((8, 8), int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = d[k0 + y, k0 + x]
    cuda.syncthreads()
    for k in range(8):
        through = tile[y, k] + tile[k, x]
        cuda.syncthreads()
        if through < tile[y, x]:
            tile[y, x] = through
        cuda.syncthreads()
    d[k0 + y, k0 + x] = tile[y, x]


@cuda.jit
def floyd_step(d, k):
    j, i = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1]:
        if i != k and j != k:
            through = d[i, k] + d[k, j]
            if through < d[i, j]:
                d[i, j] = through


# While k is worked on, row k and column k stay as they are: the barrier before the store is spare.
@case(8, finds="unused_barrier")
def floyd_warshall_tile(run, n):
    """All shortest paths of one tile in shared memory."""
    d = distances(n)
    want = shortest(d)
    run(floyd_tile)[1, (8, 8)](d, 0)
    equal(d, want)


@case(21, 40)
def floyd_warshall(run, n):
    """All shortest paths, a launch per step."""
    d = distances(n)
    want = shortest(d)
    for k in range(n):
        run(floyd_step)[(blocks(n, 32), blocks(n, 8)), (32, 8)](d, k)
    equal(d, want)


def distances(n):
    """Lengths between n places, 0 from a place to itself."""
    d = rng(n).integers(1, 90, (n, n)).astype(np.int32)
    np.fill_diagonal(d, 0)
    return d


def shortest(d):
    """The shortest paths."""
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d
