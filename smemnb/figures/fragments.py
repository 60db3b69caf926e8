"""`fragment_map`: which lane holds which element of a product's matrices, or of an ldmatrix.

The matrices of `mma.sync` lie in the registers of a warp, spread over its lanes in words of 4
bytes; ldmatrix deals them out that way. The map is not drawn from a table: the instruction runs in
the engine on numbered elements (`kernels.ptx.held`), and each lane says what it got.

Taught in `61_tensor_cores`. **Limits**: a word of a and b is drawn as one box, however many
elements it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..hardware import WARP_LANES
from .drawing import Drawing

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["FragmentMap", "Held", "alt", "fragment_map", "measure", "text"]

WIDTH, LEFT, TOP, GAP = 640, 34, 86, 44
CELL, HIGH = 30, 18  # pixels of a word's box
SIDE = 20  # pixels of the box of half a word
_NUMBERS = {"f16": np.float16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8}

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Held:
    """One matrix in the registers of a warp.

    Attributes:
        name: "a", "b", "d", or "matrix 0" and so on of an ldmatrix.
        shape: its rows and columns.
        rows, cols: of each element: `rows[word][lane]` are those of the elements of that word, the
            one in the lowest bits first.
    """

    name: str
    shape: tuple[int, int]
    rows: tuple[tuple[tuple[int, ...], ...], ...]
    cols: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def owners(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Row and column of each element, and the lane and word that hold it."""
        return {
            place: (lane, word)
            for word, (rows, cols) in enumerate(zip(self.rows, self.cols, strict=True))
            for lane in range(WARP_LANES)
            for place in zip(rows[lane], cols[lane], strict=True)
        }


@dataclass(frozen=True)
class FragmentMap:
    """What the lanes of a warp hold for an instruction; `lane` is the one that is shown."""

    name: str
    lane: int
    parts: tuple[Held, ...]

    @property
    def is_product(self) -> bool:
        """Whether it is one of mma.sync."""
        return self.name.startswith("mma")


def fragment_map(name: str, *, lane: int = 0) -> Drawing:
    """The elements that each lane holds of the matrices of an instruction, drawn.

    >>> fragment_map("mma_m16n8k16_f32_bf16", lane=5)
    mma_m16n8k16_f32_bf16: a 16 x 16, b 16 x 8, d 16 x 8 elements in the registers of 32 lanes
    lane 5 of a: a0 row 1, columns 2-3; a1 row 9, columns 2-3; a2 row 1, columns 10-11; a3 row 9,\
 columns 10-11
    lane 5 of b: b0 rows 2-3, column 1; b1 rows 10-11, column 1
    lane 5 of d: d0 row 1, column 2; d1 row 1, column 3; d2 row 9, column 2; d3 row 9, column 3
    model

    Args:
        name: of a product in `kernels.ptx.tensor`, or of an ldmatrix in `kernels.ptx.matrices`.
        lane: the one whose elements are marked.

    Raises:
        ValueError: a name of neither, or a lane that is not there.
    """
    found = measure(name, lane=lane)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(name: str, *, lane: int = 0) -> FragmentMap:
    """The same as numbers.

    Raises:
        ValueError: as of `fragment_map`.
    """
    if not 0 <= lane < WARP_LANES:
        raise ValueError(f"lane is {lane}: a warp has lanes 0 to {WARP_LANES - 1}")
    return FragmentMap(name, lane, _held(name))


@cache
def _held(name: str) -> tuple[Held, ...]:
    from ..kernels.ptx import matrices, tensor

    if name in tensor.PRODUCTS:
        return _of_product(name)
    if name.startswith("ldmatrix_") and hasattr(matrices, name):
        return _of_matrices(name)
    known = [*tensor.PRODUCTS, *(one for one in vars(matrices) if one.startswith("ldmatrix_"))]
    raise ValueError(f"{name!r} is no product or ldmatrix of kernels.ptx: {', '.join(known)}")


def _of_matrices(name: str) -> tuple[Held, ...]:
    """What each lane gets of matrices whose 64 elements are numbered one after the other."""
    from ..kernels.ptx.held import rows_of_lanes
    from ..tracing import trace

    count, turned = int(name.split("_")[1][1:]), name.endswith("_trans")
    words = np.zeros((count, WARP_LANES), np.uint32)
    trace(rows_of_lanes(count, turned=turned))[1, 32](words, np.arange(256, dtype=np.uint16))
    numbers = words[..., None].view(np.uint16)
    return tuple(
        _named(f"matrix {at}", (8, 8), *np.divmod(numbers[at : at + 1] - 64 * at, 8))
        for at in range(count)
    )


