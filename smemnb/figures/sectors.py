"""`sector_map`: the lanes of one request to global memory, on their matrix, with its sectors.

A sector is 32 bytes of global memory, the least that is moved. A box with a number is the element
of that lane; a faint box is an element that nobody asked for and that comes along in a sector.
Lanes along a row share sectors; lanes down a column have one each.

The request is the one of the line that touches the most sectors. A trace has its addresses; where
the array begins and what shape it has, the launch tells when it runs once more, as in
`tracing.requests`.

Taught in `20_transpose`. **Limits**: arrays that lie in memory row by row; `ROWS` x `COLS` elements
are drawn, `MOST_COLS` where these hold all of a row's sectors; an array of one dimension is drawn
in lines of `COLS` where it does not fit. Of a wider request those around its first lane.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import SmemnbError
from ..hardware import SECTOR_BYTES, WARP_LANES
from ..lockstep.intrinsics.printing import unshown
from ..lockstep.watch import Access, Watcher
from ..rules import sector
from ..tracing.model import AccessRow
from ..tracing.trace import Trace
from .drawing import Drawing
from .words import counted

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["SectorMap", "alt", "measure", "request_of", "sector_map", "text"]

ROWS, COLS = 32, 32
MOST_COLS = 40  # five sectors of 4-byte elements: 32 neighbours that begin inside of one
CELL, HIGH = 17, 15  # pixels of an element
LEFT, TOP, BELOW = 52, 82, 56
COMES = "#7a8695"  # what nobody asked for
PATIENCE_S = 20.0


@dataclass(frozen=True)
class SectorMap:
    """One request to a matrix that begins at address `base` and lies there row by row.

    `address` has the 32 byte addresses of the lanes, `active` tells which lanes ask, `width` is
    bytes per lane; `title` says where the request comes from.
    """

    address: tuple[int, ...]
    active: tuple[bool, ...]
    width: int
    shape: tuple[int, int]
    itemsize: int
    base: int
    title: str = ""

    @property
    def lanes(self) -> int:
        """Active lanes."""
        return sum(self.active)

    @property
    def sectors(self) -> int:
        """Sectors that are moved."""
        return int(sector.sectors(self.address, width=self.width, active=self.active))

    @property
    def asked(self) -> int:
        """Distinct bytes that the lanes ask for."""
        return len({byte for lane in self._asking for byte in self._bytes(lane)})

    @property
    def moved(self) -> int:
        """Bytes of the sectors."""
        return self.sectors * SECTOR_BYTES

    @property
    def places(self) -> tuple[tuple[int, int] | None, ...]:
        """Row and column of the first element of each lane; None for an inactive one."""
        return tuple(
            self._place(address) if on else None
            for address, on in zip(self.address, self.active, strict=True)
        )

    @property
    def along(self) -> tuple[tuple[int, int], ...]:
        """Elements that come along in the sectors, in order, whether asked for or not."""
        numbers = {
            (start + byte - self.base) // self.itemsize
            for start in self._sectors
            for byte in range(0, SECTOR_BYTES, min(self.itemsize, SECTOR_BYTES))
        }
        inside = [one for one in sorted(numbers) if 0 <= one < self.shape[0] * self.shape[1]]
        return tuple(divmod(one, self.shape[1]) for one in inside)

    @property
    def _asking(self) -> list[int]:
        return [lane for lane in range(WARP_LANES) if self.active[lane]]

    def _bytes(self, lane: int) -> range:
        return range(self.address[lane], self.address[lane] + self.width)

    @property
    def _sectors(self) -> list[int]:
        """The address of each sector."""
        found = {
            byte // SECTOR_BYTES * SECTOR_BYTES
            for lane in self._asking
            for byte in (self._bytes(lane)[0], self._bytes(lane)[-1])
        }
        return sorted(found)

    def _place(self, address: int) -> tuple[int, int]:
        return divmod((address - self.base) // self.itemsize, self.shape[1])


def sector_map(
    request: Trace | npt.ArrayLike,
    line: int | None = None,
    *,
    array: str | None = None,
    shape: tuple[int, ...] | None = None,
    width: int = 4,
    active: npt.ArrayLike | None = None,
) -> Drawing:
    """Lanes of one request on a matrix, and the sectors that are moved, drawn.

    >>> sector_map([lane * 256 for lane in range(32)], shape=(96, 64))
    32 lanes ask for 4 bytes each in a matrix of 96 x 64 elements of 4 bytes
    lanes go down column 0, rows 0-31
    sectors: 32, of 32 bytes: 1,024 bytes are moved, 128 are asked for (model)

    Args:
        request: a trace, or 32 byte addresses, counted from the first element of a matrix.
        line: of a trace, the source line.
        array: which array, where the line touches several in global memory.
        shape: of the matrix, where addresses are given; its elements have `width` bytes.
        width: bytes per lane, where addresses are given.
        active: 32 bools, where addresses are given; None for all lanes.

    Raises:
        TypeError: addresses without a shape, a trace without a line.
        ValueError: addresses that are not one request, or that lie outside the matrix.
        SmemnbError: the line has no request to global memory, or the launch cannot run again.
    """
    if isinstance(request, Trace):
        if line is None:
            raise TypeError("line is missing: the source line whose request is drawn")
        found = request_of(request, line, array)
    else:
        if shape is None:
            raise TypeError("shape is missing: rows and columns of the matrix")
        found = measure(request, shape=shape, width=width, active=active)
    return Drawing(text(found), alt(found), _width(found), lambda: _png(found))


def measure(
    address: npt.ArrayLike,
    *,
    shape: tuple[int, ...],
    width: int = 4,
    active: npt.ArrayLike | None = None,
) -> SectorMap:
    """A request of addresses that count from the first element of a matrix.

    Raises:
        ValueError: not one request of 32 lanes, or an address outside the matrix.
    """
    if np.shape(address) != (WARP_LANES,):
        raise ValueError(f"address has shape {np.shape(address)}; give one request of 32 addresses")
    on = np.ones(WARP_LANES, np.bool_) if active is None else np.asarray(active, np.bool_)
    starts = np.where(on, np.asarray(address, np.int64), 0)
    if starts.min() < 0 or starts.max() + width > math.prod(shape) * width:
        raise ValueError(f"an address is outside a matrix of {shape} elements of {width} bytes")
    return SectorMap(tuple(starts.tolist()), tuple(on.tolist()), width, _two(shape), width, 0)


def _two(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns; all axes but the last are rows."""
    return (math.prod(shape[:-1]), shape[-1]) if shape else (1, 1)


