"""The tensor product: stages in shared memory, fragments of two steps in registers.

`tensor_product_of(cut, kind, ...)` makes the kernel `(out, a, b, alpha, beta)` that computes
out = alpha * a @ b + beta * out by mma of float16, bfloat16 or tf32 with sums in float32. Operands
come as words of 4 bytes (uint32), rows as they lie: a.T in place of a that lies by columns. Rows
begin at multiples of 16 bytes and hold whole chunks of 16 bytes. `out` is float32, or uint16 with
the bits of float16 or bfloat16; it is not read where beta is 0.

What a block does:

1. Send the copies of the first `stages - 1` steps, a group each, and wait for the first.
2. At each step: send the copies of the step that is `stages - 1` ahead, into the stage that was
   read last; multiply the step at hand, while the fragments of the next 32 bytes of the depth are
   read. Before the last mma of a step, wait for the copies of the next one and meet: one barrier
   a step, at which all have read what is overwritten next.
3. Store the results (`ending`).

A copy of what lies outside of the operands brings zeros, so every shape takes this way, and copies
ahead of the last step bring zeros too, which nobody reads: the number of groups under way is the
same at every wait.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx.asynchronous import close_group, groups_awaited
from ...unrolled import device, jit, named, smaller, unroll
from ..tensor_cut import KINDS, MMA_COLS, MMA_ROWS, WARP, TensorCut
from .copies import copies_of, lines_of
from .ending import ending_of
from .fragments import multiplied_of, reads_of
from .tile_place import tile_place_of


@cache
def tensor_product_of(
    cut: TensorCut,
    kind: str,
    a_columns: bool = False,
    b_columns: bool = False,
    result: str = "float32",
    wide: bool = True,
    many: str = "",
    name: str = "tensor_product",
) -> Any:
    """The kernel for a cut.

    Launched with a grid of (tiles, 1), and with `cut.shared_bytes` of shared memory.

    Args:
        cut: the choices.
        kind: "f16", "bf16" or "tf32", whose operands are float32.
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        result: "float32", or `kind` for an `out` of 16 bits.
        wide: rows of `out` begin at multiples of 16 bytes and hold whole chunks.
        many: "batch" for arrays whose first axis counts matrices, along the grid's z; "parts" for
            an `out` of which matrix z is the product of part z of the depth; "" for neither.
        name: of the kernel.
    """
    of = KINDS[kind]
    a_lines = lines_of(cut, of, cut.rows, not a_columns)
    b_lines = lines_of(cut, of, cut.cols, b_columns)
    left, right = copies_of(cut, of, a_lines, cut.rows), copies_of(cut, of, b_lines, cut.cols)
    a_reads = reads_of(cut, of, a_lines, left=True)
    b_reads = reads_of(cut, of, b_lines, left=False)
    multiply = _main_loop(cut, of, left, right, a_reads, b_reads)
    finish = ending_of(cut, result, wide)
    place, per_word = tile_place_of(cut), of.per_word
    down, across = cut.warp_rows // MMA_ROWS, cut.warp_cols // MMA_COLS
    a_along, warps_across = not a_columns, cut.cols // cut.warp_cols
    warp_rows, warp_cols, deep = cut.warp_rows, cut.warp_cols, cut.depth * per_word

    @device
    def product(out, a, b, alpha, beta, part, parts):
        acc = cuda.local.array((down, across, 4), float32)
        row, col = place(out, uint32(cuda.blockIdx.x))
        if a_along:
            k_size = uint32(a.shape[1] * per_word)
        else:
            k_size = uint32(a.shape[0])
        steps = uint32(uint32(k_size + uint32(deep - 1)) // uint32(deep))
        each = uint32(uint32(steps + parts - uint32(1)) // parts)
        first = smaller(uint32(part * each), steps)
        behind = smaller(uint32(first + each), steps)
        k_behind = smaller(uint32(behind * uint32(deep)), k_size)
        ends = uint32(first * uint32(deep)), k_behind, uint32(behind - first)
        multiply(a, b, acc, row, col, ends)

        warp = uint32(cuda.threadIdx.x // WARP)
        row = uint32(row + uint32(warp // uint32(warps_across)) * uint32(warp_rows))
        col = uint32(col + uint32(warp % uint32(warps_across)) * uint32(warp_cols))
        finish(out, acc, row, col, float32(alpha), float32(beta), uint32(0))

    if many == "batch":

        @jit(launch_bounds=(cut.threads, cut.resident))
        def product_of_batch(out, a, b, alpha, beta):
            one = cuda.blockIdx.z
            product(out[one], a[one], b[one], alpha, beta, uint32(0), uint32(1))

        return named(product_of_batch, name)

    if many == "parts":

        @jit(launch_bounds=(cut.threads, cut.resident))
        def product_in_parts(out, a, b, alpha, beta):
            part, parts = uint32(cuda.blockIdx.z), uint32(cuda.gridDim.z)
            product(out[cuda.blockIdx.z], a, b, alpha, beta, part, parts)

        return named(product_in_parts, name)

    @jit(launch_bounds=(cut.threads, cut.resident))
    def product_of_two(out, a, b, alpha, beta):
        product(out, a, b, alpha, beta, uint32(0), uint32(1))

    return named(product_of_two, name)


def _main_loop(cut: TensorCut, of: Any, left: Any, right: Any, a_reads: Any, b_reads: Any) -> Any:
    """The product of a part of the depth, in `acc`."""
    stages, stage_words, b_begin = cut.stages, cut.stage_words, cut.rows * cut.depth
    all_words, pending = cut.stages * cut.stage_words, cut.stages - 2
    down, across = cut.warp_rows // MMA_ROWS, cut.warp_cols // MMA_COLS
    warps_across, warp_rows, warp_cols = cut.cols // cut.warp_cols, cut.warp_rows, cut.warp_cols
    a_begin_of, a_send, a_on = left
    b_begin_of, b_send, b_on = right
    a_count, a_place, a_read = a_reads
    b_count, b_place, b_read = b_reads
    last, awaited, multiplied = cut.steps - 1, groups_awaited(pending), multiplied_of(cut, of)
    all_awaited = groups_awaited(0)

    @device
    def step(k, a, b, tiles, acc, parts, places, at, ahead, pitches, a_state, b_state):
        a_read(k + 1, tiles, at, places[0], parts[0])
        b_read(k + 1, tiles, uint32(at + uint32(b_begin)), places[1], parts[1])
        if k == 0:
            a_send(a, tiles, ahead, pitches[0], a_state)
            b_send(b, tiles, uint32(ahead + uint32(b_begin)), pitches[1], b_state)
            close_group()
        multiplied(k % 2, acc, parts[0], parts[1])

    steps = unroll(last, step)

    @device
    def multiply(a, b, acc, row, col, ends):
        tiles = cuda.shared.array(0, uint32, alignment=128)
        a_part = cuda.local.array((2, down, 4), uint32)
        b_part = cuda.local.array((2, across, 2), uint32)
        a_places = cuda.local.array(a_count, uint32)
        b_places = cuda.local.array(b_count, uint32)
        k_first, k_behind, count = ends

        # 1. the copies of the first steps
        pitches = uint32(a.strides[0] // 4), uint32(b.strides[0] // 4)
        a_state = a_begin_of(a, row, k_first, k_behind)
        b_state = b_begin_of(b, col, k_first, k_behind)
        for stage in range(stages - 1):
            begin = uint32(stage * stage_words)
            a_send(a, tiles, begin, pitches[0], a_state)
            b_send(b, tiles, uint32(begin + uint32(b_begin)), pitches[1], b_state)
            close_group()
            a_state = a_on(pitches[0], a_state)
            b_state = b_on(pitches[1], b_state)
        for i in range(down):
            for j in range(across):
                for which in range(4):
                    acc[i, j, which] = float32(0)
        warp = uint32(cuda.threadIdx.x // WARP)
        a_place(a_places, uint32(uint32(warp // uint32(warps_across)) * uint32(warp_rows)))
        b_place(b_places, uint32(uint32(warp % uint32(warps_across)) * uint32(warp_cols)))
        parts, places = (a_part, b_part), (a_places, b_places)
        awaited()
        cuda.syncthreads()  # what all threads copied of the first step is there

        # 2. step by step
        a_read(0, tiles, uint32(0), a_places, a_part)
        b_read(0, tiles, uint32(b_begin), b_places, b_part)
        at, ahead = uint32(0), uint32((stages - 1) * stage_words)
        while count > uint32(0):
            count = uint32(count - uint32(1))
            steps((a, b, tiles, acc, parts, places, at, ahead, pitches, a_state, b_state))
            a_state = a_on(pitches[0], a_state)
            b_state = b_on(pitches[1], b_state)
            ahead = at
            at = uint32(at + uint32(stage_words))
            if at == uint32(all_words):
                at = uint32(0)
            awaited()
            cuda.syncthreads()  # the next step is there, and everyone has read this one
            a_read(0, tiles, at, a_places, a_part)
            b_read(0, tiles, uint32(at + uint32(b_begin)), b_places, b_part)
            multiplied(last % 2, acc, a_part, b_part)
        all_awaited()
        cuda.syncthreads()  # no copy is under way, and no tile is read any more

    return multiply
