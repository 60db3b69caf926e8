"""Loads and stores of shared memory, in chains and side by side, by width, alone and repeated."""

from __future__ import annotations

from functools import cache

from numba import cuda, uint8, uint16, uint32, uint64

from ....kernels.ptx import cycles, load16, store16

BYTES = 16384
UNROLLED = 16
TYPES = {1: uint8, 2: uint16, 4: uint32, 8: uint64}


@cache
def followed(width):
    """A chase through a ring in shared memory by loads of so many bytes per lane."""
    dtype = TYPES.get(width, uint32)
    places = min(256, BYTES // width)
    per_place = max(1, width // 4) if width > 8 else 1
    count = places * per_place
    step = 32

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = each thread's place after `UNROLLED * rounds` steps."""
        tile = cuda.shared.array(count, dtype, alignment=16)
        tid = cuda.threadIdx.x
        for place in range(tid, places, cuda.blockDim.x):
            following = (place + step) % places
            for part in range(per_place):
                tile[place * per_place + part] = dtype(following * per_place)
        cuda.syncthreads()
        at = uint32(tid % 32 * per_place)
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for _ in range(rounds):
                for _ in range(UNROLLED):
                    if width == 16:
                        at = load16(tile, at)[0]
                    else:
                        at = uint32(tile[at])
        ended = cycles()
        out[tid] = at
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def loads(width, apart):
    """Loads that do not wait for each other; lanes `apart` places apart, 0 for all at one place."""
    dtype = TYPES.get(width, uint32)
    per_place = width // 4 if width > 8 else 1
    places = BYTES // width
    count = places * per_place

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = exclusive or of what the thread has read."""
        tile = cuda.shared.array(count, dtype, alignment=16)
        tid = cuda.threadIdx.x
        for place in range(tid, count, cuda.blockDim.x):
            tile[place] = dtype(place + a)
        cuda.syncthreads()
        first, acc = uint32(tid % 32 * apart * per_place), dtype(0)
        at = first
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for turn in range(rounds):
                for step in range(UNROLLED):
                    here = at + uint32(step * 17 * per_place)  # apart, or they would be merged
                    if width == 16:
                        read = load16(tile, here)
                        acc ^= read[0] ^ read[1] ^ read[2] ^ read[3]
                    else:
                        acc ^= tile[here]
                at = (first + uint32(turn * 32 * per_place)) % uint32(count // 2)
        ended = cycles()
        out[tid] = uint32(acc)
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def stores(width):
    """Stores of so many bytes per lane, lanes side by side."""
    dtype = TYPES.get(width, uint32)
    per_place = width // 4 if width > 8 else 1
    count = BYTES // width * per_place

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = what stands in the tile afterwards at the thread's place."""
        tile = cuda.shared.array(count, dtype, alignment=16)
        tid = cuda.threadIdx.x
        for place in range(tid, count, cuda.blockDim.x):
            tile[place] = dtype(a)
        cuda.syncthreads()
        first, word = uint32(tid % 32 * per_place), dtype(tid)
        at = first
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for turn in range(rounds):
                for step in range(UNROLLED):
                    here = at + uint32(step * 32 * per_place)
                    if width == 16:
                        store16(tile, here, (word, word, word, word))
                    else:
                        tile[here] = word
                    word += dtype(1)
                at = (first + uint32(turn * 32 * per_place)) % uint32(count // 4)
        ended = cycles()
        cuda.syncthreads()
        out[tid] = uint32(tile[tid % count])
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel
