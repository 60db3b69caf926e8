"""Asynchronous copies: what is read, stored or overwritten while they are under way."""

# ruff: noqa: FBT003 - kernels take no keywords

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from ....kernels.ptx.asynchronous import await_copies, close_group, copy4, groups_awaited
from ..experiment import HALF, LATE, THREADS, Array, Experiment, lanes, numbers, vectors, zeros

ROUNDS, STAGES = 5, 3
all_arrived, but_one, but_two = (groups_awaited(pending) for pending in (0, 1, 2))


@cuda.jit
def read_at_once(out, x):
    """A tile is read by the threads that copy it, without a wait."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    out[tx] = tile[tx]
    all_arrived()


@cuda.jit
def waited_without_a_barrier(out, x):
    """Each thread waits for its own copy and reads another one's; half of the warps come late."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx >= HALF:
        cuda.nanosleep(LATE)
    copy4(tile, tx, x, tx, True)
    close_group()
    all_arrived()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def barrier_before_the_wait(out, x):
    """A barrier that comes before the wait: others may not have arrived."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    cuda.syncthreads()
    all_arrived()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def never_closed(out, x):
    """A wait for groups, and no group: nobody closed one."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def closed_after_the_wait(out, x):
    """The group is closed a line too late."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    all_arrived()
    close_group()
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def closed_in_the_first_round(out, x):
    """Copies of later rounds are in no group."""
    tile = cuda.shared.array((2, THREADS), int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    copy4(tile, tx, x, tx, True)
    close_group()
    for i in range(ROUNDS):
        all_arrived()
        cuda.syncthreads()
        acc += tile[i % 2, THREADS - 1 - tx] * (i + 1)
        cuda.syncthreads()
        copy4(tile, (i + 1) % 2 * THREADS + tx, x, (i + 1) * THREADS + tx, i + 1 < ROUNDS)
    out[tx] = acc


@cuda.jit
def tail_of_a_pipeline(out, x):
    """Three stages; the last round waits as if a group came after its own."""
    stages = cuda.shared.array((STAGES, THREADS), int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * THREADS + tx, x, s * THREADS + tx, True)
        close_group()
    for i in range(ROUNDS):
        but_one()
        cuda.syncthreads()
        acc += stages[i % STAGES, THREADS - 1 - tx] * (i + 1)
        ahead = i + STAGES - 1
        if ahead < ROUNDS:
            copy4(stages, ahead % STAGES * THREADS + tx, x, ahead * THREADS + tx, True)
            close_group()
    out[tx] = acc


@cuda.jit
def last_of_two_groups(out, x):
    """The second of two groups is read after a wait that leaves it."""
    tile = cuda.shared.array((2, THREADS), int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    copy4(tile, THREADS + tx, x, THREADS + tx, True)
    close_group()
    but_one()
    cuda.syncthreads()
    out[tx] = tile[0, THREADS - 1 - tx] + tile[1, THREADS - 1 - tx]


@cuda.jit
def two_left_of_two(out, x):
    """A wait that leaves two groups, where there are two."""
    tile = cuda.shared.array((2, THREADS), int32)
    tx = cuda.threadIdx.x
    for s in range(2):
        copy4(tile, s * THREADS + tx, x, s * THREADS + tx, True)
        close_group()
    but_two()
    cuda.syncthreads()
    out[tx] = tile[0, THREADS - 1 - tx] + tile[1, THREADS - 1 - tx]


@cuda.jit
def one_stage_for_all(out, x):
    """One stage, and no barrier behind its readers; half of them come late."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    for i in range(ROUNDS):
        copy4(tile, tx, x, i * THREADS + tx, True)
        close_group()
        all_arrived()
        cuda.syncthreads()
        if tx >= HALF:
            cuda.nanosleep(LATE)
        acc += tile[THREADS - 1 - tx] * (i + 1)
    out[tx] = acc


