"""Filters, fractals and features of images, one thread per pixel or line."""

import math

import numpy as np
from numba import complex64, cuda, float32, int32, uint8

from tests.foreign.cases import blocks, case, close, equal, rng

BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.int32)


def _tiles(shape):
    return (blocks(shape[1], 32), blocks(shape[0], 4)), (32, 4)


@cuda.jit
def ship(out, corner, step, most):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        c = complex64(complex(corner.real + step * x, corner.imag + step * y))
        z = complex64(0)
        turns = 0
        while turns < most and z.real * z.real + z.imag * z.imag < 4:
            folded = complex64(complex(abs(z.real), abs(z.imag)))
            z = folded * folded + c
            turns += 1
        out[y, x] = turns


# float32 times int64 is float64, but no array says that float32 is meant
@case((9, 40), (5, 33))
def burning_ship(run, shape):
    """Complex numbers, folded in every round."""
    out = np.zeros(shape, np.int32)
    run(ship)[_tiles(shape)](out, np.complex64(-2 - 2j), np.float32(0.125), 20)
    ys, xs = np.mgrid[: shape[0], : shape[1]]
    c = ((-2 + 0.125 * xs) + 1j * (-2 + 0.125 * ys)).astype(np.complex64)
    z, turns = np.zeros_like(c), np.zeros(shape, np.int32)
    for _ in range(20):
        inside = z.real**2 + z.imag**2 < 4
        folded = (abs(z.real) + 1j * abs(z.imag)).astype(np.complex64)
        z = np.where(inside, folded * folded + c, z)
        turns += inside
    assert (out != turns).mean() < 0.02  # a contracted product may leave one round apart
    equal(out[:2], turns[:2])


@cuda.jit(device=True)
def in_order(a, b):
    return min(a, b), max(a, b)


@cuda.jit
def median_of_nine(out, img):
    x, y = cuda.grid(2)
    h, w = img.shape
    if x >= w or y >= h:
        return
    up, down = max(y - 1, 0), min(y + 1, h - 1)
    left, right = max(x - 1, 0), min(x + 1, w - 1)
    a, b = in_order(img[up, left], img[up, x])
    b, c = in_order(b, img[up, right])
    a, b = in_order(a, b)
    d, e = in_order(img[y, left], img[y, x])
    e, f = in_order(e, img[y, right])
    d, e = in_order(d, e)
    g, i = in_order(img[down, left], img[down, x])
    i, j = in_order(i, img[down, right])
    g, i = in_order(g, i)
    low = max(a, d, g)
    high = min(c, f, j)
    b, e = in_order(b, e)
    middle = max(b, min(e, i))
    low, middle = in_order(low, middle)
    out[y, x] = max(low, min(middle, high))


@case((9, 50), (4, 33))
def median_by_a_network(run, shape):
    """Nine values sorted in registers, edges repeated."""
    img = rng(2).integers(0, 256, shape).astype(np.uint8)
    out = np.zeros_like(img)
    run(median_of_nine)[_tiles(shape)](out, img)
    wide = np.pad(img, 1, mode="edge")
    near = [wide[r : r + shape[0], c : c + shape[1]] for r in range(3) for c in range(3)]
    equal(out, np.median(near, axis=0))


@cuda.jit
def halve(out, img):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        top = img[2 * y, 2 * x] + img[2 * y, 2 * x + 1]
        bottom = img[2 * y + 1, 2 * x] + img[2 * y + 1, 2 * x + 1]
        out[y, x] = (top + bottom) * float32(0.25)


@case((8, 64), (3, 32), finds="interleaved")
def half_size(run, shape):
    """The mean of two by two pixels; even and odd columns in turn."""
    img = rng(2).integers(0, 256, (2 * shape[0], 2 * shape[1])).astype(np.float32)
    out = np.zeros(shape, np.float32)
    run(halve)[_tiles(shape)](out, img)
    equal(out, img.reshape(shape[0], 2, shape[1], 2).mean((1, 3)))


@cuda.jit
def sum_rows(img):
    y = cuda.grid(1)
    if y < img.shape[0]:
        total = 0
        for x in range(img.shape[1]):
            total += img[y, x]
            img[y, x] = total


@cuda.jit
def sum_columns(img):
    x = cuda.grid(1)
    if x < img.shape[1]:
        total = 0
        for y in range(img.shape[0]):
            total += img[y, x]
            img[y, x] = total


@case((40, 33), (64, 20), finds="uncoalesced")
def summed_area_table(run, shape):
    """One thread per row, then per column: the first walks across the sectors."""
    img = rng(2).integers(0, 9, shape).astype(np.int32)
    want = img.cumsum(0).cumsum(1)
    run(sum_rows)[blocks(shape[0], 32), 32](img)
    run(sum_columns)[blocks(shape[1], 32), 32](img)
    equal(img, want)


