"""Small kernels, each with its clean twin, run by the engine and by the oracle.

Both must name the same pairs of accesses, the same counts, and what the table expects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import cuda, float32, int32

import oracle
from oracle import random_kernels
from smemnb.lockstep import launch
from smemnb.tracing.model import Observation
from smemnb.tracing.watchers.barriers import Barriers
from smemnb.tracing.watchers.bounds import Bounds
from smemnb.tracing.watchers.initialisation import Initialisation
from smemnb.tracing.watchers.races import Races
from tests.tiers import sampled

CASES: list[Any] = []
N = 64
TILE = 16
PITCH = 17


def case(
    *kinds: str, grid: Any = 2, block: Any = N, size: int = 256, known: str = ""
) -> Callable[[Any], Any]:
    """A kernel (out, inp) and the kinds of findings it must have; none for a clean one.

    `known` says what the engine gets wrong so far; its test must fail until that is put right.
    """

    def keep(function: Any) -> Any:
        marks = [pytest.mark.xfail(strict=True, reason=known)] if known else []
        values = (function, set(kinds), grid, block, size)
        CASES.append(pytest.param(*values, id=function.__name__, marks=marks))
        return function

    return keep


# neighbours through shared memory


@case("race", "race_in_warp")
def reverse_without_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    out[tx] = tile[N - 1 - tx] + tile[tx ^ 1]


@case()
def reverse_with_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[N - 1 - tx] + tile[tx ^ 1]


@case()
def own_cell_needs_no_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    tile[tx] += 1.0
    out[tx] = tile[tx]


@case("race")
def shift_in_place(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    if tx < N - 1:
        tile[tx] = tile[tx + 1]
    cuda.syncthreads()
    out[tx] = tile[tx]


@case()
def shift_through_a_register(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    value = tile[(tx + 1) % N]
    cuda.syncthreads()
    tile[tx] = value
    out[tx] = tile[tx]


@case("race_in_warp", block=32)
def swap_in_one_warp(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    out[tx] = tile[31 - tx]


@case(block=32)
def swap_in_one_warp_with_syncwarp(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncwarp()
    out[tx] = tile[31 - tx]


@case("race")
def syncwarp_does_not_order_warps(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncwarp()
    out[tx] = tile[N - 1 - tx]


@case("race")
def only_between_warps(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    out[tx] = tile[(tx + 32) % N]


# many writers of one cell


@case("race")
def everybody_writes_one_cell(out, inp):
    cell = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    cell[0] = inp[tx]
    cuda.syncthreads()
    out[tx] = cell[0]


@case("race_same_value")
def everybody_writes_the_same(out, inp):
    cell = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    cell[0] = 7
    cuda.syncthreads()
    out[tx] = cell[0]


@case()
def one_writes(out, inp):
    cell = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        cell[0] = inp[tx]
    cuda.syncthreads()
    out[tx] = cell[0]


@case("race")
def one_writes_all_read(out, inp):
    cell = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 5:
        cell[0] = inp[tx]
    out[tx] = cell[0]


@case("race_in_warp", block=32)
def two_lanes_write(out, inp):
    tile = cuda.shared.array(16, float32)
    tx = cuda.threadIdx.x
    tile[tx // 2] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx // 2]


@case("race")
def sum_by_plain_adds(out, inp):
    total = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0.0
    cuda.syncthreads()
    total[0] += inp[tx]
    cuda.syncthreads()
    out[tx] = total[0]


@case()
def sum_by_atomics(out, inp):
    total = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, 2)
    cuda.syncthreads()
    out[tx] = total[0]


@case("race_atomic")
def atomic_then_read(out, inp):
    total = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, 1)
    out[cuda.grid(1)] = total[0]


@case("race_atomic")
def zeroed_without_barrier(out, inp):
    total = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0
    cuda.atomic.max(total, 0, tx)
    cuda.syncthreads()
    out[tx] = total[0]


@case("stale")
def atomics_on_what_nobody_zeroed(out, inp):
    counts = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    cuda.atomic.add(counts, tx % 8, 1)
    cuda.syncthreads()
    out[tx] = counts[tx % 8]


@case()
def histogram(out, inp):
    counts = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    if tx < 8:
        counts[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, tx * tx % 8, 1)
    cuda.syncthreads()
    if tx < 8:
        out[tx] = counts[tx]


# tiles in two dimensions


@case("race", block=(16, 8))
def transpose_without_barrier(out, inp):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty * TILE + tx]
    tile[ty + 8, tx] = inp[ty * TILE + tx]
    out[ty * TILE + tx] = tile[tx, ty]


@case(block=(16, 8))
def transpose_with_barrier(out, inp):
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty * TILE + tx]
    tile[ty + 8, tx] = inp[ty * TILE + tx]
    cuda.syncthreads()
    out[ty * TILE + tx] = tile[tx, ty]


@case("stale", block=(16, 8))
def half_a_tile(out, inp):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if cuda.blockIdx.x == 0:
        tile[ty + 8, tx] = inp[ty * TILE + tx]
    tile[ty, tx] = inp[ty * TILE + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 128 + ty * TILE + tx] = tile[tx, ty]


@case(block=(8, 4, 2))
def three_dimensions(out, inp):
    tile = cuda.shared.array((2, 4, 8), float32)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile[tz, ty, tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[1 - tz, 3 - ty, 7 - tx]


@case("race", block=(8, 4, 2))
def three_dimensions_without_barrier(out, inp):
    tile = cuda.shared.array((2, 4, 8), float32)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile[tz, ty, tx] = inp[tx]
    out[cuda.blockIdx.x * 64 + tz * 32 + ty * 8 + tx] = tile[1 - tz, ty, tx]


# loops


@case("race_in_warp")
def reduction_without_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    step = N // 2
    while step > 0:
        if tx < step:
            tile[tx] += tile[tx + step]
        step //= 2
    out[tx] = tile[tx]


@case()
def reduction_with_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    step = N // 2
    while step > 0:
        if tx < step:
            tile[tx] += tile[tx + step]
        cuda.syncthreads()
        step //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = tile[0]


@case("race_in_warp")
def reduction_whose_last_warp_goes_alone(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    if tx < 32:
        tile[tx] += tile[tx + 32]
        step = 16
        while step > 0:
            if tx < step:
                tile[tx] += tile[tx + step]
            step //= 2


@case("race", "race_in_warp")
def tiles_without_second_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = 0.0
    for k in range(3):
        tile[tx] = inp[k * N + tx]
        cuda.syncthreads()
        acc += tile[N - 1 - tx] + tile[tx ^ 3]
    out[tx] = acc


@case()
def tiles_with_second_barrier(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = 0.0
    for k in range(3):
        tile[tx] = inp[k * N + tx]
        cuda.syncthreads()
        acc += tile[N - 1 - tx] + tile[tx ^ 3]
        cuda.syncthreads()
    out[tx] = acc


@case()
def two_buffers(out, inp):
    tile = cuda.shared.array((2, N), float32)
    tx = cuda.threadIdx.x
    acc = 0.0
    for k in range(3):
        tile[k % 2, tx] = inp[k * N + tx]
        cuda.syncthreads()
        acc += tile[k % 2, N - 1 - tx]
    out[tx] = acc


@case("race", block=40)
def loops_of_different_length(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    for k in range(tx // 8):
        tile[k] = inp[tx]
    cuda.syncthreads()
    if tx < 4:
        out[tx] = tile[tx]


@case("race", block=48)
def loop_with_break(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 0.0
    cuda.syncthreads()
    k = 0
    while True:
        if k * 20 > tx:
            break
        if k == 1:
            k += 1
            continue
        tile[k] = inp[tx]
        k += 1


# divergence


@case("divergent_barrier")
def barrier_in_a_branch(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx < 32:
        cuda.syncthreads()
    out[tx] = tile[tx]


@case()
def barrier_in_a_uniform_branch(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if cuda.blockIdx.x == 0:
        cuda.syncthreads()
        out[tx] = tile[N - 1 - tx]


@case("divergent_barrier", "race")
def divergent_barrier_orders_nothing(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx < 32:
        cuda.syncthreads()
    out[tx] = tile[(tx + 32) % N]


@case("divergent_barrier")
def barrier_in_both_branches(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx % 2 == 0:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    out[tx] = tile[tx]


@case("exited_before_barrier", block=50)
def early_exit(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx >= 40:
        return
    cuda.syncthreads()
    out[tx] = tile[(tx + 10) % 50]


@case(block=50)
def guarded_instead_of_exit(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    if tx < 40:
        out[tx] = tile[(tx + 10) % 50]


@case("divergent_barrier")
def loop_with_unequal_barriers(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    for _ in range(1 + tx // 32):
        cuda.syncthreads()
    out[tx] = tile[tx]


@case("race_in_warp", block=32)
def branches_of_one_warp(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    if tx < 16:
        tile[tx] = inp[tx]
    else:
        out[tx] = tile[tx - 16]


@case(block=32)
def branches_of_one_warp_apart(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx < 16:
        tile[tx] = inp[tx] + 1.0
    else:
        out[tx] = tile[tx]


# initialisation and bounds


@case("uninitialised")
def never_written(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    out[tx] = tile[tx]


@case("stale")
def read_before_written(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    out[tx] = tile[tx]
    tile[tx] = inp[tx]


@case("stale", grid=3)
def halo_forgotten(out, inp):
    tile = cuda.shared.array(66, float32)
    tx = cuda.threadIdx.x
    if cuda.blockIdx.x != 2:
        tile[tx + 1] = inp[tx]
    if cuda.blockIdx.x == 1 and tx < 1:
        tile[65] = inp[tx]
    cuda.syncthreads()
    if cuda.blockIdx.x == 2:
        out[tx] = tile[tx + 2]


@case()
def halo_loaded(out, inp):
    tile = cuda.shared.array(66, float32)
    tx = cuda.threadIdx.x
    tile[tx + 1] = inp[tx]
    if tx == 0:
        tile[0] = 0.0
        tile[65] = inp[64]
    cuda.syncthreads()
    out[tx] = tile[tx] + tile[tx + 2]


@case("uninitialised")
def written_later_by_the_same_block(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if cuda.blockIdx.x == 1:
        out[tx] = tile[tx]
        tile[tx] = inp[tx]


@case("out_of_range")
def past_the_end(out, inp):
    tile = cuda.shared.array(60, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[59 - tx % 60]
    if tx == 0:
        out[300] = tile[2]


@case()
def counted_from_the_end(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[-1 - tx]


@case("out_of_range", block=(8, 8))
def both_axes_past_the_end(out, inp):
    tile = cuda.shared.array((7, 6), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[tx]


@case("out_of_range", size=100)
def no_guard(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i]


@case(size=100)
def guard(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[i]


# device functions, shuffles, partial warps, two arrays


@cuda.jit(device=True)
def put(tile, tx, value):
    tile[tx] = value


@cuda.jit(device=True)
def neighbour(tile, tx, sync):
    if sync:
        cuda.syncthreads()
    return tile[(tx + 1) % N]


@case("race")
def race_in_device_functions(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    put(tile, tx, inp[tx])
    out[tx] = neighbour(tile, tx, False)


@case()
def barrier_in_a_device_function(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    put(tile, tx, inp[tx])
    out[tx] = neighbour(tile, tx, True)


@case("race", block=70)
def partial_warp(out, inp):
    tile = cuda.shared.array(70, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    out[tx] = tile[69 - tx]


@case(block=70)
def partial_warp_with_barrier(out, inp):
    tile = cuda.shared.array(70, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[69 - tx]


@case("race_in_warp", block=32)
def a_shuffle_is_no_barrier(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    value = cuda.shfl_down_sync(0xFFFFFFFF, inp[tx], 1)
    out[tx] = tile[31 - tx] + value


@case(block=96)
def count_is_a_barrier(out, inp):
    tile = cuda.shared.array(96, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    some = cuda.syncthreads_count(tx % 3 == 0)
    out[tx] = tile[95 - tx] + some


@case("race")
def two_arrays_one_race(out, inp):
    a_tile = cuda.shared.array(N, float32)
    b_tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    a_tile[tx] = inp[tx]
    b_tile[tx] = inp[tx + N]
    out[tx] = a_tile[tx] + b_tile[(tx + 32) % N]


@case("race_in_warp", block=32)
def warp_steps_without_syncwarp(out, inp):
    tile = cuda.shared.array(N, float32)
    lane = cuda.laneid
    tile[lane] = inp[lane]
    tile[lane + 32] = 0.0
    step = 1
    while step < 32:
        tile[lane] += tile[lane + step]
        step *= 2


@case(block=32)
def warp_steps_with_syncwarp(out, inp):
    tile = cuda.shared.array(N, float32)
    lane = cuda.laneid
    tile[lane] = inp[lane]
    tile[lane + 32] = 0.0
    cuda.syncwarp()
    step = 1
    while step < 32:
        value = tile[lane + step]
        cuda.syncwarp()
        tile[lane] += value
        cuda.syncwarp()
        step *= 2


@case("race", "race_in_warp")
def rows_by_partial_index(out, inp):
    tile = cuda.shared.array((4, TILE), float32)
    tx = cuda.threadIdx.x
    row = tile[tx // 16]
    row[tx % 16] = inp[tx]
    out[tx] = tile[3 - tx // 16][15 - tx % 16] + row[tx % 16 ^ 1]


@case()
def branch_per_block(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if cuda.blockIdx.x % 2 == 0:
        tile[tx] = inp[tx]
    else:
        tile[N - 1 - tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx]


@case("race", grid=5, size=320)
def race_in_one_block_only(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if cuda.blockIdx.x != 3:
        cuda.syncthreads()
    out[cuda.grid(1)] = tile[(tx + 32) % N]


def three(extent: Any) -> Any:
    return (*extent, 1, 1)[:3] if isinstance(extent, tuple) else (extent, 1, 1)


RANDOM = range(60)


def site_key(site: Any) -> Any:
    kind = site.kind if site.kind in ("load", "store") else "atomic"
    return site.line, site.column, kind


def engine(function: Any, grid: Any, block: Any, args: Any) -> list[Observation]:
    watchers = [Races(), Initialisation(), Barriers(), Bounds()]
    launch(function, three(grid), three(block), args, watchers=watchers)
    return [seen for watcher in watchers for seen in watcher.observations()]


def engine_races(seen: list[Observation]) -> dict[Any, int]:
    """(kind, sites) -> cells, of the worst kind of each pair whichever comes first."""
    cells: dict[Any, int] = defaultdict(int)
    for one in seen:
        if one.kind.startswith("race"):
            assert one.other is not None
            key = one.kind, frozenset((site_key(one.site), site_key(one.other)))
            cells[key] += one.count
    for worst in ("race_between_blocks", "race"):
        for sites in [s for kind, s in cells if kind == worst]:
            cells = {key: n for key, n in cells.items() if key[1] != sites or key[0] == worst}
    return dict(cells)


def compare(seen: list[Observation], wanted: oracle.OracleReport) -> None:
    """The engine's findings are the oracle's: pairs of accesses, kinds and counts."""
    ours, theirs = engine_races(seen), wanted.race_cells()
    if wanted.syncwarps:  # the engine counts a cell once per syncwarp, the oracle once
        assert set(ours) == set(theirs)
        ours = {key: cells for key, cells in ours.items() if key[0] == "race"}
        theirs = {key: cells for key, cells in theirs.items() if key[0] == "race"}
    assert ours == theirs
    early = {site_key(o.site): o for o in seen if o.kind in ("uninitialised", "stale")}
    surely = {site for site, *_ in wanted.uninitialised}
    unsure = {site for site, *_ in wanted.maybe}
    assert surely <= set(early) <= surely | unsure
    for site in surely - unsure:
        assert early[site].count == wanted.early_lanes[site]
        assert (early[site].kind == "stale") == (site in wanted.stale)
    barriers: dict[Any, int] = {
        (o.kind, o.site.line): o.count for o in seen if o.kind.endswith("_barrier")
    }
    assert barriers == dict(wanted.barriers)
    bounds = {
        (site_key(o.site), o.array.name if o.array else "", o.axis): o.count
        for o in seen
        if o.kind == "out_of_range"
    }
    assert bounds == dict(wanted.out_of_range)


def in_global_memory(one: Observation) -> bool:
    """A race of blocks that all store to the same cells: compared, but not in the table."""
    return one.kind.startswith("race") and one.array is not None and one.array.space == "global"


@pytest.mark.first(8)
@pytest.mark.parametrize("function, kinds, grid, block, size", CASES)
def test_agreement(function: Any, kinds: set[str], grid: Any, block: Any, size: int) -> None:
    """The same pairs of accesses with the same counts from engine and oracle."""
    inp = np.random.default_rng(7).permutation(size).astype(np.float32)
    args = (np.zeros(size, np.float32), inp)
    wanted = oracle.run(function, grid, block, args)
    seen = engine(function, grid, block, args)
    compare(seen, wanted)
    assert {o.kind for o in seen if not in_global_memory(o)} == kinds
    if not kinds & {"race", "race_in_warp", "race_atomic", "uninitialised", "stale"}:
        np.testing.assert_array_equal(args[0], wanted.outputs[0])


@pytest.mark.first(4)
@pytest.mark.parametrize("seed", sampled(RANDOM, 10))
def test_random_kernels(seed: int) -> None:
    """Kernels made from a seed; one without a finding also computes the same."""
    function = random_kernels.kernel_of(seed)
    inp = np.random.default_rng(seed).permutation(256).astype(np.float32)
    args = (np.zeros(256, np.float32), inp)
    block = (64, 40, 33)[seed % 3]
    wanted = oracle.run(function, 2, block, args)
    seen = engine(function, 2, block, args)
    compare(seen, wanted)
    if not seen:
        np.testing.assert_array_equal(args[0], wanted.outputs[0])
