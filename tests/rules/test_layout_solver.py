"""`rules.layout.solve` beside counts made by hand and by a slower way."""

from collections import defaultdict

import numba
import numpy as np
import pytest

from smemnb.rules.layout import (
    Padded,
    Rotated,
    RowMajor,
    Swizzle,
    Xor,
    XorChunks,
    pattern,
    prove,
    solve,
)
from tests.facts import facts

STORE, LOAD = pattern("store tile[ty, tx]"), pattern("load tile[tx, ty]")
SMALL = [pattern(one.text, block=(16, 16)) for one in (STORE, LOAD)]


def slow_ways(layout, one):
    """The worst n-way of scalar words of 4 bytes, counted cell by cell with sets."""
    worst = 0
    for request in range(one.requests):
        words = defaultdict(set)
        for lane in range(32):
            if one.active[request, lane]:
                row, col = int(one.row[request, lane]), int(one.col[request, lane])
                word = int(layout.offset(row, col))
                words[word % 32].add(word)
        worst = max(worst, *map(len, words.values()))
    return worst


# Patterns.


@pytest.mark.parametrize(
    ("text", "block", "steps", "row", "col"),
    [
        ("load tile[tx, ty]", (32, 2), 1, [0, 1, 31], [0, 0, 0]),
        ("store t[ty + 8 * step, tx]", (32, 8), 4, [0, 0, 0], [0, 1, 31]),
        ("load tile[lane % 8, 4 * (lane // 8)]", (32, 1), 1, [0, 1, 7], [0, 0, 12]),
        ("store tile[ty, tx ^ ty]", (16, 4), 1, [0, 0, 1], [0, 1, 14]),
        ("load tile[tid >> 4, tid & 15]", (64, 1), 1, [0, 0, 1], [0, 1, 15]),
        ("load tile[step, warp]", (32, 2), 3, [0, 0, 0], [0, 0, 0]),
    ],
)
def test_subscripts(text, block, steps, row, col):
    """Lanes 0, 1 and 31 of the first request, worked out by hand."""
    one = pattern(text, block=block, steps=steps)
    assert (one.row[0, [0, 1, 31]].tolist(), one.col[0, [0, 1, 31]].tolist()) == (row, col)
    assert one.requests == steps * -(-block[0] * block[1] // 32)


def test_threads_fill_warps_x_first():
    """Half a block row per warp: lane 16 has ty 1; a short warp has idle lanes."""
    one = pattern("load tile[ty, tx]", block=(16, 3))
    assert one.row.tolist() == [[0] * 16 + [1] * 16, [2] * 16 + [3] * 16]
    assert one.active.sum(axis=1).tolist() == [32, 16]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("read tile[tx, ty]", 'write "load" or "store"'),
        ("load tile[tx", "not an expression"),
        ("load tile[tx]", "needs two subscripts"),
        ("load tile[tx, tz]", "tz is not known here"),
        ("load tile[tx, ty / 2]", "ty / 2 is not known here"),
        ("load tile[tx, max(ty, 1)]", r"max\(ty, 1\) is not known here"),
        ("load tile[True, ty]", "True is not known here"),
    ],
)
def test_refused_texts(text, message):
    with pytest.raises(ValueError, match=message):
        pattern(text)


@pytest.mark.parametrize("block", [(64, 32), (0, 1), (-1, -32)])
def test_refused_blocks(block):
    with pytest.raises(ValueError, match="1 to 1024 threads"):
        pattern("load tile[ty, tx]", block=block)


# Solutions.


def test_transpose():
    """32 x 32 words, stored by rows and read by columns: xor, or a pad word per row."""
    found = solve([STORE, LOAD], shape=(32, 32))
    assert (found.layout, found.swizzle) == (Xor(32, 32), Xor(32, 32))
    assert found.pad == Padded(32, 32)
    assert [(row.wavefronts, row.ideal, row.extra) for row in found.proof] == [(32, 32, 0)] * 2
    assert found.tried[0].layout == RowMajor(32, 32)
    assert facts(found.tried[0].reason) == facts("32 tile[tx, ty]")


def test_rows_alone():
    """Nobody walks a column: row-major, and nothing else is looked at."""
    found = solve([STORE], shape=(32, 32))
    assert (found.layout, found.swizzle, found.pad) == (RowMajor(32, 32), None, None)
    assert len(found.tried) == 1


@pytest.mark.parametrize(
    ("dtype", "pad"), [("uint8", 4), ("float16", 2), ("float32", 1), ("float64", 1)]
)
def test_dtypes(dtype, pad):
    """Below 4 bytes the pad is one whole word; a double's column is clean by one element."""
    found = solve([STORE, LOAD], shape=(32, 32), dtype=dtype)
    assert found.pad == Padded(32, 32, np.dtype(dtype).itemsize, pad)


