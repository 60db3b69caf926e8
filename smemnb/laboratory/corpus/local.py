"""Kernels with local arrays, and one with registers that are spilled: local loads and stores.

Local memory of a warp is interleaved by words, so that the cases differ in which word each lane
asks for: all the same (`ring`), groups of eight lanes the same, every lane another one; elements of
1 to 16 bytes, and of two fields; parts of a warp; arrays that the compiler keeps in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import complex64, cuda, float32, float64, from_dtype, int8, uint16

from ...measure.verify.case import Case, empty, numbers

PLACES = 32
LANES = np.arange(32)


@cuda.jit
def local_ring(out, inp, rounds):
    """Every lane goes round its own ring of 32 floats, at one place at a time."""
    ring = cuda.local.array(PLACES, float32)
    i = cuda.grid(1)
    for place in range(PLACES):
        ring[place] = float32(0)
    for step in range(rounds):
        ring[step % PLACES] += inp[i] * step
    total = float32(0)
    for step in range(rounds):
        total += ring[step * 7 % PLACES]
    out[i] = total


def _at(kind: Any) -> Any:
    """A kernel in which lane i stores into and loads from place[i], elements of this type."""

    @cuda.jit
    def local_at(out, inp, place, rounds):
        cells = cuda.local.array(PLACES, kind)
        i = cuda.grid(1)
        for step in range(PLACES):
            cells[step] = inp[step]
        for step in range(rounds):
            cells[(place[i] + step) % PLACES] = inp[i]
        total = inp[0]
        for step in range(rounds):
            total += cells[(place[i] + 3 * step) % PLACES]
        out[i] = total

    return local_at


at_int8, at_uint16, at_float32 = _at(int8), _at(uint16), _at(float32)
at_float64, at_complex64 = _at(float64), _at(complex64)


@cuda.jit
def local_guarded(out, inp, place):
    """Threads beyond the end leave; the others go to places of theirs, some of them four times."""
    cells = cuda.local.array(PLACES, float32)
    i = cuda.grid(1)
    if i >= out.shape[0]:
        return
    for step in range(PLACES):
        cells[step] = inp[step]
    for step in range(place[i] % 5):
        cells[(place[i] + step) % PLACES] += inp[i]
    out[i] = cells[place[i] % PLACES]


@cuda.jit
def local_constant(out, inp):
    """Constant indices only: no load and no store of local memory is left."""
    cells = cuda.local.array(8, float32)
    i = cuda.grid(1)
    for step in range(8):
        cells[step] = inp[i * 8 + step]
    total = float32(0)
    for step in range(8):
        total += cells[step] * cells[7 - step]
    out[i] = total


@cuda.jit
def local_partly(out, inp, rounds):
    """One array with constant indices and one without: only that one is loaded and stored."""
    weights = cuda.local.array(4, float32)
    sums = cuda.local.array(PLACES, float32)
    i = cuda.grid(1)
    for step in range(4):
        weights[step] = inp[i + step]
    for place in range(PLACES):
        sums[place] = float32(0)
    for step in range(rounds):
        for part in range(4):
            sums[(step * 5 + part) % PLACES] += weights[part]
    total = float32(0)
    for step in range(rounds):
        total += sums[step % PLACES]
    out[i] = total


@cuda.jit
def local_large(out, inp, rounds):
    """An array of 4,000 bytes per thread, of which each thread touches a few places."""
    history = cuda.local.array(1000, float32)
    i = cuda.grid(1)
    for step in range(rounds):
        history[step * 37 % 1000] = inp[i] + step
    total = float32(0)
    for step in range(rounds):
        total += history[(rounds - 1 - step) * 37 % 1000]
    out[i] = total


@cuda.jit(device=True)
def insert(values, count, value):
    """Insertion into the sorted front of an array: how far depends on the values."""
    at = count
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


@cuda.jit
def local_sorted(out, inp):
    """Every lane sorts eleven numbers in an array that a device function gets."""
    values = cuda.local.array(11, float32)
    i = cuda.grid(1)
    for count in range(11):
        insert(values, count, inp[i * 11 + count])
    for count in range(11):
        out[i * 11 + count] = values[count]


def _points(*, align: bool) -> Any:
    """A kernel with an array of records of two floats; without `align` they are moved in bytes."""
    kind = from_dtype(np.dtype([("x", np.float32), ("y", np.float32)], align=align))

    @cuda.jit
    def local_points(out, inp, rounds):
        points = cuda.local.array(PLACES, kind)
        i = cuda.grid(1)
        for step in range(PLACES):
            points[step].x = inp[step]
            points[step].y = inp[step + 1]
        for step in range(rounds):
            points[(i + step) % PLACES].x += points[(i * step) % PLACES].y
        total = float32(0)
        for step in range(rounds):
            total += points[step * 3 % PLACES].x
        out[i] = total

    return local_points


points_aligned, points_packed = _points(align=True), _points(align=False)


@cuda.jit
def local_beside_shared(out, inp, rounds):
    """A local array beside a shared one, both with indices of the run."""
    tile = cuda.shared.array(64, float32)
    mine = cuda.local.array(PLACES, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = inp[i]
    for step in range(PLACES):
        mine[step] = float32(1)
    cuda.syncthreads()  # the tile is full before anyone reads it
    for step in range(rounds):
        mine[(tx + step) % PLACES] += tile[(tx * step) % 64]
    total = float32(0)
    for step in range(rounds):
        total += mine[step % PLACES]
    out[i] = total


@cuda.jit
def local_rows(out, inp, rounds):
    """A table of two dimensions, walked by rows and by columns."""
    table = cuda.local.array((9, 5), float32)
    i = cuda.grid(1)
    for row in range(9):
        for col in range(5):
            table[row, col] = inp[row * 5 + col]
    for step in range(rounds):
        table[step % 9, (i + step) % 5] += inp[i]
    total = float32(0)
    for step in range(rounds):
        total += table[(i + step) % 9, step % 5]
    out[i] = total


@cuda.jit
def local_or_global(out, inp, mine):
    """Which array is read, a thread's own or an argument, is known at the launch only."""
    cells = cuda.local.array(PLACES, float32)
    i = cuda.grid(1)
    for step in range(PLACES):
        cells[step] = inp[step] * i
    chosen = cells if mine else inp
    total = float32(0)
    for step in range(mine + 3):
        total += chosen[(i + step) % PLACES]
    out[i] = total


