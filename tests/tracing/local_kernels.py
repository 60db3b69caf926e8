"""Kernels with a local array each, by where the array lies, and why.

`@lies("registers")` puts the kernel below it into `KERNELS` with the answer that the source view is
to give. All take (out, inp, idx, n): arrays of float32 and int32, and an integer.
"""

import math

import numpy as np
from numba import cuda, float32, float64, int8, uint32

SIZE, HALF = 8, 4
KERNELS = []


def lies(where, *, bytes_):
    """The answer for the kernel below, and the bytes of its array per thread."""

    def keep(kernel):
        KERNELS.append((kernel, where, bytes_))
        return kernel

    return keep


def arguments():
    """What every kernel is launched with."""
    return np.zeros(4096, np.float32), np.ones(4096, np.float32), np.zeros(4096, np.int32), 3


@lies("registers", bytes_=32)
@cuda.jit
def constants(out, inp, idx, n):
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        a[i] = inp[i + n]
    out[n] = a[0] + a[SIZE - 1] + a[-2]


@lies("registers", bytes_=64)
@cuda.jit
def nested(out, inp, idx, n):
    a = cuda.local.array((4, 4), float32)
    for i in range(4):
        for j in range(4):
            a[i, j] = float32(0)
    for k in range(n):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] += inp[k + i] * inp[k + j + 99]
    for i in range(4):
        for j in range(4):
            out[i * 4 + j] = a[i, j]


@lies("registers", bytes_=32)
@cuda.jit
def counted_up(out, inp, idx, n):
    """Indices that rounds count up, halve or choose by their number."""
    a = cuda.local.array(SIZE, float32)
    at = 0
    while at < SIZE:
        a[at] = inp[at + n]
        at += 1
    at = 1
    for i in range(3):
        a[at] += inp[i]
        at *= 2
    for i in range(SIZE):
        if i % 3 == 1:
            a[SIZE - 1 - i] += inp[i]
    step = HALF
    while step > 0:
        for i in range(step):
            a[i] += a[i + step]
        step //= 2
    out[n] = a[0]


@lies("registers", bytes_=32)
@cuda.jit
def with_branches(out, inp, idx, n):
    """Branches and a `break` of the run change no index."""
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        if inp[i] > n:
            a[i] = inp[i + n]
        else:
            a[i] = float32(1)
    total = float32(0)
    for i in range(SIZE):
        if a[i] > 99:
            break
        total += a[i]
    out[n] = total


