"""`register_map`: which elements of a block's tile of out one thread makes, and its warp's lanes.

A thread of a register-tiled product keeps `high` x `wide` sums in registers. Which rows and columns
they are, is a choice: neighbours (`"together"`), or as far apart as there are threads (`"apart"`,
interleaved), so that the lanes of a warp read neighbours at once. A `Tiling` has quads of
neighbours. At each step of the depth a thread reads `high` elements of a and `wide` of b for
`high * wide` multiply-adds.

Taught in `32_register_tiles`. **Limits**: `PART` rows and columns around the thread are drawn
with the numbers of lanes; the elements of a tile that is a strip are longer than wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from ..hardware import WARP_LANES
from .drawing import Drawing
from .words import counted, listed

if TYPE_CHECKING:
    from ..kernels.matmul.tiling import Tiling
    from .sheet import Sheet

__all__ = ["RegisterMap", "alt", "measure", "register_map", "text"]

Way = Literal["together", "apart"]

QUAD = 4
PART = 16
WIDTH, LEFT, TOP, GAP = 640, 34, 92, 36
EDGE = 256  # pixels of the longer side of the tile
LEAST_EDGE = 64  # pixels of the shorter side, as long as an element is no longer than `CELL`
CELL = 18  # pixels of an element with its number


@dataclass(frozen=True)
class RegisterMap:
    """Who makes what: `rows[t]` and `cols[t]` are those of thread t of the block.

    `shape` is the block's tile of out, `thread` the one that is shown.
    """

    shape: tuple[int, int]
    rows: tuple[tuple[int, ...], ...]
    cols: tuple[tuple[int, ...], ...]
    thread: int

    @property
    def warp(self) -> int:
        """The warp of the thread."""
        return self.thread // WARP_LANES

    @property
    def results(self) -> tuple[int, int]:
        """Rows and columns that a thread makes."""
        return len(self.rows[0]), len(self.cols[0])

    @property
    def owners(self) -> dict[tuple[int, int], int]:
        """Row and column of each element of the tile, and its thread."""
        return {
            (row, col): thread
            for thread, (rows, cols) in enumerate(zip(self.rows, self.cols, strict=True))
            for row in rows
            for col in cols
        }


def register_map(
    given: Tiling | tuple[int, int],
    results: tuple[int, int] | None = None,
    *,
    rows: Way = "apart",
    cols: Way = "apart",
    thread: int = 0,
) -> Drawing:
    """The elements of out that one thread makes, among those of its warp, drawn.

    >>> register_map((16, 16), (4, 4), thread=17)
    block of 256 threads, 64 x 64 results, 4 x 4 per thread
    thread 17 (warp 0, lane 17): rows 1, 17, 33, 49; columns 1, 17, 33, 49
    first rows of warp 0: row 0: lanes 0-15, row 1: lanes 16-31
    each step of the depth: 4 + 4 reads for 16 multiply-adds, 0.5 reads each
    model

    Args:
        given: the threads of a block as (x, y), or a `Tiling`.
        results: rows and columns per thread, where threads are given.
        rows: whether those of a thread are neighbours ("together"), or as many apart as the block
            has rows of threads ("apart"); where threads are given.
        cols: likewise.
        thread: its number in the block, x first.

    Raises:
        TypeError: threads without results, or a `Tiling` with them.
        ValueError: a number below 1, another way, or a thread that is not there.
    """
    found = measure(given, results, rows=rows, cols=cols, thread=thread)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(
    given: Tiling | tuple[int, int],
    results: tuple[int, int] | None = None,
    *,
    rows: Way = "apart",
    cols: Way = "apart",
    thread: int = 0,
) -> RegisterMap:
    """The same as numbers.

    Raises:
        TypeError, ValueError: as of `register_map`.
    """
    if isinstance(given, tuple):
        if results is None:
            raise TypeError("results is missing: rows and columns that a thread makes")
        if min(*given, *results) < 1:
            raise ValueError(f"threads {given}, results {results}: numbers of 1 or more")
        down = [_each(y, given[1], results[0], rows) for y in range(given[1])]
        over = [_each(x, given[0], results[1], cols) for x in range(given[0])]
        number = given[0] * given[1]
        places = [divmod(one, given[0]) for one in range(number)]
        found = RegisterMap(
            (given[1] * results[0], given[0] * results[1]),
            tuple(down[y] for y, _ in places),
            tuple(over[x] for _, x in places),
            thread,
        )
    else:
        if results is not None:
            raise TypeError("results come with a Tiling: write register_map(tiling)")
        found = _of_tiling(given, thread)
    if not 0 <= thread < len(found.rows):
        raise ValueError(f"thread is {thread}: the block has threads 0 to {len(found.rows) - 1}")
    return found


def _each(at: int, threads: int, results: int, way: str) -> tuple[int, ...]:
    """The rows, or columns, of the threads at one place.

    >>> _each(1, 16, 4, "apart"), _each(1, 16, 4, "together")
    ((1, 17, 33, 49), (4, 5, 6, 7))
    """
    if way not in ("together", "apart"):
        raise ValueError(f'{way!r} is no way to take rows or columns: "together" or "apart"')
    if way == "apart":
        return tuple(at + threads * one for one in range(results))
    return tuple(at * results + one for one in range(results))


def _of_tiling(tiling: Tiling, thread: int) -> RegisterMap:
    rows, cols = [], []
    warps_across = tiling.cols // tiling.warp_cols
    for number in range(tiling.workers):
        warp, lane = divmod(number, WARP_LANES)
        down, across = _lane_place(tiling, lane)
        top = warp // warps_across * tiling.warp_rows + down * QUAD
        left = warp % warps_across * tiling.warp_cols + across * QUAD
        rows.append(_quads(top, tiling.thread[0], QUAD * tiling.lanes_down))
        cols.append(_quads(left, tiling.thread[1], QUAD * tiling.lanes_across))
    return RegisterMap((tiling.rows, tiling.cols), tuple(rows), tuple(cols), thread)


def _lane_place(tiling: Tiling, lane: int) -> tuple[int, int]:
    """Row and column of a lane among the lanes of its warp, as of `variants.pieces.lane_place`."""
    if not tiling.interleaved:
        return divmod(lane, tiling.lanes_across)
    high, across = divmod(lane >> 1, tiling.lanes_across)
    return high << 1 | lane & 1, across


def _quads(first: int, results: int, apart: int) -> tuple[int, ...]:
    """Groups of 4 neighbours.

    >>> _quads(8, 8, 64)
    (8, 9, 10, 11, 72, 73, 74, 75)
    """
    return tuple(first + apart * (one // QUAD) + one % QUAD for one in range(results))


def text(found: RegisterMap) -> str:
    """The numbers of the map."""
    return "\n".join([_title(found), _thread(found), _first(found), _reads(found), "model"])


def _title(found: RegisterMap) -> str:
    (rows, cols), (high, wide) = found.shape, found.results
    return (
        f"block of {counted(len(found.rows), 'thread')}, {rows} x {cols} results,"
        f" {high} x {wide} per thread"
    )


def _thread(found: RegisterMap) -> str:
    where = f"warp {found.warp}, lane {found.thread % WARP_LANES}"
    rows, cols = found.rows[found.thread], found.cols[found.thread]
    return f"thread {found.thread} ({where}): {listed('row', rows)}; {listed('column', cols)}"


def _first(found: RegisterMap) -> str:
    """Which lanes of the warp begin in the same row."""
    first = found.warp * WARP_LANES
    end = min(first + WARP_LANES, len(found.rows))
    begin: dict[int, list[int]] = {}
    for thread in range(first, end):
        begin.setdefault(found.rows[thread][0], []).append(thread - first)
    said = [f"row {row}: {listed('lane', lanes)}" for row, lanes in sorted(begin.items())]
    more = [*said[:4], "..."] if len(said) > 4 else said
    return f"first rows of warp {found.warp}: {', '.join(more)}"


def _reads(found: RegisterMap) -> str:
    high, wide = found.results
    return (
        f"each step of the depth: {high} + {wide} reads for"
        f" {counted(high * wide, 'multiply-add')}, {_quotient(high + wide, high * wide)} reads each"
    )


def _quotient(above: int, below: int) -> str:
    """A quotient with the places that it has, or 3 digits of one that has no end.

    >>> _quotient(9, 8), _quotient(64, 64), _quotient(5, 6)
    ('1.125', '1', '0.833')
    """
    whole = f"{above / below:.10g}"
    return whole if Fraction(whole) == Fraction(above, below) else f"{above / below:.3g}"


def alt(found: RegisterMap) -> str:
    """One sentence for those who do not see the map."""
    return f"Register tile of a thread in a {_title(found)}: {_thread(found)}; {_first(found)}."


def _png(found: RegisterMap) -> bytes:
    from .legend import Key, heading, legend
    from .sheet import EMPTY, FAINT, GRID, INK, painted, shade

    side = _side(found)
    rows, cols = _part(found)
    high = max(found.shape[0] * side[1], len(rows) * CELL)
    x = LEFT + EDGE + GAP

    def paint(sheet: Sheet) -> None:
        heading(sheet, LEFT, _title(found), _thread(found))
        sheet.write(LEFT, TOP - 15, "the block's tile of out", colour=FAINT, align="left")
        said = f"rows {rows[0]}-{rows[-1]}, columns {cols[0]}-{cols[-1]}, by lane"
        sheet.write(x, TOP - 15, said, colour=FAINT, align="left")
        _paint_tile(sheet, found, side)
        _paint_part(sheet, found, x, rows, cols)
        keys = [
            Key(f"thread {found.thread}", INK),
            Key("lane 0", shade(0, WARP_LANES)),
            Key("to lane 31 of its warp", shade(31, WARP_LANES)),
        ]
        if len(found.rows) > WARP_LANES:
            keys.append(Key("other warps", EMPTY, GRID))
        legend(sheet, LEFT, TOP + high + 22, keys)
        sheet.write(LEFT, TOP + high + 46, f"{_reads(found)} (model)", align="left")

    return painted(WIDTH, int(TOP + high + 64), paint)


def _side(found: RegisterMap) -> tuple[float, float]:
    """Pixels of an element of the tile, across and down: longer where a tile is a strip."""
    least = EDGE / max(found.shape)
    rows, cols = found.shape
    return max(least, min(CELL, LEAST_EDGE / cols)), max(least, min(CELL, LEAST_EDGE / rows))


def _part(found: RegisterMap) -> tuple[range, range]:
    """The rows and columns that are drawn with numbers: those around the thread's first element."""
    row, col = found.rows[found.thread][0], found.cols[found.thread][0]
    top, left = row // PART * PART, col // PART * PART
    bottom, right = min(top + PART, found.shape[0]), min(left + PART, found.shape[1])
    return range(top, bottom), range(left, right)