def request_of(trace: Trace, line: int, array: str | None = None) -> SectorMap:
    """The request of a line to global memory that touches the most sectors.

    Raises:
        SmemnbError: there is none, its array does not lie row by row, or the launch cannot run
            again.
    """
    rows = [row for row in trace.lines if row.space == "global" and row.worst is not None]
    here = [row for row in rows if row.line == line and array in (None, row.array)]
    if not here:
        known = ", ".join(str(number) for number in sorted({row.line for row in rows})) or "none"
        which = "" if array is None else f" on {array}"
        raise SmemnbError(
            f"line {line} of {trace.launch.kernel} makes no request to global memory{which}; "
            f"lines that do: {known}"
        )
    row = max(here, key=lambda one: one.sectors / one.requests)
    worst = row.worst
    assert worst is not None  # chosen so
    where = _Finder(row)
    where.run(trace)
    block = ", ".join(map(str, worst.block))
    return SectorMap(
        worst.address,
        worst.active,
        row.width,
        _two(where.shape),
        where.itemsize,
        where.base,
        f"line {row.line}, {row.access}: block ({block}), warp {worst.warp}",
    )


class _Finder(Watcher):
    """Listens to a launch for where the array of a row lies, and its shape."""

    def __init__(self, row: AccessRow) -> None:
        self._row = row
        self.shape: tuple[int, ...] = ()
        self.itemsize = self.base = 0
        self._by_rows = False

    def run(self, trace: Trace) -> None:
        """Run the launch again.

        Raises:
            SmemnbError: it is not kept, takes another course, or the array lies otherwise.
        """
        from ..simulator import launch

        again, how = trace.relaunch, trace.launch
        if again is None:
            raise SmemnbError(
                "this trace has not kept its launch: give 32 addresses and the shape of the matrix"
            )
        with unshown():
            launch.run(
                again.kernel,
                how.grid,
                how.block,
                0,
                how.dynamic_shared_bytes,
                again.arguments.values(),
                watchers=(self,),
                patience_s=PATIENCE_S,
            )
        if not self.itemsize:
            raise SmemnbError("the launch takes another course when it runs again")
        if not self._by_rows:
            raise SmemnbError(f"{self._row.array} does not lie row by row in memory")

    def access(self, event: Access) -> None:
        """Note the array of an event of the row's line."""
        site, array = event.site, event.array
        if self.itemsize or (site.line, site.column, array.name) != (
            self._row.line,
            self._row.column,
            self._row.array,
        ):
            return
        self.shape, self.itemsize = array.shape, array.itemsize
        self.base = int(array.base)
        steps = [math.prod(array.shape[axis + 1 :]) for axis in range(len(array.shape))]
        self._by_rows = array.unit == array.itemsize and list(array.strides) == steps


