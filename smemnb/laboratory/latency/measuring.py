"""Times of the kernels of `kernels` on this machine's GPU, in cycles of its multiprocessors.

A chain of n steps and one of 2 n are timed; their difference over n is a step, so what begins and
ends a launch drops out. Rings of global memory have one element per line of 128 bytes, in random
order, so that neither a line nor a guess of the hardware serves two steps.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import cuda

from ...measure.bench.device import sweep
from ...measure.bench.timing import GpuClock, in_rounds
from .kernels import UNROLLED, WORDS, chase, chase_shared, chases, multiply_adds, walks

__all__ = [
    "FOOTPRINTS",
    "chase_cycles",
    "flights",
    "footprint_cycles",
    "megahertz",
    "multiply_add_cycles",
    "ring",
    "shared_cycles",
]

Array = np.ndarray[Any, np.dtype[Any]]
LINE = 32  # elements of 4 bytes
KB, MB = 1 << 10, 1 << 20
FOOTPRINTS = (
    *(size * KB for size in (8, 16, 32, 64, 128, 160, 192, 224, 256, 320, 384, 512)),
    *(size * MB for size in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)),
    *(size * MB for size in (256, 512, 1024)),
)
"""Bytes over which a chase goes."""
WALKS = (1, 2, 4, 8)
CHASED = 4 * MB
WARPS = (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)
FLIGHT_WARPS = (1, 2, 4, 8, 16, 32, 64)
FLIGHT_LOADS = (1, 2, 4, 8)
REPEATS = 5
ROUNDS = 128  # of UNROLLED steps: 4,096 steps
WALKED_MOST = 1 << 19  # steps that warm a cache
SWEPT = 256 * MB
FLIGHT_BYTES = 1024 * MB
FLIGHT_ROUNDS = 1024
BLOCK_MOST = 1024


def ring(places: int, apart: int = LINE, seed: int = 41) -> Array:
    """An array in which `apart` elements apart each holds the place of the next, all in one cycle.

    >>> one = ring(4, apart=2)
    >>> at, seen = 0, []
    >>> for _ in range(4):
    ...     at = int(one[at])
    ...     seen.append(at)
    >>> sorted(seen), at
    ([0, 2, 4, 6], 0)
    """
    order = np.random.default_rng(seed).permutation(places).astype(np.uint32) * np.uint32(apart)
    made = np.zeros(places * apart, np.uint32)
    made[order] = np.roll(order, -1)
    return made


def _step(run: Callable[[int], float], rounds: int) -> float:
    """Median cycles of a step: `run` gives the cycles of a launch of so many rounds."""
    run(rounds)
    each = [(run(2 * rounds) - run(rounds)) / (rounds * UNROLLED) for _ in range(REPEATS)]
    return statistics.median(each)


def _lasted(times: Any) -> float:
    """Cycles from the first warp's begin to the last one's end."""
    read = times.copy_to_host()
    return float(read[:, 1].max() - read[:, 0].min())


def footprint_cycles(size: int) -> float:
    """Cycles of a step through a ring over so many bytes of global memory, of one thread alone."""
    places = size // (4 * LINE)
    on_device = cuda.to_device(ring(places))
    last, times = cuda.to_device(np.zeros(1, np.uint32)), cuda.to_device(np.zeros((1, 2), np.int64))
    kept = on_device.nbytes <= 2 * WALKED_MOST * 4 * LINE
    if not kept:
        sweep(SWEPT)()  # what the copy left in the L2 cache goes
    start = 0

    def run(rounds: int) -> float:
        nonlocal start
        chase[1, 1](last, times, on_device, start, rounds)
        start = int(last.copy_to_host()[0])
        return _lasted(times)

    run(-(-min(places, WALKED_MOST) // UNROLLED) if kept else ROUNDS)
    return _step(run, ROUNDS)


def chase_cycles(count: int, size: int = CHASED) -> float:
    """Cycles in which one thread takes a step in each of so many walks through a ring.

    The ring lies in the L2 cache, by default; the walks begin far from each other.
    """
    places = size // (4 * LINE)
    host = ring(places)
    on_device = cuda.to_device(host)
    starts: list[int] = []
    at = 0
    for step in range(places):
        if step % (places // count) == 0 and len(starts) < count:
            starts.append(at)
        at = int(host[at])
    last, times = cuda.to_device(np.array(starts, np.uint32)), cuda.to_device(_no_times())
    kernel = chases(count)

    def run(rounds: int) -> float:
        kernel[1, 1](last, times, on_device, rounds)
        return _lasted(times)

    run(-(-places // UNROLLED))
    return _step(run, ROUNDS)


def _no_times() -> Array:
    return np.zeros((1, 2), np.int64)


def shared_cycles(warps: int = 1) -> float:
    """Cycles of a step of each of so many warps through a ring in shared memory.

    Lanes of a warp are on elements side by side, in banks of their own.
    """
    warp_ring = np.arange(WORDS, dtype=np.uint32).reshape(-1, 32)
    order = np.random.default_rng(41).permutation(len(warp_ring))
    following = np.empty_like(warp_ring)
    following[order] = warp_ring[np.roll(order, -1)]
    on_device = cuda.to_device(following.ravel())
    last = cuda.to_device(np.zeros(warps * 32, np.uint32))
    times = cuda.to_device(np.zeros((warps, 2), np.int64))

    def run(rounds: int) -> float:
        chase_shared[1, warps * 32](last, times, on_device, rounds)
        return _lasted(times)

    return _step(run, ROUNDS)


def _multiply_adds(warps: int, chains: int, times: Any) -> Callable[[int], None]:
    out = cuda.to_device(np.zeros(warps * 32, np.float32))
    kernel = multiply_adds(chains)
    return lambda rounds: kernel[1, warps * 32](out, times, np.float32(0.5), np.float32(1), rounds)


def multiply_add_cycles(warps: int = 1, chains: int = 1) -> float:
    """Cycles in which each of so many warps of one block takes a step in each of its chains."""
    times = cuda.to_device(np.zeros((warps, 2), np.int64))
    launch = _multiply_adds(warps, chains, times)

    def run(rounds: int) -> float:
        launch(rounds)
        return _lasted(times)

    return _step(run, ROUNDS)


def megahertz(rounds: int = 200_000) -> float:
    """The clock of the multiprocessors under this load: cycles of a long chain over its time."""
    times = cuda.to_device(np.zeros((1, 2), np.int64))
    clock, launch = GpuClock(), _multiply_adds(1, 1, times)
    launch(rounds)
    before = clock.mark()
    launch(rounds)
    after = clock.mark()
    clock.wait()
    return _lasted(times) / clock.ms(before, after) / 1000


def flights(
    warps: Sequence[int] = FLIGHT_WARPS, loads: Sequence[int] = FLIGHT_LOADS
) -> list[dict[str, float]]:
    """Bytes per second out of DRAM, by warps per multiprocessor and loads under way per thread.

    `held` are the bytes that a multiprocessor has under way: 128 for each load of a warp.
    """
    multiprocessors = int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
    ones = cuda.to_device(np.ones(FLIGHT_BYTES // 4, np.uint32))
    found: list[dict[str, float]] = []
    runs = []
    for held in loads:
        for count in warps:
            block = min(count * 32, BLOCK_MOST)
            grid = multiprocessors * (count * 32 // block)
            moved = grid * block * held * 4
            rounds = min(FLIGHT_ROUNDS, FLIGHT_BYTES // moved)
            out = cuda.to_device(np.zeros(grid * block, np.uint32))
            runs.append(_launching(walks(held), grid, block, out, ones, rounds))
            found.append({"warps": count, "loads": held, "bytes": moved * rounds})
    for run in runs:
        run()
    clock = GpuClock()
    swept = sweep(SWEPT)
    each = list(in_rounds(runs, clock, least=5, most=9, budget_ms=2000, between=swept))
    for at, one in enumerate(found):
        ms = statistics.median(times[at] for times in each)
        one["held"] = one["warps"] * one["loads"] * 128
        one["gb_per_s"] = round(one.pop("bytes") / ms / 1e6, 1)
    return found


def _launching(
    kernel: Any, grid: int, block: int, out: Any, ones: Any, rounds: int
) -> Callable[[], None]:
    return lambda: kernel[grid, block](out, ones, rounds)