@lies("registers", bytes_=32)
@cuda.jit
def sorted_by_a_network(out, inp, idx, n):
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        a[i] = inp[i + n]
    for i in range(SIZE):
        for j in range(SIZE - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    for i in range(SIZE):
        out[i] = a[i]


@cuda.jit(device=True)
def third(values, place):
    return values[place] * float32(3)


@cuda.jit(device=True)
def filled(values, first):
    for i in range(values.shape[0]):
        values[i] = first + i


@lies("registers", bytes_=32)
@cuda.jit
def handed_on(out, inp, idx, n):
    """A device function that gets the array and a constant."""
    a = cuda.local.array(SIZE, float32)
    filled(a, inp[n])
    out[n] = third(a, 3) + third(a[2:6], 1)


@lies("registers", bytes_=64)
@cuda.jit
def rows_and_slices(out, inp, idx, n):
    a = cuda.local.array((4, 4), float32)
    a[:] = inp[n]
    for i in range(4):
        row = a[i]
        for j in range(4):
            row[j] += inp[j]
    part = a[1:3, 2]
    out[n] = part[0] + part[1] + a[3, 3]


@lies("registers", bytes_=64)
@cuda.jit
def of_other_widths(out, inp, idx, n):
    a = cuda.local.array(SIZE, float64)
    for i in range(SIZE):
        a[i] = inp[i + n]
    total = 0.0
    for i in range(SIZE):
        total += a[i] * a[SIZE - 1 - i]
    out[n] = total


@lies("registers", bytes_=9)
@cuda.jit
def window(out, inp, idx, n):
    """Ranges that begin anywhere and have a known length; a counter beside them."""
    x, y = cuda.grid(2)
    a = cuda.local.array(9, int8)
    at = 0
    for row in range(y + 1, y + 4):
        for col in range(x, 3 + x):
            a[at] = idx[row * 32 + col]
            at += 1
    for i in range(x, x + 9):
        a[i - x] += idx[i]
    total = 0
    for i in range(9):
        total += a[i] * a[8 - i]
    out[x] = total


@lies("open", bytes_=32)
@cuda.jit
def picked(out, inp, idx, n):
    """One index of the run, few elements of 4 bytes: the compiler picks by selections."""
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        a[i] = inp[i]
    out[n] = a[n]


@lies("open", bytes_=64)
@cuda.jit
def long_work(out, inp, idx, n):
    """Rounds that are too much work to be sure that they are unrolled."""
    a = cuda.local.array(16, float32)
    for i in range(16):
        a[i] = math.sin(inp[i]) * math.cos(inp[i + 1])
    out[n] = a[3] + a[5]


@lies("open", bytes_=512)
@cuda.jit
def to_and_fro(out, inp, idx, n):
    """Back and forth along the rows, by a choice between two indices of the loops."""
    acc = cuda.local.array((16, 8), float32)
    for i in range(16):
        for step in range(8):
            j = step if i % 2 == 0 else 7 - step
            acc[i, j] = math.sin(inp[i * 8 + j]) * math.cos(inp[i])
    for i in range(16):
        for step in range(8):
            j = step if i % 2 == 0 else 7 - step
            out[i] += acc[i, j]


@lies("local memory", bytes_=128)
@cuda.jit
def histogram(out, inp, idx, n):
    a = cuda.local.array(32, float32)
    for i in range(32):
        a[i] = float32(0)
    for i in range(n):
        a[idx[i] % 32] += inp[i]
    for i in range(32):
        out[i] = a[i]


@lies("local memory", bytes_=128)
@cuda.jit
def ring(out, inp, idx, n):
    """An index that goes round with a loop of the run."""
    a = cuda.local.array(32, float32)
    for i in range(32):
        a[i] = inp[i]
    at = 0
    total = float32(0)
    for i in range(n):
        total += a[at] * inp[i]
        a[at] = inp[i + 1]
        at = (at + 5) % 32
    out[n] = total


@lies("local memory", bytes_=16)
@cuda.jit
def two_doubles(out, inp, idx, n):
    """From elements of 8 bytes nothing is picked, however few they are."""
    a = cuda.local.array(2, float64)
    for i in range(2):
        a[i] = inp[i]
    out[n] = a[n % 2]


@lies("local memory", bytes_=4)
@cuda.jit
def four_bytes(out, inp, idx, n):
    a = cuda.local.array(4, int8)
    for i in range(4):
        a[i] = idx[i]
    out[n] = a[n % 4]


@lies("local memory", bytes_=1200)
@cuda.jit
def more_than_registers(out, inp, idx, n):
    a = cuda.local.array(300, float32)
    for i in range(300):
        a[i] = inp[i + n]
    for i in range(300):
        out[i] = a[i] * a[299 - i]


@lies("local memory", bytes_=32)
@cuda.jit
def walked(out, inp, idx, n):
    """`for value in array` goes by addresses."""
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        a[i] = inp[i + n]
    total = float32(0)
    for value in a:
        total += value
    out[n] = total


@lies("local memory", bytes_=32)
@cuda.jit
def mine_or_yours(out, inp, idx, n):
    """One of two arrays, chosen at run time."""
    a = cuda.local.array(SIZE, float32)
    for i in range(SIZE):
        a[i] = inp[i] * n
    chosen = a if n > 2 else inp
    out[n] = chosen[1] + chosen[2]


@lies("local memory", bytes_=256)
@cuda.jit
def in_a_device_function(out, inp, idx, n):
    out[n] = last_of(inp, n)


@cuda.jit(device=True)
def last_of(inp, n):
    kept = cuda.local.array(64, uint32)
    for i in range(64):
        kept[i] = uint32(i)
    for i in range(n):
        kept[(i * 7) % 64] += uint32(inp[i])
    return kept[n % 64] + kept[(n * 3) % 64]
