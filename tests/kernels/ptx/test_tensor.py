"""Products by the tensor cores: every shape and type against a plain product, lane by lane."""

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.ptx import tensor

NAMES = [name for name in vars(tensor) if name.startswith("mma_")]
PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}


def shape(name):
    """(k, sums, kind, words of b, words of c)."""
    _, m16n8k, sums, kind = name.split("_")
    k = int(m16n8k.removeprefix("m16n8k"))
    return k, sums, kind, k // (4 * PER_WORD[kind]), 2 if sums == "f16" else 4


def words_of(count):
    """A device function: a tuple of words from a row of an array."""
    if count == 1:
        return cuda.jit(device=True)(lambda row: (row[0],))
    if count == 2:
        return cuda.jit(device=True)(lambda row: (row[0], row[1]))
    return cuda.jit(device=True)(lambda row: (row[0], row[1], row[2], row[3]))


def kernel_of(name):
    """A kernel of one warp per product: fragments from memory, fragments to memory."""
    _, _, _, of_b, of_c = shape(name)
    mma, load_a, load_b, load_c = (
        getattr(tensor, name), words_of(2 * of_b), words_of(of_b), words_of(of_c)
    )  # fmt: skip

    @cuda.jit
    def products(out, a, b, c):
        lane = cuda.grid(1)
        d = mma(load_a(a[lane]), load_b(b[lane]), load_c(c[lane]))
        for at in range(of_c):
            out[lane, at] = d[at]

    return products


def signature(name):
    """Numba's types of such a kernel's arguments."""
    sums = {"f32": "float32", "f16": "uint32", "s32": "int32"}[shape(name)[1]]
    return f"void({sums}[:, ::1], uint32[:, ::1], uint32[:, ::1], {sums}[:, ::1])"


def small_integers(rng, kind, *size):
    """(numbers, words of 4 bytes): integers that every format holds exactly."""
    numbers = rng.integers(0 if kind == "u8" else -8, 9, size)
    if kind == "f16":
        return numbers, numbers.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return numbers, (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return numbers, numbers.astype(np.float32).view(np.uint32)
    return numbers, numbers.astype({"s8": np.int8, "u8": np.uint8}[kind]).view(np.uint8)


def fragments(numbers, name):
    """What each lane of a warp holds of a, b and c, by the drawings of the PTX manual.

    Written out lane by lane, unlike the package's own rule.
    """
    a, b, c = numbers
    k, sums, kind, of_b, of_c = shape(name)
    per = PER_WORD[kind]
    rows = [[], [], []]
    for lane in range(32):
        group, place = divmod(lane, 4)
        half = 4 * per  # columns of one word of all four lanes
        left = []
        for start in range(0, k, half):
            cols = slice(start + per * place, start + per * place + per)
            left += [a[group, cols], a[group + 8, cols]]
        right = []
        for start in range(0, k, half):
            right.append(b[start + per * place : start + per * place + per, group])
        pair = slice(2 * place, 2 * place + 2)
        rows[0].append(np.concatenate(left))
        rows[1].append(np.concatenate(right))
        rows[2].append(np.concatenate([c[group, pair], c[group + 8, pair]]))
    return [np.ascontiguousarray(np.stack(one)) for one in rows]


@pytest.mark.parametrize("name", NAMES)
def test_every_product(name):
    """Three warps: d = a b + c of small integers, which no format rounds."""
    k, sums, kind, of_b, of_c = shape(name)
    rng, kernel = np.random.default_rng(7), kernel_of(name)
    kept = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[sums]
    given, wanted = [[], [], []], []
    for _ in range(3):
        (a, a_bits), (b, b_bits) = (small_integers(rng, kind, *size) for size in ((16, k), (k, 8)))
        c = rng.integers(-50, 50, (16, 8)).astype(kept)
        for into, one in zip(given, fragments((a_bits, b_bits, c), name), strict=True):
            into.append(one)
        d = (a @ b + c.astype(np.int64)).astype(kept)
        wanted.append(fragments((a_bits, b_bits, d), name)[2])
    a, b = (np.concatenate(one).view(np.uint32) for one in given[:2])
    c, d = (np.concatenate(one) for one in (given[2], wanted))
    assert (a.shape, b.shape) == ((96, 2 * of_b), (96, of_b))
    if sums == "f16":
        c = np.ascontiguousarray(c).view(np.uint32)
    out = np.zeros_like(c)
    kernel[1, 96](out, a, b, c)
    np.testing.assert_array_equal(out.view(kept), d)
