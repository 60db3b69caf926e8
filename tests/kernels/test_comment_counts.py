"""The numbers in comments and docstrings of the ladders that no other test asserts."""

import inspect
import re

import numpy as np
import pytest
from numba import uint8, uint16, uint64

from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose.variants.turned import transpose_turned_of
from smemnb.tracing import trace

WORDS = {uint8: np.uint8, uint16: np.uint16, uint64: np.uint64}


def seeded(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).integers(0, 90, shape).astype(dtype)


def lines(kernel, grid, block, *arguments):
    """{(text, kind): (requests, wavefronts, sectors)} of a launch."""
    found = {}
    for row in trace(kernel)[grid, block](*arguments).lines:
        before = found.get((row.text, row.kind), (0, 0, 0))
        now = row.requests, row.wavefronts, row.sectors
        found[row.text, row.kind] = tuple(map(sum, zip(before, now, strict=True)))
    return found


def each(counted):
    """(wavefronts, sectors) per request."""
    requests, wavefronts, sectors = counted
    return wavefronts / requests, sectors / requests


def test_copy():
    """copy_wide: 16 sectors for each load and each store."""
    inp, out = seeded((8, 512), 1), np.zeros((8, 512), np.float32)
    rung = transposes.COPY
    found = lines(rung.kernel, rung.grid(8, 512), rung.block, out, inp)
    assert sorted(map(each, found.values())) == [(0, 16), (0, 16)]
    np.testing.assert_array_equal(out, inp)


@pytest.mark.parametrize(("dtype", "wavefronts"), [(uint8, 1), (uint16, 1), (uint64, 2)])
def test_turned_elements(dtype, wavefronts):
    """Every request of the tile takes 1 wavefront, of 8-byte elements 2, which is their least."""
    inp = seeded((128, 192), 2, WORDS[dtype])
    out = np.zeros((192, 128), WORDS[dtype])
    found = trace(transpose_turned_of(dtype))[(3, 2), (32, 16)](out, inp)
    np.testing.assert_array_equal(out, inp.T)
    shared = [row for row in found.lines if row.space == "shared"]
    assert {row.wavefronts / row.requests for row in shared} == {wavefronts}


def test_scattered_product():
    """a: 16 sectors, as 16 rows are touched; b: 1, an element for each of two columns."""
    a, b, out = seeded((32, 64), 3), seeded((64, 32), 4), np.zeros((32, 32), np.float32)
    found = lines(products.rung_named("matmul_scattered").kernel, (2, 2), (16, 16), out, a, b)
    assert {key: each(counted) for key, counted in found.items()} == {
        ("a[row, k]", "load"): (0, 16),
        ("b[k, col]", "load"): (0, 1),
        ("out[row, col]", "store"): (0, 16),
    }


def test_tiles_of_32():
    """4 sectors for each load and store, 1 wavefront for each access of a tile."""
    a, b, out = seeded((32, 64), 5), seeded((64, 96), 6), np.zeros((32, 96), np.float32)
    found = lines(products.rung_named("matmul_tiled_32").kernel, (3, 1), (32, 32), out, a, b)
    assert {key: each(counted) for key, counted in found.items()} == {
        ("a[row, k0 + tx]", "load"): (0, 4),
        ("b[k0 + ty, col]", "load"): (0, 4),
        ("a_tile[ty, tx]", "store"): (1, 0),
        ("b_tile[ty, tx]", "store"): (1, 0),
        ("a_tile[ty, k]", "load"): (1, 0),
        ("b_tile[k, tx]", "load"): (1, 0),
        ("out[row, col]", "store"): (0, 4),
    }


@pytest.mark.parametrize(
    ("name", "reads", "per_thread"),
    [("matmul_column", 9, 8), ("matmul_square", 8, 16), ("matmul_8x8", 16, 64)],
)
def test_reads_for_products(name, reads, per_thread):
    """8 rows of a column: 9 reads for 8 products; 4x4: 8 for 16; 8x8: 16 for 64."""
    rung = products.rung_named(name)
    (threads, _), (edge, _) = rung.block, rung.tile
    a, b = seeded((edge, 8), 7), seeded((8, edge), 8)
    out = np.zeros((edge, edge), np.float32)
    found = lines(rung.kernel, (1, 1), threads, out, a, b, 1.0, 0.0)
    np.testing.assert_array_equal(out, a @ b)
    read = sum(
        requests
        for (text, kind), (requests, wavefronts, _) in found.items()
        if kind == "load" and wavefronts
    )
    assert read == threads // 32 * 8 * reads
    assert edge * edge == threads * per_thread


