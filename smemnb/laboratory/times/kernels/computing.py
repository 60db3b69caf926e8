"""Kernels whose work is arithmetic, or waiting for the step before: bodies, hashes, walks, ways."""

from __future__ import annotations

import math

from numba import cuda, float32, float64, uint32, uint64

BODIES = 128
WORDS = 4096
ROUNDS = 64
STEPS = 200


@cuda.jit(fastmath=True)
def timed_bodies_tiled(out, bodies):
    """out = the pull of all bodies on each one, read from tiles in shared memory."""
    tile = cuda.shared.array((BODIES, 4), float32)
    tx, at = cuda.threadIdx.x, cuda.grid(1)
    x, y, z = bodies[at, 0], bodies[at, 1], bodies[at, 2]
    px, py, pz = float32(0), float32(0), float32(0)
    for first in range(0, bodies.shape[0], BODIES):
        for part in range(4):
            tile[tx, part] = bodies[first + tx, part]
        cuda.syncthreads()
        for k in range(BODIES):
            dx, dy, dz = tile[k, 0] - x, tile[k, 1] - y, tile[k, 2] - z
            squared = dx * dx + dy * dy + dz * dz + float32(0.01)
            near = float32(1) / math.sqrt(squared)
            pull = tile[k, 3] * near * near * near
            px += dx * pull
            py += dy * pull
            pz += dz * pull
        cuda.syncthreads()  # the tile is read before it is filled again
    out[at, 0], out[at, 1], out[at, 2] = px, py, pz


@cuda.jit(fastmath=True)
def timed_bodies_global(out, bodies):
    """out = the same, each body read from global memory by all threads at once."""
    at = cuda.grid(1)
    x, y, z = bodies[at, 0], bodies[at, 1], bodies[at, 2]
    px, py, pz = float32(0), float32(0), float32(0)
    for k in range(bodies.shape[0]):
        dx, dy, dz = bodies[k, 0] - x, bodies[k, 1] - y, bodies[k, 2] - z
        squared = dx * dx + dy * dy + dz * dz + float32(0.01)
        near = float32(1) / math.sqrt(squared)
        pull = bodies[k, 3] * near * near * near
        px += dx * pull
        py += dy * pull
        pz += dz * pull
    out[at, 0], out[at, 1], out[at, 2] = px, py, pz


@cuda.jit
def timed_polynomial64(out, inp):
    """out = a polynomial of float64 by Horner's rule, four elements at a time."""
    first = cuda.grid(1) * 4
    a, b, c, d = inp[first], inp[first + 1], inp[first + 2], inp[first + 3]
    p, q, r, s = float64(1), float64(1), float64(1), float64(1)
    for step in range(ROUNDS):
        weight = float64(step) * 0.001
        p = p * a + weight
        q = q * b + weight
        r = r * c + weight
        s = s * d + weight
    out[first], out[first + 1], out[first + 2], out[first + 3] = p, q, r, s


@cuda.jit
def timed_dot64(out, a, b):
    """out = dot products of float64 per block."""
    tile = cuda.shared.array(256, float64)
    tx = cuda.threadIdx.x
    acc = float64(0)
    for at in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        acc += a[at] * b[at]
    tile[tx] = acc
    cuda.syncthreads()
    if tx < 32:
        for step in range(32, 256, 32):
            acc += tile[tx + step]
        for apart in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, apart)
        if tx == 0:
            out[cuda.blockIdx.x] = acc


@cuda.jit
def timed_shift_hash(out, inp):
    """out = inp after rounds of shifts and exclusive ors (xorshift of Marsaglia)."""
    at = cuda.grid(1)
    word = inp[at]
    for _ in range(ROUNDS):
        word ^= uint32(word << uint32(13))
        word ^= uint32(word >> uint32(17))
        word ^= uint32(word << uint32(5))
    out[at] = word


@cuda.jit
def timed_product_hash(out, inp):
    """out = inp after rounds of products of 64 bits and shifts (splitmix64)."""
    at = cuda.grid(1)
    word = inp[at]
    for _ in range(ROUNDS):
        word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    out[at] = word


