"""Words that blocks talk through: values, requests, bits, and races with plain accesses."""

import numpy as np
import pytest
from numba import cuda, float64, int64, uint32, uint64

from smemnb.errors import KernelStopped
from smemnb.kernels.ptx import load1, store1
from smemnb.kernels.ptx.relaxed import (
    bits_of,
    load_pair,
    load_word,
    number_of,
    store_pair,
    store_word,
)
from smemnb.tracing import trace

N = 64


@cuda.jit
def moved(out, inp):
    i = uint32(cuda.grid(1))
    store_word(out, i, load_word(inp, i))


@cuda.jit
def turned(out, inp):
    i = uint32(2 * cuda.grid(1))
    first, second = load_pair(inp, i)
    store_pair(out, i, second, first)


def test_words_and_pairs():
    """8 sectors for 32 words, 16 for 32 pairs, each way."""
    inp = np.random.default_rng(1).integers(0, 1 << 63, 2 * N).astype(np.uint64)
    for kernel, expected, sectors in ((moved, inp, 8), (turned, inp.reshape(-1, 2)[:, ::-1], 16)):
        out = np.zeros_like(inp)
        found = trace(kernel)[2, N if kernel is moved else N // 2](out, inp)
        assert (out == expected.reshape(-1)).all()
        assert {row.sectors / row.requests for row in found.lines} == {sectors}
        assert found.races == ()


def test_pairs_begin_at_even_words():
    """A GPU stops at a pair that does not."""

    @cuda.jit
    def odd(out):
        store_pair(out, uint32(1), uint64(1), uint64(2))

    with pytest.raises(KernelStopped, match="multiple of 16"):
        odd[1, 1](np.zeros(4, np.uint64))


@cuda.jit
def there_and_back(out, bits, inp, like):
    i = cuda.grid(1)
    bits[i] = bits_of(inp[i])
    out[i] = number_of(like, bits[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_numbers_as_their_bits(dtype):
    """Numbers of 4 and 8 bytes go through the unsigned integers of their size and come back."""
    inp = np.array([0, -1, 1.5, 2e9], np.float64).astype(dtype)
    bits = np.zeros(4, f"u{inp.itemsize}")
    out = np.zeros_like(inp)
    there_and_back[1, 4](out, bits, inp, dtype(0))
    assert (bits == inp.view(bits.dtype)).all() and (out == inp).all()


def chain(load, store):
    """Each block waits for the word of the one before it, which has flag and sum in one."""

    @cuda.jit
    def kernel(out, inp, words):
        bx = uint32(cuda.blockIdx.x)
        if cuda.threadIdx.x == 0:
            acc = uint64(0)
            while bx > 0 and acc == 0:
                acc = load(words, uint32(bx - uint32(1)))
            acc += uint64(inp[bx])
            store(words, bx, acc)
            out[bx] = acc

    return kernel


def test_who_looks_at_memory_itself():
    """Relaxed accesses race with each other as little as atomics do; plain ones are a race."""
    inp = np.arange(1, 9)
    kinds = {}
    for what, pair in {
        "relaxed": (load_word, store_word),
        "plain": (load1, store1),
        "plain store": (load_word, store1),
        "plain load": (load1, store_word),
    }.items():
        out = np.zeros(8, np.uint64)
        found = trace(chain(*pair))[8, 32](out, inp, np.zeros(8, np.uint64))
        assert out.tolist() == inp.cumsum().tolist()
        kinds[what] = [one.kind for one in found.races]
    assert kinds == {
        "relaxed": [],
        "plain": ["race_between_blocks"],
        "plain store": ["race_atomic"],
        "plain load": ["race_atomic"],
    }


@cuda.jit
def apart(out, inp, sums, words):
    """The sum stands beside the flag, not in its word: nothing orders the two."""
    bx = uint32(cuda.blockIdx.x)
    if cuda.threadIdx.x == 0:
        acc, flag = float64(0), uint64(bx == 0)
        while flag == 0:
            flag = load_word(words, uint32(bx - uint32(1)))
        if bx > 0:
            acc = sums[bx - 1]
        sums[bx] = acc + inp[bx]
        store_word(words, bx, uint64(1))
        out[bx] = sums[bx]


def test_a_flag_orders_nothing_else():
    """Of a sum outside of the word the next block may see an older value."""
    inp, out = np.arange(1.0, 9.0), np.zeros(8)
    found = trace(apart)[8, 32](out, inp, np.zeros(8), np.zeros(8, np.uint64))
    assert [(one.kind, one.count) for one in found.races] == [("race_between_blocks", 7)]


def test_types_that_are_not_taken():
    """Words are uint64."""

    @cuda.jit
    def wrong(out):
        store_word(out, uint32(0), int64(1))

    with pytest.raises(Exception, match="store_word"):
        wrong[1, 1](np.zeros(4, np.float32))
