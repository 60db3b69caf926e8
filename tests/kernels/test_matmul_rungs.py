"""Every rung of the product: values on awkward shapes, counts per request, the choice."""

from dataclasses import replace

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.kernels.matmul import ladder
from smemnb.kernels.matmul.tiling import Tiling
from smemnb.kernels.matmul.variants.sliced import matmul_sliced_of
from smemnb.kernels.matmul.variants.streamed import matmul_streamed_of
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.operations.multiplying import matmul
from smemnb.tracing import trace

ANY = [rung for rung in ladder.LADDER if not rung.depth]
WHOLE = [rung for rung in ladder.LADDER if rung.depth]
LAST = ladder.LADDER[-1].name
ALPHA, BETA = 2.0, 0.5


def scattered(shape, seed):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)


def traced(kernel, grid, block, m, k, n, scaled=True, beta=BETA):
    """The trace of a product whose result was checked; with beta 0 `out` is NaN before."""
    a, b = scattered((m, k), 1), scattered((k, n), 2)
    before = scattered((m, n), 3) if scaled and beta else np.full((m, n), np.nan, np.float32)
    out = before.copy()
    found = trace(kernel)[grid, block](out, a, b, *((ALPHA, beta) if scaled else ()))
    product = a.astype(np.float64) @ b.astype(np.float64)
    if scaled:
        product = ALPHA * product + (beta * before if beta else 0)
    np.testing.assert_array_equal(out, product)
    return found


def rung_traced(rung, m, k, n, beta=BETA):
    return traced(rung.kernel, rung.grid(m, n), rung.block, m, k, n, rung.scaled, beta)


def serious(found):
    """Kinds of findings, without prices and the notes that a launch this small may have."""
    small = {"misaligned", "unused_shared", "unused_barrier"}
    return {one.kind for one in found.findings if not one.price} - small


@pytest.mark.first(3)
@pytest.mark.parametrize("shape", [(40, 33, 35), (1, 70, 33), (33, 1, 1), (5, 0, 6), (65, 17, 129)])
@pytest.mark.parametrize("rung", ANY, ids=lambda rung: rung.name)
def test_values_of_any_shape(rung, shape):
    """Any shapes, a depth of 0 and 1 included; clean of races."""
    assert serious(rung_traced(rung, *shape)) == set()


@pytest.mark.first(1)
@pytest.mark.parametrize(
    "rung",
    [
        pytest.param(rung, marks=() if rung.name == LAST else pytest.mark.slow, id=rung.name)
        for rung in WHOLE
    ],
)
def test_values_of_whole_tiles(rung):
    """Whole tiles, with alpha and beta, over three depths; `out` is not read where beta is 0."""
    assert serious(rung_traced(rung, 128, 24, 256)) == set()
    rung_traced(rung, 128, 8, 128, beta=0)


@pytest.mark.first(1)
@pytest.mark.parametrize("wide", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "depth", [12, *(pytest.param(depth, marks=pytest.mark.exhaustive) for depth in (0, 4, 16))]
)
def test_values_beyond_whole_tiles(wide, depth):
    """A tile moved back inside, a first tile of what is left of the depth; by 16 bytes or not."""
    tiling, m, n = ladder.VARIED, 132, 260
    kernel = matmul_of(tiling, False, *wide)
    found = traced(kernel, (3, 2), tiling.threads, m, depth, n)
    assert serious(found) == set()


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "shape", [(129, 1, 131), (131, 7, 128), (128, 9, 257), (64, 8, 64), (130, 13, 64)]
)
def test_values_of_the_choice(shape):
    """Odd shapes and depths get a kernel that is right."""
    m, k, n = shape
    a, b, out = (np.zeros(extents, np.float32) for extents in ((m, k), (k, n), (m, n)))
    fit = ladder.fastest(out, a, b, multiprocessors=0)
    assert serious(traced(fit.kernel, fit.grid, fit.block, m, k, n)) == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("spare", [1, 4])
def test_rows_that_lie_apart(spare):
    """Slices of wider matrices: their gaps are neither read nor written."""
    m, k, n = 130, 12, 132
    hosts = [scattered(extents, 4) for extents in ((m, k + spare), (k, n + spare), (m, n + spare))]
    a, b, out = (cuda.to_device(host)[:, : host.shape[1] - spare] for host in hosts)
    fit = ladder.fastest(out, a, b, multiprocessors=0)
    found = trace(fit.kernel)[fit.grid, fit.block](out, a, b, 1.0, 0.0)
    assert serious(found) == set()
    np.testing.assert_array_equal(out.copy_to_host(), hosts[0][:, :k] @ hosts[1][:, :n])


def staged(found, text):
    """(requests, wavefronts) of the lines with this text."""
    rows = [row for row in found.lines if row.text == text]
    return sum(row.requests for row in rows), sum(row.wavefronts for row in rows)


