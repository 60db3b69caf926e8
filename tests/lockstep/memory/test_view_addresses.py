"""What watchers see of views: the root array, the address of the very cell, the width."""

import numpy as np
import pytest

from smemnb.tracing.watchers.bounds import Bounds
from smemnb.tracing.watchers.counting import Counting
from smemnb.tracing.watchers.initialisation import Initialisation
from smemnb.tracing.watchers.races import Races

from .kernels import NESTED, PACKED, RECORD, Seen, arguments, in_engine

BASE = 256  # virtual address of the first argument's memory

# expression, the array it is of, NumPy's view of it for thread i
ELEMENTS = [
    ("a[3:30][i]", "a", lambda a, i: a[3:30][i:]),
    ("a[i // 2 :: 2][1]", "a", lambda a, i: a[i // 2 :: 2][1:]),
    ("a[::-1][i]", "a", lambda a, i: a[::-1][i:]),
    ("a[-20:][i]", "a", lambda a, i: a[-20:][i:]),
    ("A[i % 6][2]", "A", lambda a, i: a[i % 6, 2:]),
    ("A[1:, ::2][i % 5, 3]", "A", lambda a, i: a[1:, ::2][i % 5, 3:]),
    ("A[:, i % 7][4]", "A", lambda a, i: a[4, i % 7 :]),
    ("A.T[i % 7, 5]", "A", lambda a, i: a.T[i % 7, 5:]),
    ("B[..., i % 5][1, 2]", "B", lambda a, i: a[1, 2, i % 5 :]),
    ("B.T[i % 5, 3, 2]", "B", lambda a, i: a.T[i % 5, 3, 2:]),
    ("B[:, None, i % 4, 1:][2, 0, 3]", "B", lambda a, i: a[2, i % 4, 4:]),
    ("a.reshape(8, 5)[i % 8, 2]", "a", lambda a, i: a.reshape(8, 5)[i % 8, 2:]),
    ("a.view(np.int16)[i]", "a", lambda a, i: a.view("i2")[i:]),
    ("u[8:72].view(np.int32)[i % 16]", "u", lambda a, i: a[8:72].view("i4")[i % 16 :]),
    ("A.flat[i]", "A", lambda a, i: a[i // 7, i % 7 :]),
    ("F[i % 5, 3]", "F", lambda a, i: a[i % 5, 3:]),
    ("E[1, 2, i % 2, 0, 1]", "E", lambda a, i: a[1, 2, i % 2, 0, 1:]),
    ("c.real[i % 9]", "c", lambda a, i: a.real[i % 9 :]),
    ("c.imag[i % 9]", "c", lambda a, i: a.imag[i % 9 :]),
    ('r[i % 8].v', "r", lambda a, i: a["v"][i % 8 :]),
    ('r["n"][i % 8]', "r", lambda a, i: a["n"][i % 8 :]),
    ('r["n"][::-1][i % 8]', "r", lambda a, i: a["n"][::-1][i % 8 :]),
    ("s[i % 5].m[2]", "s", lambda a, i: a["m"][i % 5, 2:]),
    ("s[i % 5].inner.q", "s", lambda a, i: a["inner"]["q"][i % 5 :]),
    ("(A[0] if i % 2 else A[i % 6])[1]", "A", lambda a, i: a[0 if i % 2 else i % 6, 1:]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "view"), ELEMENTS)
def test_addresses_of_loads(text, name, view):
    """One load per thread of the root array, at the address that NumPy's view has."""
    seen = Seen()
    in_engine(f"out[i] = {text}", threads=20, watchers=(seen,))
    whole = arguments()[name]
    start = whole.__array_interface__["data"][0]
    expected = [view(whole, i).__array_interface__["data"][0] - start for i in range(20)]
    bases = {e.array.base for e in seen.events if e.array.name == name}
    (base,) = bases
    assert [[at - base for at in found] for found in seen.addresses("load", name)] == [expected]
    assert {e.width for e in seen.events if e.array.name == name} == {view(whole, 0).itemsize}


def rows(step, *starts):
    """Four addresses from each start."""
    return [[start + step * i for i in range(4)] for start in starts]


@pytest.mark.parametrize(
    ("store", "cells"),
    [
        ("a[2 * i : 2 * i + 2] = 1", rows(8, 0, 4)),
        ("A[i % 6, 5:] = 1", rows(28, 20, 24)),
        ("c[i] = 1j", rows(8, 0, 4)),
        ("R[i] = 1", rows(-4, 44)),
        ('p["w"][i] = 1', rows(13, *range(5, 13))),
        ("for x in A[:2]:\n    x[i] = 1", rows(4, 0, 28)),
    ],
)
def test_addresses_of_stores(store, cells):
    """Every element, half of a complex number, or byte of an unaligned field, one after another."""
    seen = Seen()
    in_engine(store, threads=4, watchers=(seen,))
    lowest = min(e.array.base for e in seen.events)
    assert [[at - lowest for at in found] for found in seen.addresses("store")] == cells


def test_record_is_copied_byte_by_byte():
    """A whole record moves as bytes, 16 loads and 16 stores of one byte."""
    seen = Seen()
    in_engine("r[i + 4] = r[i]", threads=2, watchers=(seen,))
    loads, stores = seen.addresses("load"), seen.addresses("store")
    assert [[at - BASE for at in row] for row in loads] == [[k, 16 + k] for k in range(16)]
    assert [[at - BASE for at in row] for row in stores] == [[64 + k, 80 + k] for k in range(16)]
    assert {e.width for e in seen.events} == {1}


@pytest.mark.parametrize(
    ("body", "index", "axis", "size", "threads"),
    [
        ("out[i] = a[2:10][i]", 8, 0, 8, [8, 9]),
        ("out[i] = a[i:][32]", 32, 0, 32, [8, 9]),
        ("out[i] = A[1:3][i % 2, i]", 7, 1, 7, [7, 8, 9]),
        ("out[i] = A.T[0, i]", 6, 1, 6, [6, 7, 8, 9]),
        ("out[i] = A[i][0]", 6, 0, 6, [6, 7, 8, 9]),
        ("out[i] = r[i].x", 8, 0, 8, [8, 9]),
        ("out[i] = s[0].m[i]", 3, 0, 3, [3, 4, 5, 6, 7, 8, 9]),
        ("out[i] = FIXED[i]", 6, 0, 6, [6, 7, 8, 9]),
        ("a[:9][i] = 1", 9, 0, 9, [9]),
        ("out[i] = A.flat[i + 34]", 42, 0, 42, [8, 9]),
    ],
)
def test_indices_out_of_range(body, index, axis, size, threads):
    """Told with the view's own index and extent; the access of these threads is dropped."""
    seen = Seen()
    in_engine(body, threads=10, watchers=(seen,))
    (bad,) = seen.bad
    lanes = np.broadcast_to(bad.lanes, seen.shape)[0, 0]
    first = np.broadcast_to(bad.index, seen.shape)[0, 0][threads[0]]
    assert (int(first), bad.axis, bad.size, bad.wrapped) == (index, axis, size, False)
    assert np.flatnonzero(lanes).tolist() == threads


def test_view_of_a_missing_row_is_dropped():
    """Threads whose row does not exist read 0 from it, and are reported once."""
    seen = Seen()
    out = in_engine("w = A[i]\nout[i] = w[2] + w[3]", threads=8, watchers=(seen,))["out"]
    whole = arguments()["A"].astype(float)
    assert out[:8].tolist() == [*(whole[:, 2] + whole[:, 3]), 0, 0]
    assert len(seen.bad) == 1
    assert [len(row) for row in seen.addresses("load")] == [6, 6]


def test_unsigned_index_never_wraps():
    """The highest uint64 is past the end, not the last element."""
    seen = Seen()
    in_engine("out[i] = a[np.uint64(0) - np.uint64(1)]", threads=1, watchers=(seen,))
    assert [bad.wrapped for bad in seen.bad] == [False]


DYNAMIC = """
m = cuda.shared.array(0, float32)
n = cuda.shared.array(0, int32)
m[i] = {stored}
cuda.syncthreads()
out[i] = n[i]
"""


def test_dynamic_shared_memory_aliases():
    """Two arrays of other dtypes see the same bytes, and belong to one memory."""
    seen = Seen()
    body = DYNAMIC.format(stored="i + 1")
    out = in_engine(body, threads=32, watchers=(seen,), shared_bytes=256)["out"]
    assert out[:32].tolist() == np.arange(1, 33, dtype=np.float32).view(np.int32).tolist()
    shared = [e.array for e in seen.events if e.array.space == "shared"]
    assert len({id(array.memory) for array in shared}) == 1
    assert [(array.name, str(array.dtype), array.shape) for array in shared] == [
        ("m", "float32", (64,)),
        ("n", "int32", (64,)),
    ]


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        (DYNAMIC.format(stored="i").replace("cuda.syncthreads()", ""), 0),
        (
            "m = cuda.shared.array(0, float32)\nn = cuda.shared.array(0, int32)\n"
            "m[i] = i\nout[i] = n[31 - i]",
            1,
        ),
        ("m = cuda.shared.array(0, uint8)\nn = m[64:].view(np.int32)\nn[i] = i\nm[i] = 1", 0),
        ("m = cuda.shared.array(0, uint8)\nn = m[16:].view(np.int32)\nn[i] = i\nm[i] = 99", 1),
        (
            "m = cuda.shared.array(0, float32)\nn = cuda.shared.array(0, int16)\n"
            "m[i] = i\nout[i] = n[i]",
            1,
        ),
        ("m = cuda.shared.array(32, RECORD)\nm[i].x = i\nout[i] = m[31 - i].n", 0),
        ("m = cuda.shared.array(32, RECORD)\nm[i].x = i\nout[i] = m[31 - i].x", 1),
        ("m = cuda.shared.array(32, RECORD)\nm[i].v = i\nm[31 - i].v = 0 - i", 1),
        ("m = cuda.shared.array(32, RECORD)\nm[i] = r[i % 8]\nout[i] = m[31 - i].v", 1),
        ("m = cuda.shared.array(64, float32)\nw = m[2 * i :]\nw[0] = 1\nout[i] = w[1]", 0),
        ("m = cuda.shared.array(64, float32)\nw = m[i:]\nw[0] = 1\nout[i] = w[1]", 1),
        ("m = cuda.shared.array((32, 2), float32)\nm.T[0, i] = 1\nout[i] = m[31 - i, 1]", 0),
    ],
)
def test_races_through_views(body, pairs):
    """Races are found by bytes: other fields or other cells are none, overlapping ones are."""
    races = Races()
    in_engine(body, threads=32, watchers=(races,), shared_bytes=256)
    assert len(races.observations()) == pairs


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("m = cuda.shared.array(32, RECORD)\nm[i].x = i\nout[i] = m[i].x", []),
        ("m = cuda.shared.array(32, RECORD)\nm[i].x = i\nout[i] = m[i].n", [("m", (0,), 32)]),
        ("m = cuda.shared.array(0, int32)\nn = cuda.shared.array(0, int16)\n"
         "m[i] = i\nout[i] = n[2 * i + 1]", []),
        ("m = cuda.shared.array(0, int16)\nn = cuda.shared.array(0, int32)\n"
         "m[2 * i] = i\nout[i] = n[i]", [("n", (0,), 32)]),
        ("m = cuda.shared.array((4, 32), float32)\nm[1:, i] = 0\nout[i] = m[3, i]", []),
        ("m = cuda.shared.array((4, 32), float32)\nm[1:, i] = 0\nout[i] = m[0, i]",
         [("m", (0, 0), 32)]),
    ],
)  # fmt: skip
def test_reads_before_writes_through_views(body, found):
    """Only the bytes that were written count as written."""
    watcher = Initialisation()
    in_engine(body, threads=32, watchers=(watcher,), shared_bytes=256)
    assert [(o.array.name, o.index, o.count) for o in watcher.observations()] == found