def text(found: SectorMap) -> str:
    """The numbers of the map."""
    rows, cols = found.shape
    said = [found.title] if found.title else []
    said += [
        f"{counted(found.lanes, 'lane')} ask for {counted(found.width, 'byte')} each in a matrix of"
        f" {rows} x {cols} elements of {counted(found.itemsize, 'byte')}",
        _way(found),
        f"sectors: {found.sectors}, of {SECTOR_BYTES} bytes: {found.moved:,} bytes are moved,"
        f" {found.asked:,} are asked for (model)",
    ]
    return "\n".join(said)


def alt(found: SectorMap) -> str:
    """One sentence for those who do not see the map."""
    named = f" ({found.title})" if found.title else ""
    return (
        f"Lanes of one request on a matrix{named}: {_way(found)}; {found.asked:,} bytes asked for,"
        f" {found.moved:,} moved in {counted(found.sectors, 'sector')}."
    )


def _way(found: SectorMap) -> str:
    """How the lanes go over the matrix."""
    places = [place for place in found.places if place is not None]
    if not places:
        return "no lane asks"
    rows, cols = sorted({row for row, _ in places}), sorted({col for _, col in places})
    if len(rows) == len(cols) == 1:
        return f"lanes share row {rows[0]}, column {cols[0]}"
    if len(rows) == 1:
        return f"lanes go along row {rows[0]}, columns {cols[0]}-{cols[-1]}"
    if len(cols) == 1:
        return f"lanes go down column {cols[0]}, rows {rows[0]}-{rows[-1]}"
    return f"lanes take rows {rows[0]}-{rows[-1]}, columns {cols[0]}-{cols[-1]}"


