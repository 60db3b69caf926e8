"""bincount and histogram against NumPy: any dtype, size and edges; `out`, streams, refusals."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.operations import histograms, patterns, tables
from smemnb.operations.backends.find import array_view
from smemnb.operations.backends.numba_arrays import NUMBA
from smemnb.operations.histograms import GUESS, bincount, histogram
from tests.facts import facts
from tests.operations.stand_in_driver import stand_in
from tests.tiers import exhaustive, sampled

WHOLE = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
NUMBERS = [*WHOLE[1:], "float32", "float64"]


def same_counts(x, least=0):
    """bincount(x, least) is NumPy's, bits and dtype and length."""
    wanted, found = np.bincount(x.astype(np.int64), minlength=least), bincount(x, least)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def same_histogram(x, *args):
    """histogram(x, ...) is NumPy's, counts and edges, bits and dtypes."""
    (wanted, edges), (found, own) = np.histogram(x, *args), histogram(x, *args)
    assert (found.dtype, own.dtype) == (wanted.dtype, edges.dtype)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(own, edges)


@pytest.mark.parametrize("dtype", sampled(WHOLE, 1))
def test_bincount_of_any_dtype(dtype):
    """Empty, short and longer arrays; fewer bins than values, as many, and more."""
    rng = np.random.default_rng(1)
    for size in (0, 1, 33, 3000):
        for largest in (1, 100):
            x = rng.integers(0, largest + 1, size).astype(dtype)
            for least in (0, 50, 256, 3000):
                same_counts(x, least)


def test_bincount_counts_again_where_numbers_are_large():
    """Beyond the guess, a second pass counts in as many bins as there are."""
    x = np.random.default_rng(2).integers(0, 5 * GUESS, 4000)
    same_counts(x)
    same_counts(x, 2 * GUESS)
    same_counts(np.array([GUESS - 1]))
    same_counts(np.array([GUESS]))


@exhaustive
def test_bincount_of_strided_arrays():
    """Every third element, from the second one on; a device array in the same manner."""
    host = np.random.default_rng(3).integers(0, 200, 1000).astype(np.int16)
    same_counts(host[1::3])
    x = cuda.to_device(host)
    for part, own in ((x, host), (x[3:], host[3:]), (x[::2], host[::2])):
        found = bincount(part)
        assert isinstance(found, cuda.devicearray.DeviceNDArray)
        np.testing.assert_array_equal(found.copy_to_host(), np.bincount(own))


def test_bincount_into_out():
    """The length of `out` is the number of bins; a larger number leaves it as it is."""
    x, out = np.array([3, 1, 3], np.int32), np.full(6, -1)
    assert bincount(x, out=out) is out
    assert out.tolist() == [0, 1, 0, 2, 0, 0]
    assert {"x", "3", "out", "2"} <= set(refusal(bincount, x, out=out[:2]))
    assert out.tolist() == [0, 1, 0, 2, 0, 0]
    wide = np.full(300, -1)
    bincount(x.astype(np.uint8), out=wide)
    np.testing.assert_array_equal(wide, np.bincount(x, minlength=300))


@exhaustive
def test_large_numbers_of_bins():
    """More bins than two blocks, and than one, have in shared memory; few copies, and none."""
    rng = np.random.default_rng(4)
    for bins in (1500, 20_000, 60_000, 800_000):
        same_counts(rng.integers(0, bins, 3000), bins)
    for bins in (40_000, 150_000):  # more elements than bins: counters in shared memory
        same_counts(rng.integers(0, bins, 4 * bins).astype(np.int32), bins)


def refusal(operation, *args, **named):
    with pytest.raises(LaunchRefused) as found:
        operation(*args, **named)
    return facts(str(found.value))


