"""`matmul`: values over random and awkward shapes, alpha and beta, strides and rungs; no races."""

import numpy as np
import pytest
from numba import cuda

from smemnb.kernels.matmul import ladder
from smemnb.operations import matmul
from smemnb.operations.choice import ENGINE, new_layout
from smemnb.operations.matmul_choice import matmul_plan
from smemnb.tracing import trace


def scattered(rng, rows, cols):
    """A matrix of small whole numbers, whose products are exact in float32."""
    return rng.integers(-9, 10, (rows, cols)).astype(np.float32)


def product(a, b, before=0, alpha=1, beta=0):
    """The result as NumPy makes it in float64."""
    made = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    return (made + beta * before if beta else made).astype(np.float32)


def sizes(rng):
    """Rows, depth, columns: often below 40, sometimes 0 or 1, rarely up to 130."""
    most = rng.choice([2, 40, 130], 3, p=[0.15, 0.75, 0.1])
    return (int(extent) for extent in rng.integers(0, most))


def test_random_shapes():
    """200 shapes; every fourth with alpha, beta and rows of `out` that lie apart."""
    rng = np.random.default_rng(30)
    for number in range(200):
        rows, depth, cols = sizes(rng)
        a, b = scattered(rng, rows, depth), scattered(rng, depth, cols)
        if number % 4:
            result = matmul(a, b)
            assert result.dtype == np.float32 and result.flags.c_contiguous
            np.testing.assert_array_equal(result, product(a, b))
            continue
        whole = scattered(rng, rows, cols + number % 3)
        before, out = whole.copy(), whole[:, :cols]
        assert matmul(a, b, out=out, alpha=2, beta=-0.5) is out
        before[:, :cols] = product(a, b, before[:, :cols], 2, -0.5)
        np.testing.assert_array_equal(whole, before)


@pytest.mark.exhaustive
def test_more_random_shapes():
    """150 shapes in device arrays with gaps, with alpha and beta."""
    rng = np.random.default_rng(31)
    for _ in range(150):
        rows, depth, cols = (max(1, extent) for extent in sizes(rng))
        gap = int(rng.integers(1, 5))
        a, b = scattered(rng, rows, depth + gap), scattered(rng, depth, cols + gap)
        before = scattered(rng, rows, cols)
        out = cuda.to_device(before)
        parts = cuda.to_device(a)[:, :depth], cuda.to_device(b)[:, :cols]
        matmul(*parts, out=out, alpha=3, beta=2)
        expected = product(a[:, :depth], b[:, :cols], before, 3, 2)
        np.testing.assert_array_equal(out.copy_to_host(), expected)


@pytest.mark.parametrize(
    "shape",
    [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0), (1, 1, 1), (1, 97, 1), (31, 37, 41), (64, 32, 33)],
)
def test_awkward_shapes(shape):
    """None, one, primes and whole tiles, on the host and as device arrays, with a depth of 0."""
    rows, depth, cols = shape
    rng = np.random.default_rng(32)
    a, b, before = (scattered(rng, *one) for one in ((rows, depth), (depth, cols), (rows, cols)))
    np.testing.assert_array_equal(matmul(a, b), product(a, b))
    out = cuda.to_device(before)
    assert matmul(cuda.to_device(a), cuda.to_device(b), out, 2, 3) is out
    np.testing.assert_array_equal(out.copy_to_host(), product(a, b, before, 2, 3))


def test_rows_that_lie_apart():
    """Device arrays in wider matrices: their gaps are neither read nor written."""
    rng = np.random.default_rng(35)
    hosts = [scattered(rng, *one) for one in ((20, 35), (33, 19), (20, 19))]
    a, b, whole = (cuda.to_device(host) for host in hosts)
    matmul(a[:, :-2], b[:, :-2], out=whole[:, :-2])
    hosts[2][:, :-2] = product(hosts[0][:, :-2], hosts[1][:, :-2])
    np.testing.assert_array_equal(whole.copy_to_host(), hosts[2])