def _fill(found: RegisterMap, thread: int) -> str:
    from .sheet import EMPTY, INK, shade

    if thread == found.thread:
        return INK
    if thread // WARP_LANES == found.warp:
        return shade(thread % WARP_LANES, WARP_LANES)
    return EMPTY


def _paint_tile(sheet: Sheet, found: RegisterMap, side: tuple[float, float]) -> None:
    from .sheet import EMPTY, FAINT

    (rows, cols), (across, down) = found.shape, side
    sheet.box(LEFT, TOP, cols * across, rows * down, fill=EMPTY, edge=FAINT, below=True)
    first = found.warp * WARP_LANES
    for thread in range(first, min(first + WARP_LANES, len(found.rows))):
        fill = _fill(found, thread)
        for top, high in _runs(found.rows[thread]):
            for left, wide in _runs(found.cols[thread]):
                box = (LEFT + left * across, TOP + top * down, wide * across, high * down)
                sheet.box(*box, fill=fill)


def _runs(numbers: tuple[int, ...]) -> list[tuple[int, int]]:
    """First number and length of each run of neighbours.

    >>> _runs((0, 1, 2, 3, 64, 65))
    [(0, 4), (64, 2)]
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    return runs


def _paint_part(sheet: Sheet, found: RegisterMap, x: float, rows: range, cols: range) -> None:
    from .sheet import GRID, ink_on

    owners = found.owners
    for row in rows:
        for col in cols:
            thread = owners[row, col]
            fill = _fill(found, thread)
            left, top = x + (col - cols.start) * CELL, TOP + (row - rows.start) * CELL
            sheet.box(left, top, CELL, CELL, fill=fill, edge=GRID, thick=0.6)
            if thread // WARP_LANES == found.warp:
                said = str(thread % WARP_LANES)
                bold = thread == found.thread
                middle = left + CELL / 2, top + CELL / 2
                sheet.write(*middle, said, colour=ink_on(fill), bold=bold)
