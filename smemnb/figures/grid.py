"""`grid_map`: the blocks of a launch over a matrix, and the lanes of one warp of one block.

It is the launch of a kernel that begins with `col, row = cuda.grid(2)`: thread (x, y) of block
(X, Y) takes the element in row `Y * blockDim.y + y`, column `X * blockDim.x + x`. Blocks at the
edge reach beyond the matrix: their threads there have no element, and a guard sends them away.
One dimension, `i = cuda.grid(1)`, is a matrix of one row.

Taught in `20_transpose`. **Limits**: one element per thread, grids and blocks of one or two
dimensions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ..hardware import WARP_LANES
from .drawing import Drawing
from .words import counted

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["GridMap", "alt", "grid_map", "measure", "text"]

Extent = int | tuple[int, ...]

WIDTH, LEFT, TOP, GAP = 640, 30, 68, 44
EDGE = 262  # pixels of the longer side of the matrix, and of the block
NONE = 4 * "\\"  # hatch of elements without a thread
ONE_ROW = 26  # pixels of a matrix of one row
LEAST_SIDE = 4  # pixels of the smallest block whose lines are drawn
STRIP = 18  # pixels of a lane's box


@dataclass(frozen=True)
class GridMap:
    """Who takes which element. Grid, block, `at` and threads are (x, y), `shape` (rows, columns).

    `at` is the block that is shown, `warp` one of its warps.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    shape: tuple[int, int]
    at: tuple[int, int]
    warp: int

    @property
    def rows(self) -> range:
        """Rows of the block, those beyond the matrix left out."""
        return _clipped(self.at[1], self.block[1], self.shape[0])

    @property
    def cols(self) -> range:
        """Columns of the block, those beyond the matrix left out."""
        return _clipped(self.at[0], self.block[0], self.shape[1])

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1]

    @property
    def warps(self) -> int:
        """Warps of a block, the last one maybe of fewer threads."""
        return -(-self.threads // WARP_LANES)

    @property
    def idle(self) -> int:
        """Threads of the whole launch that have no element."""
        return self.grid[0] * self.grid[1] * self.threads - self._taken

    @property
    def left_out(self) -> int:
        """Elements that no thread takes."""
        return self.shape[0] * self.shape[1] - self._taken

    @property
    def _taken(self) -> int:
        down = min(self.shape[0], self.grid[1] * self.block[1])
        return down * min(self.shape[1], self.grid[0] * self.block[0])

    def element(self, thread: int) -> tuple[int, int] | None:
        """Row and column that a thread of the block takes; None where the matrix has ended."""
        y, x = divmod(thread, self.block[0])
        row, col = self.at[1] * self.block[1] + y, self.at[0] * self.block[0] + x
        return (row, col) if row < self.shape[0] and col < self.shape[1] else None

    @property
    def lanes(self) -> tuple[tuple[int, int] | None, ...]:
        """The element of each lane of the warp."""
        first = self.warp * WARP_LANES
        return tuple(map(self.element, range(first, min(first + WARP_LANES, self.threads))))


def _clipped(number: int, size: int, end: int) -> range:
    return range(min(number * size, end), min((number + 1) * size, end))


def grid_map(
    grid: Extent,
    block: Extent,
    shape: Extent,
    *,
    at: Extent = 0,
    warp: int = 0,
) -> Drawing:
    """Blocks over a matrix, one of them by its warps, one warp by its lanes, drawn.

    >>> grid_map((3, 2), (32, 8), (12, 70), at=(2, 1), warp=1)
    grid (3, 2) of blocks (32, 8) over 12 x 70 elements, one per thread
    block (2, 1): rows 8-11, columns 64-69: 24 of 256 threads have an element
    warp 1 of 8: lanes 0-5 take row 9, columns 64-69; 26 lanes have none
    whole launch: 1,536 threads, 696 without an element, 0 elements without a thread

    Args:
        grid: blocks, as in `kernel[grid, block]`, x first.
        block: threads of a block, likewise.
        shape: rows and columns of the matrix, or the length of an array.
        at: the block to show, as blockIdx, x first.
        warp: of that block, the one whose lanes are shown.

    Raises:
        ValueError: three dimensions, a number below 1, or a block or a warp that is not there.
    """
    found = measure(grid, block, shape, at=at, warp=warp)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(
    grid: Extent, block: Extent, shape: Extent, *, at: Extent = 0, warp: int = 0
) -> GridMap:
    """The same as numbers.

    Raises:
        ValueError: as of `grid_map`.
    """
    cols, rows = _pair("shape", shape[::-1] if isinstance(shape, tuple) else shape, 1)
    place = (at, 0) if isinstance(at, int) else (*at, 0)[:2] if len(at) < 3 else at
    found = GridMap(
        _pair("grid", grid, 1), _pair("block", block, 1), (rows, cols), _pair("at", place, 0), warp
    )
    if found.threads > 1024:
        raise ValueError(f"block is {block}: {found.threads:,} threads; a block has 1,024 at most")
    if any(place >= end for place, end in zip(found.at, found.grid, strict=True)):
        raise ValueError(f"at is {at}: no block of a grid of {grid}")
    if not 0 <= warp < found.warps:
        raise ValueError(f"warp is {warp}: a block of {block} has warps 0 to {found.warps - 1}")
    return found


def _pair(name: str, given: Extent, least: int) -> tuple[int, int]:
    """(x, y) of what may be a number."""
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(numbers) <= 2 or any(
        not isinstance(one, int) or one < least for one in numbers
    ):
        raise ValueError(f"{name} is {given!r}; give one or two numbers of {least} or more")
    return (numbers[0], 1) if len(numbers) == 1 else (numbers[0], numbers[1])


def text(found: GridMap) -> str:
    """The numbers of the map."""
    here = len(found.rows) * len(found.cols)
    every = found.grid[0] * found.grid[1] * found.threads
    return "\n".join(
        [
            _title(found),
            f"block {_dim(found.at, found.grid)}: {_where(found)}: "
            f"{here:,} of {found.threads:,} threads have an element",
            f"warp {found.warp} of {found.warps}: {_lanes(found)}",
            f"whole launch: {every:,} threads, {found.idle:,} without an element,"
            f" {found.left_out:,} elements without a thread",
        ]
    )


def alt(found: GridMap) -> str:
    """One sentence for those who do not see the map."""
    idle = f"; {counted(found.idle, 'thread')} reach beyond it" if found.idle else ""
    return (
        f"Blocks of a launch over a matrix: {_title(found)}{idle}. Marked is block"
        f" {_dim(found.at, found.grid)}, {_where(found)}, with its {counted(found.warps, 'warp')},"
        f" and warp {found.warp}: {_lanes(found)}."
    )


def _title(found: GridMap) -> str:
    rows, cols = found.shape
    size = f"{rows} x {cols} elements" if rows > 1 else counted(cols, "element")
    return (
        f"grid {_dim(found.grid, found.grid)} of blocks {_dim(found.block, found.block)} over"
        f" {size}, one per thread"
    )


def _dim(numbers: tuple[int, int], extent: tuple[int, int]) -> str:
    return str(numbers) if extent[1] > 1 else str(numbers[0])


def _where(found: GridMap) -> str:
    if not (found.rows and found.cols):
        return "no element"
    rows = f"{_span('row', found.rows)}, " if found.shape[0] > 1 else ""
    return rows + _span("column" if rows else "element", found.cols)


def _span(noun: str, numbers: range) -> str:
    if len(numbers) == 1:
        return f"{noun} {numbers[0]}"
    return f"{noun}s {numbers[0]}-{numbers[-1]}"


def _lanes(found: GridMap) -> str:
    """Runs of lanes along a row: "lanes 0-15 take row 8, columns 0-15; ..."."""
    runs: list[list[tuple[int, tuple[int, int]]]] = []
    for lane, place in enumerate(found.lanes):
        if place is None:
            continue
        if runs and (place[0], place[1] - 1) == runs[-1][-1][1] and runs[-1][-1][0] == lane - 1:
            runs[-1].append((lane, place))
        else:
            runs.append([(lane, place)])
    said = []
    for run in runs[:4]:
        (first, (row, left)), (last, (_, right)) = run[0], run[-1]
        lanes = _span("lane", range(first, last + 1))
        takes = "take" if last > first else "takes"
        cols = _span("column" if found.shape[0] > 1 else "element", range(left, right + 1))
        said.append(f"{lanes} {takes} " + (f"row {row}, " if found.shape[0] > 1 else "") + cols)
    said += ["..."] if len(runs) > 4 else []
    none = sum(place is None for place in found.lanes)
    said += [f"{counted(none, 'lane')} have none"] if none else []
    return "; ".join(said)


class _Scale(NamedTuple):
    """Pixels of an element, across and down, and how many are drawn down."""

    across: float
    down: float
    high: int


def _of_matrix(found: GridMap) -> _Scale:
    rows, cols = found.shape
    wide = max(cols, found.grid[0] * found.block[0])
    high = max(rows, found.grid[1] * found.block[1])
    side = min(EDGE / wide, EDGE / high)
    return _Scale(side, side, high) if rows > 1 else _Scale(EDGE / wide, ONE_ROW / high, high)


def _across(found: GridMap) -> int:
    """Threads that are drawn side by side: a row of the block, or a warp if rows are long."""
    if max(found.block) <= WARP_LANES:
        return found.block[0]
    return min(WARP_LANES, found.threads)


def _png(found: GridMap) -> bytes:
    from .legend import Key, heading, legend
    from .sheet import ACCENT, FAINT, painted

    scale, across = _of_matrix(found), _across(found)
    down = -(-found.threads // across)
    side = min(EDGE / across, EDGE / down, 24.0)
    bottom = TOP + max(scale.high * scale.down, down * side) + 28
    keys = [Key("threads without an element", edge=FAINT, hatch="////")] if found.idle else []
    keys += [Key("elements without a thread", edge=ACCENT, hatch=NONE)] if found.left_out else []

    def paint(sheet: Sheet) -> None:
        heading(sheet, LEFT, _title(found))
        sheet.write(LEFT, TOP - 16, "blocks (outlined: the elements)", colour=FAINT, align="left")
        _paint_matrix(sheet, found, scale)
        x = LEFT + EDGE + GAP
        said = f"block {_dim(found.at, found.grid)}, {counted(found.warps, 'warp')}"
        said += f" (outlined: warp {found.warp})"
        sheet.write(x, TOP - 16, said, colour=FAINT, align="left")
        _paint_block(sheet, found, x, across, side)
        _paint_warp(sheet, found, LEFT, bottom)
        legend(sheet, LEFT, bottom + 72, keys)

    return painted(WIDTH, math.ceil(bottom) + (88 if keys else 68), paint)


def _paint_matrix(sheet: Sheet, found: GridMap, scale: _Scale) -> None:
    from .sheet import ACCENT, EMPTY, FAINT, GRID, INK, SERIES

    (across, down), (rows, cols) = found.grid, found.shape
    px, py = scale.across, scale.down
    wide, high = across * found.block[0], down * found.block[1]
    sheet.box(LEFT, TOP, wide * px, high * py, edge=GRID, hatch="////")
    if found.left_out:
        sheet.box(LEFT, TOP, cols * px, rows * py, edge=ACCENT, hatch=NONE)
    sheet.box(LEFT, TOP, min(cols, wide) * px, min(rows, high) * py, fill=EMPTY)
    box = LEFT + found.cols.start * px, TOP + found.rows.start * py
    sheet.box(*box, len(found.cols) * px, len(found.rows) * py, fill=SERIES[0])
    bx, by = found.block[0] * px, found.block[1] * py
    if min(bx, by) >= LEAST_SIDE:
        right, low = LEFT + wide * px, TOP + high * py
        ends = [(LEFT + n * bx, float(TOP), LEFT + n * bx, low) for n in range(across + 1)]
        ends += [(float(LEFT), TOP + n * by, right, TOP + n * by) for n in range(down + 1)]
        sheet.lines(ends, colour=FAINT, thick=0.8)
    sheet.lines(_outline(LEFT, TOP, cols * px, rows * py), colour=INK, thick=1.8)
    for row in range(down):
        for col in range(across):
            here = (col, row) == found.at
            _paint_name(sheet, replace(found, at=(col, row)), scale, mine=here)


def _paint_name(sheet: Sheet, found: GridMap, scale: _Scale, *, mine: bool) -> None:
    """The number of a block, where there is room for it within its elements."""
    from .sheet import DARK, INK, width_of

    rows, cols = found.rows, found.cols
    said = ", ".join(map(str, found.at if found.grid[1] > 1 else found.at[:1]))
    room = len(cols) * scale.across, len(rows) * scale.down
    if width_of(said) + 6 > room[0] or room[1] < 15:
        return
    x, y = LEFT + cols.start * scale.across, TOP + rows.start * scale.down
    colour = DARK if mine else INK
    sheet.write(x + room[0] / 2, y + room[1] / 2, said, colour=colour, bold=mine)


def _outline(
    x: float, y: float, wide: float, high: float
) -> list[tuple[float, float, float, float]]:
    right, low = x + wide, y + high
    return [(x, y, right, y), (right, y, right, low), (right, low, x, low), (x, low, x, y)]


def _paint_block(sheet: Sheet, found: GridMap, x: float, across: int, side: float) -> None:
    from .sheet import GRID, INK, shade

    for thread in range(found.threads):
        row, col = divmod(thread, across)
        box = (x + col * side, TOP + row * side, side, side)
        if found.element(thread) is None:
            sheet.box(*box, edge=GRID, thick=0.3, hatch="///")
        else:
            fill = shade(thread // WARP_LANES, max(2, found.warps))
            sheet.box(*box, fill=fill, edge=GRID, thick=0.3)
    for row, col, end_row, end_col in _edges(found, across):
        ends = x + col * side, TOP + row * side, x + end_col * side, TOP + end_row * side
        sheet.lines([ends], colour=INK, thick=1.8)


def _edges(found: GridMap, across: int) -> list[tuple[int, int, int, int]]:
    """The sides of the warp's threads that have another warp, or nothing, beyond them."""
    first = found.warp * WARP_LANES
    places = {divmod(thread, across) for thread in range(first, first + len(found.lanes))}
    sides = []
    for row, col in sorted(places):
        for near, ends in (
            ((row - 1, col), (row, col, row, col + 1)),
            ((row + 1, col), (row + 1, col, row + 1, col + 1)),
            ((row, col - 1), (row, col, row + 1, col)),
            ((row, col + 1), (row, col + 1, row + 1, col + 1)),
        ):
            if near not in places:
                sides.append(ends)
    return sides


def _paint_warp(sheet: Sheet, found: GridMap, x: float, y: float) -> None:
    from .sheet import DARK, FAINT, GRID, shade

    fill = shade(found.warp, max(2, found.warps))
    sheet.write(x, y, f"the lanes of warp {found.warp}", colour=FAINT, align="left")
    for lane, place in enumerate(found.lanes):
        box = (x + lane * STRIP, y + 14, STRIP, STRIP)
        if place is None:
            sheet.box(*box, edge=GRID, hatch="///")
        else:
            sheet.box(*box, fill=fill, edge=GRID)
            sheet.write(x + (lane + 0.5) * STRIP, y + 14 + STRIP / 2, str(lane), colour=DARK)
    sheet.write(x, y + 50, _lanes(found), align="left")