@cuda.jit(max_registers=24)
def spilled(out, inp, rounds):
    """No local array, but more values than 24 registers hold."""
    i = cuda.grid(1)
    a, b, c, d = inp[i], inp[i + 1], inp[i + 2], inp[i + 3]
    e, f, g, h = inp[i + 4], inp[i + 5], inp[i + 6], inp[i + 7]
    k, m, n, p = inp[i + 8], inp[i + 9], inp[i + 10], inp[i + 11]
    q, r, s, t = inp[i + 12], inp[i + 13], inp[i + 14], inp[i + 15]
    first, second, third, fourth = a, b, c, d
    for step in range(rounds):
        w = inp[step]
        a, b, c, d = a + w * b, b + w * c, c + w * d, d + w * e
        e, f, g, h = e + w * f, f + w * g, g + w * h, h + w * k
        k, m, n, p = k + w * m, m + w * n, n + w * p, p + w * q
        q, r, s, t = q + w * r, r + w * s, s + w * t, t + w * a
    out[i] = a * first + b * second + c * third + d * fourth + e + f + g + h
    out[i] += k + m + n + p + q + r + s + t


@cuda.jit(max_registers=32)
def spilled_beside_array(out, inp, rounds):
    """A local array and spilled registers in one stack."""
    ring = cuda.local.array(50, float32)
    i = cuda.grid(1)
    for step in range(50):
        ring[step] = inp[step]
    a, b, c, d = inp[i], inp[i + 1], inp[i + 2], inp[i + 3]
    e, f, g, h = inp[i + 4], inp[i + 5], inp[i + 6], inp[i + 7]
    k, m, n, p = inp[i + 8], inp[i + 9], inp[i + 10], inp[i + 11]
    q, r, s, t = inp[i + 12], inp[i + 13], inp[i + 14], inp[i + 15]
    first, second, third, fourth = a, b, c, d
    for step in range(rounds):
        w = inp[step] * ring[(step * i) % 50]
        a, b, c, d = a + w * b, b + w * c, c + w * d, d + w * e
        e, f, g, h = e + w * f, f + w * g, g + w * h, h + w * k
        k, m, n, p = k + w * m, m + w * n, n + w * p, p + w * q
        q, r, s, t = q + w * r, r + w * s, s + w * t, t + w * a
    out[i] = a * first + b * second + c * third + d * fourth + e + f + g + h
    out[i] += k + m + n + p + q + r + s + t


