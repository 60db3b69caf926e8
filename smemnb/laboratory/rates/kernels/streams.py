"""The whole GPU: copies by contiguous bytes per row, readings out of L2 and DRAM, and stores."""

from __future__ import annotations

from functools import cache

from numba import cuda, uint32

from ....kernels.ptx import cycles

LASTING = 8192


@cache
def copies(words):
    """A copy of a matrix by columns of blocks: each block has `words` elements of every row."""

    @cuda.jit
    def kernel(out, inp):
        """out = inp, an array of rows."""
        per_turn = cuda.blockDim.x // words
        col = cuda.blockIdx.x * words + cuda.threadIdx.x % words
        first = cuda.blockIdx.y * per_turn * 16 + cuda.threadIdx.x // words
        for step in range(16):
            row = first + step * per_turn
            if row < inp.shape[0]:
                out[row, col] = inp[row, col]

    return kernel


@cuda.jit
def reads(out, inp, rounds):
    """out = exclusive ors of all elements, read `rounds` times, four loads under way per thread."""
    at, threads = cuda.grid(1), cuda.gridsize(1)
    acc = uint32(0)
    for _ in range(rounds):
        for first in range(at, inp.size, 4 * threads):
            acc ^= inp[first] ^ inp[first + threads]
            acc ^= inp[first + 2 * threads] ^ inp[first + 3 * threads]
        acc = uint32(acc * uint32(3))
    out[at] = acc


@cuda.jit
def writes(out, value, rounds):
    """out = value everywhere, `rounds` times over."""
    for turn in range(rounds):
        for at in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[at] = uint32(value + turn)


@cuda.jit
def writes_apart(out, value, rounds):
    """out = value in one word of each sector, `rounds` times: sectors that are written in part."""
    for turn in range(rounds):
        for at in range(cuda.grid(1), out.size // 8, cuda.gridsize(1)):
            out[at * 8] = uint32(value + turn)


@cuda.jit
def writes_columns(out, value):
    """out = value everywhere, by warps that store a column of 32 rows: 4 bytes in each sector.

    A block has 32 columns, so that its 32 warps together fill every sector.
    """
    row, col = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    for part in range(4):
        out[cuda.blockIdx.y * 32 + row, cuda.blockIdx.x * 32 + part * 8 + col] = value


@cuda.jit
def nothing(out):
    """Nothing: blocks that only begin and end."""
    if out.size == 0:
        out[0] = 0


@cuda.jit
def lasting(out):
    """Nothing, for `LASTING` cycles: a warp looks at the clock, the others wait for it."""
    if cuda.threadIdx.x < 32:
        began = cycles()
        while cycles() - began < LASTING:
            if out.size == 0:  # never: without it the loop would be moved
                out[0] = 0
    cuda.syncthreads()
