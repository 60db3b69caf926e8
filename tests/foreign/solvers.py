"""Small systems, transforms, polynomials and rotations, as numerical libraries batch them."""

import math

import numpy as np
from numba import complex64, cuda, float32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float32

from tests.foreign.cases import blocks, case, close, equal, rng

COEFFICIENTS = np.array([0.5, -1, 0.25, 2, -0.125], np.float32)
POINTS = 64


@cuda.jit
def horner(out, x):
    c = cuda.const.array_like(COEFFICIENTS)
    i = cuda.grid(1)
    if i < x.size:
        acc = c[0]
        for k in range(1, c.size):
            acc = acc * x[i] + c[k]
        out[i] = acc


@case(200, 45)
def polynomial(run, n):
    """Coefficients in constant memory, read by all lanes at once."""
    x = rng(n).uniform(-1, 1, n).astype(np.float32)
    out = np.zeros(n, np.float32)
    run(horner)[blocks(n, 64), 64](out, x)
    close(out, np.polyval(COEFFICIENTS.astype(float), x), 1e-5, 1e-6)


def _systems(n, count):
    lower, upper, right = rng(n).uniform(-1, 1, (3, n, count)).astype(np.float32)
    lower[0] = upper[-1] = 0
    diagonal = rng(1).uniform(3, 4, (n, count)).astype(np.float32)
    full = np.zeros((count, n, n))
    for k in range(n):
        full[:, k, k] = diagonal[k]
        if k:
            full[:, k, k - 1], full[:, k - 1, k] = lower[k], upper[k - 1]
    want = np.linalg.solve(full, right.T[..., None].astype(float))[..., 0].T
    return lower, diagonal, upper, right, want


@cuda.jit
def thomas(x, lower, diagonal, upper, scratch):
    s = cuda.grid(1)
    n, count = x.shape
    if s >= count:
        return
    scratch[0, s] = upper[0, s] / diagonal[0, s]
    x[0, s] /= diagonal[0, s]
    for k in range(1, n):
        pivot = diagonal[k, s] - lower[k, s] * scratch[k - 1, s]
        scratch[k, s] = upper[k, s] / pivot
        x[k, s] = (x[k, s] - lower[k, s] * x[k - 1, s]) / pivot
    for k in range(n - 2, -1, -1):
        x[k, s] -= scratch[k, s] * x[k + 1, s]


@case((10, 64), (7, 33))
def tridiagonal_batches(run, shape):
    """A system per thread, laid out so that neighbours read neighbours."""
    lower, diagonal, upper, right, want = _systems(*shape)
    run(thomas)[blocks(shape[1], 32), 32](right, lower, diagonal, upper, np.zeros_like(right))
    close(right, want, 1e-4, 1e-5)


@cuda.jit
def parallel_cyclic(x, lower, diagonal, upper, right):
    a = cuda.shared.array(32, float32)
    b = cuda.shared.array(32, float32)
    c = cuda.shared.array(32, float32)
    d = cuda.shared.array(32, float32)
    k, s = cuda.threadIdx.x, cuda.blockIdx.x
    n = x.shape[1]
    a[k], b[k], c[k], d[k] = lower[s, k], diagonal[s, k], upper[s, k], right[s, k]
    cuda.syncthreads()
    step = 1
    while step < n:
        na, nb, nc, nd = float32(0), b[k], float32(0), d[k]
        if k >= step:
            ratio = a[k] / b[k - step]
            na = -a[k - step] * ratio
            nb -= c[k - step] * ratio
            nd -= d[k - step] * ratio
        if k + step < n:
            ratio = c[k] / b[k + step]
            nc = -c[k + step] * ratio
            nb -= a[k + step] * ratio
            nd -= d[k + step] * ratio
        cuda.syncthreads()
        a[k], b[k], c[k], d[k] = na, nb, nc, nd
        cuda.syncthreads()
        step *= 2
    x[s, k] = d[k] / b[k]


