"""Long rows in parts: several blocks have a row, and learn from each other its maximum and sum.

`trailing_parts_of(form, shape, dtype)` makes the kernel, `(out, inp, weight, bias, firsts, seconds,
flags, parts, behind, eps)`. A block leaves the two numbers of its part in memory, and then ends the
same part of the row `behind` rows before, as soon as all parts of that row have left theirs. It
reads that part once more, mostly from the L2 cache.

A block's number comes from a counter, so all blocks with smaller numbers have begun. These are the
only ones that it waits for, and they leave their numbers before they wait for anybody. So a launch
ends however few of its blocks a GPU holds, and however many launches run beside it.

`firsts` and `seconds` have one element for each part, `flags` two uint32 for each row and one
before them, all 0, which are 0 again at the end.

**Limits**: flat offsets are 32 bits without a sign. What lies between the two readings of a row,
`behind` rows read and written, has to fit into the L2 cache, or the second one goes to memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...unrolled import jit, named
from .pieces import Form, Shape, fetched, itemsize, joined_of, numbers_of, stored, words


@cache
def trailing_parts_of(form: Form, shape: Shape, dtype: Any) -> Any:
    """The kernel. Grid: `parts` blocks for each row and for `behind` more, along one axis."""
    threads, chunks, size = shape.threads, shape.chunks, itemsize(dtype)
    per, part, shared_words = shape.per_chunk(size), shape.most(size), words(shape)
    fetch, store = fetched(shape, dtype, form), stored(shape, dtype, form, True)
    numbers, joined = numbers_of(shape, dtype, form, True), joined_of(shape, dtype, form, part)

    @jit(launch_bounds=(threads, shape.resident))
    def rows_in_trailing_parts(out, inp, weight, bias, firsts, seconds, flags, parts, behind, eps):
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
        if row < inp.shape[0]:
            count = min(uint32(part), uint32(length - first))
            fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), tid, first, length)
            a, b = numbers(held, shared, tid, first, length, count)
            if tid == 0:
                firsts[block] = a
                seconds[block] = b
                cuda.threadfence()  # both are in memory before the block counts as arrived
                cuda.atomic.add(flags, uint32(1 + 2 * row), uint32(1))
        if row >= behind:
            row -= uint32(behind)
            arrived, left = uint32(1 + 2 * row), uint32(2 + 2 * row)
            if tid == 0:
                while cuda.atomic.add(flags, arrived, uint32(0)) != parts:
                    pass
            cuda.syncthreads()  # all parts are there before anyone reads them
            cuda.threadfence()
            if tid == 0:  # whoever leaves last puts both words back to 0
                if cuda.atomic.inc(flags, left, uint32(parts - uint32(1))) == parts - uint32(1):
                    cuda.atomic.exch(flags, arrived, uint32(0))
            a, b = joined(firsts, seconds, shared, uint32(row * parts), parts, length)
            # only now, or the part in registers and what `joined` needs were too many
            fetch(held, inp, uint32(row * uint32(inp.strides[0] // size)), tid, first, length)
            start = uint32(row * uint32(out.strides[0] // size))
            store(held, out, start, tid, first, length, a, b, length, weight, bias, eps)

    return named(rows_in_trailing_parts, f"{form.what}_in_trailing_parts")
