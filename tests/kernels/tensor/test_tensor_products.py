"""Tensor products from factories: types, layouts, edges, parts, copies of misaligned operands."""

import itertools

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.tensor.choosing import CUTS, choose, step_cycles
from smemnb.kernels.tensor.tensor_cut import TensorCut
from smemnb.kernels.tensor.variants.aligned import THREADS as COPY_THREADS
from smemnb.kernels.tensor.variants.aligned import aligned_copy_of
from smemnb.kernels.tensor.variants.lasting import lasting_product_of
from smemnb.kernels.tensor.variants.parts import THREADS, parts_added_of
from smemnb.kernels.tensor.variants.peak import THREADS as PEAK_THREADS
from smemnb.kernels.tensor.variants.peak import mma_peak_of
from smemnb.kernels.tensor.variants.staged import tensor_product_of
from smemnb.measure.bench.tensor import bits, singles
from smemnb.tracing import trace
from tests.tiers import exhaustive, sampled

SMALL = TensorCut(32, 64, warp_rows=32, warp_cols=32, stages=3)
DEEP = TensorCut(64, 64, depth=32, warp_rows=32, warp_cols=32, stages=2)
TALL = TensorCut(64, 64, warp_rows=64, warp_cols=64, stages=2)


def drawn(shape, seed):
    """Small whole numbers without symmetry."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def words(matrix, kind):
    """A matrix as words, in rows of whole chunks of 16 bytes, zeros behind it."""
    found = bits(matrix, kind)
    each = 16 // found.itemsize
    wide = np.zeros((matrix.shape[0], -(-matrix.shape[1] // each) * each), found.dtype)
    wide[:, : matrix.shape[1]] = found
    return wide.view(np.uint32)


def made(cut, kind, sides, shape, *, result=None, wide=True, factors=(1, 0), many="", parts=1):
    """The result and the trace of a product, and the right result."""
    rows, cols, depth = shape
    result = result or ("float32" if kind == "tf32" else kind)
    a, b, before = drawn((rows, depth), 1), drawn((depth, cols), 2), drawn((rows, cols), 3)
    held = words(a.T if sides[0] else a, kind), words(b.T if sides[1] else b, kind)
    stored = bits(before, result) if result != "float32" else before
    out = stored.view(np.uint16).copy() if stored.itemsize == 2 else stored.copy()
    if parts > 1:
        out = np.zeros((parts, rows, cols), np.float32)
    kernel = tensor_product_of(cut, kind, *sides, result, wide, many)
    tiles = -(-rows // cut.rows) * -(-cols // cut.cols)
    grid = (tiles, 1, parts)
    alpha, beta = map(np.float32, factors)
    report = trace(kernel)[grid, cut.threads, 0, cut.shared_bytes](out, *held, alpha, beta)
    if result == "f16":
        out = out.view(np.float16)
    right = factors[0] * (a @ b) + factors[1] * before
    if result != "float32":
        right = singles(bits(right, result), result)
    return singles(out, result), right, report


LASTING = TensorCut(32, 32, warp_rows=32, warp_cols=32, stages=4, lasting=1)


def made_lasting(kind, sides, shape, *, blocks, result, factors=(1, 0)):
    """The same by blocks that stay: fewer blocks than tiles."""
    rows, cols, depth = shape
    a, b, before = drawn((rows, depth), 1), drawn((depth, cols), 2), drawn((rows, cols), 3)
    held = words(a.T if sides[0] else a, kind), words(b.T if sides[1] else b, kind)
    out = before if result == "float32" else bits(before, result).view(np.uint16).copy()
    kernel = lasting_product_of(LASTING, kind, *sides, result, not cols % 8)
    weights = map(np.float32, factors)
    report = trace(kernel)[blocks, LASTING.threads, 0, LASTING.shared_bytes](out, *held, *weights)
    right = factors[0] * (a @ b) + factors[1] * drawn((rows, cols), 3)
    if result != "float32":
        right = singles(bits(right, result), result)
        out = out.view(np.float16) if result == "f16" else out
    return singles(out, result), right, report


LAYOUTS = list(itertools.product((False, True), (False, True)))


@pytest.mark.parametrize(
    ("depth", "sides"), sampled(itertools.product((51, 1), LAYOUTS), 1, second=2)
)
def test_depths_that_fill_no_chunk(depth, sides):
    """Rows are filled up with zeros, and no line behind the other operand's last is read."""
    found, right, report = made(SMALL, "bf16", sides, (40, 72, depth))
    np.testing.assert_array_equal(found, right)
    assert [str(one) for one in report.findings if one.severity != "note"] == []


@pytest.mark.parametrize(
    ("kind", "sides"),
    sampled(itertools.product(("f16", "bf16", "tf32"), LAYOUTS), 1, second=1),
)
def test_blocks_that_stay(kind, sides):
    """Two blocks take six tiles; steps of a tile are fewer, or more, than are sent ahead."""
    for depth, factors in ((20, (1, 0)), (120, (2, 3))):
        result = "float32" if kind == "tf32" else kind
        shape = 40, 72, depth if kind != "tf32" else depth // 2
        found, right, report = made_lasting(
            kind, sides, shape, blocks=2, result=result, factors=factors
        )
        np.testing.assert_array_equal(found, right)
        # the old result is read in pairs of neighbours, as lanes hold it
        asked = [one for one in report.findings if one.severity != "note"]
        assert [str(one) for one in asked if one.kind != "uncoalesced"] == []