BY_ELEMENT = {"a": (0, 4), "b": (0, 4), "out": (0, 4)}
BY_ELEMENT |= {"store a_tile": (1, 0), "store b_tile": (1, 0), "b_tile": (1, 0), "a_tile": (1, 0)}
BY_QUADS = BY_ELEMENT | {"out": (0, 16), "a_tile": (2, 0), "b_tile": (4, 0)}
BY_LOADS = BY_QUADS | {"a": (0, 16), "b": (0, 16), "store b_tile": (4, 0)}
EACH = {  # wavefronts and sectors of a request for an array: a load, or a store where it says so
    "matmul_column": BY_ELEMENT,
    "matmul_square": BY_ELEMENT | {"a_tile": (2, 0)},
    "matmul_8x8": BY_ELEMENT | {"a_tile": (2, 0)},
    "matmul_turned": BY_ELEMENT | {"store a_tile": (8, 0)},
    "matmul_turned_padded": BY_ELEMENT,
    "matmul_unguarded": BY_ELEMENT,
    "matmul_two_blocks": BY_ELEMENT,
    "matmul_laid_out": BY_ELEMENT,
    "matmul_unsigned": BY_ELEMENT,
    "matmul_by_quads": BY_QUADS,
    "matmul_primed": BY_QUADS,
    "matmul_wide": BY_LOADS,
    "matmul_prefetched": BY_LOADS,
    "matmul_warped": BY_LOADS,
    "matmul_tall": BY_LOADS,
    "matmul_snaking": BY_LOADS,
    "matmul_overlapped": BY_LOADS,
    "matmul_fastest": BY_LOADS,
}


def test_every_rung_has_its_counts():
    """Each rung of several elements per thread; the four of one have tests of their own."""
    assert list(EACH) == [rung.name for rung in products.LADDER if rung.scaled]


@pytest.mark.first(6)
@pytest.mark.parametrize("name", EACH)
def test_counts_of_products(name):
    """The counts in a rung's comments, each per request; both accesses of `out` are alike."""
    rung = products.rung_named(name)
    rows, cols = rung.tile
    a, b, out = seeded((rows, 16), 1), seeded((16, cols), 2), seeded((rows, cols), 3)
    found = {}
    for (text, kind), counted in lines(
        rung.kernel, (1, 1), rung.block, out, a, b, np.float32(2), np.float32(3)
    ).items():
        array = re.match(r"(?:(?:load|store)\d+\()?(\w+)", text)[1]
        stored = kind == "store" and array != "out"
        found.setdefault(f"store {array}" if stored else array, set()).add(each(counted))
    assert found == {array: {wanted} for array, wanted in EACH[name].items()}


@pytest.mark.parametrize("name", EACH)
def test_comments_say_the_counts(name):
    """Every number of wavefronts and sectors in a rung's comments is one that was counted."""
    text = inspect.getsource(inspect.getmodule(products.rung_named(name).kernel.py_func))
    comments = " ".join(re.findall(r"#.*", text))
    said = {
        (int(count), unit)
        for count, unit in re.findall(r"(?<!was )(\d+) (wavefront|sector)", comments)
    }
    counted = {(int(one[0]), "wavefront") for one in EACH[name].values() if one[0]}
    counted |= {(int(one[1]), "sector") for one in EACH[name].values() if one[1]}
    assert said == counted


def words_per_step(tiling):
    """Words that a warp reads at each step: its rows of a, its columns of b."""
    return tiling.warp_rows + tiling.warp_cols


def test_choices_that_the_ladder_tells():
    """144 words per step and then 96; 24 reads for 128 products; SMALL in the same manner."""
    assert words_per_step(products.WIDE) == 16 + 128 == 144
    assert words_per_step(products.WARPED) == 64 + 32 == 96
    tall, wide = products.TALL.thread
    assert (tall + wide, tall * wide, products.TALL.threads) == (24, 128, 128)
    assert (products.VARIED.band, products.VARIED.stage_at) == (4, products.FASTEST.depth - 3)
    assert products.OVERLAPPED.fragments == products.PREFETCHED.buffers == 2


@pytest.mark.slow
@pytest.mark.parametrize("tiling", [products.WARPED, products.VARIED], ids=["8x8", "16x8"])
def test_pads_of_the_turned_tile(tiling):
    """4 pad words per column of a: lanes that hold different k of the same rows are kept apart."""
    a, b = seeded((128, 8), 9), seeded((8, 128), 10)
    out = np.zeros((128, 128), np.float32)
    found = trace(matmul_of(tiling))[(1, 1), tiling.threads](out, a, b, 1.0, 0.0)
    turned = [
        row for row in found.lines if row.space == "shared" and row.text.startswith("store1(")
    ]
    per_tile = tiling.threads // 32 * tiling.quads[0] * 4
    assert sum(row.requests for row in turned) == 2 * per_tile  # the last turn stores once more
    assert sum(row.wavefronts - row.requests for row in turned) == 0