def _of_product(name: str) -> tuple[Held, ...]:
    """What each lane holds of a and b that ldmatrix loads, and of the product d."""
    from ..kernels.ptx import tensor
    from ..kernels.ptx.held import parts_of_product
    from ..tracing import trace

    k, sums, kind = tensor.shape_of(name)
    size = {"tf32": 4, "s8": 1, "u8": 1}.get(kind, 2)
    counts = tensor.words_of(name)
    dtype = {"f32": np.float32, "f16": np.uint32, "s32": np.int32}[sums]

    def run(a: Array, b: Array) -> list[Array]:
        """Words of a, b and d; `b` is given with its columns as rows."""
        given = [np.ascontiguousarray(one).view(np.uint32).reshape(-1) for one in (a, b)]
        words = [np.zeros((count, WARP_LANES), np.uint32) for count in counts[:2]]
        words.append(np.zeros((counts[2], WARP_LANES), dtype))
        trace(parts_of_product(name))[1, 32](*words, *given)
        return words

    element = np.dtype(f"u{size}")
    row_a, col_a = np.indices((16, k)).astype(element)
    col_b, row_b = np.indices((8, k)).astype(element)
    rows, cols = run(row_a, row_b), run(col_a, col_b)
    parts = [
        _named(letter, shape, *(words[at][..., None].view(element) for words in (rows, cols)))
        for at, (letter, shape) in enumerate((("a", (16, k)), ("b", (k, 8))))
    ]
    left, right = np.zeros((16, k)), np.zeros((8, k))
    left[:, 0], left[:, 1] = np.arange(16), 1
    right[:, 0], right[:, 1] = 1, 16 * np.arange(8)
    d = run(_numbers(left, kind), _numbers(right, kind))[2]
    places = d[..., None].view(np.float16) if sums == "f16" else d[..., None]
    col_d, row_d = np.divmod(places.astype(np.int64), 16)
    return (*parts, _named("d", (16, 8), row_d, col_d))


def _numbers(values: Array, kind: str) -> Array:
    """Small integers in the format of a product."""
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(_NUMBERS[kind])


def _named(name: str, shape: tuple[int, int], rows: Array, cols: Array) -> Held:
    def plain(numbers: Array) -> Any:
        return tuple(tuple(tuple(map(int, lane)) for lane in word) for word in numbers)

    return Held(name, shape, plain(rows), plain(cols))


def text(found: FragmentMap) -> str:
    """The numbers of the map."""
    lines = [f"lane {found.lane} of {part.name}: {_of_lane(found, part)}" for part in found.parts]
    return "\n".join([_title(found), *lines, "model"])


def alt(found: FragmentMap) -> str:
    """One sentence for those who do not see the map."""
    lines = [f"of {part.name}: {_of_lane(found, part)}" for part in found.parts]
    return f"Elements by lane, {_title(found)}. Lane {found.lane} has, {'; '.join(lines)}."


def _title(found: FragmentMap) -> str:
    if not found.is_product:
        turned = ", turned," if found.name.endswith("_trans") else ""
        count = "a matrix" if len(found.parts) == 1 else f"{len(found.parts)} matrices"
        size = f"{count} of 8 x 8 elements of 2 bytes{turned}"
        return f"{found.name}: {size} to the registers of {WARP_LANES} lanes"
    sizes = [f"{part.name} {part.shape[0]} x {part.shape[1]}" for part in found.parts]
    return f"{found.name}: {', '.join(sizes)} elements in the registers of {WARP_LANES} lanes"


def _of_lane(found: FragmentMap, part: Held) -> str:
    """The words of the lane, and where their elements lie."""
    said = []
    for word, (rows, cols) in enumerate(zip(part.rows, part.cols, strict=True)):
        places = f"{_span('row', rows[found.lane])}, {_span('column', cols[found.lane])}"
        said.append(f"{part.name}{word} {places}" if found.is_product else places)
    return "; ".join(said)


def _span(noun: str, numbers: tuple[int, ...]) -> str:
    first, last = min(numbers), max(numbers)
    return f"{noun} {first}" if first == last else f"{noun}s {first}-{last}"


def _png(found: FragmentMap) -> bytes:
    from .sheet import painted

    high = _high(found)
    return painted(WIDTH, high + 44, lambda sheet: _paint(sheet, found, high))


