"""`reuse_map`: how often one block loads each element of a global array.

Every box is an element of the array, its number says how many loads of the block's threads ask for
it. What is loaded again and again is worth a tile; with one, every element that the block needs is
loaded once. Around the elements in whose place the block stores its results is a frame: what lies
outside of it is the halo.

The block runs once more, alone. Taught in `52_stencil`. **Limits**: loads are those of lanes,
before any cache; arrays that lie in memory row by row; `ROWS` x `COLS` elements are drawn, of more
the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import SmemnbError
from ..lockstep.batch import Segment
from ..lockstep.intrinsics.printing import unshown
from ..lockstep.watch import Access, Watcher
from ..tracing.again import PATIENCE_S
from ..tracing.model import place
from ..tracing.trace import Trace
from .drawing import Drawing

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["ReuseMap", "alt", "measure", "reuse_map", "text"]

ROWS, COLS = 40, 40
CELL, HIGH = 19, 17  # pixels of an element
LEFT, TOP, BELOW = 52, 82, 48
NARROWEST = 560  # pixels of the picture
Box = tuple[tuple[int, int], tuple[int, int]]
"""First row and the one after the last, and columns likewise."""


@dataclass(frozen=True)
class ReuseMap:
    """`loads[row, col]` is how often the block loads an element of `array`.

    `own` is the part of an array of the same shape in which the block stores, None for none;
    `block` is the block's place as text.
    """

    launch: str
    block: str
    array: str
    loads: npt.NDArray[np.int64]
    own: Box | None

    @property
    def touched(self) -> Box:
        """The smallest box around all elements that are loaded."""
        rows, cols = np.nonzero(self.loads)
        return (int(rows.min()), int(rows.max()) + 1), (int(cols.min()), int(cols.max()) + 1)

    @property
    def elements(self) -> int:
        """Elements that are loaded at least once."""
        return int(np.count_nonzero(self.loads))

    @property
    def total(self) -> int:
        """Loads of all elements together."""
        return int(self.loads.sum())


def reuse_map(trace: Trace, array: str, *, block: int = 0) -> Drawing:
    """How often a block of a launch loads each element of a global array, drawn.

    >>> import numpy as np
    >>> from smemnb.kernels.transpose import transpose_naive
    >>> from smemnb.tracing import trace
    >>> inp, out = np.zeros((64, 32), np.float32), np.zeros((32, 64), np.float32)
    >>> reuse_map(trace(transpose_naive)[(1, 2), (32, 32)](out, inp), "inp", block=1)
    transpose_naive[(1, 2), (32, 32)]: loads of inp, 64 x 32 elements, by block (0, 1) (model)
    rows 32-63, columns 0-31: 1,024 elements, 1,024 loads; each element is loaded once

    Args:
        trace: of the launch.
        array: the name of the array, as the kernel's parameter is called.
        block: the number of the block in the grid.

    Raises:
        SmemnbError: the block does not load from such an array, it does not lie row by row, or the
            launch cannot run again.
    """
    found = measure(trace, array, block=block)
    return Drawing(text(found), alt(found), _width(found), lambda: _png(found))


def measure(trace: Trace, array: str, *, block: int = 0) -> ReuseMap:
    """The loads of one block, element by element.

    Raises:
        SmemnbError: as `reuse_map`.
    """
    from ..simulator import launch

    again, how = trace.relaunch, trace.launch
    if again is None:
        raise SmemnbError("this trace has not kept its launch, so its block cannot run again")
    if not 0 <= block < how.blocks:
        raise SmemnbError(f"block={block}: {how.kernel} has blocks 0 to {how.blocks - 1} here")
    heard = _Loads(array)
    with unshown():
        launch.run(
            again.kernel,
            how.grid,
            how.block,
            0,
            how.dynamic_shared_bytes,
            again.arguments.values(),
            watchers=(heard,),
            patience_s=PATIENCE_S,
            segments=lambda _: [Segment(block, 1)],
        )
    z, y, x = (int(one) for one in np.unravel_index(block, how.grid[::-1]))
    here = place((x, y, z), how.grid)
    if heard.loads is None:
        known = ", ".join(sorted(heard.loaded)) or "none"
        raise SmemnbError(
            f"block {here} of {how.kernel} does not load from an array {array};"
            f" it loads from: {known}"
        )
    return ReuseMap(str(how), here, array, heard.loads.reshape(_two(heard.shape)), heard.own())


class _Loads(Watcher):
    """Counts the loads of each element of an array; notes where arrays of its shape are stored."""

    def __init__(self, array: str) -> None:
        self._array = array
        self.shape: tuple[int, ...] = ()
        self.loads: npt.NDArray[np.int64] | None = None
        self.loaded: set[str] = set()
        self._stored: dict[tuple[int, ...], list[npt.NDArray[np.int64]]] = {}

    def access(self, event: Access) -> None:
        """Count the lanes of an event.

        Raises:
            SmemnbError: the array does not lie row by row.
        """
        array = event.array
        if array.space != "global":
            return
        if event.kind != "load":
            self._stored.setdefault(array.shape, []).append(_elements(event))
            return
        self.loaded.add(array.name)
        if array.name != self._array:
            return
        steps = [math.prod(array.shape[axis + 1 :]) for axis in range(len(array.shape))]
        if event.unit != array.itemsize or list(array.strides) != steps:
            raise SmemnbError(f"{array.name} does not lie row by row in memory")
        if self.loads is None:
            self.shape = array.shape
            self.loads = np.zeros(math.prod(array.shape), np.int64)
        np.add.at(self.loads, _elements(event), 1)

    def own(self) -> Box | None:
        """Where the block stores in arrays of the shape of the one that is loaded."""
        stored = self._stored.get(self.shape)
        if not stored:
            return None
        rows, cols = np.divmod(np.concatenate(stored), _two(self.shape)[1])
        return (int(rows.min()), int(rows.max()) + 1), (int(cols.min()), int(cols.max()) + 1)


def _elements(event: Access) -> npt.NDArray[np.int64]:
    """The element of each lane that takes part, all of them where it has several."""
    offset, active = np.broadcast_arrays(event.offset, event.active)
    first = offset[active].astype(np.int64)
    return np.asarray(first[:, None] + np.arange(event.elements)).ravel()


def _two(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns; all axes but the last are rows."""
    return (math.prod(shape[:-1]), shape[-1]) if shape else (1, 1)