@case((32, 3), (20, 2))
def cyclic_reduction(run, shape):
    """A system per block, all rows at once, neighbours twice as far in each round."""
    n, count = shape
    *parts, want = _systems(n, count)
    x = np.zeros((count, n), np.float32)
    run(parallel_cyclic)[count, n](x, *(np.ascontiguousarray(part.T) for part in parts))
    close(x, want.T, 1e-4, 1e-5)


@cuda.jit
def cholesky_3(factors, matrices):
    i = cuda.grid(1)
    if i < matrices.shape[2]:
        low = cuda.local.array((3, 3), float32)
        for r in range(3):
            for c in range(r + 1):
                acc = matrices[r, c, i]
                for k in range(c):
                    acc -= low[r, k] * low[c, k]
                low[r, c] = math.sqrt(acc) if r == c else acc / low[c, c]
                factors[r, c, i] = low[r, c]


# every index is known once the loops are unrolled, triangles too: registers
@case(70, 33)
def small_cholesky(run, count):
    """A matrix of three rows per thread, in a local array."""
    root = rng(count).uniform(-1, 1, (count, 3, 3))
    matrices = (root @ root.transpose(0, 2, 1) + 2 * np.eye(3)).astype(np.float32)
    factors = np.zeros((3, 3, count), np.float32)
    layers = np.ascontiguousarray(matrices.transpose(1, 2, 0))
    run(cholesky_3)[blocks(count, 32), 32](factors, layers)
    close(factors.transpose(2, 0, 1), np.linalg.cholesky(matrices.astype(float)), 1e-5, 1e-6)


@cuda.jit
def lu_in_a_block(matrices):
    m = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    m[y, x] = matrices[cuda.blockIdx.x, y, x]
    cuda.syncthreads()
    for k in range(15):
        if x == k and y > k:
            m[y, k] /= m[k, k]
        cuda.syncthreads()
        if x > k and y > k:
            m[y, x] -= m[y, k] * m[k, x]
        cuda.syncthreads()
    matrices[cuda.blockIdx.x, y, x] = m[y, x]


@case(1, 3)
def lu_of_sixteen(run, count):
    """A matrix per block, no pivots, two barriers per column."""
    matrices = rng(count).uniform(-1, 1, (count, 16, 16)) + 8 * np.eye(16)
    factors = matrices.astype(np.float32)
    run(lu_in_a_block)[count, (16, 16)](factors)
    lower = np.tril(factors.astype(float), -1) + np.eye(16)
    close(lower @ np.triu(factors.astype(float)), matrices, 1e-4, 1e-5)


@cuda.jit(device=True)
def turned(q, v, out):
    tx = float32(2) * (q[1] * v[2] - q[2] * v[1])
    ty = float32(2) * (q[2] * v[0] - q[0] * v[2])
    tz = float32(2) * (q[0] * v[1] - q[1] * v[0])
    out[0] = v[0] + q[3] * tx + q[1] * tz - q[2] * ty
    out[1] = v[1] + q[3] * ty + q[2] * tx - q[0] * tz
    out[2] = v[2] + q[3] * tz + q[0] * ty - q[1] * tx


@cuda.jit
def rotate_points(out, points, quaternions):
    i = cuda.grid(1)
    if i < points.shape[0]:
        v = cuda.local.array(3, float32)
        w = cuda.local.array(3, float32)
        for axis in range(3):
            v[axis] = points[i, axis]
        turned(quaternions[i], v, w)
        for axis in range(3):
            out[i, axis] = w[axis]


# rows of 3 and 4 numbers per thread; the loop's store to out is not merged by any cache
@case(96, 33, finds="interleaved uncoalesced")
def quaternions(run, n):
    """Rows as arguments of a device function, local arrays in and out."""
    q = rng(n).normal(0, 1, (n, 4))
    q = (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)
    v = rng(1).normal(0, 1, (n, 3)).astype(np.float32)
    out = np.zeros((n, 3), np.float32)
    run(rotate_points)[blocks(n, 32), 32](out, v, q)
    axis, real = q[:, :3].astype(float), q[:, 3:].astype(float)
    t = 2 * np.cross(axis, v)
    close(out, v + real * t + np.cross(axis, t), 1e-4, 1e-5)


