"""Particles, fields and random walks, as courses on simulation have them."""

import math

import numpy as np
from numba import cuda, float32, int32
from numba.cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_states_cpu,
    xoroshiro128p_dtype,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float32,
)

from tests.foreign.cases import blocks, case, close, equal, rng

P = 64


@cuda.jit(device=True)
def body_body(bi, bj, ai):
    dx, dy, dz = bj[0] - bi[0], bj[1] - bi[1], bj[2] - bi[2]
    dist2 = dx * dx + dy * dy + dz * dz + float32(0.01)
    inv = float32(1) / math.sqrt(dist2)
    s = bj[3] * inv * inv * inv
    return ai[0] + dx * s, ai[1] + dy * s, ai[2] + dz * s


@cuda.jit
def nbody_tiled(acc, pos):
    tile = cuda.shared.array((P, 4), float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    n = pos.shape[0]
    me = (float32(0), float32(0), float32(0), float32(0))
    if i < n:
        me = (pos[i, 0], pos[i, 1], pos[i, 2], pos[i, 3])
    a = (float32(0), float32(0), float32(0))
    for start in range(0, n, P):
        j = start + tid
        for c in range(4):
            tile[tid, c] = pos[j, c] if j < n else float32(0)
        cuda.syncthreads()
        for k in range(P):
            a = body_body(me, (tile[k, 0], tile[k, 1], tile[k, 2], tile[k, 3]), a)
        cuda.syncthreads()
    if i < n:
        acc[i, 0], acc[i, 1], acc[i, 2] = a


# 16 bytes per body, 12 per result: a lane's fields are read and stored one by one, all of them.
@case(100, 64, finds="interleaved")
def nbody(run, n):
    """All pairs by tiles; sums of 100 terms of both signs, so the tolerance is absolute, too."""
    pos = rng(n).uniform(-1, 1, (n, 4)).astype(np.float32)
    pos[:, 3] += 2
    acc = np.zeros((n, 3), np.float32)
    run(nbody_tiled)[blocks(n, P), P](acc, pos)
    p = pos.astype(np.float64)
    d = p[None, :, :3] - p[:, None, :3]
    inv = ((d * d).sum(-1) + np.float32(0.01)) ** -1.5
    close(acc, (d * (p[None, :, 3] * inv)[..., None]).sum(1), 1e-5, 1e-2)


R = 2
HALO = 4 + 2 * R
PITCH = 32 + 2 * R


@cuda.jit
def stencil_3d(out, inp, c):
    s = cuda.shared.array((HALO, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    nz, ny, nx = inp.shape
    front = cuda.local.array(R, float32)
    behind = cuda.local.array(R, float32)
    inside = x < nx and y < ny
    for r in range(R):
        behind[r] = 0
        front[r] = inp[r + 1, y, x] if inside and r + 1 < nz else float32(0)
    current = inp[0, y, x] if inside else float32(0)
    for z in range(nz):
        s[ty + R, tx + R] = current
        if ty < R:
            above, below = y - R, y + 4
            s[ty, tx + R] = inp[z, above, x] if above >= 0 and x < nx else float32(0)
            s[ty + 4 + R, tx + R] = inp[z, below, x] if below < ny and x < nx else float32(0)
        if tx < R:
            left, right = x - R, x + 32
            s[ty + R, tx] = inp[z, y, left] if left >= 0 and y < ny else float32(0)
            s[ty + R, tx + 32 + R] = inp[z, y, right] if right < nx and y < ny else float32(0)
        cuda.syncthreads()
        value = c[0] * current
        for r in range(1, R + 1):
            value += c[r] * (
                s[ty + R - r, tx + R]
                + s[ty + R + r, tx + R]
                + s[ty + R, tx + R - r]
                + s[ty + R, tx + R + r]
                + front[r - 1]
                + behind[r - 1]
            )
        if inside:
            out[z, y, x] = value
        cuda.syncthreads()
        for r in range(R - 1, 0, -1):
            behind[r] = behind[r - 1]
        behind[0] = current
        current = front[0]
        for r in range(R - 1):
            front[r] = front[r + 1]
        deep = z + 1 + R
        front[R - 1] = inp[deep, y, x] if inside and deep < nz else float32(0)


@case((5, 9, 40), (3, 4, 32))
def stencil_of_25_points(run, shape):
    """A plane in shared memory with its halo, the rest of the column in local arrays."""
    inp = rng(7).integers(0, 30, shape).astype(np.float32)
    c = np.array([5, 2, -1], np.float32)
    out = np.zeros(shape, np.float32)
    run(stencil_3d)[(blocks(shape[2], 32), blocks(shape[1], 4)), (32, 4)](out, inp, c)
    wide = np.pad(inp, R)
    want = c[0] * inp
    for r in range(1, R + 1):
        for axis in range(3):
            for step in (-r, r):
                part = np.roll(wide, step, axis)
                want += c[r] * part[R:-R, R:-R, R:-R]
    equal(out, want)


@cuda.jit
def wave_step(u, c2):
    i, j = cuda.grid(2)[1] + 1, cuda.grid(2)[0] + 1
    old, now, new = u[0], u[1], u[2]
    if i < now.shape[0] - 1 and j < now.shape[1] - 1:
        around = now[i - 1 : i + 2, j - 1 : j + 2]
        lap = around[0, 1] + around[2, 1] + around[1, 0] + around[1, 2] - float32(4) * around[1, 1]
        new[i, j] = float32(2) * now[i, j] - old[i, j] + c2 * lap


@case((19, 42), (6, 34))
def wave_equation(run, shape):
    """Three time levels of one array, taken apart and sliced in the kernel."""
    u = rng(8).integers(0, 8, (3, *shape)).astype(np.float32)
    ref = u.copy()
    c2 = np.float32(0.25)
    run(wave_step)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](u, c2)
    n = ref[1]
    lap = n[:-2, 1:-1] + n[2:, 1:-1] + n[1:-1, :-2] + n[1:-1, 2:] - 4 * n[1:-1, 1:-1]
    ref[2, 1:-1, 1:-1] = 2 * n[1:-1, 1:-1] - ref[0, 1:-1, 1:-1] + c2 * lap
    equal(u, ref)


@cuda.jit
def heat_grid_sync(a, b, steps):
    g = cuda.cg.this_grid()
    start, stride = cuda.grid(1), cuda.gridsize(1)
    n = a.size
    for _ in range(steps):
        for i in range(start, n, stride):
            left = a[i - 1] if i > 0 else a[i]
            right = a[i + 1] if i < n - 1 else a[i]
            b[i] = a[i] + float32(0.25) * (left + right - float32(2) * a[i])
        g.sync()
        a, b = b, a


@case(150, 64)
def heat_with_grid_sync(run, n):
    """All time steps in one cooperative launch."""
    a = rng(n).integers(0, 64, n).astype(np.float32)
    ref = a.copy()
    b = np.zeros_like(a)
    run(heat_grid_sync)[2, 32](a, b, 4)
    for _ in range(4):
        wide = np.pad(ref, 1, mode="edge")
        ref = ref + np.float32(0.25) * (wide[:-2] + wide[2:] - 2 * ref)
    equal(a, ref)


CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], np.int32)
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], np.int32)
W = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1], np.float32) / np.float32(36)