def text(found: ReuseMap) -> str:
    """The numbers of the map."""
    rows, cols = found.loads.shape
    said = [
        f"{found.launch}: loads of {found.array}, {rows} x {cols} elements, by block {found.block}"
        " (model)",
        f"{_said(found.touched)}: {_number(found.elements, 'element')}, {_loads(found)}",
    ]
    if found.own is not None:
        said.append(f"the block stores in {_said(found.own)}")
    return "\n".join(said)


def alt(found: ReuseMap) -> str:
    """One sentence for those who do not see the map."""
    return (
        f"Elements of {found.array} with how often block {found.block} loads each:"
        f" {_said(found.touched)}, {_loads(found)}."
    )


def _loads(found: ReuseMap) -> str:
    counts = found.loads[found.loads > 0]
    low, high = int(counts.min()), int(counts.max())
    said = _number(found.total, "load")
    if high == 1:
        return f"{said}; each element is loaded once"
    times = f"{high} times" if low == high else f"{low} to {high} times"
    return (
        f"{said}; an element is loaded {times}, {found.total / found.elements:.1f} on the average"
    )


def _number(many: int, noun: str) -> str:
    return f"{many:,} {noun}" + ("" if many == 1 else "s")


def _said(box: Box) -> str:
    (top, bottom), (left, right) = box
    return f"rows {top}-{bottom - 1}, columns {left}-{right - 1}"


def _window(found: ReuseMap) -> tuple[range, range]:
    (top, bottom), (left, right) = found.touched
    return range(top, min(bottom, top + ROWS)), range(left, min(right, left + COLS))


def _width(found: ReuseMap) -> int:
    return max(NARROWEST, LEFT + len(_window(found)[1]) * CELL + 24)


def _png(found: ReuseMap) -> bytes:
    from .legend import heading
    from .sheet import FAINT, GRID, INK, ink_on, painted, shade

    rows, cols = _window(found)
    bottom = TOP + len(rows) * HIGH
    most = int(found.loads.max())

    def paint(sheet: Sheet) -> None:
        title = f"{found.launch}, block {found.block}: loads of {found.array}"
        heading(
            sheet, LEFT, title, f"{_number(found.elements, 'element')}, {_loads(found)} (model)"
        )
        _paint_axes(sheet, rows, cols)
        for row in rows:
            for col in cols:
                x, y = LEFT + (col - cols[0]) * CELL, TOP + (row - rows[0]) * HIGH
                times = int(found.loads[row, col])
                fill = shade(times - 1, most) if times else "none"
                sheet.box(x, y, CELL, HIGH, fill=fill, edge=GRID, thick=0.6)
                if times:
                    sheet.write(x + CELL / 2, y + HIGH / 2, str(times), colour=ink_on(fill))
        if found.own is not None:
            _paint_frame(sheet, found.own, rows, cols)
        said = "number: how often the block's threads load the element"
        said += "" if found.own is None else "; frame: where the block stores its results"
        sheet.write(LEFT, bottom + 18, said, colour=FAINT, align="left")
        whole = (len(rows), len(cols)) == tuple(end - start for start, end in found.touched)
        if not whole:
            drawn = f"{len(rows)} rows and {len(cols)} columns are drawn"
            sheet.write(LEFT, bottom + 36, drawn, colour=INK, align="left")

    return painted(_width(found), bottom + BELOW, paint)


def _paint_axes(sheet: Sheet, rows: range, cols: range) -> None:
    from .sheet import FAINT

    sheet.write(LEFT - 8, TOP - 12, "row", colour=FAINT, align="right")
    for col in cols:
        if (col - cols[0]) % 4 == 0:
            sheet.write(LEFT + (col - cols[0] + 0.5) * CELL, TOP - 12, str(col), colour=FAINT)
    for row in rows:
        y = TOP + (row - rows[0] + 0.5) * HIGH
        sheet.write(LEFT - 8, y, str(row), colour=FAINT, align="right")


def _paint_frame(sheet: Sheet, own: Box, rows: range, cols: range) -> None:
    """The sides of a box, as far as they are in the window."""
    from .sheet import INK

    (top, bottom), (left, right) = own
    x0, x1 = (
        LEFT + (min(max(one, cols[0]), cols[-1] + 1) - cols[0]) * CELL for one in (left, right)
    )
    y0, y1 = (
        TOP + (min(max(one, rows[0]), rows[-1] + 1) - rows[0]) * HIGH for one in (top, bottom)
    )
    sides: dict[str, Any] = {
        "left": (x0, y0, x0, y1) if left >= cols[0] else None,
        "right": (x1, y0, x1, y1) if right <= cols[-1] + 1 else None,
        "top": (x0, y0, x1, y0) if top >= rows[0] else None,
        "bottom": (x0, y1, x1, y1) if bottom <= rows[-1] + 1 else None,
    }
    sheet.lines([side for side in sides.values() if side], colour=INK, thick=2)