@pytest.mark.parametrize(("cols", "pad"), [(24, 1), (31, None), (48, 1), (62, 1), (64, 1)])
def test_widths(cols, pad):
    """The pitch must be odd: an odd width needs nothing."""
    walks = [pattern("load tile[tx, ty]", block=(32, cols // 2))]
    found = solve(walks, shape=(32, cols))
    assert found.pad == (None if pad is None else Padded(32, cols, pad_elems=pad))


def test_block_of_16_by_16():
    """No pad cleans both accesses of a 16 x 16 block; a swizzle of a kind does."""
    found = solve(SMALL, shape=(16, 16))
    assert found.pad is None
    assert isinstance(found.layout, Swizzle) and found.layout.bytes == 1024
    assert [slow_ways(found.layout, one) for one in SMALL] == [1, 1]
    pads = [Padded(16, 16, pad_elems=pad) for pad in range(33)]
    assert min(max(slow_ways(tile, one) for one in SMALL) for tile in pads) == 2
    assert repr(found).endswith("no pad does: 1 to 32 elements tried")


def test_float4():
    """16-byte stores and loads down a column: chunks exchanged, or a pad that keeps the grid."""
    walks = [
        pattern("store tile[tid // 8, tid % 8 * 4]", block=(256, 1), vector_elems=4),
        pattern("load tile[tid % 32, tid // 32 * 4]", block=(256, 1), vector_elems=4),
    ]
    found = solve(walks, shape=(32, 32), align_bytes=16)
    assert (found.layout, found.pad) == (XorChunks(32, 32), Padded(32, 32, pad_elems=4))
    said = {type(one.layout).__name__: one.reason for one in found.tried}
    assert said["Xor"].startswith("16-byte vectors of store")
    assert facts(found.tried[-2].reason) == facts("140 16")


def test_float4_in_scalar_out():
    """64 x 64 words, stored by chunks and read word by word: rows must turn every fourth row."""
    walks = [
        pattern(
            "store tile[tid // 16 + 32 * step, tid % 16 * 4]",
            block=(512, 1),
            steps=2,
            vector_elems=4,
        ),
        pattern(
            "load tile[lane % 8 * 4 + warp % 2 * 32, lane // 8 + warp // 2 * 4]", block=(512, 1)
        ),
    ]
    found = solve(walks, shape=(64, 64), align_bytes=16)
    assert found.layout == Swizzle(64, 64, bits=3, base=2, shift=6)
    assert slow_ways(found.layout, walks[1]) == 1


@pytest.mark.parametrize("dtype", [np.int16, "int16", np.dtype("<u2"), numba.int16])
def test_names_of_a_type(dtype):
    """NumPy's types, their names, and Numba's, which a kernel's shared array has."""
    assert solve([STORE, LOAD], shape=(32, 32), dtype=dtype).pad == Padded(32, 32, 2, 2)


def test_diagonals():
    """Rows, columns and the diagonal of one tile: no layout here serves all three."""
    diagonal = pattern("load tile[tx, tx]", block=(32, 1))
    found = solve([STORE, LOAD, diagonal], shape=(32, 32))
    assert (found.layout, found.swizzle, found.pad) == (None, None, None)
    head, _, plain, *_ = repr(found).splitlines()
    assert facts(head) == facts(f"{len(found.tried)}")
    assert plain.split()[-4:] == ["32", "32", "32", "1"]
    assert [row.wavefronts for row in found.proof] == [32, 1024, 1]


def test_budget():
    """A pad that is over the budget is not taken, and said so."""
    odd = pattern("load tile[tx, ty]", block=(32, 20))
    assert solve([odd], shape=(32, 24), budget_bytes=3200).pad == Padded(32, 24)
    found = solve([odd], shape=(32, 24), budget_bytes=3199)
    assert found.pad is None
    assert "3,200 bytes; budget 3,199" in {one.reason for one in found.tried}


@pytest.mark.parametrize("cols", [8, 12, 24, 32])
@pytest.mark.parametrize("block", [(32, 4), (16, 8)])
def test_beside_the_slow_count(cols, block):
    """The first clean layout is clean by sets, and every smaller pad is not."""
    walks = [
        pattern(f"store tile[tid // {cols} % 32, tid % {cols}]", block=block),
        pattern("load tile[tid % 32, tid // 32]", block=block),
        pattern("load tile[tx % 8, ty % 8]", block=block),
    ]
    found = solve(walks, shape=(32, cols))
    for one in [*found.tried[:12], *found.tried[-3:]]:
        worst = max(slow_ways(one.layout, walk) for walk in walks)
        assert (worst == 1) == (one.reason == ""), one
    if found.pad:
        for pad in range(found.pad.pad_elems):
            assert max(slow_ways(Padded(32, cols, pad_elems=pad), w) for w in walks) > 1
    assert found.layout in (RowMajor(32, cols), found.swizzle, found.pad)


def test_proof_of_any_layout():
    """`prove` counts a layout that is not clean as well: 32 requests of 32 wavefronts."""
    (row,) = prove(RowMajor(32, 32), [LOAD])
    assert (row.requests, row.wavefronts, row.ideal, row.ways, row.extra) == (32, 1024, 32, 32, 992)
    (row,) = prove(Rotated(32, 32), [LOAD])
    assert row.wavefronts == 32


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("patterns is empty", lambda: solve([], shape=(32, 32))),
        ("row 16, outside of this tile: 0 to 15", lambda: solve([LOAD], shape=(16, 32))),
        ("column 31, outside", lambda: solve([STORE], shape=(32, 31))),
        (
            "3 elements of 4 bytes are no access",
            lambda: solve([pattern("load t[ty, 0]", vector_elems=3)], shape=(32, 32)),
        ),
        (
            "column 32, outside",
            lambda: solve([pattern("load t[ty, tx]", vector_elems=2)], shape=(32, 32)),
        ),
        ("no cells", lambda: solve([STORE], shape=(0, 32))),
        ("align_bytes is 0", lambda: solve([STORE], shape=(32, 32), align_bytes=0)),
    ],
)
def test_refused(message, make):
    with pytest.raises(ValueError, match=message):
        make()