@cuda.jit
def lbm_step(fout, fin, omega):
    cx, cy, w = cuda.const.array_like(CX), cuda.const.array_like(CY), cuda.const.array_like(W)
    x, y = cuda.grid(2)
    _, ny, nx = fin.shape
    if x >= nx or y >= ny:
        return
    f = cuda.local.array(9, float32)
    rho = float32(0)
    ux = float32(0)
    uy = float32(0)
    for k in range(9):
        f[k] = fin[k, (y - cy[k] + ny) % ny, (x - cx[k] + nx) % nx]
        rho += f[k]
        ux += float32(cx[k]) * f[k]
        uy += float32(cy[k]) * f[k]
    ux /= rho
    uy /= rho
    usq = float32(1.5) * (ux * ux + uy * uy)
    for k in range(9):
        cu = float32(3) * (float32(cx[k]) * ux + float32(cy[k]) * uy)
        feq = rho * w[k] * (float32(1) + cu + float32(0.5) * cu * cu - usq)
        fout[k, y, x] = f[k] + omega * (feq - f[k])


# To pull from the left and right neighbours means to load off the sectors' edges.
@case((10, 40), finds="misaligned")
def lattice_boltzmann(run, shape):
    """Pull, collide, D2Q9 with directions and weights in constant memory; sums near 4."""
    fin = rng(9).uniform(0.5, 1, (9, *shape)).astype(np.float32)
    fout = np.zeros_like(fin)
    run(lbm_step)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](fout, fin, np.float32(1.25))
    f = np.stack([np.roll(fin[k].astype("f8"), (CY[k], CX[k]), (0, 1)) for k in range(9)])
    rho = f.sum(0)
    ux, uy = np.tensordot(CX, f, 1) / rho, np.tensordot(CY, f, 1) / rho
    cu = 3 * (CX[:, None, None] * ux + CY[:, None, None] * uy)
    feq = rho * W[:, None, None].astype("f8") * (1 + cu + cu * cu / 2 - 1.5 * (ux**2 + uy**2))
    close(fout, f + 1.25 * (feq - f), 2e-6, 2e-6)


