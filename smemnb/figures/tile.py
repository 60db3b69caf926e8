"""`tile_map`: the bank of each element of a tile, and the wavefronts of a walk along it.

Rows and columns are those of the kernel's index `tile[row, col]`; the number at an element is the
bank of its first word, whatever place the layout gives it. A column that shows one number all the
way down is a column that a warp reads in 32 wavefronts. A highlighted walk takes its colours from
the wavefronts, as in `bank_map`, and the other elements step back. Hatched elements are pad.

Taught in `14_banks` (the pad). **Limits**: 32 x 32 elements are drawn; of a larger
tile those around the highlighted walk, or the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ..hardware import BANKS, WARP_LANES
from ..rules import bank
from ..rules.layout import Layout, Padded
from .drawing import Drawing
from .service import Service, service
from .words import counted, listed

if TYPE_CHECKING:
    from .legend import Key
    from .sheet import Sheet

__all__ = ["Walk", "Window", "alt", "banks", "text", "tile_map", "walk"]

CELL, ROW = 23, 18  # pixels of an element
LEFT, TOP, RIGHT, BELOW = 62, 52, 28, 54  # pixels around the tile
WORDS = 22  # pixels of the words on a highlighted walk
NARROWEST = 660  # pixels, for the words above a small tile
ROWS_SAID, COLUMNS_SAID = 4, 32  # in the text
MOST = 32  # rows and columns that are drawn


@dataclass(frozen=True)
class Walk:
    """A warp's way along one row or column: element i for lane i, a new request every 32."""

    along: str
    index: int
    requests: tuple[Service, ...]

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all its requests."""
        return sum(one.wavefronts for one in self.requests)

    @property
    def wavefront(self) -> tuple[int, ...]:
        """Wavefront that reads each element, counted anew in each request."""
        return tuple(n for one in self.requests for n in one.wavefront if n)

    def __str__(self) -> str:
        lanes = sum(one.lanes for one in self.requests)
        ways = max(one.ways for one in self.requests)
        more = f" in {len(self.requests)} requests" if len(self.requests) > 1 else ""
        touched = {
            n
            for one in self.requests
            for i in range(WARP_LANES)
            if one.active[i]
            for n in one.banks(i)
        }
        return (
            f"{self.along} {self.index}, {counted(lanes, 'lane')}{more}: {ways}-way, "
            f"{counted(self.wavefronts, 'wavefront')}, {listed('bank', sorted(touched))}"
        )


def tile_map(layout: Layout, *, highlight: tuple[str, int] | str | None = None) -> Drawing:
    """The bank of each element of a tile, drawn, with its numbers as text.

    >>> from smemnb.rules.layout import Padded
    >>> tile_map(Padded(4, 8), highlight=("column", 0))
    Padded 4 x 8, pad_elems=1, 4-byte elements: bank of each element (model)
    row 0:  0  1  2  3  4  5  6  7
    row 1:  9 10 11 12 13 14 15 16
    row 2: 18 19 20 21 22 23 24 25
    row 3: 27 28 29 30 31  0  1  2
    warps that read along rows:    1 request, 2 wavefronts
    warps that read along columns: 1 request, 2 wavefronts
    column 0, 4 lanes: 1-way, 1 wavefront, banks 0, 9, 18, 27

    Args:
        layout: any layout of `rules.layout`.
        highlight: ("column", 3) or ("row", 0), a walk to show; "column" is column 0.

    Raises:
        TypeError: something that is not a layout.
        ValueError: a walk that is neither row nor column, or outside the tile.
    """
    if not isinstance(layout, Layout):
        raise TypeError(f"layout is {layout!r}; give one of rules.layout, such as RowMajor(32, 32)")
    shown = None if highlight is None else walk(layout, highlight)
    window = Window.of(layout, shown)
    return Drawing(
        text(layout, shown),
        alt(layout, shown),
        window.width,
        lambda: _png(layout, shown, window),
    )


def banks(layout: Layout) -> tuple[tuple[int, ...], ...]:
    """The bank of the first word of each element, row by row.

    >>> from smemnb.rules.layout import Xor
    >>> banks(Xor(32, 32))[1][:4]
    (1, 0, 3, 2)
    """
    row, col = np.indices(layout.shape)
    found = bank.bank_of(layout.address(row, col))
    return tuple(tuple(int(one) for one in line) for line in found)


def walk(layout: Layout, highlight: tuple[str, int] | str) -> Walk:
    """A warp reading one row or column of a tile, one element per lane.

    >>> from smemnb.rules.layout import RowMajor
    >>> walk(RowMajor(32, 32), ("column", 5)).wavefronts
    32
    """
    given = (highlight, 0) if isinstance(highlight, str) else highlight
    if len(given) != 2 or given[0] not in ("row", "column") or not isinstance(given[1], int):
        raise ValueError(f'highlight is {highlight!r}; write ("column", 0) or ("row", 0)')
    along, index = given
    end, elements = layout.shape if along == "row" else layout.shape[::-1]
    if not 0 <= index < end:
        raise ValueError(f"highlight {along} {index} is outside this tile: 0 to {end - 1}")
    requests = []
    for first in range(0, elements, WARP_LANES):
        element = np.arange(first, first + WARP_LANES)
        active = element < elements
        element = np.minimum(element, elements - 1)
        line = np.full_like(element, index)
        address = layout.address(line, element) if along == "row" else layout.address(element, line)
        requests.append(service(address, width=layout.itemsize, active=active))
    return Walk(along, index, tuple(requests))


def text(layout: Layout, shown: Walk | None = None) -> str:
    """The numbers of the map: banks of the first rows, wavefronts of the walks."""
    found = banks(layout)
    said = [f"{_named(layout)}: bank of each element (model)"]
    rows = list(enumerate(found))
    if len(rows) > 2 * ROWS_SAID:
        rows = rows[:ROWS_SAID] + rows[-1:]
    digits = len(str(len(found) - 1))
    for number, line in rows:
        if number == len(found) - 1 and len(rows) < len(found):
            said.append("...")
        elements = " ".join(f"{one:2d}" for one in line[:COLUMNS_SAID])
        more = " ..." if len(line) > COLUMNS_SAID else ""
        said.append(f"row {number:{digits}d}: {elements}{more}")
    for along, each in (
        ("rows:   ", layout.row_wavefronts()),
        ("columns:", layout.column_wavefronts()),
    ):
        total = counted(int(each.sum()), "wavefront")
        said.append(f"warps that read along {along} {counted(len(each), 'request')}, {total}")
    return "\n".join([*said, *([] if shown is None else [str(shown)])])


def alt(layout: Layout, shown: Walk | None = None) -> str:
    """One sentence for those who do not see the map."""
    down = counted(int(layout.column_wavefronts().sum()), "wavefront")
    ends = f"; highlighted is {shown}" if shown else ""
    said = f"reading by columns takes {down}{ends}"
    return f"Tile map, the bank of each element: {_named(layout)}; {said}."


def _named(layout: Layout) -> str:
    """A layout as a reader writes it: "Padded 32 x 32, pad_elems=1, 4-byte elements"."""
    own = [
        f"{one.name}={getattr(layout, one.name)}"
        for one in fields(layout)
        if one.name not in ("rows", "cols", "itemsize")
    ]
    size = f"{type(layout).__name__} {layout.rows} x {layout.cols}"
    return ", ".join([size, *own, f"{layout.itemsize}-byte elements"])


@dataclass(frozen=True)
class Window:
    """The part of a tile that is drawn: elements, and pad behind them."""

    rows: range
    cols: range
    pad: int

    @classmethod
    def of(cls, layout: Layout, shown: Walk | None) -> Window:
        """At most 32 x 32 elements, with the walk among them."""
        row, col = 0, 0
        if shown is not None:
            first = shown.index // MOST * MOST
            row, col = (first, 0) if shown.along == "row" else (0, first)
        rows = range(row, min(row + MOST, layout.rows))
        cols = range(col, min(col + MOST, layout.cols))
        pad = 0
        if isinstance(layout, Padded) and cols.stop == layout.cols:
            pad = min(layout.pad_elems, MOST)
        return cls(rows, cols, pad)

    @property
    def width(self) -> int:
        """Pixels of the whole picture."""
        return max(LEFT + CELL * (len(self.cols) + self.pad) + RIGHT, NARROWEST)

    @property
    def height(self) -> int:
        """Pixels of the whole picture without the words on a walk."""
        return TOP + ROW * len(self.rows) + BELOW

    def corner(self, row: int, col: int) -> tuple[int, int]:
        """Top left pixel of an element."""
        return LEFT + (col - self.cols.start) * CELL, TOP + (row - self.rows.start) * ROW


def _png(layout: Layout, shown: Walk | None, window: Window) -> bytes:
    from .sheet import painted

    found = banks(layout)

    def paint(sheet: Sheet) -> None:
        _paint_words(sheet, layout, shown, window)
        for row in window.rows:
            for col in window.cols:
                _paint_cell(sheet, window, row, col, found[row][col], shown)
            _paint_pad(sheet, window, row)

    return painted(window.width, window.height + (WORDS if shown else 0), paint)


def _keys(shown: Walk | None) -> list[Key]:
    """What the colours of the elements stand for."""
    from .legend import Key
    from .sheet import EMPTY, GRID, shade

    noun, first, last = "bank", 0, BANKS - 1
    if shown is not None:
        noun, first, last = "wavefront", 1, max(shown.wavefront)
    count = last - first + 1
    keys = [Key(f"{noun} {first}", shade(0, count))]
    if count > 1:
        keys.append(Key(f"{'to ' * (count > 2)}{noun} {last}", shade(count - 1, count)))
    if shown is not None:
        keys.append(Key("other elements", EMPTY, GRID))
    return keys


def _paint_words(sheet: Sheet, layout: Layout, shown: Walk | None, window: Window) -> None:
    from .legend import legend
    from .sheet import FAINT

    sheet.write(LEFT, 16, _named(layout), size=13, bold=True, align="left")
    sheet.write(LEFT - 8, TOP - 11, "row", colour=FAINT, align="right")
    for col in window.cols:
        x, _ = window.corner(0, col)
        sheet.write(x + CELL / 2, TOP - 11, str(col), colour=FAINT)
    for row in window.rows:
        _, y = window.corner(row, 0)
        sheet.write(LEFT - 8, y + ROW / 2, str(row), colour=FAINT, align="right")
    y = TOP + len(window.rows) * ROW
    said = "number: the bank of the element" + ("; hatched: pad" if window.pad else "")
    if (len(window.rows), len(window.cols)) != layout.shape:
        said += f"; {len(window.rows)} x {len(window.cols)} elements of the tile are shown"
    sheet.write(LEFT, y + 17, said, colour=FAINT, align="left")
    legend(sheet, LEFT, y + 38, _keys(shown))
    if shown is not None:
        sheet.write(LEFT, y + 38 + WORDS, f"{shown} (model)", size=12, align="left")


def _paint_cell(
    sheet: Sheet, window: Window, row: int, col: int, number: int, shown: Walk | None
) -> None:
    from .sheet import EMPTY, FAINT, GRID, INK, ink_on, shade

    x, y = window.corner(row, col)
    here = shown is not None and shown.index == (row if shown.along == "row" else col)
    if shown is None:
        fill = shade(number, BANKS)
        ink = ink_on(fill)
    elif here:
        turns = shown.wavefront
        fill = shade(turns[col if shown.along == "row" else row] - 1, max(turns))
        ink = ink_on(fill)
    else:
        fill, ink = EMPTY, FAINT
    edge = INK if here else GRID
    sheet.box(x + 0.5, y + 0.5, CELL - 1, ROW - 1, fill=fill, edge=edge, thick=0.7)
    sheet.write(x + CELL / 2, y + ROW / 2, str(number), colour=ink, bold=here)


def _paint_pad(sheet: Sheet, window: Window, row: int) -> None:
    from .sheet import FAINT

    for one in range(window.pad):
        x, y = window.corner(row, window.cols.stop + one)
        sheet.box(x + 0.5, y + 0.5, CELL - 1, ROW - 1, edge=FAINT, thick=0.5, hatch="////")
