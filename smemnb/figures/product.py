"""`product_map`: the walk of a tiled product, and where a block stands in one step of it.

A block makes one tile of `out = a @ b`. It needs the rows of `a` beside that tile and the columns
of `b` above it, and goes along both a tile at a time: step s stages columns `s * depth` on of `a`
and as many rows of `b`, which every thread of the block then reads. `b` stands above `out` and `a`
to the left of it, so that a row of `a` meets a column of `b` at the element that both make.

Taught in `30_tiles`. **Limits**: one step of one block; what threads do within a tile is
`register_map`'s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .drawing import Drawing
from .words import counted

if TYPE_CHECKING:
    from ..kernels.matmul.tiling import Tiling
    from .sheet import Sheet

__all__ = ["Product", "alt", "measure", "product_map", "text"]

WIDTH, LEFT, TOP, GAP = 640, 66, 84, 34
ROOM = 340  # pixels of the longer side of all three matrices, without the gap
BEFORE = "#7a8695"
LEAST_SIDE = 4  # pixels of the smallest tile whose lines are drawn

Box = tuple[range, range]
"""Rows and columns of a piece of a matrix."""


@dataclass(frozen=True)
class Product:
    """A product of rows x depth times depth x cols, in tiles, at one step of one block.

    `tile` has rows, columns and depth of a tile; `block` is blockIdx, (x, y).
    """

    rows: int
    cols: int
    depth: int
    tile: tuple[int, int, int]
    block: tuple[int, int]
    step: int

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks across and down."""
        return -(-self.cols // self.tile[1]), -(-self.rows // self.tile[0])

    @property
    def steps(self) -> int:
        """Steps that a block takes."""
        return -(-self.depth // self.tile[2])

    @property
    def out(self) -> Box:
        """The block's tile of out."""
        (x, y), (high, wide, _) = self.block, self.tile
        return _piece(y, high, self.rows), _piece(x, wide, self.cols)

    @property
    def a(self) -> Box:
        """The tile of a that is staged in this step."""
        return self.out[0], self.along

    @property
    def b(self) -> Box:
        """The tile of b that is staged in this step."""
        return self.along, self.out[1]

    @property
    def along(self) -> range:
        """Columns of a, and rows of b, of this step."""
        return _piece(self.step, self.tile[2], self.depth)

    @property
    def staged(self) -> tuple[int, int]:
        """Elements of a and of b that the block stages in all steps."""
        rows, cols = self.out
        return len(rows) * self.depth, len(cols) * self.depth

    @property
    def products(self) -> int:
        """Multiply-adds of the block in all steps."""
        rows, cols = self.out
        return len(rows) * len(cols) * self.depth


def _piece(number: int, size: int, end: int) -> range:
    return range(number * size, min((number + 1) * size, end))


def product_map(
    shape: tuple[int, int, int],
    tile: int | tuple[int, int, int] | Tiling,
    *,
    block: tuple[int, int] = (0, 0),
    step: int = 0,
) -> Drawing:
    """The tiles of a, b and out that a block has in one step of a tiled product, drawn.

    >>> product_map((64, 64, 96), 16, block=(1, 2), step=3)
    out 64 x 64 = a 64 x 96 times b 96 x 64; tiles of 16 x 16, 16 deep: 16 blocks, 6 steps each
    block (1, 2) makes out[32:48, 16:32]
    step 3 (of 0 to 5) stages a[32:48, 48:64] and b[48:64, 16:32]
    in all steps: 1,536 elements of a and 1,536 of b for 24,576 multiply-adds: each used 16 times
    model

    Args:
        shape: rows and columns of out, and the depth: columns of a, rows of b.
        tile: rows, columns and depth of a tile, one number for all three, or a `Tiling`.
        block: blockIdx of the block, x first.
        step: of its walk, from 0.

    Raises:
        ValueError: a size below 1, or a block or a step that is not there.
    """
    found = measure(shape, tile, block=block, step=step)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(
    shape: tuple[int, int, int],
    tile: int | tuple[int, int, int] | Tiling,
    *,
    block: tuple[int, int] = (0, 0),
    step: int = 0,
) -> Product:
    """The same as numbers.

    Raises:
        ValueError: as of `product_map`.
    """
    if isinstance(tile, int):
        sizes = (tile, tile, tile)
    elif isinstance(tile, tuple):
        sizes = tile
    else:
        sizes = (tile.rows, tile.cols, tile.depth)
    if len(shape) != 3 or len(sizes) != 3 or min(*shape, *sizes) < 1:
        raise ValueError(f"shape {shape} and tile {sizes}: give rows, columns and depth, 1 or more")
    found = Product(*shape, sizes, block, step)
    if any(not 0 <= at < end for at, end in zip(block, found.grid, strict=True)):
        raise ValueError(f"block is {block}: no block of a grid of {found.grid}")
    if not 0 <= step < found.steps:
        raise ValueError(f"step is {step}: a block takes steps 0 to {found.steps - 1}")
    return found


def text(found: Product) -> str:
    """The numbers of the map."""
    high, wide, deep = found.tile
    of_a, of_b = found.staged
    return "\n".join(
        [
            f"{_title(found)}; tiles of {high} x {wide}, {deep} deep:"
            f" {counted(math.prod(found.grid), 'block')}, {counted(found.steps, 'step')} each",
            f"block {found.block} makes out{_index(found.out)}",
            f"{_step(found)} stages a{_index(found.a)} and b{_index(found.b)}",
            f"in all steps: {of_a:,} elements of a and {of_b:,} of b for {found.products:,}"
            f" multiply-adds: {_uses(found)}",
            "model",
        ]
    )


def _uses(found: Product) -> str:
    """How often an element of a, and of b, is used once it is staged."""
    rows, cols = (len(side) for side in found.out)
    if rows == cols:
        return f"each used {counted(rows, 'time')}"
    return f"an element of a used {counted(cols, 'time')}, of b {counted(rows, 'time')}"


def alt(found: Product) -> str:
    """One sentence for those who do not see the map."""
    return (
        f"Walk of a tiled product, {_title(found)}: block {found.block} makes"
        f" out{_index(found.out)}; in {_step(found)} it stages a{_index(found.a)} and"
        f" b{_index(found.b)}."
    )


def _title(found: Product) -> str:
    rows, cols, depth = found.rows, found.cols, found.depth
    return f"out {rows} x {cols} = a {rows} x {depth} times b {depth} x {cols}"


def _step(found: Product) -> str:
    return f"step {found.step} (of 0 to {found.steps - 1})"


def _index(box: Box) -> str:
    rows, cols = box
    return f"[{rows.start}:{rows.stop}, {cols.start}:{cols.stop}]"


def _png(found: Product) -> bytes:
    from .legend import Key, heading, legend
    from .sheet import EMPTY, FAINT, SERIES, painted

    side = ROOM / max(found.depth + found.cols, found.depth + found.rows)
    x = LEFT + found.depth * side + GAP
    y = TOP + found.depth * side + GAP
    bottom = y + found.rows * side

    def paint(sheet: Sheet) -> None:
        heading(sheet, LEFT, _title(found), f"block {found.block}, {_step(found)}")
        high, wide, deep = found.tile
        _paint_matrix(sheet, "b", (x, TOP), side, (found.depth, found.cols), (deep, wide))
        _paint_matrix(sheet, "a", (LEFT, y), side, (found.rows, found.depth), (high, deep))
        _paint_matrix(sheet, "out", (x, y), side, (found.rows, found.cols), (high, wide))
        rows, cols = found.out
        _paint_walk(sheet, found, (x, TOP), side, down=True)
        _paint_walk(sheet, found, (LEFT, y), side, down=False)
        box = (x + cols.start * side, y + rows.start * side, len(cols) * side, len(rows) * side)
        sheet.box(*box, fill=SERIES[2])
        words = x + max(found.cols * side, 40) + 22
        for line, said in enumerate(_beside(found)):
            sheet.write(words, TOP + 8 + 18 * line, said, colour=FAINT, align="left")
        keys = [
            Key("staged in this step", SERIES[0]),
            Key("before", BEFORE),
            Key("later", EMPTY, FAINT),
            Key("the block's tile of out", SERIES[2]),
        ]
        legend(sheet, LEFT, bottom + 26, keys)

    return painted(WIDTH, math.ceil(bottom) + 44, paint)


def _beside(found: Product) -> list[str]:
    of_a, of_b = found.staged
    return [
        f"a{_index(found.a)}",
        f"b{_index(found.b)}",
        f"out{_index(found.out)}",
        "",
        "in all steps",
        f"{of_a:,} elements of a",
        f"{of_b:,} elements of b",
        f"{found.products:,} multiply-adds",
        "model",
    ]


def _paint_matrix(
    sheet: Sheet,
    name: str,
    corner: tuple[float, float],
    side: float,
    shape: tuple[int, int],
    tile: tuple[int, int],
) -> None:
    """A matrix with the lines of its tiles."""
    from .sheet import EMPTY, FAINT, GRID

    (x, y), (rows, cols) = corner, shape
    wide, high = cols * side, rows * side
    sheet.box(x, y, wide, high, fill=EMPTY, below=True)
    if min(tile) * side >= LEAST_SIDE:
        ends = [(x + col * side, y, x + col * side, y + high) for col in range(0, cols, tile[1])]
        ends += [(x, y + row * side, x + wide, y + row * side) for row in range(0, rows, tile[0])]
        sheet.lines(ends, colour=GRID)
    sheet.lines(
        [
            (x, y, x + wide, y),
            (x, y + high, x + wide, y + high),
            (x, y, x, y + high),
            (x + wide, y, x + wide, y + high),
        ],
        colour=FAINT,
        thick=1.4,
    )
    sheet.write(x - 8, y + 7, name, bold=True, align="right")


def _paint_walk(
    sheet: Sheet, found: Product, corner: tuple[float, float], side: float, *, down: bool
) -> None:
    """The tiles of a or b that the block stages: those before, this one, those to come."""
    from .sheet import FAINT, SERIES

    across = found.out[1] if down else found.out[0]
    deep = found.tile[2]
    for step in range(found.steps):
        along = _piece(step, deep, found.depth)
        rows, cols = (along, across) if down else (across, along)
        box = (corner[0] + cols.start * side, corner[1] + rows.start * side)
        size = len(cols) * side, len(rows) * side
        fill = BEFORE if step < found.step else SERIES[0] if step == found.step else "none"
        sheet.box(*box, *size, fill=fill, edge=FAINT, thick=1.2)