@cuda.jit
def timed_escape(out, left, top, step):
    """out = steps until z = z * z + c escapes: lanes leave the loop at different times."""
    col, row = cuda.grid(2)
    re, im = left + float32(col) * step, top + float32(row) * step
    x, y = float32(0), float32(0)
    count = 0
    while count < STEPS and x * x + y * y < float32(4):
        x, y = x * x - y * y + re, float32(2) * x * y + im
        count += 1
    out[row, col] = count


@cuda.jit
def timed_three_n(out, first):
    """out = steps of the rule "half, or three times and one more" until 1 is reached."""
    at = cuda.grid(1)
    number = uint64(first + at)
    count = 0
    while number > uint64(1):
        if number & uint64(1):
            number = uint64(3) * number + uint64(1)
        else:
            number >>= uint64(1)
        count += 1
    out[at] = count


@cuda.jit
def timed_walk_global(out, ring, steps):
    """out = each thread's place after some steps in a ring in global memory."""
    at = uint32(cuda.grid(1))
    for _ in range(steps):
        at = ring[at]
    out[cuda.grid(1)] = at


@cuda.jit
def timed_walk_shared(out, ring):
    """out = each thread's place after some steps in a ring in shared memory, banks as they fall."""
    tile = cuda.shared.array(WORDS, uint32)
    tx = cuda.threadIdx.x
    for place in range(tx, WORDS, cuda.blockDim.x):
        tile[place] = ring[place]
    cuda.syncthreads()
    at = uint32(tx)
    for _ in range(ROUNDS * 4):
        at = tile[at]
    out[cuda.grid(1)] = at


@cuda.jit
def timed_search(out, keys, sorted_keys):
    """out = where each key stands among sorted ones, by halving."""
    at = cuda.grid(1)
    key = keys[at]
    low, high = 0, sorted_keys.size
    while low < high:
        middle = (low + high) // 2
        if sorted_keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    out[at] = low


@cuda.jit(fastmath=True)
def timed_functions(out, inp):
    """out = a sum of sines, exponentials, logarithms and roots: the unit of special functions."""
    at = cuda.grid(1)
    value, acc = inp[at], float32(0)
    for step in range(ROUNDS):
        shifted = value + float32(step)
        acc += math.sin(shifted) + math.exp(-shifted) + math.log(shifted) + math.sqrt(shifted)
    out[at] = acc


@cuda.jit
def timed_ways_2(out, inp):
    """out = sums of elements of a tile; lanes read 2 words apart: 2-way loads."""
    tile = cuda.shared.array(WORDS, float32)
    tx = cuda.threadIdx.x
    for place in range(tx, WORDS, cuda.blockDim.x):
        tile[place] = inp[place]
    cuda.syncthreads()
    at, acc = uint32(uint32(tx) * uint32(2)), float32(0)
    for step in range(ROUNDS * 4):
        acc += tile[uint32(at + uint32(step)) % uint32(WORDS)]
    out[cuda.grid(1)] = acc


@cuda.jit
def timed_ways_8(out, inp):
    """out = sums of elements of a tile; lanes read 8 words apart: 8-way loads."""
    tile = cuda.shared.array(WORDS, float32)
    tx = cuda.threadIdx.x
    for place in range(tx, WORDS, cuda.blockDim.x):
        tile[place] = inp[place]
    cuda.syncthreads()
    at, acc = uint32(uint32(tx) * uint32(8)), float32(0)
    for step in range(ROUNDS * 4):
        acc += tile[uint32(at + uint32(step)) % uint32(WORDS)]
    out[cuda.grid(1)] = acc


@cuda.jit
def timed_ways_32(out, inp):
    """out = sums of elements of a tile; lanes read 32 words apart: 32-way loads."""
    tile = cuda.shared.array(WORDS, float32)
    tx = cuda.threadIdx.x
    for place in range(tx, WORDS, cuda.blockDim.x):
        tile[place] = inp[place]
    cuda.syncthreads()
    at, acc = uint32(uint32(tx) * uint32(32)), float32(0)
    for step in range(ROUNDS * 4):
        acc += tile[uint32(at + uint32(step)) % uint32(WORDS)]
    out[cuda.grid(1)] = acc
