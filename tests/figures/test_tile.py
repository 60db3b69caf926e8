import re

import pytest

from smemnb.figures import tile_map
from smemnb.figures.sheet import EMPTY, shade
from smemnb.figures.tile import Window, _keys, banks, walk
from smemnb.rules.layout import Padded, RowMajor, Swizzle, Xor
from tests.facts import facts


def test_banks():
    """Row 1 of a padded tile is moved by one bank, of an xor tile exchanged."""
    assert banks(RowMajor(32, 32))[1] == tuple(range(32))
    assert banks(Padded(32, 32))[1] == (*range(1, 32), 0)
    assert banks(Xor(32, 32))[3][:5] == (3, 2, 1, 0, 7)
    assert banks(Padded(2, 4, 8))[1] == (10, 12, 14, 16)


@pytest.mark.parametrize(
    ("layout", "highlight", "wavefronts"),
    [
        (RowMajor(32, 32), ("column", 7), 32),
        (RowMajor(32, 32), ("row", 7), 1),
        (Padded(32, 32), ("column", 31), 1),
        (Swizzle(32, 32, bits=5, base=0, shift=5), "column", 1),
        (RowMajor(64, 32), "column", 64),
        (RowMajor(8, 8), "column", 2),
    ],
)
def test_walk(layout, highlight, wavefronts):
    """A walk has one cell per lane; 64 rows are two requests."""
    assert walk(layout, highlight).wavefronts == wavefronts


def test_wavefront_of_each_cell():
    assert walk(RowMajor(8, 8), "column").wavefront == (1, 1, 1, 1, 2, 2, 2, 2)


def test_text():
    """The banks of the first rows and the last; then what each way of reading takes."""
    said = tile_map(Padded(16, 4, pad_elems=2), highlight=("row", 1)).text.splitlines()
    rows = {
        int(row): banks for row, banks in re.findall(r"^row +(\d+): (.*)$", "\n".join(said), re.M)
    }
    assert {row: [int(bank) for bank in banks.split()] for row, banks in rows.items()} == {
        0: [0, 1, 2, 3],
        1: [6, 7, 8, 9],
        2: [12, 13, 14, 15],
        3: [18, 19, 20, 21],
        15: [26, 27, 28, 29],
    }
    assert facts(said[0]) == facts("16 4 pad_elems 2 4")
    along_rows, along_columns, chosen = said[-3:]
    assert "rows" in along_rows and facts(along_rows) == ["2", "4"]
    assert "columns" in along_columns and facts(along_columns) == ["2", "2"]
    assert facts(chosen) == facts("1 4 1 1 6 9")


def test_alt():
    """Layout, the cost of reading by columns, and what is highlighted."""
    said = tile_map(RowMajor(64, 32), highlight="column").alt
    assert facts(said) == facts("64 32 4 2048 0 64 2 32 64 0")


@pytest.mark.parametrize("highlight", ["diagonal", ("column",), ("row", "3")])
def test_unknown_walk(highlight):
    with pytest.raises(ValueError, match="highlight is .*write"):
        tile_map(RowMajor(4, 4), highlight=highlight)


def test_walk_outside():
    with pytest.raises(ValueError, match="highlight column 4 is outside this tile: 0 to 3"):
        tile_map(RowMajor(9, 4), highlight=("column", 4))


def test_not_a_layout():
    with pytest.raises(TypeError, match=r"layout is \(32, 33\); give one of rules.layout"):
        tile_map((32, 33))


def test_window():
    """Of a large tile, the 32 x 32 cells with the walk are drawn, pad only behind the last."""
    layout = Padded(128, 64, pad_elems=4)
    here = Window.of(layout, walk(layout, ("column", 40)))
    assert (here.rows, here.cols, here.pad) == (range(32), range(32, 64), 4)
    there = Window.of(layout, walk(layout, ("row", 127)))
    assert (there.rows, there.cols, there.pad) == (range(96, 128), range(32), 0)


@pytest.mark.parametrize(
    ("highlight", "fills", "said"),
    [
        (None, [shade(0, 32), shade(31, 32)], "0 31"),
        (("column", 3), [shade(0, 8), shade(7, 8), EMPTY], "1 8"),
        (("row", 0), [shade(0, 1), EMPTY], "1"),
    ],
)
def test_every_colour_has_a_key(highlight, fills, said):
    """Banks from 0 to 31; of a walk its wavefronts, and what is not in it."""
    layout = RowMajor(8, 32)
    shown = highlight and walk(layout, highlight)
    assert [key.fill for key in _keys(shown)] == fills
    assert facts(" ".join(key.words for key in _keys(shown))) == facts(said)