@cuda.jit
def fourier(out, signals, roots):
    cells = cuda.shared.array((2, POINTS), complex64)
    k = cuda.threadIdx.x
    row = cuda.blockIdx.x
    half = POINTS // 2
    cells[0, k] = signals[row, k]
    cells[0, k + half] = signals[row, k + half]
    width, now = 1, 0
    while width < POINTS:
        cuda.syncthreads()
        place = k % width
        a = cells[now, k]
        b = cells[now, k + half] * roots[place * (half // width)]
        to = 2 * k - place
        cells[1 - now, to] = a + b
        cells[1 - now, to + width] = a - b
        now = 1 - now
        width *= 2
    cuda.syncthreads()
    out[row, k] = cells[now, k]
    out[row, k + half] = cells[now, k + half]


# real and imaginary parts are requests of their own; in the last round a thread stores the two
# cells that it loads after the barrier
@case(1, 3, finds="interleaved unused_barrier")
def fourier_by_stockham(run, rows):
    """Radix 2 without a reversal of bits, two rows of complex numbers in turn."""
    parts = rng(rows).normal(0, 1, (2, rows, POINTS))
    signals = (parts[0] + 1j * parts[1]).astype(np.complex64)
    roots = np.exp(-2j * np.pi * np.arange(POINTS // 2) / POINTS).astype(np.complex64)
    out = np.zeros_like(signals)
    run(fourier)[rows, POINTS // 2](out, signals, roots)
    close(out, np.fft.fft(signals.astype(complex)), 1e-4, 1e-4)


@cuda.jit
def haar(out, signals):
    cells = cuda.shared.array(POINTS, float32)
    k, row = cuda.threadIdx.x, cuda.blockIdx.x
    cells[k] = signals[row, k]
    cells[k + POINTS // 2] = signals[row, k + POINTS // 2]
    width = POINTS // 2
    while width > 0:
        cuda.syncthreads()
        a, b = float32(0), float32(0)
        if k < width:
            a, b = cells[2 * k], cells[2 * k + 1]
        cuda.syncthreads()
        if k < width:
            cells[k] = (a + b) * float32(0.5)
            out[row, width + k] = (a - b) * float32(0.5)
        width //= 2
    if k == 0:
        out[row, 0] = cells[0]


@case(1, 4)
def wavelet(run, rows):
    """Means go on, differences go out; whole numbers over 64 are exact."""
    signals = rng(rows).integers(0, 99, (rows, POINTS)).astype(np.float32)
    out = np.zeros_like(signals)
    run(haar)[rows, POINTS // 2](out, signals)
    part = signals
    while part.shape[1] > 1:
        half = part.shape[1] // 2
        equal(out[:, half : 2 * half], (part[:, ::2] - part[:, 1::2]) / 2)
        part = (part[:, ::2] + part[:, 1::2]) / 2
    equal(out[:, :1], part)


RAY = np.dtype([("x", np.float32), ("y", np.float32), ("dx", np.float32), ("dy", np.float32)])
DISC = np.dtype([("x", np.float32), ("y", np.float32), ("r", np.float32)])


@cuda.jit
def nearest_disc(hit, far, rays, discs):
    i = cuda.grid(1)
    if i >= rays.size:
        return
    ray = rays[i]
    best, which = float32(np.inf), -1
    for d in range(discs.size):
        ox, oy = ray.x - discs[d].x, ray.y - discs[d]["y"]
        b = ox * ray.dx + oy * ray.dy
        c = ox * ox + oy * oy - discs[d].r ** 2
        under = b * b - c
        if under > 0:
            t = -b - math.sqrt(under)
            if 0 < t < best:
                best, which = t, d
    hit[i], far[i] = which, best


@case(96, 33, finds="interleaved")
def rays_and_discs(run, n):
    """Records of rays and of discs; fields by name and by index."""
    rays, discs = np.zeros(n, RAY), np.zeros(6, DISC)
    angle = rng(n).uniform(0, 2 * np.pi, n)
    rays["dx"], rays["dy"] = np.cos(angle), np.sin(angle)
    for d in range(6):
        discs[d] = (3 * np.cos(d), 3 * np.sin(d), 0.5 + 0.1 * d)
    hit, far = np.zeros(n, np.int32), np.zeros(n, np.float32)
    run(nearest_disc)[blocks(n, 32), 32](hit, far, rays, discs)
    b = -(np.outer(rays["dx"], discs["x"]) + np.outer(rays["dy"], discs["y"])).astype(float)
    under = b * b - (discs["x"] ** 2 + discs["y"] ** 2 - discs["r"] ** 2)
    t = np.where(under > 0, -b - np.sqrt(np.maximum(under, 0)), np.inf)
    t[t <= 0] = np.inf
    equal(hit, np.where(np.isinf(t.min(1)), -1, t.argmin(1)))
    close(far, t.min(1), 1e-3)


@cuda.jit
def roll_back(out, spots, strike, up, rise, discount):
    values = cuda.shared.array(33, float32)
    k = cuda.threadIdx.x
    spot = spots[cuda.blockIdx.x]
    values[k] = max(strike - spot * up ** (2 * k - 32), float32(0))
    if k == 0:
        values[32] = max(strike - spot * up**32, float32(0))
    cuda.syncthreads()
    for level in range(31, -1, -1):
        held = float32(0)
        if k <= level:
            held = discount * (rise * values[k + 1] + (float32(1) - rise) * values[k])
            held = max(held, strike - spot * up ** (2 * k - level))
        cuda.syncthreads()
        if k <= level:
            values[k] = held
        cuda.syncthreads()
    if k == 0:
        out[cuda.blockIdx.x] = values[0]


# Numba squares a float32 again and again where the exponent is an integer: no float64
@case(3, 1)
def american_put(run, count):
    """A binomial tree per block of one warp, rolled back in shared memory."""
    spots = rng(count).uniform(80, 120, count).astype(np.float32)
    up, discount = np.float32(1.03), np.float32(0.999)
    rise = np.float32((1 / 0.999 - 1 / 1.03) / (1.03 - 1 / 1.03))
    out = np.zeros(count, np.float32)
    run(roll_back)[count, 32](out, spots, np.float32(100), up, rise, discount)
    nodes = np.arange(33)
    for got, spot in zip(out, spots.astype(float), strict=True):
        values = np.maximum(100 - spot * float(up) ** (2 * nodes - 32), 0)
        for level in range(31, -1, -1):
            held = discount * (rise * values[1:] + (1 - rise) * values[:-1])
            values = np.maximum(held, 100 - spot * float(up) ** (2 * nodes[: level + 1] - level))
        close(got, values[0], 1e-3)


@cuda.jit
def average_prices(payoffs, states, steps, drift, volatility):
    i = cuda.grid(1)
    if i < payoffs.size:
        price, total = float32(1), float32(0)
        for _ in range(steps):
            z = xoroshiro128p_normal_float32(states, i)
            price *= math.exp(drift + volatility * z)
            total += price
        payoffs[i] = max(total / float32(steps) - float32(1), float32(0))


# what the generator's states cost is no finding of the kernel
@case(500, 200)
def asian_option(run, n):
    """The mean along a path; within 5 standard errors of the paths of NumPy."""
    payoffs = np.zeros(n, np.float32)
    states = create_xoroshiro128p_states(n, seed=4)
    run(average_prices)[blocks(n, 64), 64](payoffs, states, 8, np.float32(0), np.float32(0.1))
    paths = np.exp(0.1 * rng(9).normal(0, 1, (20_000, 8)).cumsum(1)).mean(1)
    want = np.maximum(paths - 1, 0)
    assert abs(payoffs.mean() - want.mean()) < 5 * want.std() / math.sqrt(n)
