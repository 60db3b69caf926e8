"""Ways to write: vector types, views, factories, recursion, *args, enums, named tuples."""

import enum
import math
from collections import namedtuple

import numpy as np
from numba import cuda, float32, int32, void
from numba.cuda import float32x4

from tests.foreign.cases import blocks, case, close, equal, rng

TILE = 32
PADDED = 33


@cuda.jit
def copy_float4(out, inp):
    i = cuda.grid(1)
    n = inp.size // 4
    if i < n:
        at = 4 * i
        v = float32x4(inp[at], inp[at + 1], inp[at + 2], inp[at + 3])
        out[at], out[at + 1], out[at + 2], out[at + 3] = v.x, v.y, v.z, v.w
    if i < inp.size % 4:
        out[4 * n + i] = inp[4 * n + i]


# Numba does not make one 16-byte load of it: four loads with a step of 16 bytes each.
@case(403, 130, finds="interleaved")
def vector_copy(run, n):
    """float4 by hand, and the rest of the last one."""
    inp = rng(n).normal(size=n).astype(np.float32)
    out = np.zeros_like(inp)
    run(copy_float4)[blocks(n // 4 + 1, 64), 64](out, inp)
    equal(out, inp)


@cuda.jit
def two_views(out, values, keys):
    raw = cuda.shared.array(0, int32)
    floats = cuda.shared.array(0, float32)[cuda.blockDim.x :]
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    n = cuda.blockDim.x
    raw[tid] = keys[i] if i < keys.size else -1
    floats[tid] = values[i] if i < values.size else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for j in range(n):
        if raw[j] == raw[tid]:
            total += floats[j]
    if i < out.size:
        out[i] = total


@case(100, 65)
def dynamic_shared_in_two_parts(run, n):
    """Integers in front, floats behind, in one piece of dynamic shared memory."""
    values = rng(n).integers(0, 9, n).astype(np.float32)
    keys = rng(1).integers(0, 5, n).astype(np.int32)
    out = np.zeros(n, np.float32)
    run(two_views)[blocks(n, 32), 32, 0, 2 * 32 * 4](out, values, keys)
    for i in range(n):
        same = slice(i // 32 * 32, i // 32 * 32 + 32)
        equal(out[i], values[same][keys[same] == keys[i]].sum())


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit
def by_recursion(out, a):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = fibonacci(a[i] % 8)


@case(70, 33)
def recursion(run, n):
    """A device function that calls itself, to a depth of its own in each lane."""
    a, out = rng(n).integers(0, 200, n).astype(np.int32), np.zeros(n, np.int32)
    run(by_recursion)[blocks(n, 64), 64](out, a)
    equal(out, np.array([0, 1, 1, 2, 3, 5, 8, 13])[a % 8])


@cuda.jit(device=True)
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@cuda.jit
def by_device_function(out, a, b):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = gcd(a[i], b[i])


@case(70, 33)
def greatest_common_divisors(run, n):
    """A loop of its own length in each lane, in a device function."""
    a, b = (rng(k).integers(0, 200, n).astype(np.int32) for k in (n, 1))
    out = np.zeros(n, np.int32)
    run(by_device_function)[blocks(n, 64), 64](out, a, b)
    equal(out, np.gcd(a, b))


def polynomial(coefficients):
    """A device function for a polynomial, unrolled by composing closures."""
    if len(coefficients) == 1:
        (last,) = map(np.float32, coefficients)

        @cuda.jit(device=True)
        def constant(x):
            return last

        return constant
    first, rest = np.float32(coefficients[0]), polynomial(coefficients[1:])

    @cuda.jit(device=True)
    def horner(x):
        return first + x * rest(x)

    return horner


def elementwise(function):
    """A kernel that applies a device function to every element."""

    @cuda.jit
    def kernel(out, x):
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            out[i] = function(x[i])

    return kernel


@case(100, 33)
def factories(run, n):
    """Closures composed when the kernel is made; Horner's rule in whole numbers."""
    x = rng(n).integers(-9, 10, n).astype(np.float32)
    out = np.zeros_like(x)
    run(elementwise(polynomial((3, -1, 4, 2))))[1, 64](out, x)
    equal(out, 3 - x + 4 * x**2 + 2 * x**3)


@cuda.jit(device=True)
def dot_at(i, weights, *arrays):
    total = float32(0)
    for weight, array in zip(weights, arrays):  # noqa: B905
        total += weight * array[i]
    return total


@cuda.jit(device=True)
def shifted(value, by=1):
    return float32(int32(value) + by)


@cuda.jit
def weighted_sum(out, weights, arrays):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = dot_at(i, weights, *arrays) + shifted(weights[0])


@cuda.jit
def largest_of(out, arrays):
    i = cuda.grid(1)
    if i < out.size:
        best, where = arrays[0][i], 0
        for k, array in enumerate(arrays):
            if array[i] > best:
                best, where = array[i], k
        out[i] = where


@case((3, 100), (2, 33))
def any_number_of_arrays(run, sizes):
    """A tuple of arrays spread over *args, zip, enumerate, a parameter with a default."""
    count, n = sizes
    arrays = tuple(rng(k).integers(0, 50, n).astype(np.float32) for k in range(count))
    weights = tuple(np.float32(k - 1) for k in range(count))
    out, where = np.zeros(n, np.float32), np.zeros(n, np.int32)
    run(weighted_sum)[blocks(n, 32), 32](out, weights, arrays)
    equal(out, sum(w * a for w, a in zip(weights, arrays, strict=True)))  # weights[0] is -1
    run(largest_of)[blocks(n, 32), 32](where, arrays)
    equal(where, np.argmax(arrays, axis=0))


class Mode(enum.IntEnum):
    """What to do with a pixel."""

    KEEP = 0
    NEGATE = 1
    CLIP = 2


Window = namedtuple("Window", "low high")


@cuda.jit
def apply_mode(out, x, modes, window):
    i = cuda.grid(1)
    if i >= x.size:
        return
    v = x[i]
    if modes[i] == Mode.NEGATE:
        v = -v
    elif modes[i] == Mode.CLIP:
        v = min(max(v, window.low), window.high)
    out[i] = v


@case(100, 33)
def enums_and_named_tuples(run, n):
    """Members of an enum as constants, limits in a named tuple."""
    x = rng(n).integers(-50, 50, n).astype(np.int32)
    modes = rng(1).integers(0, 3, n).astype(np.int8)
    out = np.zeros_like(x)
    window = Window(np.int32(-10), np.int32(20))
    run(apply_mode)[blocks(n, 64), 64](out, x, modes, window)
    equal(out, np.choose(modes, (x, -x, np.clip(x, -10, 20))))


@cuda.jit(void(float32[:, ::1], float32[:, ::1]))
def transpose_eager(out, inp):
    tile = cuda.shared.array((TILE, PADDED), float32)
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    for j in range(0, TILE, 8):
        if y + j < inp.shape[0] and x < inp.shape[1]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = inp[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    for j in range(0, TILE, 8):
        if y + j < out.shape[0] and x < out.shape[1]:
            out[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


@case((40, 64), (33, 35))
def transpose(run, shape):
    """Compiled for one signature; a tile of 32 x 32 by 32 x 8 threads."""
    inp = rng(1).normal(size=shape).astype(np.float32)
    out = np.zeros(shape[::-1], np.float32)
    seen = run(transpose_eager)[(blocks(shape[1], 32), blocks(shape[0], 32)), (32, 8)](out, inp)
    equal(out, inp.T)
    if seen and shape == (40, 64):  # 40 rows of two warps, and back: 64 rows of (32 + 8 lanes)
        assert (seen.shared.wavefronts, seen.shared.extra) == (40 * 2 + 64 * 2, 0)
        assert seen.global_.sectors == 40 * 64 * 4 // 32 * 2


@cuda.jit
def sum_columns(out, a):
    col = cuda.grid(1)
    if col < a.shape[1]:
        column = a[:, col]
        flat = column[::2]
        total = float32(0)
        for v in flat:
            total += v
        out[col] = total + column[-1] * column.size


# A float32 times the length of a view is float64.
@case((9, 40), (4, 33), finds="float64_arithmetic")
def columns_as_views(run, shape):
    """Slices of slices, a loop over a view, -1 for the last: all of it as in NumPy."""
    a = rng(2).integers(0, 50, shape).astype(np.float32)
    out = np.zeros(shape[1], np.float32)
    run(sum_columns)[blocks(shape[1], 32), 32](out, a)
    equal(out, a[::2].sum(0) + a[-1] * shape[0])


@cuda.jit
def bits(out, x):
    i = cuda.grid(1)
    lane = i & 31
    v = x[i] if i < x.size else np.uint32(0)
    odd = cuda.popc(v) & 1
    peers = cuda.match_any_sync(0xFFFFFFFF, cuda.clz(v))
    everyone = cuda.all_sync(0xFFFFFFFF, v < 2**31)
    someone = cuda.any_sync(0xFFFFFFFF, v == 7)
    parity = cuda.ballot_sync(0xFFFFFFFF, odd)
    if i < out.shape[1]:
        out[0, i] = cuda.popc(peers)
        out[1, i] = everyone + 2 * someone
        out[2, i] = (parity >> lane) & 1


@case(70, 64)
def warp_votes(run, n):
    """match, all, any, ballot, clz, popc over whole warps, the last one ragged."""
    x = (rng(n).integers(1, 2**32, n) >> rng(1).integers(0, 31, n)).astype(np.uint32)
    x[5] = 7
    out = np.zeros((3, n), np.int32)
    run(bits)[blocks(n, 32), 32](out, x)
    wide = np.concatenate((x, np.zeros(-n % 32, np.uint32)))
    for i in range(n):
        warp = wide[i // 32 * 32 : i // 32 * 32 + 32]
        lengths = [int(v).bit_length() for v in warp]
        want = (lengths.count(lengths[i % 32]), (warp < 2**31).all() + 2 * (warp == 7).any())
        equal(out[:, i], (*want, int(x[i]).bit_count() % 2))


@cuda.jit
def geodesic(out, lat, lon):
    i, j = cuda.grid(2)
    n = lat.size
    if i < n and j < n:
        dphi, dlam = lat[j] - lat[i], lon[j] - lon[i]
        a = math.sin(dphi / 2) ** 2 + math.cos(lat[i]) * math.cos(lat[j]) * math.sin(dlam / 2) ** 2
        out[j, i] = 2 * 6371.0 * math.asin(math.sqrt(a))


@case(40)
def distances_on_a_sphere(run, n):
    """The haversine matrix of a course, in float64; a sine may differ in its last bit."""
    lat, lon = rng(1).uniform(-1.5, 1.5, n), rng(2).uniform(-3, 3, n)
    out = np.zeros((n, n))
    run(geodesic)[(blocks(n, 32), blocks(n, 4)), (32, 4)](out, lat, lon)
    a = np.sin((lat[:, None] - lat) / 2) ** 2
    a = a + np.cos(lat[:, None]) * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
    close(out, 2 * 6371 * np.arcsin(np.sqrt(a)), 1e-12)
