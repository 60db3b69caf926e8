"""Asynchronous copies: what is read, stored or overwritten while they are under way."""

from numba import cuda, float32, int32, uint32

from smemnb.kernels.ptx import load1, load16
from smemnb.kernels.ptx.asynchronous import (
    await_copies,
    close_group,
    copy4,
    copy8,
    copy16,
    groups_awaited,
)
from tests.corpus.pairs import buggy, clean, floats, ints, vectors, zeros

N = 64
WIDE = 256
STAGES = 3
ROUNDS = 6
all_arrived = groups_awaited(0)
but_one = groups_awaited(1)
but_two = groups_awaited(2)

# reading before arrival


@buggy("read_before_arrival", 128, 2, N, args=vectors(128))  # each of 64 elements, 2 blocks
def doubled(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)  # (1)
    close_group()
    out[i] = tile[tx] * float32(2)  # (2)
    all_arrived()


@clean
def doubled_after_a_wait(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)
    close_group()
    all_arrived()
    out[i] = tile[tx] * float32(2)


@buggy("read_before_arrival", 128, 2, N, args=vectors(128))  # each is read by another thread
def mirrored(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)  # (1)
    close_group()
    cuda.syncthreads()  # before the wait it tells nobody anything
    all_arrived()
    out[i] = tile[N - 1 - tx]  # (2)


@clean
def mirrored_after_a_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[i] = tile[N - 1 - tx]


