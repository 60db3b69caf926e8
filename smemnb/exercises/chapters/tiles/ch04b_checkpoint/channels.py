"""Twelve channels of int16 to twelve planes: a pitch counted in words."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int8, int16

from ....exercise import Budget, Case, Exercise, Wrong, cover, scattered

MOST = 128  # samples of a block


@cuda.jit
def channels_stub(out, inp):
    """Twelve planes: out = inp.T; inp has a row of 12 int16 per sample.  A sample per thread."""
    # FILL (about 11 lines)


@cuda.jit
def channels(out, inp):
    """Twelve planes: out = inp.T; inp has a row of 12 int16 per sample.  A sample per thread."""
    tile = cuda.shared.array((MOST, 14), int16)  # 7 words from sample to sample
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n  # the block's first sample
    for k in range(tx, 12 * n, n):  # cells in the order of memory
        sample, channel = k // 12, k % 12
        if first + sample < inp.shape[0]:
            tile[sample, channel] = inp[first + sample, channel]
    cuda.syncthreads()  # all samples are staged
    if first + tx < inp.shape[0]:
        for channel in range(12):
            out[channel, first + tx] = tile[tx, channel]


@cuda.jit(device=True)
def _channels(out, inp, tile):
    """`channels` with any tile, for the wrong kernels."""
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n
    for k in range(tx, 12 * n, n):
        if first + k // 12 < inp.shape[0]:
            tile[k // 12, k % 12] = inp[first + k // 12, k % 12]
    cuda.syncthreads()
    if first + tx < inp.shape[0]:
        for channel in range(12):
            out[channel, first + tx] = tile[tx, channel]


@cuda.jit
def channels_no_pad(out, inp):
    """No pad: 6 words from sample to sample, an even number."""
    _channels(out, inp, cuda.shared.array((MOST, 12), int16))


@cuda.jit
def channels_one_half(out, inp):
    """A pad of one cell, as for float32: half a word, clean in some columns only."""
    _channels(out, inp, cuda.shared.array((MOST, 13), int16))


@cuda.jit
def channels_two_words(out, inp):
    """Two words of pad: 8 from sample to sample."""
    _channels(out, inp, cuda.shared.array((MOST, 16), int16))


@cuda.jit
def channels_of_bytes(out, inp):
    """A tile of int8: small and clean, but a sample of more than 127 does not fit."""
    _channels(out, inp, cuda.shared.array((MOST, 12), int8))


@cuda.jit
def channels_of_128(out, inp):
    """128 threads are taken for granted: a smaller block leaves cells out."""
    tile = cuda.shared.array((MOST, 14), int16)
    tx, first = cuda.threadIdx.x, cuda.blockIdx.x * MOST
    for k in range(tx, 12 * MOST, MOST):
        if first + k // 12 < inp.shape[0]:
            tile[k // 12, k % 12] = inp[first + k // 12, k % 12]
    cuda.syncthreads()
    if first + tx < inp.shape[0]:
        for channel in range(12):
            out[channel, first + tx] = tile[tx, channel]


@cuda.jit
def channels_direct(out, inp):
    """Right, but each lane loads its own sample, 24 bytes from the next."""
    i = cuda.grid(1)
    if i < inp.shape[0]:
        for channel in range(12):
            out[channel, i] = inp[i, channel]


@cuda.jit
def channels_no_barrier(out, inp):
    """Nobody waits until all samples are staged."""
    tile = cuda.shared.array((MOST, 14), int16)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n
    for k in range(tx, 12 * n, n):
        if first + k // 12 < inp.shape[0]:
            tile[k // 12, k % 12] = inp[first + k // 12, k % 12]
    if first + tx < inp.shape[0]:
        for channel in range(12):
            out[channel, first + tx] = tile[tx, channel]


def _samples(count):
    """Whole numbers over the range of int16."""
    return (scattered((count, 12), seed=count, low=-(2**15), high=2**15 - 1, dtype=np.int16),)


def _cases():
    """Four full blocks with their budget; one sample, ragged counts, smaller blocks."""
    clean = Budget(sectors_per_request=2, requests={"inp": 192, "out": 192}, shared_bytes=3584)
    yield Case(partial(_samples, 512), (4,), (MOST,), budget=clean)
    for count, threads in [(1, 128), (129, 128), (300, 128), (300, 64), (97, 32)]:
        yield Case(partial(_samples, count), cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex04b_channels",
    chapter="04b_checkpoint",
    title="Twelve channels of int16 in planes",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    stub=channels_stub,
    solution=channels,
    wrong=(
        Wrong(channels_no_pad, "wavefronts", "2-way"),
        Wrong(channels_one_half, "wavefronts", "2-way"),
        Wrong(channels_two_words, "wavefronts", "8-way"),
        Wrong(channels_of_bytes, "output", "wrong"),
        Wrong(channels_of_128, "output", "block 64"),
        Wrong(channels_direct, "sectors", "per request; budget 2"),
        Wrong(channels_no_barrier, "findings", "race"),
    ),
    cases=tuple(_cases()),
    hints=(
        "As the pixels of 03_transpose, with 12 cells per sample and 2 bytes per cell. Stage the "
        "cells in the order of memory; a lane then reads its own sample.",
        "Two cells share a word, so 12 cells are 6 words, an even pitch. Which is the next odd "
        "one, and how many cells is that?",
        "7 words are 14 cells. Loop over k from tx to 12 * n in steps of n; sample and channel "
        "are k // 12 and k % 12; guard; barrier; a loop over the 12 channels of sample tx.",
    ),
    budget=Budget(shared_bytes=3584),
)
