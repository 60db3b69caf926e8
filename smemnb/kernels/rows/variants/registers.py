"""Rows in registers: of a few lanes, of a warp, or of a block; each is read once and written once.

`rows_of(form, shape, dtype)` makes the kernel `(out, inp, weight, bias, eps)`. A block has
`shape.rows` rows of at most `shape.most(itemsize)` elements.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...unrolled import jit, named
from .pieces import WARP, Form, Shape, fetched, itemsize, numbers_of, stored, words


@cache
def rows_of(form: Form, shape: Shape, dtype: Any) -> Any:
    """The kernel of an operation for a shape and a dtype.

    Launched with one block of `shape.threads` for `shape.rows` rows.
    """
    threads, lanes, chunks, size = shape.threads, shape.lanes, shape.chunks, itemsize(dtype)
    per, rows, shared_words = shape.per_chunk(size), shape.rows, words(shape)
    between_warps = lanes > WARP
    fetch, store = fetched(shape, dtype, form), stored(shape, dtype, form, False)
    numbers = numbers_of(shape, dtype, form, False)

    @jit(launch_bounds=(threads, shape.resident))
    def rows_in_registers(out, inp, weight, bias, eps):
        held = cuda.local.array((chunks, per), dtype)
        shared = held  # a warp exchanges by shuffles alone
        if between_warps:
            shared = cuda.shared.array(shared_words, dtype)
        tid, length = uint32(cuda.threadIdx.x), uint32(inp.shape[1])
        lane = uint32(tid % uint32(lanes))
        row = uint32(cuda.blockIdx.x * rows + tid // uint32(lanes))
        last = length if row < inp.shape[0] else uint32(0)  # beyond the last row nothing is read
        first = uint32(0)
        fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), lane, first, last)
        a, b = numbers(held, shared, lane, first, last, length)
        start = uint32(row * uint32(out.strides[0] // size))
        store(held, out, start, lane, first, last, a, b, length, weight, bias, eps)

    return named(rows_in_registers, f"{form.what}_in_registers")
