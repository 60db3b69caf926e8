import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemnb.rules.layout import Padded, Rotated, RowMajor, Swizzle, Xor, XorChunks

LAYOUTS = [
    RowMajor(5, 7),
    RowMajor(32, 32, 8),
    Padded(32, 32),
    Padded(16, 24, 2, pad_elems=3),
    Padded(4, 4, pad_elems=0),
    *(Xor(40, cols) for cols in (1, 2, 4, 8, 16, 32, 64, 96)),
    Xor(32, 64, 1),
    *(XorChunks(40, cols) for cols in (4, 8, 16, 32, 64)),
    XorChunks(16, 64, 2),
    XorChunks(16, 2, 8),
    XorChunks(16, 8, 16),
    *(Rotated(40, cols) for cols in (1, 3, 8, 20, 32, 96)),
    Swizzle(32, 32, bits=5, base=0, shift=5),
    Swizzle(8, 64, 2, bits=3, base=3, shift=3),
    Swizzle(3, 5),
    Swizzle(16, 16, bits=2, base=1, shift=4),
]


def all_cells(layout):
    """Rows and columns of all cells, in reading order."""
    return np.divmod(np.arange(layout.rows * layout.cols), layout.cols)


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_one_to_one(layout):
    """Each cell has a place of its own in the tile, and `cell` finds it again."""
    row, col = all_cells(layout)
    offset = layout.offset(row, col)
    assert len(set(offset.tolist())) == layout.rows * layout.cols
    assert 0 <= offset.min() and offset.max() < layout.elems
    assert np.array_equal(layout.cell(offset), (row, col))
    assert np.array_equal(layout.address(row, col), offset * layout.itemsize)


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_size(layout):
    pad = layout.pad_elems * layout.rows if isinstance(layout, Padded) else 0
    assert layout.shape == (layout.rows, layout.cols)
    assert layout.elems == layout.rows * layout.cols + pad
    assert layout.bytes == layout.elems * layout.itemsize