@cuda.jit
def sent_before_the_barrier(out, x):
    """Three stages; a round sends before the barrier that ends the reading of that stage."""
    stages = cuda.shared.array((STAGES, THREADS), int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    for s in range(STAGES - 1):
        copy4(stages, s * THREADS + tx, x, s * THREADS + tx, True)
        close_group()
    for i in range(ROUNDS):
        ahead = i + STAGES - 1
        copy4(stages, ahead % STAGES * THREADS + tx, x, ahead * THREADS + tx, ahead < ROUNDS)
        close_group()
        but_two()
        cuda.syncthreads()
        if tx >= HALF:
            cuda.nanosleep(LATE)
        acc += stages[i % STAGES, THREADS - 1 - tx] * (i + 1)
    out[tx] = acc


@cuda.jit
def one_warp_without_syncwarp(out, x):
    """Lanes copy over what other lanes of their warp have not read yet."""
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    await_copies()
    cuda.syncwarp()
    if tx >= 16:
        cuda.nanosleep(LATE)
        out[tx] = tile[31 - tx]
        copy4(tile, tx, x, 32 + tx, True)
    else:
        out[tx] = tile[31 - tx]
        copy4(tile, tx, x, 32 + tx, True)
    await_copies()


@cuda.jit
def stored_too_early(out, x):
    """A number is stored where a copy is going, and is meant to stay."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    tile[tx] = int32(-1)
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def zeroed_by_a_late_warp(out, x):
    """Half of the threads zero what the others copy to, and come late."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx >= HALF:
        cuda.nanosleep(LATE)
        tile[tx - HALF] = int32(0)
    copy4(tile, tx, x, tx, True)
    close_group()
    all_arrived()
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def copied_over_a_copy(out, x):
    """Two copies of a thread go to one element; the second one is meant to stay."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    for i in range(2):
        copy4(tile, tx, x, i * THREADS + tx, True)
        close_group()
    all_arrived()
    out[tx] = tile[tx]


@cuda.jit
def two_lanes_to_one_place(out, x):
    """Neighbours copy to one element; the first of them is meant to stay."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx // 2, x, tx, True)
    await_copies()
    cuda.syncthreads()
    out[tx] = tile[tx // 2]


@cuda.jit
def two_warps_to_one_place(out, x):
    """The later half of the threads copies where the first half does, and is meant to stay."""
    tile = cuda.shared.array(HALF, int32)
    tx = cuda.threadIdx.x
    if tx < HALF:
        cuda.nanosleep(LATE)
    copy4(tile, tx % HALF, x, tx, True)
    await_copies()
    cuda.syncthreads()
    out[tx] = tile[tx % HALF]


@cuda.jit
def source_zeroed_behind_the_copy(out, x):
    """Each thread zeroes the element that it has just sent a copy for."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    x[tx] = int32(0)
    all_arrived()
    out[tx] = tile[tx]


@cuda.jit
def source_zeroed_behind_a_barrier(out, x):
    """A barrier before the wait; behind it others zero what is copied."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    copy4(tile, tx, x, tx, True)
    close_group()
    cuda.syncthreads()
    x[THREADS - 1 - tx] = int32(0)
    all_arrived()
    out[tx] = tile[tx]


@cuda.jit
def source_zeroed_far_away(out, x):
    """Each thread copies four elements that lie far apart, and zeroes them at once."""
    tile = cuda.shared.array((4, THREADS), int32)
    tx = cuda.threadIdx.x
    for i in range(4):
        copy4(tile, i * THREADS + tx, x, 32 * ((tx + 61 * i) % THREADS), True)
    close_group()
    x[32 * tx] = int32(0)
    all_arrived()
    out[tx] = tile[0, tx] + tile[1, tx] + tile[2, tx] + tile[3, tx]


def _rounds(seed: int) -> tuple[Array, Array]:
    return zeros(), numbers(seed, ROUNDS * THREADS)


def _apart(seed: int) -> tuple[Array, Array]:
    return zeros(), numbers(seed, 32 * THREADS)


def _first_of_two(out: Array, x: Array) -> Array:
    return x[: len(out)][np.arange(THREADS) // 2 * 2].copy()


def _second_half(out: Array, x: Array) -> Array:
    return x[: len(out)][np.arange(THREADS) % HALF + HALF].copy()


def _four_apart(out: Array, x: Array) -> Array:
    tx = np.arange(THREADS)
    four: Array = np.sum([x[32 * ((tx + 61 * i) % THREADS)] for i in range(4)], axis=0)
    return four.astype(np.int32)


def _same(out: Array, x: Array) -> Array:
    return x[: len(out)].copy()


def _reversed(out: Array, x: Array) -> Array:
    return x[: len(out)][::-1].copy()


def _weighted(out: Array, x: Array) -> Array:
    weights = np.arange(1, ROUNDS + 1, dtype=np.int32)[:, None]
    total: Array = (x.reshape(ROUNDS, THREADS)[:, ::-1] * weights).sum(axis=0)
    return total.astype(np.int32)


def _two(out: Array, x: Array) -> Array:
    both: Array = x[:THREADS][::-1] + x[THREADS : 2 * THREADS][::-1]
    return both.astype(np.int32)


def _of(kind: str, kernel: object, make: object, right: object, hides: str = "") -> Experiment:
    threads = 32 if make is _two_lanes else THREADS
    dirty = kind != "overwritten_stage"
    return Experiment(kind, kernel, make, right, (1,), (threads,), hides, dirty)  # type: ignore[arg-type]


def _two_lanes(seed: int) -> tuple[Array, Array]:
    return lanes(seed)[0], numbers(seed, 64)


EXPERIMENTS = (
    _of("read_before_arrival", read_at_once, vectors, _same),
    _of("read_before_arrival", waited_without_a_barrier, vectors, _reversed),
    _of(
        "read_before_arrival",
        barrier_before_the_wait,
        vectors,
        _reversed,
        hides="all copies of the block were sent at one time and arrive together, which nothing"
        " promises",
    ),
    _of("missing_commit", never_closed, vectors, _reversed),
    _of("missing_commit", closed_after_the_wait, vectors, _reversed),
    _of("missing_commit", closed_in_the_first_round, _rounds, _weighted),
    _of("wrong_group", tail_of_a_pipeline, _rounds, _weighted),
    _of("wrong_group", last_of_two_groups, _rounds, _two),
    _of("wrong_group", two_left_of_two, _rounds, _two),
    _of("overwritten_stage", one_stage_for_all, _rounds, _weighted),
    _of("overwritten_stage", sent_before_the_barrier, _rounds, _weighted),
    _of("overwritten_stage", one_warp_without_syncwarp, _two_lanes, _reversed),
    _of(
        "store_under_way",
        stored_too_early,
        vectors,
        lambda out, x: np.full(THREADS, -1, np.int32),
    ),
    _of("store_under_way", zeroed_by_a_late_warp, vectors, _reversed),
    _of(
        "store_under_way",
        copied_over_a_copy,
        _rounds,
        lambda out, x: x[THREADS : 2 * THREADS].copy(),
        hides="the copies of one thread arrive in their order, which nothing promises",
    ),
    _of("store_under_way", two_lanes_to_one_place, vectors, _first_of_two),
    _of("store_under_way", two_warps_to_one_place, vectors, _second_half),
    _of(
        "overwritten_source",
        source_zeroed_behind_the_copy,
        vectors,
        _same,
        hides="copies and stores of one thread to one element reach memory in their order, which"
        " nothing promises",
    ),
    _of(
        "overwritten_source",
        source_zeroed_behind_a_barrier,
        vectors,
        _same,
        hides="copies of a block that were sent before a barrier have read before what is stored"
        " behind it, which nothing promises",
    ),
    _of("overwritten_source", source_zeroed_far_away, _apart, _four_apart),
)
