"""Which kernel scans which array: values of every one over drawn shapes, words, and findings."""

import numpy as np
import pytest

from smemnb.kernels.scan import choosing
from smemnb.kernels.scan.choosing import LARGE, cut_of
from smemnb.kernels.scan.combining import combining
from smemnb.kernels.scan.lookback import words_needed
from smemnb.kernels.scan.variants import columns, short_rows
from smemnb.kernels.scan.variants.single_pass import Cut, run_of, scan_of
from smemnb.kernels.scan.variants.waiting import scan_waiting_of
from smemnb.tracing import trace
from tests.tiers import exhaustive

SUM = combining("sum", "f4", "f4")
TYPES = {
    "float32": "f4",
    "float64": "f8",
    "int32": "i8",
    "int64": "i8",
    "uint8": "i8",
    "int16": "i8",
}


def new(shape, dtype):
    return np.zeros(shape, dtype)


def expected_of(of, x, exclusive):
    """The scan of (outer, length, inner) elements along the middle axis, by NumPy."""
    wide = x.astype(str(of.acc))
    found = wide.cumsum(1) if of.name == "sum" else np.maximum.accumulate(wide, 1)
    if exclusive:
        first = np.full_like(found[:, :1], np.array(of.zero).astype(found.dtype))
        found = np.concatenate([first, found[:, :-1]], 1)
    return found


def assert_scans(of, lie, seed=1, exclusive=False, beyond=0, **options):
    """The launch for such an array does what it should; the kernel's name comes back."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, lie).astype(str(of.dtype))
    out = np.zeros(lie, str(of.acc))
    flat = out.reshape(-1), x.reshape(-1)
    for one in choosing.launches(
        of, new, *flat, lie, exclusive=exclusive, beyond=beyond, **options
    ):
        one.start()
    assert (out == expected_of(of, x, exclusive)).all(), (of.name, lie, exclusive)
    return one.kernel.py_func.__name__


CHOICES = [
    ((1, 5, 1), "scan_sum_alone"),
    ((600, 7, 1), "scan_sum_short"),
    ((20, 7, 1), "scan_sum_alone"),
    ((9, 130, 1), "scan_sum_alone"),
    ((1, 20000, 1), "scan_sum_after"),
    ((3, 16, 20), "scan_sum_short"),
    ((1, 16, 40), "scan_sum_columns"),
    ((2, 300, 7), "scan_sum_cut_columns"),
]


@pytest.mark.first(1)
@pytest.mark.parametrize(("lie", "name"), CHOICES)
def test_choices(lie, name):
    """Short rows, rows of one tile, longer ones; columns by a thread each, or in tiles."""
    assert assert_scans(SUM, lie) == name
    assert assert_scans(SUM, lie, exclusive=True) == name


@exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_drawn_arrays(seed):
    """Any operation, types and shape, on large and small devices."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(list(TYPES)))
    if rng.integers(3):
        of = combining("sum", dtype, TYPES[dtype])
    else:
        acc = {"uint8": "i4", "int16": "i4"}.get(dtype, dtype)
        of = combining("max", dtype, acc)
    most = rng.uniform(0, 17)
    kind = rng.integers(3)
    first, second = sorted(rng.uniform(0, most, 2))
    lie = [
        (1, int(2**most), 1),
        (int(2**first), int(2 ** (most - first)), 1),
        (int(2**first), int(2 ** (second - first)), int(2 ** (most - second))),
    ][kind]
    options = {"processors": int(rng.choice([1, 4, 132]))}
    assert_scans(of, lie, seed, bool(rng.integers(2)), **options)


def test_runs_and_tiles():
    """Neighbours of a lane, and elements of a tile, by the sizes of elements."""
    pairs = ("f4", "f4"), ("f8", "f8"), ("i4", "i8"), ("u1", "i8")
    some = [combining("sum", *pair) for pair in pairs]
    assert [run_of(one.dtype, one.acc) for one in some] == [4, 2, 4, 4]
    assert Cut(256, 8).tile(SUM) == 8192
    wide = {inner: columns.columns_wide(inner) for inner in (2, 32, 33, 64, 65, 100)}
    assert wide == {2: 2, 32: 32, 33: 17, 64: 32, 65: 22, 100: 25}
    assert [short_rows.slabs_held(4, slab) for slab in (1, 64, 2048)] == [8424, 131, 4]


@exhaustive
def test_rows_that_begin_anywhere():
    """Rows of an odd length, input and output at different places: within 16 bytes, all of them."""
    for cut in (Cut(64, 2),):
        kernel = scan_of(SUM, cut)
        for begin, to in ((1, 1), (3, 2)):
            x = np.random.default_rng(begin).integers(0, 9, 3011 + begin).astype(np.float32)
            out, words = np.zeros(3011 + to, np.float32), np.zeros(200, np.uint64)
            rows, length = 3, 1003
            tiles = -(-(length + 3) // cut.tile(SUM))
            _run_on_views(kernel, cut, out, x, words, to, begin, rows, tiles, length)
            expected = x[begin : begin + rows * length].reshape(rows, length).cumsum(1)
            assert (out[to : to + rows * length] == expected.reshape(-1)).all()
            assert not out[:to].any() and not out[to + rows * length :].any()


@exhaustive
@pytest.mark.parametrize(("name", "kind"), [("sum", "f4"), ("max", "f8")])
def test_tiles_that_wait(name, kind):
    """Rows that begin anywhere, of one tile and of several, both ways; nothing is found."""
    of, cut, exclusive = combining(name, kind, kind), Cut(64, 3, 2, waits=True), name == "sum"
    kernel = scan_waiting_of(of, cut, exclusive)
    for rows, length in ((1, 1600), (3, 803)):
        x = np.random.default_rng(length).integers(0, 9, (rows, length)).astype(kind)
        out, tiles = np.zeros_like(x), -(-(length + 3) // cut.tile(of))
        words = np.zeros(words_needed(rows, tiles), np.uint64)
        numbers = [np.uint32(n) for n in (rows, tiles, length)]
        args = out.reshape(-1), x.reshape(-1), words, *numbers
        kernel[rows * tiles, cut.threads](*args)
        assert (out == expected_of(of, x[..., None], exclusive)[..., 0]).all()
    assert trace(kernel)[rows * tiles, cut.threads](*args).all_findings == ()


def test_cuts_of_large_arrays():
    """Tiles wait where elements are of the type of the sums, and a tile fits without asking."""
    cut = cut_of(SUM, LARGE)
    assert cut.waits and 16 * cut.threads * cut.chunks < 48 * 1024
    assert not cut_of(SUM, LARGE - 1).waits
    assert not cut_of(combining("sum", "i4", "i8"), LARGE).waits


def _run_on_views(kernel, cut, out, x, words, to, begin, rows, tiles, length):
    from numba import cuda

    there = [cuda.to_device(one) for one in (out, x, words)]
    kernel[rows * tiles, cut.threads](
        there[0][to:], there[1][begin:], there[2], rows, tiles, length
    )
    out[:] = there[0].copy_to_host()


@exhaustive
@pytest.mark.parametrize("lie", [lie for lie, _ in CHOICES])
def test_no_races(lie):
    """No kernel races, and of its findings none is an error or a warning."""
    x = np.random.default_rng(1).integers(0, 9, lie).astype(np.float32).reshape(-1)
    for one in choosing.launches(SUM, new, np.zeros_like(x), x, lie, processors=2):
        found = trace(one.kernel)[one.grid, one.block](*one.args)
        assert found.races == () and found.limits == ()
        assert {one.severity for one in found.findings} <= {"note"}
