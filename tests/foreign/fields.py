"""Automata, waves and relaxation on grids, as courses of scientific computing have them."""

import numpy as np
from numba import cuda, float32, int32, uint8, uint32

from tests.foreign.cases import blocks, case, close, equal, rng

WIDTH = 64
WITH_HALO = WIDTH + 2


@cuda.jit
def next_row(out, row):
    tile = cuda.shared.array(WITH_HALO, uint8)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    n = row.size
    tile[tid + 1] = row[i % n]
    if tid == 0:
        tile[0] = row[(i - 1) % n]
    if tid == WIDTH - 1:
        tile[WIDTH + 1] = row[(i + 1) % n]
    cuda.syncthreads()
    if i < n:
        pattern = tile[tid] << 2 | tile[tid + 1] << 1 | tile[tid + 2]
        out[i] = 110 >> pattern & 1


@case(256, 100)
def rule_110(run, n):
    """One generation per launch, a ring of bytes with a halo in shared memory."""
    row = rng(n).integers(0, 2, n).astype(np.uint8)
    rows = [row]
    for _ in range(3):
        out = np.zeros(n, np.uint8)
        run(next_row)[blocks(n, WIDTH), WIDTH](out, row)
        left, right = np.roll(row, 1), np.roll(row, -1)
        row = (110 >> (4 * left + 2 * row + right) & 1).astype(np.uint8)
        equal(out, row)
        rows.append(out)


@cuda.jit(device=True)
def full_add(a, b, c):
    return a ^ b ^ c, (a & b) | (c & (a ^ b))


@cuda.jit(device=True)
def sideways(world, y, x):
    words = world.shape[1]
    middle = world[y, x]
    left = (middle << uint32(1)) | (world[y, (x - 1) % words] >> uint32(31))
    right = (middle >> uint32(1)) | (world[y, (x + 1) % words] << uint32(31))
    return left, middle, right


@cuda.jit
def life_words(out, world):
    x, y = cuda.grid(2)
    rows, words = world.shape
    if y < rows and x < words:
        a0, a1, a2 = sideways(world, (y - 1) % rows, x)
        b0, alive, b2 = sideways(world, y, x)
        c0, c1, c2 = sideways(world, (y + 1) % rows, x)
        s0, k0 = full_add(a0, a1, a2)
        s1, k1 = full_add(c0, c1, c2)
        s2 = b0 ^ b2
        k2 = b0 & b2
        ones, k3 = full_add(s0, s1, s2)
        t0, f0 = full_add(k0, k1, k2)
        twos = t0 ^ k3
        fours = f0 | (t0 & k3)
        out[y, x] = twos & ~fours & (ones | alive)


@case((9, 40), (5, 3))
def life_in_words(run, shape):
    """Thirty-two cells per word, neighbours counted by adders of single bits."""
    cells = rng(1).integers(0, 2, (shape[0], shape[1] * 32)).astype(np.uint8)
    world = np.packbits(cells, axis=1, bitorder="little").view(np.uint32)
    out = np.zeros_like(world)
    run(life_words)[(blocks(shape[1], 32), shape[0]), (32, 1)](out, world)
    around = sum(np.roll(cells, (r, c), (0, 1)) for r in (-1, 0, 1) for c in (-1, 0, 1)) - cells
    want = (around == 3) | ((cells == 1) & (around == 2))
    equal(np.unpackbits(out.view(np.uint8), axis=1, bitorder="little"), want)


@cuda.jit
def update_h(hx, hy, ez, c):
    x, y = cuda.grid(2)
    ny, nx = ez.shape
    if y < ny - 1 and x < nx - 1:
        hx[y, x] -= c * (ez[y + 1, x] - ez[y, x])
        hy[y, x] += c * (ez[y, x + 1] - ez[y, x])


@cuda.jit
def update_e(ez, hx, hy, c):
    x, y = cuda.grid(2)
    ny, nx = ez.shape
    if 0 < y < ny - 1 and 0 < x < nx - 1:
        ez[y, x] += c * (hy[y, x] - hy[y, x - 1] - hx[y, x] + hx[y - 1, x])


@case((20, 64), (9, 33))
def fdtd(run, shape):
    """Yee's grid, magnetic and electric half steps; differences of numbers near 1 in float32."""
    ez = rng(3).normal(0, 1, shape).astype(np.float32)
    hx, hy = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    e, p, q = ez.astype(np.float64), np.zeros(shape), np.zeros(shape)
    grid = (blocks(shape[1], 32), blocks(shape[0], 4))
    for _ in range(2):
        run(update_h)[grid, (32, 4)](hx, hy, ez, np.float32(0.5))
        run(update_e)[grid, (32, 4)](ez, hx, hy, np.float32(0.5))
        p[:-1, :-1] -= 0.5 * (e[1:, :-1] - e[:-1, :-1])
        q[:-1, :-1] += 0.5 * (e[:-1, 1:] - e[:-1, :-1])
        turn = q[1:-1, 1:-1] - q[1:-1, :-2] - p[1:-1, 1:-1] + p[:-2, 1:-1]
        e[1:-1, 1:-1] += 0.5 * turn
    close(ez, e, 1e-5, 1e-5)


@cuda.jit
def relax(u, f, colour, omega):
    k, y = cuda.grid(2)
    y += 1
    x = 1 + 2 * k + (y + colour) % 2
    if y < u.shape[0] - 1 and x < u.shape[1] - 1:
        new = (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1] - f[y, x]) / float32(4)
        u[y, x] += omega * (new - u[y, x])


