"""The tensor product by blocks that stay: they take tile after tile, and their copies run ahead.

`lasting_product_of(cut, kind, ...)` makes the kernel `(out, a, b, alpha, beta)` that computes what
`staged.tensor_product_of` computes, launched with at most as many blocks as the GPU holds at once.
Two things differ:

- Copies do not end with a tile. While a block stores the results of one tile, the first steps of
  its next tile are on their way.
- There is no barrier of the block in the main loop. A warp says that it is ready by arriving at an
  mbarrier early in a step, and asks at the end of the step whether all warps were: by then they
  usually are, and nobody waits.

What a block does at step t of all its steps, over all its tiles:

1. Every thread says to the mbarrier that it has read step t - 1, and that it arrives when its
   copies of step t + 1 have (`cp.async.mbarrier.arrive`); it does not wait.
2. Send the copies of step t + `stages - 2`, of this tile or the next one.
3. Multiply; fragments are read 32 bytes of the depth ahead.
4. Before the last mma, wait until all threads have arrived, and read the first fragments of
   step t + 1.

The stage that is overwritten was read in step t - 2, which every thread has left, as each arrived
in step t - 1. So one stage more than the copies need is in shared memory; after the last step of a
tile it holds the results on their way out.

**Limits**: on an H200 it is 1 % faster than `staged` (`TUNING.md`), so `matmul` does not take it;
`smemnb bench tensor --cuts` times it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, uint32, uint64

from ...ptx.asynchronous import close_group, groups_awaited
from ...ptx.mbarriers import mbarrier_arrive_after_copies, mbarrier_init, mbarrier_tried
from ...unrolled import device, jit, named, unroll
from ..tensor_cut import KINDS, MMA_COLS, MMA_ROWS, WARP, TensorCut
from .copies import copies_of, lines_of
from .ending import ending_of
from .fragments import multiplied_of, reads_of
from .tile_place import tile_place_of


@cache
def lasting_product_of(
    cut: TensorCut,
    kind: str,
    a_columns: bool = False,
    b_columns: bool = False,
    result: str = "float32",
    wide: bool = True,
    name: str = "tensor_product_lasting",
) -> Any:
    """The kernel for a cut of 3 stages or more; the arguments are those of `tensor_product_of`.

    Launched with a grid of (blocks, 1), at most one for each tile, and with `cut.shared_bytes` of
    shared memory.
    """
    of = KINDS[kind]
    a_lines = lines_of(cut, of, cut.rows, not a_columns)
    b_lines = lines_of(cut, of, cut.cols, b_columns)
    a_begin, a_send, a_on = copies_of(cut, of, a_lines, cut.rows)
    b_begin, b_send, b_on = copies_of(cut, of, b_lines, cut.cols)
    a_count, a_place, a_read = reads_of(cut, of, a_lines, left=True)
    b_count, b_place, b_read = reads_of(cut, of, b_lines, left=False)
    place, finish = tile_place_of(cut), ending_of(cut, result, wide)
    per_word, a_along = of.per_word, not a_columns
    down, across = cut.warp_rows // MMA_ROWS, cut.warp_cols // MMA_COLS
    rows, cols, deep = cut.rows, cut.cols, cut.depth * per_word
    threads, warps_across = cut.threads, cut.cols // cut.warp_cols
    warp_rows, warp_cols = cut.warp_rows, cut.warp_cols
    stage_words, b_tile = cut.stage_words, cut.rows * cut.depth
    all_words, ahead_by, last = cut.stages * cut.stage_words, cut.stages - 2, cut.steps - 1
    awaited, all_awaited = groups_awaited(ahead_by - 1), groups_awaited(0)
    multiplied = multiplied_of(cut, of)

    @device
    def moved(a, b, out, tile, tiles, k_size, states):
        """The state of the copies before their next step, which may be of the next tile."""
        a_state, b_state, left, copied = states
        a_state = a_on(uint32(a.strides[0] // 4), a_state)
        b_state = b_on(uint32(b.strides[0] // 4), b_state)
        left = uint32(left - uint32(1))
        if left == uint32(0):
            copied = uint32(copied + uint32(cuda.gridDim.x))
            left = uint32(uint32(k_size + uint32(deep - 1)) // uint32(deep))
            if copied < tiles:
                row, col = place(out, copied)
                a_state = a_begin(a, row, uint32(0), k_size)
                b_state = b_begin(b, col, uint32(0), k_size)
            else:  # nothing more: the copies bring zeros, which nobody reads
                a_state = a_state[0], a_state[1], int32(0), int32(0)
                b_state = b_state[0], b_state[1], int32(0), int32(0)
        return a_state, b_state, left, copied

    @device
    def send(a, b, tiles, stage, states):
        a_send(a, tiles, stage, uint32(a.strides[0] // 4), states[0])
        b_send(b, tiles, uint32(stage + uint32(b_tile)), uint32(b.strides[0] // 4), states[1])
        close_group()

    @device
    def step(k, a, b, tiles, acc, parts, places, at, ahead, states, passed):
        a_read(k + 1, tiles, at, places[0], parts[0])
        b_read(k + 1, tiles, uint32(at + uint32(b_tile)), places[1], parts[1])
        if k == 0:
            mbarrier_arrive_after_copies(passed, 0)
            send(a, b, tiles, ahead, states)
        multiplied(k % 2, acc, parts[0], parts[1])

    steps = unroll(last, step)

    @jit(launch_bounds=(cut.threads, cut.resident))
    def product_of_tiles(out, a, b, alpha, beta):
        tiles = cuda.shared.array(0, uint32, alignment=128)
        passed = cuda.shared.array(1, uint64)
        acc = cuda.local.array((down, across, 4), float32)
        a_part = cuda.local.array((2, down, 4), uint32)
        b_part = cuda.local.array((2, across, 2), uint32)
        a_places = cuda.local.array(a_count, uint32)
        b_places = cuda.local.array(b_count, uint32)
        if cuda.threadIdx.x == 0:
            mbarrier_init(passed, 0, threads)
        high = uint32(uint32(out.shape[0] + (rows - 1)) // uint32(rows))
        many = uint32(high * uint32(uint32(out.shape[1] + (cols - 1)) // uint32(cols)))
        if a_along:
            k_size = uint32(a.shape[1] * per_word)
        else:
            k_size = uint32(a.shape[0])
        count = uint32(uint32(k_size + uint32(deep - 1)) // uint32(deep))
        warp = uint32(cuda.threadIdx.x // WARP)
        down_by = uint32(uint32(warp // uint32(warps_across)) * uint32(warp_rows))
        across_by = uint32(uint32(warp % uint32(warps_across)) * uint32(warp_cols))
        a_place(a_places, down_by)
        b_place(b_places, across_by)
        parts, places = (a_part, b_part), (a_places, b_places)

        # the copies of the first steps
        tile = uint32(cuda.blockIdx.x)
        row, col = place(out, tile)
        a_state = a_begin(a, row, uint32(0), k_size)
        b_state = b_begin(b, col, uint32(0), k_size)
        states = a_state, b_state, count, tile
        for stage in range(ahead_by):
            send(a, b, tiles, uint32(stage * stage_words), states)
            states = moved(a, b, out, tile, many, k_size, states)
        awaited()
        cuda.syncthreads()  # what all threads copied of the first step is there
        a_read(0, tiles, uint32(0), a_places, a_part)
        b_read(0, tiles, uint32(b_tile), b_places, b_part)
        at, ahead, parity = uint32(0), uint32(ahead_by * stage_words), uint32(0)

        while tile < many:
            for i in range(down):
                for j in range(across):
                    for which in range(4):
                        acc[i, j, which] = float32(0)
            to_do = count
            while to_do > uint32(0):
                to_do = uint32(to_do - uint32(1))
                steps((a, b, tiles, acc, parts, places, at, ahead, states, passed))
                states = moved(a, b, out, tile, many, k_size, states)
                ahead = uint32(ahead + uint32(stage_words))
                if ahead == uint32(all_words):
                    ahead = uint32(0)
                at = uint32(at + uint32(stage_words))
                if at == uint32(all_words):
                    at = uint32(0)
                while not mbarrier_tried(passed, 0, parity):
                    pass
                parity = uint32(parity ^ uint32(1))
                a_read(0, tiles, at, a_places, a_part)
                b_read(0, tiles, uint32(at + uint32(b_tile)), b_places, b_part)
                multiplied(last % 2, acc, a_part, b_part)
            row, col = place(out, tile)
            row, col = uint32(row + down_by), uint32(col + across_by)
            finish(out, acc, row, col, float32(alpha), float32(beta), ahead)
            cuda.syncthreads()  # all results are out before that stage takes copies again
            tile = uint32(tile + uint32(cuda.gridDim.x))
        all_awaited()

    return named(product_of_tiles, name)
