"""Numbers held as words, and pairs stored at once: values, requests, machine code."""

import numpy as np
import pytest
from numba import cuda, float32, uint32

from smemnb.errors import MisalignedAddress
from smemnb.kernels.ptx.word_numbers import single_of, store2, widened_pair
from smemnb.tracing import trace

HALVES = np.array([0, 0x8000, 1, 0x3C01, 0xC500, 0x7BFF, 0x7C00, 0xFC00], np.uint16)
widened = {kind: widened_pair(kind) for kind in ("f16", "bf16")}


def kernel_of(kind):
    wide = widened[kind]

    @cuda.jit
    def widen(out, words):
        tid = cuda.threadIdx.x
        low, high = wide(words[tid])
        out[2 * tid] = low
        out[2 * tid + 1] = high

    return widen


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_widened(kind):
    """Zeros of both signs, subnormals, the largest, infinities: exact, the lower half first."""
    out = np.zeros(len(HALVES), np.float32)
    kernel_of(kind)[1, len(HALVES) // 2](out, HALVES.view(np.uint32))
    if kind == "f16":
        right = HALVES.view(np.float16).astype(np.float32)
    else:
        right = (HALVES.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(out.view(np.uint32), right.view(np.uint32))


@cuda.jit
def as_single(out, words):
    out[cuda.threadIdx.x] = single_of(words[cuda.threadIdx.x])


def test_single():
    """The bits stay: of a number, of -0, of a NaN with a payload."""
    words = np.array([0x3F800000, 0x80000000, 0x7FC12345], np.uint32)
    out = np.zeros(3, np.float32)
    as_single[1, 3](out, words)
    np.testing.assert_array_equal(out.view(np.uint32), words)


@cuda.jit
def pairs(out, first):
    tile = cuda.shared.array(128, float32, alignment=16)
    lane = uint32(cuda.threadIdx.x)
    store2(tile, uint32(lane * 2 + first), (float32(lane), float32(lane + 100)))
    cuda.syncwarp()
    out[lane] = tile[lane * 2 + first]
    out[lane + 32] = tile[lane * 2 + first + 1]


def test_pairs():
    """8 bytes a lane: two wavefronts for a warp, which is their least."""
    out = np.zeros(64, np.float32)
    report = trace(pairs)[1, 32](out, np.uint32(4))
    np.testing.assert_array_equal(out, [*range(32), *range(100, 132)])
    (row,) = [one for one in report.lines if one.kind == "store" and one.space == "shared"]
    assert (row.requests, row.wavefronts, row.extra) == (1, 2, 0)


def test_misaligned_pairs():
    """A pair at an odd element is refused, as a GPU would stop."""
    with pytest.raises(MisalignedAddress):
        pairs[1, 32](np.zeros(64, np.float32), np.uint32(3))
