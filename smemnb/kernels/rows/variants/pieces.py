"""What the kernels of rows are made of: device functions of a shape, a dtype and an operation.

A row, or a block's part of one, is two numbers to its elements, `a` and `b`:

    softmax, log_softmax     its maximum, and the sum of exp(element - maximum)
    layer_norm               its mean, and the sum of (element - mean)^2
    rms_norm                 nothing, and the sum of element^2

`numbers_of` works them out from registers, `joined_of` puts those of several parts together, and
`stored` makes the result of an element from them. Sums go by a tree, which is the same in every
run: a lane adds up its elements, then lanes, then warps, then parts.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float32, float64, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device

ALL = 0xFFFFFFFF
WARP = 32
LOWEST = {float32: -3.4028234663852886e38, float64: -1.7976931348623157e308}
"""The lowest finite number: where a maximum begins, so that exp(-inf - maximum) is 0."""


class Shape(NamedTuple):
    """How a row, or a part of one, lies in registers.

    Attributes:
        threads: of a block.
        lanes: that share a row: 1 to 32 of a warp, a power of 2, or all threads of a block.
        chunks: of a lane: elements, or pieces of 16 bytes.
        wide: pieces of 16 bytes; rows begin at multiples of 16 bytes and are whole pieces.
        resident: blocks on a multiprocessor for which the compiler is to leave registers.
    """

    threads: int
    lanes: int
    chunks: int
    wide: bool
    resident: int = 1

    @property
    def rows(self) -> int:
        """Rows of a block.

        >>> Shape(256, 8, 4, True).rows
        32
        """
        return self.threads // self.lanes

    def per_chunk(self, itemsize: int) -> int:
        """Elements of a chunk.

        >>> Shape(256, 8, 4, True).per_chunk(8), Shape(256, 8, 4, False).per_chunk(8)
        (2, 1)
        """
        return 16 // itemsize if self.wide else 1

    def most(self, itemsize: int) -> int:
        """Elements of a row, or of a part, at most.

        >>> Shape(256, 8, 4, True).most(4)
        128
        """
        return self.lanes * self.chunks * self.per_chunk(itemsize)


class Form(NamedTuple):
    """What is made of rows.

    Attributes:
        what: "softmax", "log_softmax", "layer_norm" or "rms_norm".
        weighted: each element times a weight of its column.
        biased: and plus a bias.
    """

    what: str
    weighted: bool = False
    biased: bool = False

    @property
    def is_softmax(self) -> bool:
        """Whether it is the softmax, or its logarithm."""
        return self.what.endswith("softmax")


def itemsize(dtype: Any) -> int:
    """Bytes of an element."""
    return int(dtype.bitwidth) // 8


# --- registers -----------------------------------------------------------------------------------


@cache
def accesses(wide: bool, size: int) -> tuple[Any, Any]:
    """(get(array, at), put(array, at, held, k)): a chunk as a tuple; a line of registers."""

    @device
    def get_wide(array, at):
        return load16(array, at)

    @device
    def get_one(array, at):
        return (load1(array, at),)

    @device
    def put_four(array, at, held, k):
        store16(array, at, (held[k, 0], held[k, 1], held[k, 2], held[k, 3]))

    @device
    def put_two(array, at, held, k):
        store16(array, at, (held[k, 0], held[k, 1]))

    @device
    def put_one(array, at, held, k):
        store1(array, at, held[k, 0])

    if not wide:
        return get_one, put_one
    return get_wide, put_four if size == 4 else put_two


@cache
def fetched(shape: Shape, dtype: Any, form: Form) -> Any:
    """A device function: columns `first` on, up to `last`, of the row at `start` into registers."""
    lanes, chunks, per = shape.lanes, shape.chunks, shape.per_chunk(itemsize(dtype))
    get, _ = accesses(shape.wide, itemsize(dtype))
    outside = dtype(-math.inf if form.is_softmax else 0.0)

    @device
    def fetch(held, inp, start, lane, first, last):
        for k in range(chunks):
            col = uint32(first + (lane + k * lanes) * per)
            for e in range(per):
                held[k, e] = outside
            if col < last:
                part = get(inp, uint32(start + col))
                for e in range(per):
                    held[k, e] = part[e]

    return fetch


# --- sums over lanes and warps -------------------------------------------------------------------


@cache
def folds(shape: Shape) -> tuple[Any, Any]:
    """(largest(shared, at, value), total(shared, at, value)) of all that share a row.

    A block has one word for each warp from `shared[at]` on, which nobody else uses until the next
    barrier.
    """
    span, warps = min(shape.lanes, WARP), shape.threads // WARP
    across, between = span // 2, warps // 2

    @device
    def largest_of_lanes(value, mask):
        while mask > 0:
            value = max(value, cuda.shfl_xor_sync(ALL, value, mask))
            mask //= 2
        return value

    @device
    def total_of_lanes(value, mask):
        while mask > 0:
            value += cuda.shfl_xor_sync(ALL, value, mask)
            mask //= 2
        return value

    @device
    def exchanged(shared, at, value):
        tid = uint32(cuda.threadIdx.x)
        lane = uint32(tid % uint32(WARP))
        if lane == 0:
            shared[at + tid // uint32(WARP)] = value
        cuda.syncthreads()  # those of all warps are there before anyone reads them
        return shared[at + lane % uint32(warps)]

    @device
    def largest_here(shared, at, value):
        return largest_of_lanes(value, across)

    @device
    def total_here(shared, at, value):
        return total_of_lanes(value, across)

    @device
    def largest(shared, at, value):
        value = exchanged(shared, at, largest_of_lanes(value, across))
        return largest_of_lanes(value, between)

    @device
    def total(shared, at, value):
        value = exchanged(shared, at, total_of_lanes(value, across))
        return total_of_lanes(value, between)

    return (largest_here, total_here) if shape.lanes <= WARP else (largest, total)


def words(shape: Shape) -> int:
    """Words of shared memory that `numbers_of` uses: three for each warp."""
    return 3 * max(1, shape.threads // WARP)


# --- maximum and sum, mean and variance ----------------------------------------------------------


@cache
def numbers_of(shape: Shape, dtype: Any, form: Form, keep: bool) -> Any:
    """A device function: (a, b) of what is in registers; `count` elements from `first` to `last`.

    With `keep` the registers are left as they are; otherwise they hold what `stored` goes on with:
    exp(element - maximum), element - maximum, element - mean; `a` is then what the mean was off by.

    A mean is rounded, so the elements less the mean do not add up to 0. What they add up to is
    taken out of their squares, and of the elements: rows of one number repeated are then exactly
    0, however large it is.
    """
    lanes, chunks, per = shape.lanes, shape.chunks, shape.per_chunk(itemsize(dtype))
    largest, total = folds(shape)
    warps, lowest = max(1, shape.threads // WARP), dtype(LOWEST[dtype])
    log = form.what == "log_softmax"

    @device
    def softmax(held, shared, lane, first, last, count):
        top = lowest
        for k in range(chunks):
            for e in range(per):
                top = max(top, held[k, e])
        top = largest(shared, 0, top)
        acc = dtype(0)
        for k in range(chunks):
            for e in range(per):
                value = held[k, e] - top
                power = math.exp(value)
                acc += power
                if not keep:
                    held[k, e] = value if log else power
        return top, total(shared, warps, acc)

    @device
    def layer_norm(held, shared, lane, first, last, count):
        acc = dtype(0)
        for k in range(chunks):
            for e in range(per):
                acc += held[k, e]
        mean = total(shared, 0, acc) / dtype(count)
        acc, off = dtype(0), dtype(0)
        for k in range(chunks):
            if uint32(first + (lane + k * lanes) * per) < last:
                for e in range(per):
                    value = held[k, e] - mean
                    acc += value * value
                    off += value
                    if not keep:
                        held[k, e] = value
        acc, off = total(shared, warps, acc), total(shared, 2 * warps, off)
        off /= dtype(count)
        acc -= off * off * dtype(count)
        if acc < dtype(0):  # by rounding; NaN stays NaN
            acc = dtype(0)
        return mean + off if keep else off, acc

    @device
    def rms_norm(held, shared, lane, first, last, count):
        acc = dtype(0)
        for k in range(chunks):
            for e in range(per):
                acc += held[k, e] * held[k, e]
        return dtype(0), total(shared, warps, acc)

    return {"layer_norm": layer_norm, "rms_norm": rms_norm}.get(form.what, softmax)


@cache
def joined_of(shape: Shape, dtype: Any, form: Form, part: int) -> Any:
    """A device function: (a, b) of a row from those of its parts, from `firsts[at]` on.

    Parts have `part` elements, the last one what is left of `length`.
    """
    largest, total = folds(shape)
    warps, lowest = max(1, shape.threads // WARP), dtype(LOWEST[dtype])
    threads = shape.threads

    @device
    def softmax(firsts, seconds, shared, at, parts, length):
        tid = uint32(cuda.threadIdx.x)
        top = lowest
        for k in range(tid, parts, uint32(threads)):
            top = max(top, firsts[at + k])
        top = largest(shared, 0, top)
        acc = dtype(0)
        for k in range(tid, parts, uint32(threads)):
            acc += seconds[at + k] * math.exp(firsts[at + k] - top)
        return top, total(shared, warps, acc)

    @device
    def layer_norm(firsts, seconds, shared, at, parts, length):
        tid = uint32(cuda.threadIdx.x)
        acc, one = dtype(0), firsts[at]
        for k in range(tid, parts, uint32(threads)):
            count = dtype(min(uint32(part), uint32(length - k * uint32(part))))
            acc += (firsts[at + k] - one) * count
        mean = one + total(shared, 0, acc) / dtype(length)
        acc = dtype(0)
        for k in range(tid, parts, uint32(threads)):
            apart = firsts[at + k] - mean
            count = dtype(min(uint32(part), uint32(length - k * uint32(part))))
            acc += seconds[at + k] + apart * apart * count
        return mean, total(shared, warps, acc)

    @device
    def rms_norm(firsts, seconds, shared, at, parts, length):
        tid = uint32(cuda.threadIdx.x)
        acc = dtype(0)
        for k in range(tid, parts, uint32(threads)):
            acc += seconds[at + k]
        return dtype(0), total(shared, warps, acc)

    return {"layer_norm": layer_norm, "rms_norm": rms_norm}.get(form.what, softmax)


# --- results -------------------------------------------------------------------------------------


@cache
def stored(shape: Shape, dtype: Any, form: Form, kept: bool) -> Any:
    """A device function: the results of what is in registers, stored to the row at `start`."""
    lanes, chunks, per = shape.lanes, shape.chunks, shape.per_chunk(itemsize(dtype))
    get, put = accesses(shape.wide, itemsize(dtype))
    weighted, biased, centred = form.weighted, form.biased, form.what == "layer_norm"

    @device
    def softmax(held, out, start, lane, first, last, a, b, length, weight, bias, eps):
        scale = dtype(1) / b
        for k in range(chunks):
            col = uint32(first + (lane + k * lanes) * per)
            for e in range(per):
                if kept:
                    held[k, e] = math.exp(held[k, e] - a)
                held[k, e] *= scale
            if col < last:
                put(out, uint32(start + col), held, k)

    @device
    def log_softmax(held, out, start, lane, first, last, a, b, length, weight, bias, eps):
        shift = math.log(b)
        for k in range(chunks):
            col = uint32(first + (lane + k * lanes) * per)
            for e in range(per):
                if kept:
                    held[k, e] -= a
                held[k, e] -= shift
            if col < last:
                put(out, uint32(start + col), held, k)

    @device
    def norm(held, out, start, lane, first, last, a, b, length, weight, bias, eps):
        scale = dtype(1) / math.sqrt(b / dtype(length) + dtype(eps))
        for k in range(chunks):
            col = uint32(first + (lane + k * lanes) * per)
            if col < last:
                for e in range(per):
                    if centred:
                        held[k, e] -= a
                    held[k, e] *= scale
                if weighted:
                    factors = get(weight, col)
                    for e in range(per):
                        held[k, e] *= factors[e]
                if biased:
                    terms = get(bias, col)
                    for e in range(per):
                        held[k, e] += terms[e]
                put(out, uint32(start + col), held, k)

    return {"softmax": softmax, "log_softmax": log_softmax}.get(form.what, norm)
