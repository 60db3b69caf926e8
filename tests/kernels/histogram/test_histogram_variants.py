"""The kernels of the operations, watched: nothing races, counts stay those of the rungs."""

import numpy as np
import pytest
from numba import cuda, float32, int8, int16, int32, uint8

from smemnb.kernels.histogram.choosing import MOST, blocks_of, counters_of
from smemnb.kernels.histogram.variants.binning import binning_of
from smemnb.kernels.histogram.variants.bytes import counting_bytes_of
from smemnb.kernels.histogram.variants.counting import counting_of
from smemnb.kernels.histogram.variants.extent import extent_of
from smemnb.kernels.histogram.variants.scattering import SLOTS, scattering_of
from smemnb.tracing import trace
from tests.tiers import exhaustive, sampled

SIZE = 6001


def drawn(high, seed=1, size=SIZE, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, high, size).astype(dtype)


def increments(report):
    """(requests, wavefronts) of all increments in shared memory."""
    rows = [row for row in report.lines if row.kind == "atomic_increment" and row.space == "shared"]
    return sum(row.requests for row in rows), sum(row.wavefronts for row in rows)


@pytest.mark.parametrize(
    ("bins", "shift", "groups"), [(100, 5, 1), *sampled([(300, 0, 1), (300, 2, 3)], 1)]
)
def test_counting(bins, shift, groups):
    """One bank for a lane with 32 copies; each group counts its own bins; `seen` is the largest."""
    x, out, seen = drawn(bins + 7), np.zeros(bins, np.int64), np.zeros(2, np.uint32)
    nbytes = 4 * -(-bins // groups) << shift
    numbers = np.uint32(bins), np.uint32(shift), np.uint32(groups)
    report = trace(counting_of(int32, 128, 2))[2 * groups, 128, 0, nbytes](out, seen, x, *numbers)
    assert report.findings == ()
    np.testing.assert_array_equal(out, np.bincount(x, minlength=bins)[:bins])
    assert seen[0] == x.max()
    requests, taken = increments(report)
    assert (requests == taken) == (shift == 5)
    reads = [row for row in report.lines if row.space == "shared" and row.kind == "load"]
    assert sum(row.extra for row in reads) == 0 or shift < 5
    counting_of(int32, 128, 2)[2 * groups, 128, 0, nbytes](out, seen := seen * 0, x // 2, *numbers)
    assert seen[0] == x.max() // 2  # a number that has a counter


@pytest.mark.parametrize("dtype", sampled([int8, uint8], 1))
def test_bytes(dtype):
    """Negative bytes are counted as their bits; 1 wavefront each, wherever x begins."""
    host = drawn(256, 2, SIZE, np.uint8).view(np.dtype(str(dtype)))
    x = cuda.to_device(host)
    for at in (0, 5):
        out, seen = np.zeros(256, np.int64), np.zeros(2, np.uint32)
        numbers = np.uint32(256), np.uint32(5), np.uint32(1)
        report = trace(counting_bytes_of(dtype, 256))[2, 256](out, seen, x[at:], *numbers)
        assert report.findings == ()
        np.testing.assert_array_equal(out, np.bincount(host[at:].view(np.uint8), minlength=256))
        assert seen[0] == 255
        requests, taken = increments(report)
        assert requests == taken


@exhaustive
def test_scattering():
    """A frequent number has a slot: its additions are merged in shared memory."""
    x = drawn(9 * SLOTS, 3)
    x[np.random.default_rng(4).random(SIZE) < 0.9] = 5000
    out, seen = np.zeros(9 * SLOTS, np.int64), np.zeros(2, np.uint32)
    report = trace(scattering_of(int32))[2, 1024](out, seen, x, np.uint32(out.size))
    assert {one.kind for one in report.findings} <= {"scattered", "uncoalesced"}
    np.testing.assert_array_equal(out, np.bincount(x, minlength=out.size))
    assert seen[0] == x.max()
    rows = [row for row in report.lines if row.text == "cuda.atomic.add(out, k, 1)"]
    assert sum(row.sectors for row in rows) < 0.2 * SIZE


def test_binning():
    """Elements beside an edge are compared with it; nothing races."""
    x = (drawn(1000, 5) / np.float32(1000)).astype(np.float32)
    edges = np.histogram_bin_edges(x[:0], 50, (0.0, 1.0))
    out, cells = np.zeros(50, np.int64), np.zeros(1, np.int32)
    kernel = binning_of(float32, float32, True, 128, 2)
    numbers = np.uint32(50), np.uint32(5), np.float32(0), np.float32(50), np.float32(1e-3)
    report = trace(kernel)[2, 128, 0, 50 * 128](out, x, edges, cells, *numbers)
    assert {one.kind for one in report.findings} <= {"scattered", "uncoalesced"}
    np.testing.assert_array_equal(out, np.histogram(x, edges)[0])


@exhaustive
def test_extent():
    """The ends of a block's elements; NaN if one is."""
    x = np.random.default_rng(6).standard_normal(5000).astype(np.float32)
    out = np.zeros(4, np.float32)
    report = trace(extent_of(float32))[2, 1024](out, x)
    assert report.findings == ()
    assert (out.min(), out.max()) == (x.min(), x.max())
    x[4321] = np.nan
    extent_of(float32)[2, 1024](out, x)
    assert np.isnan(out).sum() == 2


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        (10, (5, 2, 1280, 1)),
        (4096, (1, 2, 32768, 1)),
        (24576, (0, 2, 98304, 1)),
        (24577, (0, 1, 98308, 1)),
        (57344, (0, 1, MOST, 1)),
        (57345, (0, 1, 114692, 2)),
    ],
)
def test_counters(bins, expected):
    """Copies up to 32 KB, two blocks up to 96 KB, then groups."""
    assert counters_of(bins) == expected


def test_blocks():
    """A chunk of 16 bytes for a thread, a multiple of the groups, and no more than fit."""
    few, grouped = counters_of(10), counters_of(100_000)
    assert [blocks_of(n, 4, 132, few) for n in (1, 4096, 4097, 1 << 28)] == [1, 1, 2, 264]
    assert [blocks_of(n, 4, 132, grouped) for n in (1, 4097, 1 << 28)] == [2, 4, 132]
    assert blocks_of(1 << 20, 2, 0, few) == 1


@exhaustive
def test_int16_counts_negative_numbers_nowhere():
    """A negative number is a very large one without a sign, which `seen` keeps."""
    x, out, seen = np.array([3, -1, 3], np.int16), np.zeros(9, np.int64), np.zeros(2, np.uint32)
    numbers = np.uint32(9), np.uint32(0), np.uint32(1)
    counting_of(int16, 128, 2)[1, 128, 0, 36](out, seen, x, *numbers)
    assert (out.tolist(), int(seen[0])) == ([0, 0, 0, 2, 0, 0, 0, 0, 0], 2**32 - 1)