def _high(found: FragmentMap) -> int:
    """Pixels above the key of colours."""
    if not found.is_product:
        return TOP + 8 * SIDE * (2 if len(found.parts) > 2 else 1) + GAP * (len(found.parts) > 2)
    return TOP + _down(found.parts[1]) * HIGH + GAP + 16 * HIGH


def _down(b: Held) -> int:
    """Words of b below each other."""
    return b.shape[0] // len(b.rows[0][0])


def _paint(sheet: Sheet, found: FragmentMap, high: int) -> None:
    from .legend import Key, heading, legend
    from .sheet import INK, shade

    title, _, more = _title(found).partition(": ")
    heading(sheet, LEFT, title, f"{more} (model)")
    if found.is_product:
        _paint_product(sheet, found)
    else:
        for at, part in enumerate(found.parts):
            down, over = (
                at % 2 if len(found.parts) > 2 else 0,
                at // 2 if len(found.parts) > 2 else at,
            )
            x, y = LEFT + over * (8 * SIDE + 3 * GAP), TOP + down * (8 * SIDE + GAP)
            _paint_matrix(sheet, found, part, x, y, at)
    keys = [
        Key(f"lane {found.lane}", INK),
        Key("lane 0", shade(0, WARP_LANES)),
        Key("to lane 31", shade(31, WARP_LANES)),
    ]
    legend(sheet, LEFT, high + 24, keys)


def _paint_matrix(
    sheet: Sheet, found: FragmentMap, part: Held, x: float, y: float, number: int
) -> None:
    """A matrix of 8 rows, beside each the lane that names it."""
    from .sheet import FAINT

    sheet.write(x, y - 14, f"{part.name}, by the lanes that get it", colour=FAINT, align="left")
    owners = part.owners
    for row in range(8):
        for col in range(8):
            lane, _ = owners[row, col]
            box = (x + col * SIDE, y + row * SIDE, SIDE, SIDE)
            _paint_box(sheet, found, box, lane, str(lane))
        names = f"row of lane {8 * number + row}"
        sheet.write(x + 8 * SIDE + 6, y + (row + 0.5) * SIDE, names, colour=FAINT, align="left")


def _paint_product(sheet: Sheet, found: FragmentMap) -> None:
    """b above d, and a to the left of d, as rows and columns meet."""
    a, b, d = found.parts
    across = a.shape[1] // len(a.rows[0][0])
    right = LEFT + across * CELL + GAP
    low = TOP + _down(b) * HIGH + GAP
    _paint_words(sheet, found, b, right, TOP, (len(b.rows[0][0]), 1))
    _paint_words(sheet, found, a, LEFT, low, (1, len(a.rows[0][0])))
    wide = len(set(d.cols[0][0]))
    _paint_words(sheet, found, d, right, low, (1, wide))


def _paint_words(
    sheet: Sheet, found: FragmentMap, part: Held, x: float, y: float, size: tuple[int, int]
) -> None:
    """A matrix by words of `size` elements, with its rows and columns at its sides."""
    from .sheet import FAINT

    owners, (down, over) = part.owners, size
    wide = CELL * (over if part.name == "d" else 1)
    rows, cols = part.shape
    sheet.write(x, y - 26, f"{part.name}, {rows} x {cols}", align="left", bold=True)
    for row in range(0, rows, down):
        top = y + row // down * HIGH
        for col in range(0, cols, over):
            lane, word = owners[row, col]
            said = f"{part.name}{word}" if lane == found.lane else str(lane)
            _paint_box(sheet, found, (x + col // over * wide, top, wide, HIGH), lane, said)
        if row % (8 if down == 1 else 1) == 0:
            sheet.write(x - 5, top + HIGH / 2, str(row), colour=FAINT, align="right")
    for col in range(0, cols, over):
        middle = x + (col // over + 0.5) * wide
        sheet.write(middle, y - 10, str(col), colour=FAINT)


def _paint_box(
    sheet: Sheet, found: FragmentMap, box: tuple[float, float, float, float], lane: int, said: str
) -> None:
    from .sheet import GRID, INK, ink_on, shade

    fill = INK if lane == found.lane else shade(lane, WARP_LANES)
    sheet.box(*box, fill=fill, edge=GRID, thick=0.6)
    left, top, wide, high = box
    middle = left + wide / 2, top + high / 2
    sheet.write(*middle, said, colour=ink_on(fill), bold=lane == found.lane)