def test_turned_tiles():
    """Reads of [row][k] are 2-way; turned they are free, but the store 8-way; 4 pads mend it."""
    names = ("matmul_8x8", "matmul_turned", "matmul_turned_padded")
    straight, turned, padded = (
        rung_traced(ladder.rung_named(name), 128, 16, 128) for name in names
    )
    assert staged(straight, "a_tile[m, k]") == (64, 64)
    assert staged(straight, "a_tile[m0 + i, k]") == (1024, 2 * 1024)
    for found, wavefronts in ((turned, 8), (padded, 1)):
        assert staged(found, "a_tile[k, m]") == (64, wavefronts * 64)
        assert staged(found, "a_tile[k, m0 + i]") == (1024, 1024)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("tiling", "a_reads", "b_reads"),
    [
        (ladder.WARPED, (8 * 8 * 2, 2), (8 * 8 * 2, 4)),
        (ladder.TALL, (4 * 8 * 4, 2), (4 * 8 * 2, 4)),
        (replace(ladder.TALL, interleaved=True), (4 * 8 * 4, 2), (4 * 8 * 2, 2)),
    ],
    ids=["in_rows", "tall", "interleaved"],
)
def test_fragment_reads(tiling, a_reads, b_reads):
    """In rows, neighbouring lanes share only what they read of a: 2 and 4 wavefronts.

    Interleaved, pairs share both: 2 and 2. Reads are warps x steps x quads of a thread.
    """
    found = traced(matmul_of(tiling), (1, 1), tiling.threads, 128, 8, 128)
    texts = [row.text for row in found.lines if row.space == "shared" and row.kind == "load"]
    a_text, b_text = sorted(text for text in texts if "load16" in text)
    for text, (reads, wavefronts) in ((a_text, a_reads), (b_text, b_reads)):
        assert staged(found, text) == (reads, reads * wavefronts)


@pytest.mark.parametrize("rung", WHOLE, ids=lambda rung: rung.name)
def test_refused_shapes(rung):
    """Whole tiles only: a row, a column, a k too many or too few, or none, is refused."""
    high, wide = rung.tile
    assert rung.whole(2 * high, wide, 3 * rung.depth)
    for shape in ((high + 4, wide, 8), (high, wide - 4, 8), (high, wide, 12), (high, wide, 0)):
        assert not rung.whole(*shape)
        m, n, k = shape
        a, b = np.zeros((m, k), np.float32), np.zeros((k, n), np.float32)
        with pytest.raises(LaunchRefused, match=f"rung {rung.name} makes whole tiles"):
            matmul(a, b, rung=rung.name)


def chosen(m, k, n, multiprocessors):
    """The choice for contiguous matrices, of which only the shapes count."""
    a, b, out = (np.zeros(extents, np.float32) for extents in ((m, k), (k, n), (m, n)))
    return ladder.fastest(out, a, b, multiprocessors)


def test_choice():
    """Whole tiles and aligned rows get the kernel without guards; small results smaller tiles."""
    whole = chosen(256, 64, 256, 3)
    assert whole.kernel is ladder.rung_named("matmul_fastest").kernel
    assert (whole.grid, whole.block, whole.sums) == ((2, 2), (128, 1), 0)
    small = chosen(256, 40, 256, 4)
    assert small.kernel is matmul_of(ladder.SMALL, True, True, True, "matmul_fastest")
    sliced = chosen(256, 64, 256, 4)
    assert sliced.kernel is matmul_sliced_of(ladder.SLICED)
    assert (sliced.grid, sliced.block) == ((4, 4), (256, 1))
    assert chosen(3, 255, 5, 4).kernel.__name__ == "matmul_square"


def test_choice_of_shared_tiles():
    """4 tiles for 6 blocks: 2 help, where the depth is worth it; rows that begin anywhere, too."""
    shared = chosen(256, 256, 256, 3)
    assert shared.kernel is matmul_streamed_of(ladder.SHARED, True, True, True, "matmul_shared")
    assert (shared.grid, shared.block) == ((6, 1), (128, 1))
    assert (shared.sums, shared.flags) == (6 * 128 * 128, 7)
    ragged = chosen(257, 255, 255, 3)
    wanted = matmul_streamed_of(ladder.SHARED, False, False, False, "matmul_shared")
    assert ragged.kernel is wanted
    assert chosen(257, 9, 255, 3).kernel.__name__ == "matmul_fastest"  # two steps: too few


def test_tiling():
    """What follows from the choices: 16 x 8 per thread, 128 threads, two quads of each."""
    tiling = ladder.FASTEST
    assert (tiling.thread, tiling.threads, tiling.quads) == ((16, 8), 128, (2, 2))
    assert tiling.sizes == (8 * 132, 8 * 128)
    assert (Tiling().thread, Tiling().threads) == ((8, 8), 256)