@cuda.jit
def count_levels(levels, img):
    own = cuda.shared.array(256, int32)
    tid = cuda.threadIdx.x
    own[tid] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), img.size, cuda.gridsize(1)):
        cuda.atomic.add(own, img[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(levels, tid, own[tid])


@cuda.jit
def level_map(table, levels, size):
    run_up = cuda.shared.array(256, int32)
    tid = cuda.threadIdx.x
    run_up[tid] = levels[tid]
    cuda.syncthreads()
    step = 1
    while step < 256:
        before = run_up[tid - step] if tid >= step else 0
        cuda.syncthreads()
        run_up[tid] += before
        cuda.syncthreads()
        step *= 2
    table[tid] = run_up[tid] * 255 // size


@cuda.jit
def look_up(img, table):
    i = cuda.grid(1)
    if i < img.size:
        img[i] = table[img[i]]


@case(700, 300, finds="scattered")
def equalised_histogram(run, n):
    """Count, scan, look up: three launches, a table of bytes."""
    img = rng(n).integers(0, 256, n).astype(np.uint8)
    levels, table = np.zeros(256, np.int32), np.zeros(256, np.uint8)
    want = (np.bincount(img, minlength=256).cumsum() * 255 // n).astype(np.uint8)[img]
    run(count_levels)[2, 256](levels, img)
    run(level_map)[1, 256](table, levels, n)
    run(look_up)[blocks(n, 256), 256](img, table)
    equal(img, want)


@cuda.jit
def blur_columns(out, img, radius):
    x = cuda.grid(1)
    h, w = img.shape
    if x >= w:
        return
    total = 0
    for y in range(min(radius, h)):
        total += img[y, x]
    for y in range(h):
        if y + radius < h:
            total += img[y + radius, x]
        if y - radius - 1 >= 0:
            total -= img[y - radius - 1, x]
        out[y, x] = total


@case((12, 64), (5, 33))
def sliding_box(run, shape):
    """A running sum down each column: one pixel comes, one goes."""
    img = rng(2).integers(0, 256, shape).astype(np.int32)
    out = np.zeros_like(img)
    run(blur_columns)[blocks(shape[1], 32), 32](out, img, 2)
    equal(out, [img[max(y - 2, 0) : y + 3].sum(0) for y in range(shape[0])])


@cuda.jit
def thicken(out, img):
    tile = cuda.shared.array((6, 34), uint8)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    h, w = img.shape
    x0, y0 = cuda.blockIdx.x * 32 - 1, cuda.blockIdx.y * 4 - 1
    for cell in range(ty * 32 + tx, 6 * 34, 128):
        r, c = cell // 34, cell % 34
        inside = 0 <= y0 + r < h and 0 <= x0 + c < w
        tile[r, c] = img[y0 + r, x0 + c] if inside else 0
    cuda.syncthreads()
    if y < h and x < w:
        most = uint8(0)
        for r in range(3):
            for c in range(3):
                most = max(most, tile[ty + r, tx + c])
        out[y, x] = most


# the frame begins a byte before a sector
@case((9, 64), (12, 96), finds="misaligned")
def dilation(run, shape):
    """The largest of nine, a tile with its frame loaded by a flat loop."""
    img = rng(2).integers(0, 256, shape).astype(np.uint8)
    out = np.zeros_like(img)
    run(thicken)[_tiles(shape)](out, img)
    wide = np.pad(img, 1)
    equal(
        out, np.max([wide[r:, c:][: shape[0], : shape[1]] for r in range(3) for c in range(3)], 0)
    )


@cuda.jit
def ordered_dither(out, img):
    thresholds = cuda.const.array_like(BAYER)
    x, y = cuda.grid(2)
    if y < img.shape[0] and x < img.shape[1]:
        out[y, x] = 255 if img[y, x] > 16 * thresholds[y % 4, x % 4] + 8 else 0


@case((9, 64), (4, 33))
def dithering(run, shape):
    """Thresholds of Bayer in constant memory."""
    img = rng(2).integers(0, 256, shape).astype(np.uint8)
    out = np.zeros_like(img)
    run(ordered_dither)[_tiles(shape)](out, img)
    limits = np.tile(BAYER, (3, 17))[: shape[0], : shape[1]]
    equal(out, np.where(img > 16 * limits + 8, 255, 0))


@cuda.jit
def vote_for_lines(votes, xs, ys, cosines, sines):
    i, angle = cuda.grid(2)
    if i < xs.size:
        rho = int32(math.floor(xs[i] * cosines[angle] + ys[i] * sines[angle]))
        cuda.atomic.add(votes, (angle, rho + votes.shape[1] // 2), 1)


# neighbours on the table, as the points lie within 40 pixels
@case(100, 33)
def hough_lines(run, n):
    """Points vote for the lines through them."""
    xs, ys = rng(n).integers(0, 40, (2, n)).astype(np.float32)
    angles = np.array([0, 0.25, 0.5, 1]) * np.pi / 2 + 0.01
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    votes = np.zeros((4, 128), np.int32)
    run(vote_for_lines)[(blocks(n, 32), 4), (32, 1)](votes, xs, ys, cosines, sines)
    want = np.zeros_like(votes)
    for angle in range(4):
        rho = np.floor(xs * cosines[angle] + ys * sines[angle]).astype(int)
        np.add.at(want[angle], rho + 64, 1)
    close(votes, want, 0, 1)
    equal(votes.sum(), 4 * n)
