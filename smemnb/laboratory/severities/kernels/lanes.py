"""Lanes of one warp that do not fit together: syncwarp, shuffles and votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, int32

from ..experiment import ALL, LATE, Array, Experiment, lanes, numbers, zeros

LOW = 0xFFFF  # the mask of the lower half


@cuda.jit
def half_has_a_syncwarp_more(out, x):
    """Half of a warp passes a syncwarp more, which meets the next one of the others."""
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    tile[tx] = 0
    cuda.syncwarp()
    if tx < 16:
        cuda.syncwarp()
        cuda.nanosleep(LATE)
    tile[tx] = x[tx]
    cuda.syncwarp()
    out[tx] = tile[31 - tx]


@cuda.jit
def halves_pass_unequal_syncwarps(out, x):
    """The halves of a warp take different syncwarps, so that the first meets a wrong one."""
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    tile[tx] = 0
    cuda.syncwarp()
    if tx < 16:
        tile[tx] = x[tx]
        cuda.syncwarp()
        out[tx] = tile[31 - tx]
        cuda.syncwarp()
    else:
        cuda.syncwarp()
        tile[tx] = x[tx]
        cuda.nanosleep(LATE)
        cuda.syncwarp()
        out[tx] = tile[31 - tx]
        cuda.syncwarp()


@cuda.jit
def waits_for_lanes_at_the_syncwarp(out, flag, x):
    """Half of a warp waits at syncwarp, the other half in a loop for it."""
    tx = cuda.threadIdx.x
    if tx < 16:
        cuda.syncwarp()
        if tx == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.syncwarp()
    out[tx] = x[tx]


@cuda.jit
def syncwarp_after_a_return(out, x, n):
    """The mask of a syncwarp names lanes that have returned."""
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    tile[tx] = x[tx]
    cuda.syncwarp(ALL)
    out[tx] = tile[n - 1 - tx]


@cuda.jit
def shuffle_from_the_other_half(out, x):
    """A shuffle inside an if reads lanes that are outside."""
    tx = cuda.threadIdx.x
    if tx < 16:
        value = 3 * x[tx]
        out[tx] = value + cuda.shfl_down_sync(LOW, value, 8)


@cuda.jit
def shuffle_from_a_returned_lane(out, x, n):
    """A shuffle reads lanes that have returned."""
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    value = 3 * x[tx]
    out[tx] = cuda.shfl_xor_sync(ALL, value, 16)


@cuda.jit
def shuffle_from_a_lane_that_is_out(out, x):
    """All lanes of an if read lane 0, which is not in it."""
    tx = cuda.threadIdx.x
    if tx % 4 != 0:
        value = 3 * x[tx]
        out[tx] = cuda.shfl_sync(0xEEEEEEEE, value, 0)


@cuda.jit
def shuffle_without_its_upper_half(out, x):
    """A whole warp runs a shuffle whose mask names half of it."""
    tx = cuda.threadIdx.x
    out[tx] = cuda.shfl_sync(LOW, x[tx], tx ^ 16)


@cuda.jit
def ballot_without_its_upper_half(out, x):
    """A whole warp votes with a mask that names half of it."""
    tx = cuda.threadIdx.x
    out[tx] = cuda.popc(cuda.ballot_sync(LOW, x[tx] > 0))


@cuda.jit
def any_without_its_upper_half(out, x):
    """A whole warp asks any_sync, whose mask leaves out the lane that says yes."""
    tx = cuda.threadIdx.x
    out[tx] = cuda.any_sync(LOW, tx == 20)


@cuda.jit
def halves_vote_under_one_mask(out, x):
    """The halves of a warp vote apart; both give the mask of the lower one."""
    tx = cuda.threadIdx.x
    if tx < 16:
        out[tx] = cuda.popc(cuda.ballot_sync(LOW, x[tx] > 0))
    else:
        cuda.nanosleep(LATE)
        out[tx] = 100 + cuda.popc(cuda.ballot_sync(LOW, x[tx] > 0))


@cuda.jit
def upper_half_shuffles_under_the_mask_of_the_lower(out, x):
    """The upper half of a warp shuffles by itself, with the mask of the lower one."""
    tx = cuda.threadIdx.x
    if tx < 16:
        cuda.nanosleep(LATE)
        out[tx] = x[tx]
    else:
        out[tx] = cuda.shfl_sync(LOW, 3 * x[tx], 31)


@cuda.jit
def upper_half_asks_under_the_mask_of_the_lower(out, x):
    """The upper half of a warp asks any_sync by itself, with the mask of the lower one."""
    tx = cuda.threadIdx.x
    if tx < 16:
        cuda.nanosleep(LATE)
        out[tx] = x[tx]
    else:
        out[tx] = cuda.any_sync(LOW, tx == 20)


@cuda.jit
def all_asked_in_both_ways(out, x):
    """Even and odd lanes ask all_sync apart, both with the mask of the whole warp."""
    tx = cuda.threadIdx.x
    if tx % 2 == 0:
        out[tx] = cuda.all_sync(ALL, x[tx] > 0)
    else:
        cuda.nanosleep(LATE)
        out[tx] = 100 + cuda.all_sync(ALL, x[tx] < 0)


@cuda.jit
def ballots_in_both_ways(out, x):
    """Both ways of an if vote with the mask of the whole warp."""
    tx = cuda.threadIdx.x
    if tx % 2 == 0:
        out[tx] = cuda.popc(cuda.ballot_sync(ALL, x[tx] > 0))
    else:
        cuda.nanosleep(LATE)
        out[tx] = -cuda.popc(cuda.ballot_sync(ALL, x[tx] > 0))


@cuda.jit
def waits_for_lanes_that_vote(out, flag, x):
    """Half of a warp votes with the mask of all, the other half waits in a loop for it."""
    tx = cuda.threadIdx.x
    if tx < 16:
        votes = cuda.ballot_sync(ALL, x[tx] > 0)
        if tx == 0:
            cuda.atomic.exch(flag, 0, 1)
        out[tx] = cuda.popc(votes)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        out[tx] = 16


@cuda.jit
def vote_in_a_loop_that_lanes_leave(out, x):
    """A vote with the mask of all in a loop that lanes leave at different times."""
    tx = cuda.threadIdx.x
    votes = 0
    k = 0
    while k <= tx % 4:
        votes += cuda.popc(cuda.ballot_sync(ALL, x[tx] > 0))
        k += 1
    out[tx] = votes


@cuda.jit
def vote_after_a_return(out, x, n):
    """A vote whose mask names lanes that have returned."""
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    out[tx] = cuda.popc(cuda.ballot_sync(ALL, x[tx] > 0))


def _low(values: Array) -> Array:
    """The lower half of these values, zeros above."""
    return np.where(np.arange(32) < 16, values, 0).astype(np.int32)


def _flagged(seed: int) -> tuple[Array, Array, Array]:
    return zeros(32), zeros(1), numbers(seed, 32)


def _reversed(out: Array, x: Array) -> Array:
    return np.asarray(x[::-1])


def _rounds(out: Array, x: Array) -> Array:
    """Each round counts the lanes that are still in the loop: 32, 24, 16, 8."""
    return np.asarray(np.cumsum([32, 24, 16, 8])[np.arange(32) % 4], np.int32)


def _experiment(kind: str, kernel: Any, make: Any, right: Any, hides: str = "") -> Experiment:
    return Experiment(kind, kernel, make, right, (1,), (32,), hides)


# why a GPU may give right values all the same
TOGETHER = (
    "the lanes were together, and all that are there take part; the mask says for whom to wait"
)
RETURNED = "a mask may name lanes that have returned"
BEHIND = (
    "this GPU did not wait for lanes behind the loop; on a path with a vote of their own it does"
)

EXPERIMENTS = (
    _experiment(
        "divergent_syncwarp",
        half_has_a_syncwarp_more,
        lanes,
        _reversed,
    ),
    _experiment(
        "divergent_syncwarp",
        halves_pass_unequal_syncwarps,
        lanes,
        _reversed,
    ),
    _experiment(
        "divergent_syncwarp",
        waits_for_lanes_at_the_syncwarp,
        _flagged,
        lambda out, flag, x: x,
    ),
    _experiment(
        "",
        syncwarp_after_a_return,
        lambda n: (*lanes(n), 10),
        lambda out, x, n: np.append(x[:n][::-1], zeros(32 - n)).astype(np.int32),
        hides=RETURNED,
    ),
    _experiment(
        "stray_shuffle",
        shuffle_from_the_other_half,
        lanes,
        lambda out, x: _low(3 * x + 3 * np.roll(x, -8)),
    ),
    _experiment(
        "stray_shuffle",
        shuffle_from_a_returned_lane,
        lambda n: (*lanes(n), 20),
        lambda out, x, n: np.where(np.arange(32) < n, 3 * x[np.arange(32) ^ 16], 0),
    ),
    _experiment(
        "stray_shuffle",
        shuffle_from_a_lane_that_is_out,
        lanes,
        lambda out, x: np.where(np.arange(32) % 4 != 0, 3 * x[0], 0),
    ),
    _experiment(
        "unnamed_lane",
        shuffle_without_its_upper_half,
        lanes,
        lambda out, x: x[np.arange(32) ^ 16],
        hides=TOGETHER,
    ),
    _experiment(
        "unnamed_lane",
        ballot_without_its_upper_half,
        lanes,
        lambda out, x: np.full(32, 32, np.int32),
        hides=TOGETHER,
    ),
    _experiment(
        "unnamed_lane",
        any_without_its_upper_half,
        lanes,
        lambda out, x: np.ones(32, np.int32),
        hides=TOGETHER,
    ),
    _experiment(
        "unnamed_lane",
        halves_vote_under_one_mask,
        lanes,
        lambda out, x: np.where(np.arange(32) < 16, 16, 116),
        hides=f"the lower half, which the upper one names, had gone; {RETURNED}",
    ),
    _experiment(
        "unnamed_lane",
        upper_half_shuffles_under_the_mask_of_the_lower,
        lanes,
        lambda out, x: np.where(np.arange(32) < 16, x, 3 * x[31]),
    ),
    _experiment(
        "unnamed_lane",
        upper_half_asks_under_the_mask_of_the_lower,
        lanes,
        lambda out, x: np.where(np.arange(32) < 16, x, 1),
    ),
    _experiment(
        "missing_lane",
        all_asked_in_both_ways,
        lanes,
        lambda out, x: np.where(np.arange(32) % 2 == 0, 1, 100),
    ),
    _experiment(
        "missing_lane",
        ballots_in_both_ways,
        lanes,
        lambda out, x: np.where(np.arange(32) % 2 == 0, 16, -16),
    ),
    _experiment(
        "missing_lane",
        waits_for_lanes_that_vote,
        _flagged,
        lambda out, flag, x: np.full(32, 16, np.int32),
    ),
    _experiment(
        "missing_lane",
        vote_in_a_loop_that_lanes_leave,
        lanes,
        _rounds,
        hides=BEHIND,
    ),
    _experiment(
        "",
        vote_after_a_return,
        lambda n: (*lanes(n), 10),
        lambda out, x, n: np.where(np.arange(32) < n, n, 0),
        hides=RETURNED,
    ),
)