def window(found: SectorMap) -> tuple[range, range]:
    """The rows and columns that are drawn: from a little before the first lane on."""
    places = [place for place in found.places if place is not None] or [(0, 0)]
    rows, cols = found.shape
    each = max(1, SECTOR_BYTES // found.itemsize)
    last = max(row for row, _ in places)
    top = max(0, min(row for row, _ in places) - 1)
    bottom = min(rows, last + 2, top + ROWS + 1)
    first = min(col for _, col in places) // each * each
    end = max([col for _, col in places] + [col for _, col in found.along]) + 1
    wide = MOST_COLS if COLS < end - first <= MOST_COLS else COLS
    left = max(0, min(first, cols - wide))
    return range(top, bottom), range(left, min(cols, left + wide))


def _folded(found: SectorMap) -> SectorMap:
    """An array of one row in lines of `COLS` elements, if its request does not fit into one."""
    if found.shape[0] > 1 or not (_away(found) or _cut(found)):
        return found
    return replace(found, shape=(-(-found.shape[1] // COLS), COLS))


def _cut(found: SectorMap) -> bool:
    """Whether a sector lies outside of what is drawn."""
    rows, cols = window(found)
    return any(row not in rows or col not in cols for row, col in found.along)


def _width(found: SectorMap) -> int:
    found = _folded(found)
    return LEFT + max(COLS, len(window(found)[1])) * CELL + 24


def _png(found: SectorMap) -> bytes:
    from .legend import Key, heading, legend
    from .sheet import EMPTY, FAINT, GRID, SERIES, painted

    whole, found = found, _folded(found)
    rows, cols = window(found)
    high = len(rows) * HIGH

    def paint(sheet: Sheet) -> None:
        more = f"{counted(found.sectors, 'sector')}: {found.moved:,} bytes moved,"
        more += f" {found.asked:,} asked for (model)"
        heading(sheet, LEFT, whole.title or _way(whole), more)
        _paint_axes(sheet, rows, cols, folded=found is not whole)
        sheet.box(LEFT, TOP, len(cols) * CELL, high, fill=EMPTY)
        _paint_elements(sheet, found, rows, cols)
        keys = [Key("a lane's element", SERIES[0]), Key("comes along in a sector", COMES, GRID)]
        legend(sheet, LEFT, TOP + high + 20, keys)
        said = f"of {counted(whole.shape[0], 'row')} and {counted(whole.shape[1], 'column')};"
        said += f" drawn in lines of {COLS};" if found is not whole else ""
        said += f" {_outside(found)}"
        sheet.write(LEFT, TOP + high + 42, said.rstrip("; "), colour=FAINT, align="left")

    return painted(_width(found), TOP + high + BELOW, paint)


def _away(found: SectorMap) -> int:
    """How many lanes have no place in the picture."""
    rows, cols = window(found)
    return Counter(
        place[0] in rows and place[1] in cols for place in found.places if place is not None
    )[False]


def _outside(found: SectorMap) -> str:
    away = _away(found)
    return f"{counted(away, 'lane')} outside of the picture" if away else ""


def _paint_axes(sheet: Sheet, rows: range, cols: range, *, folded: bool) -> None:
    from .sheet import FAINT

    each, name = (COLS, "from") if folded else (1, "row")
    sheet.write(LEFT - 8, TOP - 11, name, colour=FAINT, align="right")
    for col in cols:
        if col % 4 == 0:
            x = LEFT + (col - cols.start + 0.5) * CELL
            sheet.write(x, TOP - 11, str(col), colour=FAINT)
    for row in rows:
        y = TOP + (row - rows.start + 0.5) * HIGH
        sheet.write(LEFT - 8, y, str(row * each), colour=FAINT, align="right")


def _paint_elements(sheet: Sheet, found: SectorMap, rows: range, cols: range) -> None:
    from .sheet import DARK, GRID, SERIES

    def corner(row: int, col: int) -> tuple[float, float]:
        return LEFT + (col - cols.start) * CELL, TOP + (row - rows.start) * HIGH

    ends: list[tuple[float, float, float, float]] = []
    for col in range(len(cols) + 1):
        x = float(LEFT + col * CELL)
        ends.append((x, TOP, x, TOP + len(rows) * HIGH))
    for row in range(len(rows) + 1):
        y = float(TOP + row * HIGH)
        ends.append((LEFT, y, LEFT + len(cols) * CELL, y))
    sheet.lines(ends, colour=GRID, thick=0.6, below=True)
    for row, col in found.along:
        if row in rows and col in cols:
            sheet.box(*corner(row, col), CELL, HIGH, fill=COMES, edge=GRID, thick=0.6)
    named: dict[tuple[int, int], int] = {}
    for lane, place in enumerate(found.places):
        if place is not None and place[0] in rows and place[1] in cols:
            named.setdefault(place, lane)
    per_lane = max(1, found.width // found.itemsize)
    for (row, col), lane in named.items():
        x, y = corner(row, col)
        wide = CELL * min(per_lane, cols.stop - col)
        sheet.box(x + 0.5, y + 0.5, wide - 1, HIGH - 1, fill=SERIES[0])
        sheet.write(x + wide / 2, y + HIGH / 2, str(lane), colour=DARK)
    _paint_sectors(sheet, found, rows, cols)


def _paint_sectors(sheet: Sheet, found: SectorMap, rows: range, cols: range) -> None:
    """A gap around each sector, within its row."""
    from .sheet import GROUND

    frames: dict[tuple[int, int], list[int]] = {}
    for row, col in found.along:
        start = found.base + (row * found.shape[1] + col) * found.itemsize
        if row in rows and col in cols:
            frames.setdefault((start // SECTOR_BYTES, row), []).append(col)
    for (_, row), inside in frames.items():
        x = LEFT + (inside[0] - cols.start) * CELL
        y = TOP + (row - rows.start) * HIGH
        sheet.box(x, y, len(inside) * CELL, HIGH, edge=GROUND, thick=3)
