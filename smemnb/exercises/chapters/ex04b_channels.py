"""Twelve channels of int16 to twelve planes: a pitch counted in words."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int16

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

MOST = 128  # samples of a block


@cuda.jit
def channels(out, inp):
    """Twelve planes: out = inp.T; inp has a row of 12 int16 per sample.  A sample per thread."""
    # FILL (about 11 lines)
    tile = cuda.shared.array((MOST, 14), int16)  # 7 words from sample to sample
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n  # the block's first sample
    for k in range(tx, 12 * n, n):  # elements in the order of memory
        sample, channel = k // 12, k % 12
        if first + sample < inp.shape[0]:
            tile[sample, channel] = inp[first + sample, channel]
    cuda.syncthreads()  # all samples are staged
    if first + tx < inp.shape[0]:
        for channel in range(12):
            out[channel, first + tx] = tile[tx, channel]


def _samples(count, seed=0):
    """Whole numbers over the range of int16."""
    seed += count
    return (scattered((count, 12), seed=seed, low=-(2**15), high=2**15 - 1, dtype=np.int16),)


def _cases():
    """Four full blocks with their budget; one sample, ragged counts, smaller blocks."""
    clean = Budget(sectors_per_request=2, requests={"inp": 192, "out": 192}, shared_bytes=3584)
    yield Case(partial(_samples, 512), (4,), (MOST,), budget=clean)
    for count, threads in [(1, 128), (129, 128), (300, 128), (300, 64), (97, 32)]:
        yield Case(partial(_samples, count), cover((count,), (threads,)), (threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of samples."""
    blocks, threads = draw.size(2, 5), draw.one_of(32, 64, MOST)
    data = partial(_samples, blocks * threads, draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 64, 96, MOST)
    data = partial(_samples, count, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex04b_channels",
    chapter="24_checkpoint",
    title="Twelve channels of int16 in planes",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=channels,
    wrong=(
        Wrong(
            "No pad: 6 words from sample to sample, an even number.",
            {"tile =": "tile = cuda.shared.array((MOST, 12), int16)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "A pad of one element, as for float32: half a word, clean in some columns only.",
            {"tile =": "tile = cuda.shared.array((MOST, 13), int16)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Two words of pad: 8 from sample to sample.",
            {"tile =": "tile = cuda.shared.array((MOST, 16), int16)"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "A tile of int8: small and clean, but a sample of more than 127 does not fit.",
            {"tile =": "tile = cuda.shared.array((MOST, 12), np.int8)"},
            ("output", "wrong"),
        ),
        Wrong(
            "128 threads are taken for granted: a smaller block leaves elements out.",
            {"tx, n =": "tx, n = cuda.threadIdx.x, MOST"},
            ("output", "block 64"),
        ),
        Wrong(
            "Right, but each lane loads its own sample, 24 bytes from the next.",
            {"out[channel": "out[channel, first + tx] = inp[first + tx, channel]"},
            ("sectors", "13 per request; budget 2"),
        ),
        Wrong(
            "Nobody waits until all samples are staged.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "As the pixels of 20_transpose, with 12 elements per sample and 2 bytes per element. "
        "Stage the elements in the order of memory; a lane then reads its own sample.",
        "Two elements share a word, so 12 elements are 6 words, an even pitch. Which is the next "
        "odd one, and how many elements is that?",
        "7 words are 14 elements. Loop over k from tx to 12 * n in steps of n; sample and channel "
        "are k // 12 and k % 12; guard; barrier; a loop over the 12 channels of sample tx.",
    ),
    budget=Budget(shared_bytes=3584),
)