def test_out_is_not_read():
    """Where beta is 0 in float32, a NaN in `out` does not survive; nor with a depth of 0."""
    a, b = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    for beta in (0, -0.0, 1e-60, np.float64(0)):
        for depth in (4, 0):
            out = np.full((3, 5), np.nan, np.float32)
            matmul(a[:, :depth], b[:depth], out=out, alpha=2, beta=beta)
            np.testing.assert_array_equal(out, np.full((3, 5), 2 * depth))
            on_device = cuda.to_device(np.full((3, 5), np.nan, np.float32))
            matmul(cuda.to_device(a), cuda.to_device(b), on_device, beta=beta)
            np.testing.assert_array_equal(on_device.copy_to_host(), np.full((3, 5), 4))


def test_special_factors():
    """NaN and infinity as factors are numbers like others; whole numbers of NumPy too."""
    a, b = np.full((2, 3), 2, np.float32), np.full((3, 2), 5, np.float32)
    assert np.isnan(matmul(a, b, alpha=np.nan)).all()
    assert (matmul(a, b, alpha=1e300) == np.inf).all()
    assert (matmul(a, b, out=np.ones((2, 2), np.float32), alpha=np.int8(2), beta=1) == 61).all()
    assert np.isnan(matmul(a, b, out=np.ones((2, 2), np.float32), beta=np.nan)).all()


def test_left_and_right_may_be_one():
    """Both factors may share memory; a column by column view may not."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(matmul(x, x), x @ x)


QUICK = {"matmul_naive", "matmul_tiled", "matmul_tiled_32", "matmul_square"}
NAMES = [
    pytest.param(
        rung,
        marks=[pytest.mark.slow] * (rung.name not in QUICK),
        id=rung.name,
    )
    for rung in ladder.LADDER
]


@pytest.mark.first(2)
@pytest.mark.parametrize("rung", NAMES)
def test_rungs(rung):
    """Each rung by its name and by itself."""
    rng = np.random.default_rng(33)
    rows, depth, cols = (128, 16, 256) if rung.depth else (70, 19, 33)
    a, b = scattered(rng, rows, depth), scattered(rng, depth, cols)
    np.testing.assert_array_equal(matmul(a, b, rung=rung.name), product(a, b))
    np.testing.assert_array_equal(matmul(a, b, rung=rung), product(a, b))


@pytest.mark.slow
def test_more_rows_than_a_grid_covers():
    """65535 tiles of 16 rows and one row more: two launches, of the rows on either side."""
    rows = 65535 * 16 + 1
    a = (np.arange(rows) % 251).astype(np.float32).reshape(rows, 1)
    out = np.ones((rows, 2), np.float32)
    b = np.array([[2, 3]], np.float32)
    np.testing.assert_array_equal(matmul(a, b, rung="matmul_naive"), a * b)
    matmul(a, b, out=out, beta=7, rung="matmul_square")
    np.testing.assert_array_equal(out, a * b + 7)


@pytest.mark.parametrize("shape", [(70, 19, 33), (5, 0, 3), (33, 65, 1)])
@pytest.mark.parametrize("plain", [True, False])
def test_no_races(shape, plain):
    """The kernels that are chosen for the engine run clean of findings over ragged shapes."""
    check_clean(shape, plain, ENGINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        (65, 7, 70),
        *(
            pytest.param(shape, marks=pytest.mark.exhaustive)
            for shape in ((129, 12, 131), (130, 13, 260), (40, 8, 40))
        ),
    ],
)
def test_no_races_on_a_gpu(shape):
    """So do those that are chosen for a GPU."""
    check_clean(shape, False, 1)
    check_clean(shape, False, 132)


def check_clean(shape, plain, processors):
    """The chosen kernel has the right result and no finding that says it may be wrong."""
    rows, depth, cols = shape
    rng = np.random.default_rng(34)
    a, b, out = (scattered(rng, *one) for one in ((rows, depth), (depth, cols), (rows, cols)))
    expected = product(a, b) if plain else product(a, b, out, 2, 0.5)
    laid = [new_layout(*one.shape, 4) for one in (out, a, b)]
    plan = matmul_plan(None, *laid, processors, plain=plain)
    factors = (np.float32(2), np.float32(0.5)) if plan.scaled else ()
    found = trace(plan.kernel)[plan.grid, plan.block](out, a, b, *factors).findings
    prices = {"uncoalesced", "interleaved", "misaligned", "unused_shared", "unused_barrier"}
    prices |= {"open_local_array"}  # a part of a variant whose indices the compiler decides about
    assert {one.kind for one in found} <= prices
    np.testing.assert_array_equal(out, expected)