@pytest.mark.parametrize("layout", [x for x in LAYOUTS if not isinstance(x, Swizzle)], ids=repr)
def test_a_cell_stays_in_its_row(layout):
    row, col = all_cells(layout)
    pitch = layout.elems // layout.rows
    assert np.array_equal(layout.offset(row, col) // pitch, row)


# Formulas, written out.


def test_xor_formulas():
    """Wide: col ^ (row % 32). Narrow: col ^ ((row // (32 // W)) % W)."""
    for cols in (32, 64, 96):
        row, col = all_cells(Xor(70, cols))
        assert np.array_equal(Xor(70, cols).offset(row, col), row * cols + (col ^ (row % 32)))
    for cols in (1, 2, 4, 8, 16):
        row, col = all_cells(Xor(70, cols))
        moved = col ^ ((row // (32 // cols)) % cols)
        assert np.array_equal(Xor(70, cols).offset(row, col), row * cols + moved)


def test_chunk_formula():
    """chunk ^ (row % 8), the place within the chunk kept."""
    row, col = all_cells(XorChunks(20, 64))
    moved = ((col // 4) ^ (row % 8)) * 4 + col % 4
    assert np.array_equal(XorChunks(20, 64).offset(row, col), row * 64 + moved)


def test_rotation_formula():
    """(col + row) % 32 in a tile of 32 columns."""
    row, col = all_cells(Rotated(40, 32))
    assert np.array_equal(Rotated(40, 32).offset(row, col), row * 32 + (col + row) % 32)


@pytest.mark.parametrize(
    "swizzle, same",
    [
        (Swizzle(32, 32, bits=5, base=0, shift=5), Xor(32, 32)),
        (Swizzle(32, 8, bits=3, base=0, shift=5), Xor(32, 8)),
        (Swizzle(32, 32, bits=3, base=2, shift=3), XorChunks(32, 32)),
        (Swizzle(32, 64, 2, bits=3, base=3, shift=3), XorChunks(32, 64, 2)),
        (Swizzle(32, 32), RowMajor(32, 32)),
        (Padded(32, 32, pad_elems=0), RowMajor(32, 32)),
    ],
    ids=repr,
)
def test_two_names_for_one_layout(swizzle, same):
    row, col = all_cells(same)
    assert np.array_equal(swizzle.offset(row, col), same.offset(row, col))


# Wavefronts of walks.


@pytest.mark.parametrize(
    "itemsize, cols, wavefronts",
    [
        *((1, 32, 8), (1, 33, 1), (1, 36, 1)),
        *((2, 32, 16), (2, 33, 1), (2, 34, 1)),
        *((4, 32, 32), (4, 33, 1), (4, 36, 4)),
        *((8, 32, 32), (8, 33, 2), (8, 34, 4)),
    ],
)
def test_first_column(itemsize, cols, wavefronts):
    """Column 0 of a [32][w] tile, declared wide or padded to that width."""
    assert int(RowMajor(32, cols, itemsize).column_wavefronts()[0]) == wavefronts
    padded = Padded(32, 32, itemsize, pad_elems=cols - 32)
    assert int(padded.column_wavefronts()[0]) == wavefronts


@pytest.mark.parametrize("itemsize, clean_every", [(1, 4), (2, 2)])
def test_a_pad_of_bytes_is_clean_in_some_columns(itemsize, clean_every):
    """[32][33] of bytes or halves: 1 wavefront where rows start on a word, else 2."""
    counts = Padded(32, 32, itemsize, pad_elems=1).column_wavefronts().tolist()
    assert counts == [1 if col % clean_every == 0 else 2 for col in range(32)]
    whole_word = Padded(32, 32, itemsize, pad_elems=4 // itemsize)
    assert whole_word.column_wavefronts().tolist() == [1] * 32


@pytest.mark.parametrize("pad_elems, wavefronts", [(0, 8), (1, 2), (2, 1)])
def test_16x16_block(pad_elems, wavefronts):
    """Half a warp per column: one pad word is not enough, two are."""
    counts = Padded(16, 16, pad_elems=pad_elems).column_wavefronts()
    assert counts.tolist() == [wavefronts] * 8


@pytest.mark.parametrize("cols, wavefronts", [(31, 31), (63, 32)])
def test_odd_tiles_get_worse_by_one_pad(cols, wavefronts):
    """[N][N+1] is no universal fix: an odd N becomes even."""
    assert int(RowMajor(cols, cols).column_wavefronts()[0]) == 1
    assert int(Padded(cols, cols).column_wavefronts()[0]) == wavefronts


@pytest.mark.parametrize("cols", [1, 2, 4, 8, 16, 32, 64, 96])
@pytest.mark.parametrize("layout", [Xor, Rotated])
def test_every_walk_of_words_is_clean(layout, cols):
    """Rows and columns of any width, 1 wavefront each."""
    tile = layout(64, cols)
    requests = 2 * cols
    assert tile.column_wavefronts().tolist() == [1] * requests
    assert tile.row_wavefronts().tolist() == [1] * requests
    assert RowMajor(64, cols).column_wavefronts().max() == min(cols, 32)


@pytest.mark.parametrize("itemsize, wavefronts", [(1, 1), (2, 1), (4, 1), (8, 2)])
def test_xor_of_other_items(itemsize, wavefronts):
    """32 columns of any item: the fewest that 32 lanes can take."""
    tile = Xor(32, 32, itemsize)
    assert tile.column_wavefronts().tolist() == [wavefronts] * 32
    assert tile.row_wavefronts().tolist() == [wavefronts] * 32


@pytest.mark.parametrize("cols, plain", [(4, 4), (8, 8), (16, 16), (32, 32), (64, 32)])
def test_float4_columns(cols, plain):
    """512 bytes take 4 wavefronts; row-major up to 32."""
    assert set(XorChunks(64, cols).column_wavefronts(vector_elems=4).tolist()) == {4}
    assert set(XorChunks(64, cols).row_wavefronts(vector_elems=4).tolist()) == {4}
    assert set(RowMajor(64, cols).column_wavefronts(vector_elems=4).tolist()) == {plain}


def test_float4_pad():
    """[32][36] keeps rows on 16 bytes and its float4 columns clean; [32][33] does not."""
    assert Padded(32, 32, pad_elems=4).column_wavefronts(vector_elems=4).tolist() == [4] * 8
    with pytest.raises(ValueError, match="off their 16-byte grid"):
        Padded(32, 32, pad_elems=1).column_wavefronts(vector_elems=4)
    with pytest.raises(ValueError, match="side by side"):
        Xor(32, 32).column_wavefronts(vector_elems=4)
    with pytest.raises(ValueError, match="33 columns are not whole vectors of 4"):
        RowMajor(32, 33).row_wavefronts(vector_elems=4)


def test_last_warp_may_be_short():
    """35 cells are two requests; the second has three lanes."""
    assert RowMajor(5, 7).row_wavefronts().tolist() == [1, 1]
    assert RowMajor(35, 32).column_wavefronts()[-1] == 32
    assert RowMajor(35, 1).column_wavefronts().tolist() == [1, 1]
    assert RowMajor(1, 16, 8).row_wavefronts().tolist() == [1]


# Laws.


@given(st.integers(1, 64), st.integers(1, 64), st.integers(0, 8), st.sampled_from([1, 2, 4, 8]))
def test_pad_round_trip(rows, cols, pad_elems, itemsize):
    layout = Padded(rows, cols, itemsize, pad_elems)
    row, col = all_cells(layout)
    assert np.array_equal(layout.cell(layout.offset(row, col)), (row, col))


@given(st.integers(0, 5), st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_swizzle_round_trip(bits, base, over, tiles):
    """Every bits, base and shift >= bits is one-to-one, and its own inverse."""
    cols = 1 << (base + bits)
    layout = Swizzle(4 * tiles, cols, bits=bits, base=base, shift=bits + over)
    offset = layout.offset(*all_cells(layout))
    assert sorted(offset.tolist()) == list(range(layout.elems))
    assert np.array_equal(layout.offset(*np.divmod(offset, cols)), np.arange(layout.elems))


# Refusals.


@pytest.mark.parametrize(
    "message, make",
    [
        ("no cells", lambda: RowMajor(0, 4)),
        ("1, 2, 4, 8 or 16 bytes", lambda: RowMajor(4, 4, 3)),
        ("0 elements or more", lambda: Padded(4, 4, pad_elems=-1)),
        ("24 columns", lambda: Xor(32, 24)),
        ("48 columns", lambda: Xor(32, 48)),
        ("not 16-byte chunks", lambda: XorChunks(32, 33)),
        ("12 chunks", lambda: XorChunks(32, 48)),
        ("40 columns", lambda: Rotated(32, 40)),
        ("shift >= bits", lambda: Swizzle(32, 32, bits=3, base=0, shift=2)),
        ("whole groups of 32", lambda: Swizzle(5, 5, bits=3, base=2, shift=3)),
        ("row 32 is outside this tile: 0 to 31", lambda: RowMajor(32, 32).offset(32, 0)),
        ("column -1 is outside", lambda: RowMajor(32, 32).address(0, -1)),
        ("offset 1056 is outside", lambda: Padded(32, 32).cell(1056)),
        ("offset 32 is pad", lambda: Padded(32, 32).cell([31, 32])),
    ],
)
def test_refused(message, make):
    with pytest.raises(ValueError, match=message):
        make()


def test_index_must_be_whole():
    with pytest.raises(TypeError, match="row holds float64"):
        RowMajor(4, 4).offset(1.0, 0)