def _flat(
    kernel: Any, threads: int, blocks: int, cells: int, *more: Any, each: int = 1, named: str = ""
) -> Case:
    """A kernel on `threads` per block with `cells` numbers to read."""
    return Case(
        named or kernel.py_func.__name__,
        kernel,
        (blocks,),
        (threads,),
        lambda random: (empty(threads * blocks * each), numbers(random, cells), *more),
    )


def _placed(name: str, kernel: Any, dtype: Any, place: Any, blocks: int = 2) -> Case:
    """`local_at` for the places of 32 lanes, in blocks of two warps."""
    threads = 64 * blocks
    places = np.tile(np.asarray(place, np.int32), threads // 32)
    return Case(
        f"local_at {name}",
        kernel,
        (blocks,),
        (64,),
        lambda random: (
            empty(threads, dtype=dtype),
            numbers(random, threads, dtype=dtype),
            places,
            6,
        ),
    )


def _guarded(size: int) -> Case:
    return Case(
        f"local_guarded {size}",
        local_guarded,
        (2,),
        (96,),
        lambda random: (empty(size), numbers(random, 192), numbers(random, 192, dtype=np.int32)),
    )


CASES = (
    _flat(local_ring, 64, 3, 192, 50),
    _placed("one place", at_float32, np.float32, LANES * 0),
    _placed("a place per 8 lanes", at_float32, np.float32, LANES // 8),
    _placed("two places", at_float32, np.float32, LANES % 2),
    _placed("every lane another", at_float32, np.float32, LANES * 5),
    _placed("1 byte, one place", at_int8, np.int8, LANES * 0),
    _placed("1 byte, four in a word", at_int8, np.int8, LANES % 4),
    _placed("2 bytes", at_uint16, np.uint16, LANES * 3),
    _placed("8 bytes, one place", at_float64, np.float64, LANES * 0),
    _placed("8 bytes, a place per 8 lanes", at_float64, np.float64, LANES // 8),
    _placed("8 bytes, every lane another", at_float64, np.float64, LANES),
    _placed("complex, pairs of lanes", at_complex64, np.complex64, LANES // 2),
    _guarded(192),
    _guarded(75),
    _flat(local_constant, 64, 2, 1024),
    _flat(local_partly, 64, 2, 132, 9),
    _flat(local_large, 64, 2, 128, 23),
    _flat(local_sorted, 64, 2, 1408, each=11),
    _flat(points_aligned, 64, 2, 128, 7, named="local_points, aligned"),
    _flat(points_packed, 64, 2, 128, 7, named="local_points, packed"),
    _flat(local_beside_shared, 64, 2, 128, 7),
    _flat(local_rows, 64, 2, 128, 11),
    _flat(local_or_global, 64, 1, 64, 5),
    _flat(spilled, 64, 2, 144, 6),
    _flat(spilled_beside_array, 64, 2, 144, 6),
)