@pytest.mark.parametrize(
    ("kind", "sides"),
    sampled(itertools.product(("f16", "bf16", "tf32"), LAYOUTS), 1, second=2),
)
def test_layouts(kind, sides):
    """Each type in each layout: right over a ragged shape, one barrier race-free, no conflict."""
    found, right, report = made(SMALL, kind, sides, (40, 72, 56))
    np.testing.assert_array_equal(found, right)
    assert [str(one) for one in report.findings if one.severity != "note"] == []
    moved = [row for row in report.lines if "ldmatrix" in row.text or "load1(tile" in row.text]
    assert moved
    assert sum(row.extra for row in moved) == 0
    copied = [row for row in report.lines if "copy16" in row.text and row.kind == "store"]
    assert sum(row.extra for row in copied) == 0


@exhaustive
@pytest.mark.parametrize(
    ("cut", "kind", "sides"),
    [
        (DEEP, "bf16", (False, False)),
        pytest.param(TALL, "tf32", (True, False), marks=pytest.mark.nightly),
    ],
)
def test_cuts(cut, kind, sides):
    """Lines of 128 bytes, and warps of 64 x 64."""
    found, right, _ = made(cut, kind, sides, (72, 80, 136))
    np.testing.assert_array_equal(found, right)


@exhaustive
@pytest.mark.parametrize(
    ("result", "wide"), [("f16", False), pytest.param("float32", True, marks=pytest.mark.nightly)]
)
def test_results(result, wide):
    """alpha and beta, results of both dtypes, rows of out that begin anywhere."""
    shape = (40, 72, 40) if wide else (33, 37, 40)
    found, right, _ = made(
        SMALL, "f16", (False, False), shape, result=result, wide=wide, factors=(2, -3)
    )
    np.testing.assert_array_equal(found, right)


@exhaustive
@pytest.mark.parametrize("shape", [(1, 8, 8), (32, 64, 32), (33, 72, 8)])
def test_degenerate(shape):
    """A row, one whole tile, one row more."""
    found, right, _ = made(SMALL, "f16", (False, False), shape)
    np.testing.assert_array_equal(found, right)


@exhaustive
def test_parts():
    """Parts of the depth, some of them empty, added up: all of the product."""
    found, right, _ = made(
        SMALL, "bf16", (False, True), (40, 72, 136), result="float32", many="parts", parts=4
    )
    np.testing.assert_array_equal(found.sum(0), right)
    before = drawn(right.shape, 9)
    out = bits(before, "bf16")
    blocks = -(-right.size // THREADS)
    parts_added_of("bf16")[blocks, THREADS](out, found, np.float32(2), np.float32(1))
    wanted = bits(2 * right + before, "bf16")
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=exhaustive)])
def test_aligned_copy(size):
    """Rows that begin anywhere, as rows of whole chunks with zeros behind them."""
    dtype = np.dtype(f"u{size}")
    whole = np.random.default_rng(4).integers(1, 999, (2, 5, 13)).astype(dtype)
    inp = cuda.to_device(whole)[:, :, 1:12]
    each = 4 // size
    out = np.full((2, 5, 16 // each), 7, np.uint32)
    blocks = -(-out[0].size // COPY_THREADS)
    aligned_copy_of(size)[(blocks, 1, 2), COPY_THREADS](out, inp)
    found = out.view(dtype)
    np.testing.assert_array_equal(found[:, :, :11], whole[:, :, 1:12])
    assert not found[:, :, 11:].any()


@exhaustive
def test_peak():
    """The loop from registers does what it is counted for: all sums are finite and grow evenly."""
    sums = []
    for rounds in (1, 2):
        out = np.zeros(PEAK_THREADS, np.float32)
        mma_peak_of("f16")[1, PEAK_THREADS](out, np.uint32(rounds), np.uint32(2026))
        sums.append(out)
    assert np.isfinite(sums).all()
    assert np.count_nonzero(sums[0]) > PEAK_THREADS // 2
    np.testing.assert_allclose(sums[1], 2 * sums[0], rtol=1e-2, atol=1e-1)


def test_refused_cuts():
    """Choices that do not go together are named."""
    for wrong in ({"rows": 96}, {"depth": 24}, {"stages": 12}, {"warp_cols": 128}):
        with pytest.raises(ValueError, match="TensorCut"):
            TensorCut(**{"rows": 128, "cols": 256, **wrong})


def test_choice():
    """Large products get large tiles; deep small ones parts; every cut fits an H200."""
    assert (choose((8192, 8192, 4096), 1, 132, 2).cut.rows) in (128, 256)
    assert choose((64, 64, 65536), 1, 132, 2).parts > 1
    assert all(cut.shared_bytes <= 227 * 1024 for cut in CUTS)
    assert step_cycles(TensorCut(128, 256), 1)["shared"] == 704
