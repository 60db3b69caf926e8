"""Small kernels that each wait for one thing, and pairs that differ in a branch or a fence.

They are launched once each under Nsight Compute, whose stall reasons then have a name that is
known beforehand. `launch_all` is that program; `KERNELS` lists them with what they wait for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, uint32

Array = np.ndarray[Any, np.dtype[Any]]
BLOCKS, THREADS = 264, 256
ROUNDS = 64
WORDS = 4096  # of a tile in shared memory
RING = 1 << 20  # elements of a ring in global memory, 4 MB: in the L2 cache
LINE = 32  # elements of a line
STORES = 16
WORKING = 512  # multiply-adds of the warp that the others wait for


@cuda.jit
def waits_for_sums(out, inp):
    """out = a sum in which each multiply-add needs the one before it."""
    at = cuda.grid(1)
    acc = inp[at]
    for _ in range(ROUNDS):
        for _ in range(32):
            acc = acc * float32(0.5) + float32(1)
    out[at] = acc


@cuda.jit
def waits_for_global(out, ring):
    """out = the place after some steps in a ring in global memory."""
    at = uint32(cuda.grid(1))
    for _ in range(ROUNDS):
        at = ring[at]
    out[cuda.grid(1)] = at


@cuda.jit
def waits_for_shared(out, ring):
    """out = the place after some steps in a ring in shared memory; no two lanes share a bank."""
    tile = cuda.shared.array(WORDS, uint32)
    tid = cuda.threadIdx.x
    for place in range(tid, WORDS, cuda.blockDim.x):
        tile[place] = (place + 32) % WORDS
    cuda.syncthreads()
    at = uint32(tid)
    for _ in range(ROUNDS):
        for _ in range(32):
            at = tile[at]
    out[cuda.grid(1)] = at + ring[0]


@cuda.jit
def waits_for_banks(out, inp):
    """out = a sum of elements of one column of a tile: each load is served in 32 wavefronts."""
    tile = cuda.shared.array(WORDS, float32)
    tid = cuda.threadIdx.x
    for place in range(tid, WORDS, cuda.blockDim.x):
        tile[place] = inp[place]
    cuda.syncthreads()
    first, acc = uint32(tid * 32), float32(0)
    for step in range(ROUNDS):
        acc += tile[uint32(first + uint32(step)) % uint32(WORDS)]
    out[cuda.grid(1)] = acc


@cuda.jit
def waits_for_sectors(out, inp):
    """out = a sum of elements that lie in sectors of their own: each load has 32 of them."""
    at = uint32(cuda.grid(1) * 8)
    acc = float32(0)
    for step in range(ROUNDS):
        acc += inp[uint32(at + uint32(step) * uint32(7 * LINE)) % uint32(RING)]
    out[cuda.grid(1)] = acc


@cuda.jit(fastmath=True)
def waits_for_roots(out, inp):
    """out = a sum of square roots that do not wait for each other."""
    at = cuda.grid(1)
    value, acc = inp[at], float32(0)
    for step in range(ROUNDS * 4):
        acc += math.sqrt(value + float32(step))
    out[at] = acc


@cuda.jit
def waits_for_barrier(out, inp):
    """out = a sum to which the first warp of a block adds alone, while the others stand."""
    tile = cuda.shared.array(1, float32)
    tid = cuda.threadIdx.x
    acc = inp[cuda.grid(1)]
    for _ in range(ROUNDS // 8):
        if tid < 32:
            for _ in range(WORKING):
                acc = acc * float32(0.5) + float32(1)
            if tid == 0:
                tile[0] = acc
        cuda.syncthreads()  # the others wait for the first warp
        acc += tile[0]
        cuda.syncthreads()  # everyone has read before it is written again
    out[cuda.grid(1)] = acc


@cuda.jit
def fence_without(out, inp):
    """out = one number in many places, stored in whatever order others see them."""
    at, threads = uint32(cuda.grid(1)), uint32(cuda.gridsize(1))
    value = inp[at]
    for step in range(STORES):
        out[uint32(at + uint32(step) * threads)] = value


@cuda.jit
def fence_between(out, inp):
    """As `fence_without`, and nobody sees a store before the one that came before it."""
    at, threads = uint32(cuda.grid(1)), uint32(cuda.gridsize(1))
    value = inp[at]
    for step in range(STORES):
        out[uint32(at + uint32(step) * threads)] = value
        cuda.threadfence()


@cuda.jit
def branch_by_warp(out, inp):
    """out = one of two loops' results, chosen by the number of the warp."""
    at = cuda.grid(1)
    acc = inp[at]
    for step in range(ROUNDS):
        if (at // 32 + step) % 2 == 0:
            for _ in range(16):
                acc = acc * float32(0.5) + float32(1)
        else:
            for _ in range(16):
                acc = float32(3) - acc * acc * float32(0.125)
    out[at] = acc


@cuda.jit
def branch_by_lane(out, inp):
    """As `branch_by_warp`, chosen by the number of the lane."""
    at = cuda.grid(1)
    acc = inp[at]
    for step in range(ROUNDS):
        if (at + step) % 2 == 0:
            for _ in range(16):
                acc = acc * float32(0.5) + float32(1)
        else:
            for _ in range(16):
                acc = float32(3) - acc * acc * float32(0.125)
    out[at] = acc


KERNELS = {
    kernel.__name__: kernel
    for kernel in (
        waits_for_sums,
        waits_for_global,
        waits_for_shared,
        waits_for_banks,
        waits_for_sectors,
        waits_for_roots,
        waits_for_barrier,
        fence_without,
        fence_between,
        branch_by_warp,
        branch_by_lane,
    )
}
"""Name -> kernel, in the order of the launches."""
NAMES = "waits_for|fence_|branch_by"
"""A regular expression for them all."""


def arguments(name: str) -> tuple[Array, Array]:
    """`out` and input of a kernel of `KERNELS`, for a launch of `BLOCKS` times `THREADS`."""
    threads = BLOCKS * THREADS
    if name in ("waits_for_global", "waits_for_shared"):
        ring = (np.arange(RING, dtype=np.uint32) + np.uint32(4099 * LINE)) % np.uint32(RING)
        return np.zeros(threads, np.uint32), ring
    random = np.random.default_rng(41)
    inp = random.integers(1, 9, RING).astype(np.float32)
    return np.zeros(STORES * threads, np.float32), inp


def launch_all() -> None:
    """Launch each kernel once; what Nsight Compute watches."""
    for name, kernel in KERNELS.items():
        out, inp = arguments(name)
        kernel[BLOCKS, THREADS](cuda.to_device(out), cuda.to_device(inp))
        cuda.synchronize()