def test_bincount_refusals():
    """Each names the argument and what came; nothing is written."""
    x = np.array([1, 2], np.int32)
    assert {"x", "0"} <= set(refusal(bincount, np.array([1, -2], np.int32)))
    assert {"x", "0"} <= set(refusal(bincount, np.array([1, -2], np.int8)))
    assert {"x", "0"} <= set(refusal(bincount, np.array([1, -2])))
    assert "x" in refusal(bincount, np.array([1 << 40]))
    assert {"x", "x.reshape(-1)"} <= set(refusal(bincount, x.reshape(1, 2)))
    for dtype in (np.float16, np.float32, np.float64):
        assert {"x", "x.astype(np.int64)"} <= set(refusal(bincount, x.astype(dtype)))
    assert {"x", "x.astype(np.int16)"} <= set(refusal(bincount, x.astype(">i2")))
    assert {"x", "x.astype(np.int64)"} <= set(refusal(bincount, x.astype(object)))
    assert {"x", "np.array(x, dtype=np.int64)"} <= set(refusal(bincount, [1, 2]))
    there = refusal(bincount, cuda.to_device(x.astype(np.float32)))
    assert "cuda.to_device(x.copy_to_host().astype(np.int64))" in there
    assert "minlength" in refusal(bincount, x, -1)
    assert "minlength" in refusal(bincount, x, 2.0)
    assert "weights" in refusal(bincount, x, weights=x)
    for dtype in (np.int32, np.float32, np.complex64):
        with pytest.raises(LaunchRefused, match=r"\. Pass an `out` of int64$"):
            bincount(x, out=np.zeros(5, dtype))
        with pytest.raises(LaunchRefused, match=r"\. Pass an `out` of int64$"):
            histogram(x, out=np.zeros(10, dtype))
    assert "out" in refusal(bincount, x, 9, out=np.zeros(5, np.int64))
    both = np.arange(8)
    assert {"out", "x"} <= set(refusal(bincount, both[:4], out=both[3:]))
    both.flags.writeable = False
    assert "out" in refusal(bincount, x, out=both)
    assert "out" in refusal(bincount, x, out=cuda.device_array(5, np.int64))


@pytest.mark.parametrize("dtype", sampled(NUMBERS, 1))
def test_histogram_of_any_dtype(dtype):
    """Even bins of the whole and of a part, edges of any kind, any shape, nothing at all."""
    x = (np.random.default_rng(5).random(2000) * 100).astype(dtype)
    same_histogram(x)
    same_histogram(x, 17, (3, 50))
    same_histogram(x, [1, 2, 3, 10, 60])
    same_histogram(x, np.array([1.5, 2, 2, 70.25]))
    same_histogram(x, np.array([3, 5, 9], dtype))
    same_histogram(x.reshape(20, 100)[:, ::2], 5)
    same_histogram(x, 70_000, (0, 99))
    same_histogram(x[:1])
    same_histogram(x[0:1].reshape(()))
    same_histogram(x[:0])


ENDS = [(0.0, 1.0), (-3.0, 5.0), (0.1, 0.7), (1000.0, 1001.0)]


@pytest.mark.parametrize(
    ("dtype", "ends"), sampled([(t, e) for t in (np.float32, np.float64) for e in ENDS], 1)
)
def test_values_beside_even_edges(dtype, ends):
    """Each edge and its neighbours among the numbers of its type, NaN and infinities."""
    for bins in (1, 3, 100, 1000):
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, ends).astype(dtype)
        beside = [edges, np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, -dtype(np.inf))]
        special = np.array([np.nan, np.inf, -np.inf], dtype)
        same_histogram(np.concatenate([*beside, special]), bins, ends)


@exhaustive
def test_edges_at_any_distances():
    """Infinite edges, equal ones, a geometric row, edges that a cell holds many of."""
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.random(2000), [np.nan, np.inf, -np.inf, 0.1, 0.5]])
    same_histogram(x, [-np.inf, 0, 0.1, 0.1, 0.5, np.inf])
    same_histogram(x, [0.5, 0.5])
    same_histogram(x, [-np.inf, np.inf])
    same_histogram(x * 1e6, np.geomspace(1e-3, 1e6, 200))
    same_histogram(x, np.concatenate([[0], np.sort(rng.random(300)) * 1e-3, [1]]))
    same_histogram(x.astype(np.float32), np.sort(rng.random(50)).astype(np.float32))
    same_histogram((x[:2000] * 1e18).astype(np.int64), [0, 10**17, 10**17 + 1, 10**18])


def test_histogram_refusals():
    """Each names the argument and what came."""
    x, kept = np.float32([1, 2, 3]), np.full(3, 7)
    assert "bins" in refusal(histogram, x, 0)
    assert "bins" in refusal(histogram, x, [1])
    assert "bins" in refusal(histogram, x, [2, 1])
    assert "bins" in refusal(histogram, x, "auto")
    assert "bins" in refusal(histogram, x, 2.5)
    assert {"range", "2", "1"} <= set(refusal(histogram, x, 3, (2, 1)))
    assert "range" in refusal(histogram, x, 3, (0, np.inf))
    assert "range" in refusal(histogram, x, 3, 5)
    assert {"x", "range"} <= set(refusal(histogram, np.float32([1, np.nan])))
    assert "weights" in refusal(histogram, x, weights=x)
    assert "density" in refusal(histogram, x, density=True)
    assert {"out", "3", "4"} <= set(refusal(histogram, x, 4, (0, 1), out=kept))
    assert "out" in refusal(histogram, x, 3, (0, 1), out=np.zeros(3, np.float32))
    assert "x" in refusal(histogram, np.float16([1]))
    assert (kept == 7).all()