@buggy("read_before_arrival", 512, 1, 128, args=lambda: (zeros(128), floats(512)))
def sums_of_quads(out, inp):  # all quads of 4 warps are read by the lanes that sent them
    tile = cuda.shared.array(512, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    copy16(tile, tx * uint32(4), inp, tx * uint32(4), True)  # (1)
    cuda.syncthreads()
    a, b, c, d = load16(tile, tx * uint32(4))  # (2)
    out[tx] = a + b + c + d
    await_copies()


@clean
def sums_of_quads_that_came(out, inp):
    tile = cuda.shared.array(512, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    copy16(tile, tx * uint32(4), inp, tx * uint32(4), True)
    await_copies()
    cuda.syncthreads()
    a, b, c, d = load16(tile, tx * uint32(4))
    out[tx] = a + b + c + d


# a missing commit


@buggy("missing_commit", 64, 1, N, args=vectors(64))
def shifted(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, inp, tx, True)  # (1)
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[(tx + 1) % N]  # (2)


@clean
def shifted_by_a_group(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, inp, tx, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[(tx + 1) % N]


@buggy("missing_commit", 32, 1, 32, args=lambda: (zeros(32), floats(32 * ROUNDS)))
def summed_by_rounds(out, inp):  # the copies of the first round are closed, the others never
    tile = cuda.shared.array((2, 32), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    copy4(tile, tx, inp, tx, True)
    close_group()
    for i in range(ROUNDS):
        all_arrived()
        cuda.syncwarp()
        acc += tile[i % 2, tx ^ 1]  # (2)
        cuda.syncwarp()
        if i == 0:
            copy4(tile, 32 + tx, inp, 32 + tx, True)  # (1)
    out[tx] = acc


@clean
def summed_by_closed_rounds(out, inp):
    tile = cuda.shared.array((2, 32), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    copy4(tile, tx, inp, tx, True)
    close_group()
    for i in range(ROUNDS):
        all_arrived()
        cuda.syncwarp()
        acc += tile[i % 2, tx ^ 1]
        cuda.syncwarp()
        if i == 0:
            copy4(tile, 32 + tx, inp, 32 + tx, True)
        close_group()
    out[tx] = acc


@buggy("missing_commit", 128, 2, N, args=lambda: (ints(128), ints(128)))
def sent_for_nothing(out, inp):
    tile = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)  # (1)
    out[i] = inp[i]


@clean
def sent_and_closed(out, inp):
    tile = cuda.shared.array(N, int32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)
    close_group()
    out[i] = inp[i]


# a wait for the wrong group


@buggy("wrong_group", 64, 1, N, args=lambda: (zeros(N), floats(N * ROUNDS)))
def tail_of_three(out, inp):  # one stage is read in the last round with its group pending
    stages = cuda.shared.array((STAGES, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    for i in range(ROUNDS):
        but_one()
        cuda.syncthreads()
        acc += stages[i % STAGES, N - 1 - tx]  # (2)
        if i + STAGES - 1 < ROUNDS:
            to = (i + STAGES - 1) % STAGES
            copy4(stages, to * N + tx, inp, (i + STAGES - 1) * N + tx, True)  # (1)
            close_group()
    out[tx] = acc


@clean
def tail_of_three_closed(out, inp):
    stages = cuda.shared.array((STAGES, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    for i in range(ROUNDS):
        but_one()
        cuda.syncthreads()
        acc += stages[i % STAGES, N - 1 - tx]
        if i + STAGES - 1 < ROUNDS:
            to = (i + STAGES - 1) % STAGES
            copy4(stages, to * N + tx, inp, (i + STAGES - 1) * N + tx, True)
        close_group()  # in every round
    out[tx] = acc


@buggy("wrong_group", 128, 2, N, args=lambda: (zeros(128), floats(256), floats(256)))
def two_operands(out, a, b):  # the group of b: each of two loads reads 64 elements of 2 blocks
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy8(tile, 2 * tx, a, 2 * i, True)
    close_group()
    copy8(tile, 128 + 2 * tx, b, 2 * i, True)  # (1)
    close_group()
    but_one()
    out[i] = tile[2 * tx] * load1(tile, 128 + 2 * tx) + tile[2 * tx + 1] * tile[129 + 2 * tx]  # (2)


@clean
def two_operands_awaited(out, a, b):
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy8(tile, 2 * tx, a, 2 * i, True)
    close_group()
    copy8(tile, 128 + 2 * tx, b, 2 * i, True)
    close_group()
    all_arrived()
    out[i] = tile[2 * tx] * load1(tile, 128 + 2 * tx) + tile[2 * tx + 1] * tile[129 + 2 * tx]


@buggy("wrong_group", 64, 1, N, args=lambda: (zeros(N), floats(N * ROUNDS)))
def one_group_too_many(out, inp):  # with three groups sent ahead, the wait may leave two
    stages = cuda.shared.array((4, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(2):
        copy4(stages, s * N + tx, inp, s * N + tx, True)  # (1)
        close_group()
    but_two()
    cuda.syncthreads()
    acc += stages[0, N - 1 - tx]  # (2)
    all_arrived()
    cuda.syncthreads()
    out[tx] = acc + stages[1, N - 1 - tx]


@clean
def as_many_as_come_after(out, inp):
    stages = cuda.shared.array((4, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(2):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    but_one()
    cuda.syncthreads()
    acc += stages[0, N - 1 - tx]
    all_arrived()
    cuda.syncthreads()
    out[tx] = acc + stages[1, N - 1 - tx]


# a stage overwritten while it is read


@buggy("overwritten_stage", 64, 1, N, args=lambda: (zeros(N), floats(N * ROUNDS)))
def one_stage(out, inp):  # nobody waits for the readers of the only stage
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for i in range(ROUNDS):
        copy4(tile, tx, inp, i * N + tx, True)  # (1)
        close_group()
        all_arrived()
        cuda.syncthreads()
        acc += tile[N - 1 - tx]  # (2)
    out[tx] = acc


@clean
def one_stage_with_both_barriers(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for i in range(ROUNDS):
        copy4(tile, tx, inp, i * N + tx, True)
        close_group()
        all_arrived()
        cuda.syncthreads()
        acc += tile[N - 1 - tx]
        cuda.syncthreads()
    out[tx] = acc


@buggy("overwritten_stage", 192, 1, N, args=lambda: (zeros(N), floats(N * ROUNDS)))
def sent_before_the_barrier(out, inp):  # all three stages, each read a round before
    stages = cuda.shared.array((STAGES, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    for i in range(ROUNDS):
        j = i + STAGES - 1
        copy4(stages, j % STAGES * N + tx, inp, j * N + tx, j < ROUNDS)  # (1)
        close_group()
        but_two()
        cuda.syncthreads()
        acc += stages[i % STAGES, N - 1 - tx]  # (2)
    out[tx] = acc


@clean
def sent_behind_the_barrier(out, inp):
    stages = cuda.shared.array((STAGES, N), float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * N + tx, inp, s * N + tx, True)
        close_group()
    for i in range(ROUNDS):
        but_one()
        cuda.syncthreads()
        j = i + STAGES - 1
        copy4(stages, j % STAGES * N + tx, inp, j * N + tx, j < ROUNDS)
        close_group()
        acc += stages[i % STAGES, N - 1 - tx]
    out[tx] = acc


@buggy("overwritten_stage", 32, 1, 32, args=lambda: (zeros(32), floats(64)))
def turned_in_one_warp(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, inp, tx, True)
    await_copies()
    cuda.syncwarp()
    first = tile[tx ^ 1]  # (1)
    copy4(tile, tx, inp, 32 + tx, True)  # (2)
    await_copies()
    cuda.syncwarp()
    out[tx] = first + tile[tx ^ 2]


@clean
def turned_in_one_warp_in_turn(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, inp, tx, True)
    await_copies()
    cuda.syncwarp()
    first = tile[tx ^ 1]
    cuda.syncwarp()
    copy4(tile, tx, inp, 32 + tx, True)
    await_copies()
    cuda.syncwarp()
    out[tx] = first + tile[tx ^ 2]


# a store into an element whose copy is under way


@buggy("store_under_way", 128, 2, N, args=vectors(128))
def bias_too_early(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)  # (1)
    close_group()
    tile[tx] = float32(1)  # (2)
    all_arrived()
    cuda.syncthreads()
    out[i] = tile[N - 1 - tx]


@clean
def bias_in_time(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)
    close_group()
    all_arrived()
    tile[tx] = float32(1)
    cuda.syncthreads()
    out[i] = tile[N - 1 - tx]


@buggy("store_under_way", 32, 1, N, args=vectors(N))  # the upper half, by the other warp
def zeroed_by_others(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[32 + tx] = float32(0)  # (1)
    copy4(tile, tx, inp, tx, True)  # (2)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[N - 1 - tx]


@clean
def zeroed_before_a_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[32 + tx] = float32(0)
    cuda.syncthreads()
    copy4(tile, tx, inp, tx, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[N - 1 - tx]


@buggy("store_under_way", 256, 1, N, args=lambda: (zeros(N), floats(512)))
def copied_twice(out, inp):  # the second copy of each thread goes where its first one is going
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    for i in range(2):
        copy16(tile, 4 * tx, inp, 4 * tx + WIDE * i, True)  # (1) (2)
        close_group()
    all_arrived()
    out[tx] = tile[4 * tx]


@clean
def copied_one_after_the_other(out, inp):
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    for i in range(2):
        copy16(tile, 4 * tx, inp, 4 * tx + WIDE * i, True)
        close_group()
        all_arrived()
    out[tx] = tile[4 * tx]


# two lanes that copy into one element at once


@buggy("store_under_way", 32, 1, N, args=vectors(N))  # both warps go to the first 32 elements
def both_warps_to_one_half(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx % 32, inp, tx, True)  # (1) (2)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[tx % 32]


@clean
def each_warp_to_its_half(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, inp, tx, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[tx % 32]


@buggy("store_under_way", 128, 2, N, args=lambda: (zeros(128), floats(256)))
def pairs_to_one_place(out, inp):  # two lanes for each of 64 words, in 2 blocks
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy8(tile, tx // 2 * 2, inp, 2 * i, True)  # (1) (2)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[i] = tile[tx]


@clean
def pairs_apart(out, inp):
    tile = cuda.shared.array(WIDE, float32, alignment=16)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy8(tile, 2 * tx, inp, 2 * i, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[i] = tile[tx]


@buggy("store_under_way", 1, 1, 32, args=lambda: (zeros(32), floats(50)))
def clamped_on_one_side(out, inp):  # lanes past the edge bring what nobody asked for
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    copy4(tile, min(tx, 20), inp, 20 + tx if tx < 30 else 0, True)  # (1) (2)
    await_copies()
    cuda.syncwarp()
    out[tx] = tile[min(tx ^ 1, 20)]


@clean
def clamped_on_both_sides(out, inp):  # they bring the same number: a note says so
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    copy4(tile, min(tx, 20), inp, 20 + min(tx, 20), True)
    await_copies()
    cuda.syncwarp()
    out[tx] = tile[min(tx ^ 1, 20)]


# a store to what a copy still reads


@buggy("overwritten_source", 128, 2, N, args=vectors(128))
def zeroed_behind_the_copy(out, inp):  # each thread the element that it copies
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)  # (1)
    close_group()
    inp[i] = float32(0)  # (2)
    all_arrived()
    out[i] = tile[tx]


@clean
def zeroed_behind_the_wait(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    copy4(tile, tx, inp, i, True)
    close_group()
    all_arrived()
    inp[i] = float32(0)
    out[i] = tile[tx]


@buggy("overwritten_source", 252, 1, N, args=lambda: (zeros(N), ints(WIDE)))
def reversed_in_place(out, inp):  # the barrier is before the wait; four add to what they copied
    tile = cuda.shared.array(WIDE, int32, alignment=16)
    tx = cuda.threadIdx.x
    copy16(tile, 4 * tx, inp, 4 * tx, True)  # (1)
    close_group()
    cuda.syncthreads()
    all_arrived()
    for k in range(4):
        cuda.atomic.add(inp, WIDE - 1 - tx - N * k, tile[tx + N * k])  # (2)


@clean
def reversed_in_place_behind_a_barrier(out, inp):
    tile = cuda.shared.array(WIDE, int32, alignment=16)
    tx = cuda.threadIdx.x
    copy16(tile, 4 * tx, inp, 4 * tx, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    for k in range(4):
        cuda.atomic.add(inp, WIDE - 1 - tx - N * k, tile[tx + N * k])


@buggy("overwritten_source", 320, 1, N, args=lambda: (zeros(N), floats(N * ROUNDS)))
def stored_a_round_too_far(out, inp):  # the row that is under way, in five of six rounds
    stages = cuda.shared.array((2, N), float32)
    tx = cuda.threadIdx.x
    copy4(stages, tx, inp, tx, True)
    close_group()
    for i in range(ROUNDS):
        ahead = i + 1
        copy4(stages, ahead % 2 * N + tx, inp, ahead * N + tx, ahead < ROUNDS)  # (1)
        close_group()
        but_one()
        cuda.syncthreads()
        last = stages[i % 2, N - 1 - tx]
        cuda.syncthreads()
        if ahead < ROUNDS:
            inp[ahead * N + tx] = last  # (2)


@clean
def stored_in_its_round(out, inp):
    stages = cuda.shared.array((2, N), float32)
    tx = cuda.threadIdx.x
    copy4(stages, tx, inp, tx, True)
    close_group()
    for i in range(ROUNDS):
        ahead = i + 1
        copy4(stages, ahead % 2 * N + tx, inp, ahead * N + tx, ahead < ROUNDS)
        close_group()
        but_one()
        cuda.syncthreads()
        last = stages[i % 2, N - 1 - tx]
        cuda.syncthreads()
        inp[i * N + tx] = last