def test_counts_of_fields_and_halves():
    """A field of 16-byte records takes a sector per two lanes; complex64 is two requests."""
    counting = Counting()
    body = "m = cuda.shared.array(32, RECORD)\nm[i].v = 1\nout[i] = c[i % 8].real + r[i % 8].x"
    in_engine(body, threads=32, watchers=(counting,))
    by_text = {c.site.text: c for c in counting.counts()}
    assert by_text["m[i].v"].width == 8
    # 8-byte stores 16 bytes apart: each half warp meets every second pair of banks twice
    assert by_text["m[i].v"].wavefronts == 4
    assert (by_text["c[i % 8]"].requests, by_text["c[i % 8]"].width) == (2, 4)
    assert (by_text["r[i % 8].x"].requests, by_text["r[i % 8].x"].sectors) == (1, 4)


def test_bounds_of_a_constant_array():
    """A read past a constant array is a finding too."""
    bounds = Bounds()
    in_engine("out[i] = FIXED[i]", threads=8, watchers=(bounds,))
    assert [(o.kind, o.array.name, o.index, o.count) for o in bounds.observations()] == [
        ("out_of_range", "FIXED", (6,), 2)
    ]


def test_sizes_of_the_records():
    """What the tests above count on."""
    assert (RECORD.itemsize, PACKED.itemsize, NESTED.itemsize) == (16, 13, 24)
