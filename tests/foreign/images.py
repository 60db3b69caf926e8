"""Pictures: filters, edges, fractals, rays."""

import math

import numpy as np
from numba import complex64, cuda, float32, int32, uint8

from tests.foreign.cases import blocks, case, close, equal, rng

FILTER = np.array([1, 4, 6, 4, 1], np.float32) / np.float32(16)
RADIUS = 2
ROW = 32 + 2 * RADIUS


def cover(shape, block=(32, 4)):
    """(grid, block) of a picture."""
    return (blocks(shape[1], block[0]), blocks(shape[0], block[1])), block


@cuda.jit
def convolve_rows(out, img):
    f = cuda.const.array_like(FILTER)
    strip = cuda.shared.array((4, ROW), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    h, w = img.shape
    for c in range(tx, ROW, 32):
        col = cuda.blockIdx.x * 32 + c - RADIUS
        strip[ty, c] = img[y, col] if 0 <= col < w and y < h else float32(0)
    cuda.syncthreads()
    if x < w and y < h:
        acc = float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            acc += f[k + RADIUS] * strip[ty, tx + RADIUS + k]
        out[y, x] = acc


@case((9, 50), (4, 32))
def separable_convolution(run, shape):
    """The row pass, its filter in constant memory; sixteenths of small whole numbers are exact."""
    img = rng(1).integers(0, 99, shape).astype(np.float32)
    out = np.zeros(shape, np.float32)
    seen = run(convolve_rows)[cover(shape)](out, img)
    wide = np.pad(img, ((0, 0), (RADIUS, RADIUS)))
    equal(out, sum(FILTER[k] * wide[:, k : k + shape[1]] for k in range(5)))
    if seen and shape == (4, 32):  # per warp: 2 stores of the strip, 5 loads
        assert (seen.shared.wavefronts, seen.shared.extra) == (4 * 7, 0)


@cuda.jit
def convolve_any(result, mask, image):
    i, j = cuda.grid(2)
    rows, cols = image.shape
    if i >= rows or j >= cols:
        return
    dr, dc = mask.shape[0] // 2, mask.shape[1] // 2
    s = 0
    for k in range(mask.shape[0]):
        for l in range(mask.shape[1]):  # noqa: E741
            i_k = i - k + dr
            j_l = j - l + dc
            if (i_k >= 0) and (i_k < rows) and (j_l >= 0) and (j_l < cols):
                s += mask[k, l] * image[i_k, j_l]
    result[i, j] = s


# (row, column) from cuda.grid(2): lanes walk down a column; s = 0 makes a float64 of the sum.
@case((35, 40), finds="uncoalesced float64_arithmetic")
def convolution_down_columns(run, shape):
    """A general mask, with the axes turned round."""
    image = rng(2).integers(0, 30, shape).astype(np.float32)
    mask = rng(3).integers(-3, 4, (3, 5)).astype(np.float32)
    out = np.zeros(shape, np.float32)
    run(convolve_any)[(blocks(shape[0], 16), blocks(shape[1], 16)), (16, 16)](out, mask, image)
    wide = np.pad(image, ((1, 1), (2, 2)))
    want = np.zeros(shape)
    for k in range(3):
        for m in range(5):
            want += mask[k, m] * wide[2 - k : 2 - k + shape[0], 4 - m : 4 - m + shape[1]]
    equal(out, want)


@cuda.jit
def bilateral(out, img, sigma_d, sigma_r):
    x, y = cuda.grid(2)
    h, w = img.shape
    if x < w and y < h:
        centre = img[y, x]
        total = float32(0)
        norm = float32(0)
        for dy in range(-2, 3):
            for dx in range(-2, 3):
                v = img[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
                far = float32(dx * dx + dy * dy) / (float32(2) * sigma_d * sigma_d)
                apart = (v - centre) * (v - centre) / (float32(2) * sigma_r * sigma_r)
                weight = math.exp(-far - apart)
                total += weight * v
                norm += weight
        out[y, x] = total / norm


@case((7, 40), (5, 33))
def bilateral_filter(run, shape):
    """Weights by distance and by likeness; 25 terms of one sign, some 30 roundings."""
    img = rng(4).uniform(0, 1, shape).astype(np.float32)
    out = np.zeros(shape, np.float32)
    run(bilateral)[cover(shape)](out, img, np.float32(1.5), np.float32(0.25))
    wide = np.pad(img.astype(np.float64), 2, mode="edge")
    total, norm = np.zeros(shape), np.zeros(shape)
    for dy in range(5):
        for dx in range(5):
            v = wide[dy : dy + shape[0], dx : dx + shape[1]]
            far = ((dx - 2) ** 2 + (dy - 2) ** 2) / 4.5
            weight = np.exp(-far - (v - img) ** 2 / 0.125)
            total, norm = total + weight * v, norm + weight
    close(out, total / norm, 5e-6)


@cuda.jit
def median_3x3(out, img):
    x, y = cuda.grid(2)
    if 0 < x < img.shape[1] - 1 and 0 < y < img.shape[0] - 1:
        v = cuda.local.array(9, uint8)
        n = 0
        for row in range(y - 1, y + 2):
            for col in range(x - 1, x + 2):
                v[n] = img[row, col]
                n += 1
        for i in range(5):
            least = i
            for j in range(i + 1, 9):
                if v[j] < v[least]:
                    least = j
            v[i], v[least] = v[least], v[i]
        out[y, x] = v[4]


@case((8, 40), (5, 34), finds="local_array")
def median_filter(run, shape):
    """Half a selection sort in a local array."""
    img = rng(5).integers(0, 256, shape).astype(np.uint8)
    out = img.copy()
    run(median_3x3)[cover(shape)](out, img)
    parts = [img[a : a + shape[0] - 2, b : b + shape[1] - 2] for a in range(3) for b in range(3)]
    equal(out[1:-1, 1:-1], np.median(parts, axis=0))
    equal(out[0], img[0])


@cuda.jit
def sobel(out, rgb):
    gray = cuda.shared.array((6, 34), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    h, w, _ = rgb.shape
    for r in range(ty, 6, cuda.blockDim.y):
        for c in range(tx, 34, cuda.blockDim.x):
            sy = min(max(cuda.blockIdx.y * 4 + r - 1, 0), h - 1)
            sx = min(max(cuda.blockIdx.x * 32 + c - 1, 0), w - 1)
            red, green, blue = rgb[sy, sx, 0], rgb[sy, sx, 1], rgb[sy, sx, 2]
            gray[r, c] = (int32(red) * 2 + int32(green) * 5 + int32(blue)) >> 3
    cuda.syncthreads()
    if x < w and y < h:
        g = gray[ty : ty + 3, tx : tx + 3]
        gx = g[0, 2] + 2 * g[1, 2] + g[2, 2] - g[0, 0] - 2 * g[1, 0] - g[2, 0]
        gy = g[2, 0] + 2 * g[2, 1] + g[2, 2] - g[0, 0] - 2 * g[0, 1] - g[0, 2]
        out[y, x] = min(abs(gx) + abs(gy), 255)


# Three bytes per pixel, all of them taken: 3 sectors where 1 would hold the bytes, no more.
@case((9, 50), (4, 33))
def sobel_edges(run, shape):
    """Colours to grey while the tile is loaded with its border, then a window of the tile."""
    rgb = rng(6).integers(0, 256, (*shape, 3)).astype(np.uint8)
    out = np.zeros(shape, np.uint8)
    run(sobel)[cover(shape)](out, rgb)
    grey = np.pad((rgb.astype(int) @ [2, 5, 1]) >> 3, 1, mode="edge")
    right, left = grey[:, 2:], grey[:, :-2]
    gx = (right - left)[:-2] + 2 * (right - left)[1:-1] + (right - left)[2:]
    gy = grey[2:] - grey[:-2]
    gy = gy[:, :-2] + 2 * gy[:, 1:-1] + gy[:, 2:]
    equal(out, np.minimum(abs(gx) + abs(gy), 255))


@cuda.jit(device=True)
def mandel(x, y, max_iters):
    c = complex(x, y)
    z = 0.0j
    for i in range(max_iters):
        z = z * z + c
        if (z.real * z.real + z.imag * z.imag) >= 4:
            return i
    return max_iters


@cuda.jit
def mandel_kernel(min_x, max_x, min_y, max_y, image, iters):
    height, width = image.shape
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    start_x, start_y = cuda.grid(2)
    grid_x = cuda.gridDim.x * cuda.blockDim.x
    grid_y = cuda.gridDim.y * cuda.blockDim.y
    for x in range(start_x, width, grid_x):
        real = min_x + x * pixel_size_x
        for y in range(start_y, height, grid_y):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, iters)


@case((11, 40), (8, 32))
def mandelbrot(run, shape):
    """The tutorial's picture by a grid-stride loop in both axes, in complex128."""
    image = np.zeros(shape, np.uint8)
    run(mandel_kernel)[(1, 2), (32, 4)](-2.0, 1.0, -1.0, 1.0, image, 20)
    for y in range(shape[0]):
        for x in range(shape[1]):
            c, z, count = complex(-2 + x * (3 / shape[1]), -1 + y * (2 / shape[0])), 0j, 20
            for i in range(20):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    count = i
                    break
            assert image[y, x] == count, (y, x)


@cuda.jit
def julia(out, c, steps):
    x, y = cuda.grid(2)
    if x >= out.shape[1] or y >= out.shape[0]:
        return
    z = complex64(complex(float32(x) / float32(16) - float32(1), float32(y) / float32(8)))
    k = 0
    while k < steps and z.real * z.real + z.imag * z.imag < float32(4):
        z = z * z + c
        k += 1
    else:
        if k == steps:
            k = -1
    out[y, x] = k


@case((9, 40))
def julia_set(run, shape):
    """complex64, a while with an else; starts and c are exact, counts are small."""
    out = np.zeros(shape, np.int32)
    run(julia)[cover(shape)](out, np.complex64(-0.75 + 0.25j), 6)
    for y in range(shape[0]):
        for x in range(shape[1]):
            z, k = complex(x / 16 - 1, y / 8), 0
            while k < 6 and abs(z) ** 2 < 4:
                z, k = z * z + (-0.75 + 0.25j), k + 1
            assert out[y, x] == (-1 if k == 6 else k)
