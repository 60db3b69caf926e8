"""Tiles and blocks of the transposes' variants: what is made is right, the rest is refused."""

import numpy as np
import pytest
from numba import float32, float64, uint8, uint16, uint64, void

from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose.variants.shifted import SHAPES, Shape, transpose_shifted_of
from smemnb.kernels.transpose.variants.turned import transpose_turned_of
from smemnb.kernels.transpose.variants.wide import TILES, transpose_fastest_of
from smemnb.tracing import trace

WORDS = {uint8: np.uint8, uint16: np.uint16, float32: np.float32, uint64: np.uint64}
SIZES = [8, 16, 24, 32, 40, 48, 64, 96, 128, 256]
WARPS = [1, 2, 3, 4, 6, 8, 12, 16, 32]


def turned(rng):
    """Choices of `transpose_turned_of` at random, with the block that they mean."""
    rows, cols, threads_y = (int(rng.choice(some)) for some in (SIZES, SIZES, WARPS))
    return (
        (lambda dtype: transpose_turned_of(dtype, (rows, cols), threads_y)),
        (32, threads_y),
        (
            rows,
            cols,
        ),
    )


def chunks(rng):
    """The same of `transpose_fastest_of`."""
    rows, cols, warps = (int(rng.choice(some)) for some in (SIZES, SIZES, WARPS))
    blocks = int(rng.integers(1, 4))
    make = lambda dtype: transpose_fastest_of(dtype, (rows, cols), 32 * warps, blocks)  # noqa: E731
    return make, (32 * warps, 1), (rows, cols)


def shifted(rng):
    """The same of `transpose_shifted_of`."""
    rows, line, warps = (int(rng.choice(some)) for some in (SIZES, SIZES, WARPS))
    cut = int(rng.choice([4, 8, 16, 32, 64]))

    def make(dtype):
        return transpose_shifted_of(dtype, Shape(rows, line, cut, 32 * warps, 1))

    return make, (32 * warps, 1), (rows, line - cut)


def split(kind, seed, count):
    """(kernel, block, tile, dtype) of random choices that were made, and messages of the others."""
    rng, made, refused = np.random.default_rng(seed), [], []
    for _ in range(count):
        dtype = list(WORDS)[rng.integers(4)]
        make, block, tile = kind(rng)
        try:
            made.append((make(dtype), block, tile, dtype))
        except ValueError as error:
            refused.append(str(error))
    return made, refused


def right(kernel, block, tile, dtype, odd):
    """Transpose a matrix of a few tiles; `odd` elements more per row begin rows anywhere."""
    rows, cols = 2 * tile[0] + 8, tile[1] + 16 + odd
    if not odd:  # rows of both at multiples of 16 bytes
        rows, cols = (-(-extent // 16) * 16 for extent in (rows, cols))
    rung = Rung(kernel, "", block, tile)
    inp = np.random.default_rng(5).integers(1, 250, (rows, cols)).astype(WORDS[dtype])
    out = np.zeros((cols, rows), WORDS[dtype])
    found = trace(kernel)[rung.grid(rows, cols), block](out, inp)
    np.testing.assert_array_equal(out, inp.T)
    assert [one for one in found.findings if not one.price] == []


KINDS = {"turned": (turned, 3), "chunks": (chunks, 0), "shifted": (shifted, 3)}


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", KINDS)
def test_random_choices(kind):
    """Of 200 at random 5 or more are made, of which two are tried; the others name their choice."""
    draw, odd = KINDS[kind]
    made, refused = split(draw, 1, 200)
    assert len(made) >= 5
    assert len(made) + len(refused) == 200
    assert all("=" in said for said in refused)
    for one in made[:2]:
        right(*one, odd)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_all_random_choices(kind):
    """All that are made of 200 at random."""
    draw, odd = KINDS[kind]
    for one in split(draw, 1, 200)[0]:
        right(*one, odd)


@pytest.mark.parametrize("dtype", WORDS, ids=str)
def test_choices_of_the_package(dtype):
    """None of those that the ladder takes is refused."""
    size = dtype.bitwidth // 8
    transpose_turned_of(dtype)
    transpose_fastest_of(dtype, TILES[size])
    transpose_shifted_of(dtype, SHAPES[size])


BAD = [
    (lambda: transpose_turned_of(float32, (48, 64)), "rows=48", "rows=32 or rows=64"),
    (lambda: transpose_turned_of(float32, (96, 96), 64), "rows=96", "threads_y=32"),
    (lambda: transpose_turned_of(float64, (128, 128)), "rows=128", "rows=32"),
    (lambda: transpose_fastest_of(float32, (64, 48)), "cols=48", "cols=32 or cols=64"),
    (lambda: transpose_fastest_of(float32, (64, 64), 384), "rows=64", "rows=96"),
    (lambda: transpose_fastest_of(float32, (64, 64), 500), "threads=500", "threads=512"),
    (lambda: transpose_fastest_of(float32, blocks=5), "blocks=5", "blocks=4"),
    (lambda: transpose_fastest_of(uint8, (64, 64)), "cols=64", "rows=128 and cols=128"),
    (lambda: Shape(32, 128, 8, 500, 4), "threads=500", "threads=512"),
    (lambda: Shape(32, 128, 128, 512, 4), "cut=128", "cut=124"),
    (lambda: Shape(30, 128, 8, 512, 4), "rows=30", "rows=16 or rows=32"),
    (lambda: transpose_shifted_of(uint8, SHAPES[4]), "cut=8", "cut=32"),
    (
        lambda: transpose_shifted_of(float32, Shape(32, 96, 8, 512, 1)),
        "threads=512",
        "threads=480 or threads=576",
    ),
]


@pytest.mark.parametrize(("make", "named", "advice"), BAD)
def test_bad_choices(make, named, advice):
    """Each is refused by a ValueError that names the choice, and values that would do."""
    with pytest.raises(ValueError) as refusal:
        make()
    said = str(refusal.value)
    assert f": {named}," in said
    assert advice in said, said


@pytest.mark.parametrize(
    "factory", [transpose_turned_of, transpose_fastest_of, transpose_shifted_of]
)
def test_elements_that_nobody_moves(factory):
    """16 bytes, or no number at all."""
    with pytest.raises(ValueError, match="elements of 1, 2, 4 or 8 bytes are moved"):
        factory(void)
