"""Long rows in parts: several blocks have a row, and learn from each other its maximum and sum.

`joined_parts_of(form, shape, dtype)` makes one kernel, `(out, inp, weight, bias, firsts, seconds,
flags, parts, eps)`: a block keeps its part in registers and waits until all blocks of its row have
left their two numbers in memory. A block's number comes from a counter, so blocks with smaller
numbers have begun, and those of one row are at once on the GPU if it holds `parts` blocks.

`split_parts_of(form, shape, dtype)` makes two: `(firsts, seconds, inp, parts)`, then `(out, inp,
weight, bias, firsts, seconds, parts, eps)`, which reads its part again, from the end on: what the
first launch read last is still in the L2 cache.

`firsts` and `seconds` have one element for each block, `flags` two uint32 for each row and one
before them, all 0, which are 0 again at the end.

**Limits**: flat offsets are 32 bits without a sign. Blocks that wait hold their place. A launch
has at most `parts - 1` of them that wait for a block that has not begun, so launches on several
streams at once must not have as many in all as the GPU holds (`choosing.QUEUES`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...unrolled import jit, named
from .pieces import Form, Shape, fetched, itemsize, joined_of, numbers_of, stored, words


@cache
def joined_parts_of(form: Form, shape: Shape, dtype: Any) -> Any:
    """The kernel of one launch. Grid: `parts` blocks for each row, along one axis."""
    threads, chunks, size = shape.threads, shape.chunks, itemsize(dtype)
    per, part, shared_words = shape.per_chunk(size), shape.most(size), words(shape)
    fetch, store = fetched(shape, dtype, form), stored(shape, dtype, form, True)
    numbers, joined = numbers_of(shape, dtype, form, True), joined_of(shape, dtype, form, part)

    @jit(launch_bounds=(threads, shape.resident))
    def rows_in_joined_parts(out, inp, weight, bias, firsts, seconds, flags, parts, eps):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(shared_words, dtype)
        number = cuda.shared.array(1, uint32)
        tid, length, parts = uint32(cuda.threadIdx.x), uint32(inp.shape[1]), uint32(parts)
        if tid == 0:
            number[0] = cuda.atomic.inc(flags, 0, uint32(cuda.gridDim.x - uint32(1)))
        cuda.syncthreads()  # the number is there before anyone reads it
        block = number[0]
        row = uint32(block // parts)
        first = uint32((block % parts) * part)
        count = min(uint32(part), uint32(length - first))
        fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), tid, first, length)
        a, b = numbers(held, shared, tid, first, length, count)

        arrived, left = uint32(1 + 2 * row), uint32(2 + 2 * row)
        if tid == 0:
            firsts[block] = a
            seconds[block] = b
            cuda.threadfence()  # both are in memory before the block counts as arrived
            cuda.atomic.add(flags, arrived, uint32(1))
            while cuda.atomic.add(flags, arrived, uint32(0)) != parts:
                pass
        cuda.syncthreads()  # all parts are there before anyone reads them
        cuda.threadfence()
        a, b = joined(firsts, seconds, shared, uint32(row * parts), parts, length)
        if tid == 0:  # whoever leaves last puts both words back to 0
            if cuda.atomic.inc(flags, left, uint32(parts - uint32(1))) == parts - uint32(1):
                cuda.atomic.exch(flags, arrived, uint32(0))
        start = uint32(row * uint32(out.strides[0] // size))
        store(held, out, start, tid, first, length, a, b, length, weight, bias, eps)

    return named(rows_in_joined_parts, f"{form.what}_in_joined_parts")


@cache
def split_parts_of(form: Form, shape: Shape, dtype: Any) -> tuple[Any, Any]:
    """The kernels of two launches. Grid of both: `parts` blocks for each row, along one axis."""
    threads, chunks, size = shape.threads, shape.chunks, itemsize(dtype)
    per, part, shared_words = shape.per_chunk(size), shape.most(size), words(shape)
    fetch, store = fetched(shape, dtype, form), stored(shape, dtype, form, True)
    numbers, joined = numbers_of(shape, dtype, form, True), joined_of(shape, dtype, form, part)

    @jit(launch_bounds=(threads, shape.resident))
    def numbers_of_parts(firsts, seconds, inp, parts):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(shared_words, dtype)
        tid, length, parts = uint32(cuda.threadIdx.x), uint32(inp.shape[1]), uint32(parts)
        block = uint32(cuda.blockIdx.x)
        row = uint32(block // parts)
        first = uint32((block % parts) * part)
        count = min(uint32(part), uint32(length - first))
        fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), tid, first, length)
        a, b = numbers(held, shared, tid, first, length, count)
        if tid == 0:
            firsts[block] = a
            seconds[block] = b

    @jit(launch_bounds=(threads, shape.resident))
    def rows_from_parts(out, inp, weight, bias, firsts, seconds, parts, eps):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(shared_words, dtype)
        tid, length, parts = uint32(cuda.threadIdx.x), uint32(inp.shape[1]), uint32(parts)
        block = uint32(cuda.gridDim.x - uint32(1) - cuda.blockIdx.x)
        row = uint32(block // parts)
        first = uint32((block % parts) * part)
        fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), tid, first, length)
        a, b = joined(firsts, seconds, shared, uint32(row * parts), parts, length)
        start = uint32(row * uint32(out.strides[0] // size))
        store(held, out, start, tid, first, length, a, b, length, weight, bias, eps)

    return (
        named(numbers_of_parts, f"{form.what}_numbers_of_parts"),
        named(rows_from_parts, f"{form.what}_from_parts"),
    )