# every other cell of a row: f and the store of u take half of their sectors for themselves
@case((8, 130), (6, 66), finds="uncoalesced interleaved")
def red_black_over_relaxation(run, shape):
    """Threads over one colour only, in place, one launch per colour."""
    u = rng(1).normal(0, 1, shape).astype(np.float32)
    f = rng(2).normal(0, 1, shape).astype(np.float32)
    want = u.astype(np.float64)
    grid = (blocks(shape[1] // 2, 32), blocks(shape[0], 2))
    for colour in (0, 1):
        run(relax)[grid, (32, 2)](u, f, colour, np.float32(1.5))
        for y in range(1, shape[0] - 1):
            for x in range(1 + (y + colour) % 2, shape[1] - 1, 2):
                around = want[y - 1, x] + want[y + 1, x] + want[y, x - 1] + want[y, x + 1]
                want[y, x] += 1.5 * ((around - f[y, x]) / 4 - want[y, x])
    close(u, want, 1e-5, 1e-5)


@cuda.jit
def topple(out, sand, moved):
    x, y = cuda.grid(2)
    rows, columns = sand.shape
    unstable = False
    if y < rows and x < columns:
        unstable = sand[y, x] > 3
        grains = sand[y, x] & 3
        if y > 0:
            grains += sand[y - 1, x] >> 2
        if y < rows - 1:
            grains += sand[y + 1, x] >> 2
        if x > 0:
            grains += sand[y, x - 1] >> 2
        if x < columns - 1:
            grains += sand[y, x + 1] >> 2
        out[y, x] = grains
    if cuda.syncthreads_or(int32(unstable)) and cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        cuda.atomic.add(moved, 0, 1)


@case((12, 40), (5, 33))
def sand_pile(run, shape):
    """Until nothing moves; a vote of the block tells the host."""
    sand = rng(5).integers(0, 9, shape).astype(np.int32)
    want = sand.copy()
    for _ in range(4):
        out, moved = np.zeros_like(sand), np.zeros(1, np.int32)
        run(topple)[(blocks(shape[1], 16), blocks(shape[0], 4)), (16, 4)](out, sand, moved)
        equal(moved[0] > 0, (want > 3).any())
        over = np.pad(want >> 2, 1)
        want = (want & 3) + over[2:, 1:-1] + over[:-2, 1:-1] + over[1:-1, 2:] + over[1:-1, :-2]
        equal(out, want)
        sand = out


@cuda.jit
def density(rho, px, py, first, cells, h, mass):
    i = cuda.grid(1)
    if i >= px.size:
        return
    cx, cy = int32(px[i] / h), int32(py[i] / h)
    total = float32(0)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            x, y = cx + dx, cy + dy
            if x < 0 or x >= cells or y < 0 or y >= cells:
                continue
            c = y * cells + x
            for j in range(first[c], first[c + 1]):
                rx, ry = px[i] - px[j], py[i] - py[j]
                q = h * h - rx * rx - ry * ry
                if q > 0:
                    total += mass * q * q * q
    rho[i] = total


@case(200, 90)
def smoothed_particles(run, n):
    """Density from the nine cells around, particles sorted by cell; neighbours share sectors."""
    h, cells = 0.25, 4
    points = rng(n).uniform(0, 1, (2, n)).astype(np.float32)
    cell = (points[1] / np.float32(h)).astype(int) * cells + (points[0] / np.float32(h)).astype(int)
    order = np.argsort(cell, kind="stable")
    px, py = points[0, order], points[1, order]
    first = np.searchsorted(cell[order], np.arange(cells * cells + 1)).astype(np.int32)
    rho = np.zeros(n, np.float32)
    run(density)[blocks(n, 64), 64](rho, px, py, first, cells, np.float32(h), np.float32(2))
    x, y = px.astype(np.float64), py.astype(np.float64)
    q = h * h - (x[:, None] - x) ** 2 - (y[:, None] - y) ** 2
    close(rho, (2 * np.where(q > 0, q, 0) ** 3).sum(1), 1e-4, 1e-8)


@cuda.jit
def carry_on(fout, fin, relaxation):
    x, y = cuda.grid(2)
    ny, nx = fin.shape[1:]
    if y < ny and x < nx:
        rest, east, west = fin[0, y, x], fin[1, y, x], fin[2, y, x]
        north, south = fin[3, y, x], fin[4, y, x]
        part = (rest + east + west + north + south) / float32(5)
        fout[0, y, x] = rest + relaxation * (part - rest)
        fout[1, y, (x + 1) % nx] = east + relaxation * (part - east)
        fout[2, y, (x - 1) % nx] = west + relaxation * (part - west)
        fout[3, (y + 1) % ny, x] = north + relaxation * (part - north)
        fout[4, (y - 1) % ny, x] = south + relaxation * (part - south)


@case((6, 64), (3, 32))
def diffusion_on_a_lattice(run, shape):
    """Push instead of pull, five directions on a torus; the mass stays."""
    fin = rng(1).uniform(0.5, 1, (5, *shape)).astype(np.float32)
    fout = np.zeros_like(fin)
    grid = (blocks(shape[1], 32), shape[0])
    run(carry_on)[grid, (32, 1)](fout, fin, np.float32(0.5))
    part = fin.mean(0)
    steps = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
    want = [np.roll(f + 0.5 * (part - f), s, (0, 1)) for f, s in zip(fin, steps, strict=True)]
    close(fout, want, 1e-5)
    close(fout.sum(), fin.sum(), 1e-5)