@cuda.jit
def life(new, old):
    x, y = cuda.grid(2)
    h, w = old.shape
    if x < w and y < h:
        alive = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dx or dy:
                    alive += old[(y + dy) % h, (x + dx) % w]
        new[y, x] = alive == 3 or (old[y, x] and alive == 2)


@case((20, 70), (7, 33))
def game_of_life(run, shape):
    """A torus of bytes."""
    old = rng(10).integers(0, 2, shape).astype(np.uint8)
    new = np.zeros_like(old)
    run(life)[(blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)](new, old)
    around = sum(np.roll(old, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - old
    equal(new, (around == 3) | ((old == 1) & (around == 2)))


particle = np.dtype([("x", "f4"), ("y", "f4"), ("vx", "f4"), ("vy", "f4"), ("hits", "i4")], True)


@cuda.jit
def move(ps, dt):
    i = cuda.grid(1)
    if i < ps.size:
        p = ps[i]
        p.x += p.vx * dt
        p.y += p.vy * dt
        if p.x < float32(0) or p.x > float32(1):
            p.vx = -p.vx
            p.hits += 1
        if p["y"] < float32(0) or p["y"] > float32(1):
            p["vy"] = -p["vy"]
            p["hits"] += 1


# Records of 20 bytes: all fields are loaded and stored, some of them under an if.
@case(100, 33, finds="interleaved")
def particles_as_records(run, n):
    """Structured arrays, fields by name and by index; the same steps in NumPy."""
    ps = np.zeros(n, particle)
    for name in ("x", "y", "vx", "vy"):
        ps[name] = rng(len(name) + n).uniform(0, 1, n).astype(np.float32)
    ref = ps.copy()
    dt = np.float32(0.25)
    run(move)[blocks(n, 64), 64](ps, dt)
    for place, speed in (("x", "vx"), ("y", "vy")):
        ref[place] += ref[speed] * dt
        out = (ref[place] < 0) | (ref[place] > 1)
        ref[speed][out] *= -1
        ref["hits"][out] += 1
    close(ps["x"], ref["x"], 1e-6)  # the product and the sum may be rounded once
    for name in ("vx", "vy", "hits"):
        equal(ps[name], ref[name])


@cuda.jit
def pi_kernel(states, iterations, out):
    thread_id = cuda.grid(1)
    if thread_id >= out.size:
        return
    inside = 0
    for _ in range(iterations):
        x = xoroshiro128p_uniform_float32(states, thread_id)
        y = xoroshiro128p_uniform_float32(states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


# States are records of two uint64; what reading and writing them costs is the generator's affair.
# 4.0 * inside is float64.
@case(40, 100, finds="float64_arithmetic")
def monte_carlo_pi(run, n):
    """The example of the Numba manual; the host runs the same generator."""
    states = np.zeros(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, 7, 0)
    host = states.copy()
    out = np.zeros(n, np.float32)
    run(pi_kernel)[blocks(n, 64), 64](states, 20, out)
    for i in range(n):
        xy = [host_uniform(host, i) for _ in range(40)]
        inside = sum(x * x + y * y <= 1 for x, y in zip(xy[::2], xy[1::2], strict=True))
        equal(out[i], np.float32(4.0 * inside / 20))


def host_uniform(states, i):
    """The next number, by the integer steps of xoroshiro128+ written out."""
    top = 2**64 - 1
    s0, s1 = int(states[i]["s0"]), int(states[i]["s1"])
    result = (s0 + s1) & top
    s1 ^= s0
    states[i]["s0"] = ((s0 << 55 | s0 >> 9) ^ s1 ^ (s1 << 14)) & top
    states[i]["s1"] = (s1 << 36 | s1 >> 28) & top
    return np.float32(np.float32(result >> 11) * np.float32(1 / 2**53))


@cuda.jit
def price_paths(payoffs, states, s0, drift, vol, strike, steps):
    i = cuda.grid(1)
    if i < payoffs.size:
        s = s0
        for _ in range(steps):
            z = xoroshiro128p_normal_float32(states, i)
            s *= math.exp(drift + vol * z)
        payoffs[i] = max(s - strike, float32(0))


@case(600, 100)
def option_pricing(run, n):
    """A European call by Monte Carlo, against Black and Scholes, within 4 standard errors."""
    states = create_xoroshiro128p_states(n, seed=3)
    payoffs = np.zeros(n, np.float32)
    s0, k, r, sigma, steps = 100.0, 95.0, 0.02, 0.3, 4
    dt = 1 / steps
    numbers = (s0, (r - sigma**2 / 2) * dt, sigma * math.sqrt(dt), k)
    run(price_paths)[blocks(n, 128), 128](payoffs, states, *map(np.float32, numbers), steps)
    d1 = (math.log(s0 / k) + r + sigma**2 / 2) / sigma
    cdf = [0.5 * (1 + math.erf(d / math.sqrt(2))) for d in (d1, d1 - sigma)]
    want = s0 * cdf[0] - k * math.exp(-r) * cdf[1]
    price, error = np.exp(-r) * payoffs.mean(), payoffs.std() / math.sqrt(n)
    assert abs(price - want) < 4 * error
    assert error < 40 / math.sqrt(n)


@cuda.jit
def walk(final, seeds, steps):
    i = cuda.grid(1)
    if i < final.size:
        place = int32(0)
        for _ in range(steps):
            place += int32(xoroshiro128p_next(seeds, i) & np.uint64(1)) * 2 - 1
        final[i] = place


@case(40, 100)
def random_walk(run, n):
    """Bits of the generator, exactly."""
    states = np.zeros(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, 11, 0)
    want = np.zeros(n, np.int32)
    for i in range(n):
        for _ in range(9):
            low = (int(states[i]["s0"]) + int(states[i]["s1"])) & 1
            host_uniform(host := states[i : i + 1].copy(), 0)
            states[i] = host[0]
            want[i] += 2 * low - 1
    init_xoroshiro128p_states_cpu(states, 11, 0)
    final = np.zeros(n, np.int32)
    run(walk)[blocks(n, 64), 64](final, states, 9)
    equal(final, want)