def test_driver_launches():
    """By the driver, with as much shared memory as the counters need; tables are copied once."""
    rng = np.random.default_rng(7)
    host = rng.integers(0, 900, 5000).astype(np.int32)
    tables.forget()
    with stand_in() as driver:
        x = cuda.to_device(host)
        for least in (1000, 20_000, 1000):
            found = bincount(x, least).copy_to_host()
            np.testing.assert_array_equal(found, np.bincount(host, minlength=least))
        for _ in range(3):
            found, edges = histogram(x, 50, (10, 800))
            wanted, own = np.histogram(host, 50, (10, 800))
            np.testing.assert_array_equal(found.copy_to_host(), wanted)
            np.testing.assert_array_equal(edges.copy_to_host(), own)
        names = [kernel.py_func.__name__ for kernel, *_ in driver.launches]
        counted = [name for name in names if name != "fill"]  # of several blocks
        assert counted == ["counting_int32"] * 3 + ["binning_int32_even", "copied"] * 3
        bincount(x[:4000])
        assert len(driver.launches) == len(names) + 1  # a single block stores its counts
        assert max(driver.allowed.values()) > 48 * 1024
    tables.forget()


def test_bytes_in_as_many_bins():
    """Counts with and without the largest value are not taken for each other, call after call."""
    host = np.random.default_rng(10).integers(0, 200, 500).astype(np.uint8)
    with stand_in():
        for least in (256, 7, 256, 7, 256):
            found = bincount(cuda.to_device(host), least).copy_to_host()
            np.testing.assert_array_equal(found, np.bincount(host, minlength=least))
        lengths = {known.shape for known in patterns._known.values()}
    assert lengths == {(256,), (257,)}


def test_a_call_like_one_before(monkeypatch):
    """It counts in as many bins without another look, and looks again where numbers are larger."""
    monkeypatch.setattr(NUMBA, "has_current", True)
    monkeypatch.setattr(histograms, "_settled", {})
    looks = []
    monkeypatch.setattr(histograms, "array_view", lambda *a: looks.append(a) or array_view(*a))
    host = np.random.default_rng(9).integers(0, 900, 500).astype(np.int32)
    with stand_in():
        for number, own in enumerate((host, host + 1, host * 3, host, host[:0], host[:7])):
            found = bincount(cuda.to_device(own), 950).copy_to_host()
            np.testing.assert_array_equal(found, np.bincount(own, minlength=950))
            assert len(looks) == (1, 1, 2, 2, 3, 3)[number]
        assert set(histograms._settled.values()) == {1024}
        assert "x" in refusal(bincount, cuda.to_device(host[:9] * 0 - 1), 950)
        assert len(looks) == 4


def test_captured_stream():
    """What waits for nothing may be captured; what waits is refused, and so is a new table."""
    host = np.random.default_rng(8).integers(0, 256, 1000).astype(np.uint8)
    tables.forget()
    with stand_in() as driver:
        x, out = cuda.to_device(host), cuda.device_array(256, np.int64)
        bincount(x, out=out, stream=64)
        driver.captured.add(64)
        bincount(x, out=out, stream=64)
        np.testing.assert_array_equal(out.copy_to_host(), np.bincount(host, minlength=256))
        words = cuda.to_device(host.astype(np.int32))
        assert {"bincount", "x"} & set(refusal(bincount, words, stream=64))
        assert refusal(histogram, words, stream=64)
        with pytest.raises(LaunchRefused, match="table"):
            histogram(words, 5, (0, 9), stream=64)
    tables.forget()


@exhaustive
@pytest.mark.parametrize("seed", range(30))
def test_random_calls(seed):
    """Random sizes, dtypes, bins, skews and edges."""
    rng = np.random.default_rng(seed)
    size, bins = int(rng.integers(0, 20_000)), int(rng.choice([3, 256, 1000, 7000, 30_000]))
    x = rng.integers(0, bins, size)
    x[rng.random(size) < rng.choice([0, 0.9])] = bins // 3
    same_counts(x.astype(rng.choice(["int32", "int64", "uint32"])), int(rng.integers(0, bins)))
    dtype = rng.choice(NUMBERS)
    y = (rng.standard_normal(size) * rng.choice([1, 40])).clip(-100, 100)
    y = np.abs(y).astype(dtype)
    same_histogram(y, int(rng.integers(1, 2000)))
    same_histogram(y, int(rng.integers(1, 200)), tuple(sorted(rng.random(2) * 50)))
    same_histogram(y, np.sort(rng.random(int(rng.integers(2, 100))) * 60))
