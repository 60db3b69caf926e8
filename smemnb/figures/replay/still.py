"""The still picture of a run: its shared arrays at the end of each phase, by who wrote what.

An element has the colour of the warp that wrote it last, hatched is what nobody has written, and a
cross marks an element of which a load was stale, or several side by side in an array of few rows,
whose elements are drawn narrow and high. A run with stale reads is shown at the first of
them, too: there are the elements that are missing. Beside them stand the global arrays, whole and
in one scale, with the parts that the phase reads and writes, each in a colour of its own.

**Limits**: `MOMENTS` moments, `TILES` shared arrays, `SIDE` rows and columns of each and `SHEETS`
global arrays are drawn; of a run with stale reads those around the first one. The picture says how
many phases it leaves out.
"""

from __future__ import annotations

import math
from itertools import groupby, islice, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..drawing import Drawing
from ..words import counted
from .film import Film, Part, parts_of_run
from .record import NOBODY, PLACES, Array, Box, Run
from .words import phase_title, said_move, said_stale, summary, swapped, title

if TYPE_CHECKING:
    from ..sheet import Sheet

__all__ = ["Panel", "SheetPanel", "folded", "panels", "sheets", "still"]

MOMENTS, TILES, SIDE, SHEETS = 3, 2, 64, 3
LINES = 15  # of the text
MOST_BOXES = 64  # into which a part of more than two axes is folded
SHEET = 130  # pixels of the longest side of a global array
THINNEST = 8  # pixels of a global array of one row
ROW_ELEMS = 32  # of an array of one dimension
EDGE = 256  # pixels of the longer side of an array, about
HIGH, FLAT = 14, 64  # pixels of an element's height where all rows fit into so many
LEFT, TOP, GAP, HEAD, BELOW = 24, 60, 40, 42, 46
APART = 12  # pixels between an array and the heading of the next moment
ROLES = 16  # pixels of a line that says what a phase does with the buffers
NARROWEST = 720
KEYS = 20  # pixels of a row of the legend
WRITTEN = 3  # of the series of colours: far from those of the warps


class Panel(NamedTuple):
    """One shared array at a moment: `warps[row][col]` wrote it last, -1 for nobody.

    `stale` are the elements that loads have found stale, in the phase or, at the first stale read,
    in its step. `under_way[row][col]` says that this element waits for a copy, which the warp sent.
    """

    moment: str
    phase: int
    name: str
    rows: int
    cols: int
    warps: Array
    stale: tuple[tuple[int, int], ...]
    under_way: Array


class SheetPanel(NamedTuple):
    """One global array in a phase, as rows and columns: the boxes that are read, and written.

    `owned` is what the block writes of it in all phases.
    """

    phase: int
    name: str
    rows: int
    cols: int
    read: tuple[Box, ...]
    written: tuple[Box, ...]
    owned: tuple[Box, ...]


class _Moment(NamedTuple):
    """The end of a step, and the steps whose stale reads are marked."""

    said: str
    step: int
    marked: range


def panels(run: Run) -> list[Panel]:
    """What is drawn, moment by moment."""
    shared = [at for at, tile in enumerate(run.tiles) if tile.space == "shared"]
    stale = run.stale[0].array if run.stale else ""
    chosen = sorted(shared, key=lambda at: run.tiles[at].name != stale)[:TILES]
    return [_panel(run, moment, tile) for moment in _moments(run) for tile in sorted(chosen)]


def sheets(run: Run, film: Film | None = None) -> list[SheetPanel]:
    """The global arrays that are drawn beside the panels, moment by moment."""
    parts = parts_of_run(run)
    known = () if film is None else film.tiles
    order = {tile: at for at, tile in enumerate([*known, *run.tiles][::-1])}
    chosen = [at for at, tile in enumerate(run.tiles) if tile.space != "shared"]
    chosen = sorted(chosen, key=lambda at: -len(run.tiles[at].shape))[:SHEETS]
    chosen = sorted(chosen, key=lambda at: -order[run.tiles[at]])
    phases = dict.fromkeys(run.steps[moment.step].phase for moment in _moments(run))
    owned = {} if film is None else {film.tiles[at]: box for at, box in film.owned.items()}
    return [
        _sheet(run, phase, tile, parts, owned.get(run.tiles[tile]))
        for phase in phases
        for tile in chosen
    ]


def _sheet(
    run: Run, phase: int, tile: int, parts: tuple[Part, ...], owned: Box | None
) -> SheetPanel:
    shape = run.tiles[tile].shape
    here = [one for one in parts if (one.phase, one.tile) == (phase, tile)]
    read, written = (
        tuple(
            box for one in here if (one.kind == "load") == loads for box in folded(one.box, shape)
        )
        for loads in (True, False)
    )
    cols = shape[-1] if shape else 1
    mine = () if owned is None else tuple(folded(owned, shape))
    rows = math.prod(shape[:-1])
    return SheetPanel(phase, run.tiles[tile].name, rows, cols, read, written, mine)


def folded(box: Box, shape: tuple[int, ...]) -> list[Box]:
    """A box of any axes as boxes of rows and columns, the last axis being the columns.

    >>> folded(((1, 2), (0, 2), (3, 5)), (4, 8, 16))
    [((8, 10), (3, 5))]
    >>> folded(((4, 9),), (64,))
    [((0, 1), (4, 9))]
    """
    if len(shape) < 2:
        return [((0, 1), box[0] if box else (0, 1))]
    outer = [range(*ends) for ends in box[:-2]]
    first, end = box[-2]
    found: list[Box] = []
    for index in islice(product(*outer), MOST_BOXES):
        row = 0
        for at, extent in zip(index, shape[:-2], strict=True):
            row = row * extent + at
        found.append(((row * shape[-2] + first, row * shape[-2] + end), box[-1]))
    return found


def _moments(run: Run) -> list[_Moment]:
    """The first stale read, and the ends of the phases around it or of the first ones."""
    ends = {step.phase: at for at, step in enumerate(run.steps)}
    starts = {step.phase: at for at, step in reversed(list(enumerate(run.steps)))}
    found, least = [], 0
    if run.stale:
        at = run.stale[0].step
        step = run.steps[at]
        said = f"phase {step.phase + 1}, when warp {step.warp} has read stale elements first"
        found.append(_Moment(said, at, range(at, at + 1)))
        least = step.phase
    phases = [phase for phase in ends if phase >= least][: MOMENTS - len(found)]
    for phase in phases:
        marked = range(starts[phase], ends[phase] + 1)
        found.append(
            _Moment(
                phase_title(run.barriers[phase], phase).replace(", to ", ", at "),
                ends[phase],
                marked,
            )
        )
    return found


def _panel(run: Run, moment: _Moment, tile: int) -> Panel:
    shape = run.tiles[tile].shape
    cols = max(1, shape[-1] if len(shape) > 1 else ROW_ELEMS)
    rows = max(1, -(-math.prod(shape) // cols))
    last = run.last_stores(tile, moment.step)
    warp = np.array([event.warp for event in run.events])
    whole = np.full(rows * cols, -2)
    whole[: last.size] = np.where(last == NOBODY, -1, warp[np.maximum(last, 0) // PLACES])
    waits = np.zeros(rows * cols, bool)
    sent = run.under_way(moment.step)
    if sent.size:
        waits[: last.size] = np.isin(last // PLACES, sent) & (last != NOBODY)
    crossed = {
        divmod(int(run.events[number].elements[at]), cols)
        for number, positions in run.stale_at.items()
        if run.events[number].tile == tile and run.events[number].step in moment.marked
        for at in positions.tolist()
    }
    top, left = min(crossed, default=(0, 0))
    top, left = top // SIDE * SIDE, left // SIDE * SIDE
    part = whole.reshape(rows, cols)[top : top + SIDE, left : left + SIDE]
    inside = tuple(
        (row - top, col - left)
        for row, col in sorted(crossed)
        if 0 <= row - top < part.shape[0] and 0 <= col - left < part.shape[1]
    )
    name = run.tiles[tile].name
    if part.shape != (rows, cols):
        bottom, right = top + part.shape[0], left + part.shape[1]
        name += f" (rows {top} to {bottom - 1}, columns {left} to {right - 1})"
    phase = run.steps[moment.step].phase
    flying = waits.reshape(rows, cols)[top : top + SIDE, left : left + SIDE]
    return Panel(moment.said, phase, name, part.shape[0], part.shape[1], part, inside, flying)


def still(run: Run, film: Film | None = None) -> Drawing:
    """The shared arrays at the end of the first phases, drawn.

    Args:
        run: what is drawn.
        film: what moves where, for a run with all barriers.
    """
    drawn, beside = panels(run), sheets(run, film)
    across = max(1, len({panel.name for panel in drawn}))
    count = len({one.name for one in beside})
    width = max(NARROWEST, LEFT + across * (EDGE + GAP) + count * (SHEET + 20))
    film = film if run.without is None else None
    return Drawing(
        _text(run, drawn, film),
        _alt(run, drawn, film),
        width,
        lambda: _png(run, drawn, beside, film, width),
    )


def _left_out(run: Run, drawn: list[Panel]) -> str:
    """How many of the recorded phases are drawn, "" where all are."""
    shown = len({panel.phase for panel in drawn})
    if shown == run.phases:
        return ""
    return f"{counted(run.phases - shown, 'phase')} of {run.phases} not drawn"


def _text(run: Run, drawn: list[Panel], film: Film | None) -> str:
    said, staged = [title(run)], []
    if film is not None:
        phases = {panel.phase for panel in drawn}
        staged = [
            f"phase {move.phase + 1}: {said_move(film, move)}"
            for move in film.moves
            if move.phase in phases
        ]
        staged = staged[: max(0, LINES - 2 - len(drawn))]
    for panel in drawn:
        written = int((panel.warps >= 0).sum())
        crossed = f", {len(panel.stale)} read stale" if panel.stale else ""
        flying = int(panel.under_way.sum())
        if flying:
            written -= flying
            crossed = f", {counted(flying, 'element')} under way{crossed}"
        said.append(
            f"{panel.moment}: {counted(written, 'element')} of {panel.name} written{crossed}"
        )
    more = _left_out(run, drawn)
    return "\n".join([*said, *([more] if more else []), *staged, summary(run)])


def _alt(run: Run, drawn: list[Panel], film: Film | None) -> str:
    """One sentence for those who do not see the picture."""
    found = f"; first, {said_stale(run, run.stale[0])}" if run.stale else ""
    shown = counted(len({panel.phase for panel in drawn}), "phase")
    more = _left_out(run, drawn)
    return (
        f"The shared arrays of {title(run)}, at the end of {shown}{f' ({more})' if more else ''},"
        f" coloured by the warp that wrote each element: {summary(run)}{found}{_alt_of(film)}."
    )


def _alt_of(film: Film | None) -> str:
    """The first move, and how many follow."""
    if film is None or not film.moves:
        return ""
    more = f", the first of {len(film.moves)} such parts" if len(film.moves) > 1 else ""
    return f"; {said_move(film, film.moves[0])}{more}"


def _png(
    run: Run, drawn: list[Panel], beside: list[SheetPanel], film: Film | None, width: int
) -> bytes:
    from ..sheet import painted

    rows = [list(group) for _, group in groupby(drawn, key=lambda panel: panel.moment)]
    tall = [max(panel.rows * _high(panel) for panel in row) + APART for row in rows]
    roles = [_roles(film, panel) for panel in drawn]
    head = HEAD + (ROLES if any(roles) else 0)
    height = TOP + sum(tall) + head * len(rows) + BELOW + (KEYS if beside else 0)

    def paint(sheet: Sheet) -> None:
        sheet.write(LEFT, 20, title(run), size=13, bold=True, align="left")
        said = "; ".join(filter(None, (summary(run), _left_out(run, drawn))))
        sheet.write(LEFT, 42, said, size=12, align="left")
        y = TOP
        for row, high in zip(rows, tall, strict=True):
            sheet.write(LEFT, y + 11, row[0].moment, bold=True, align="left")
            for number, panel in enumerate(row):
                x = LEFT + number * (EDGE + GAP)
                sheet.write(x, y + 30, panel.name, align="left")
                sheet.write(x, y + 30 + ROLES, _roles(film, panel), align="left")
                _paint(sheet, panel, x, y + head, run.warps)
            x = LEFT + len(row) * (EDGE + GAP)
            _paint_sheets(sheet, [one for one in beside if one.phase == row[0].phase], x, y + 30)
            y += head + high
        copies = any(panel.under_way.any() for panel in drawn)
        _legend(sheet, y + 24, run.warps, beside=bool(beside), copies=copies)

    return painted(width, height, paint)


def _roles(film: Film | None, panel: Panel) -> str:
    """Which buffer of an array is filled and which is read, "" where it has one."""
    known = () if film is None else film.tiles
    for at, tile in enumerate(known):
        if film is not None and tile.name == panel.name.split(" (")[0]:
            for said in swapped(film, panel.phase, at):
                return said.partition(": ")[2]
    return ""


def _paint_sheets(sheet: Sheet, beside: list[SheetPanel], x: float, y: float) -> None:
    """Global arrays in one scale, with the parts that a phase reads and writes."""
    from ..sheet import FAINT, INK, SERIES

    scale = SHEET / max([1, *(max(one.rows, one.cols) for one in beside)])
    for one in beside:
        size = f"{one.rows} x {one.cols}" if one.rows > 1 else str(one.cols)
        sheet.write(x, y, f"{one.name}: {size}", align="left")
        tall = max(THINNEST, one.rows * scale)
        across, down = scale, tall / max(1, one.rows)
        # of what is read and written in one phase, the lower half shows the writes
        lower = 0.5 if one.read else 1.0
        for boxes, fill, part in (
            (one.owned, "none", 1.0),
            (one.read, FAINT, 1.0),
            (one.written, SERIES[WRITTEN], lower),
        ):
            for (top, bottom), (left, right) in boxes:
                wide, high = (right - left) * across, (bottom - top) * down
                place = (x + left * across, y + 12 + top * down + high * (1 - part))
                size_of = (max(2.0, wide), max(2.0, high * part))
                sheet.box(*place, *size_of, fill=fill, edge=INK, thick=0.8)
        sheet.box(x, y + 12, max(THINNEST, one.cols * scale), tall, edge=INK)
        x += SHEET + 20


def _side(panel: Panel) -> int:
    """Pixels of an element's side."""
    return max(2, EDGE // max(panel.rows, panel.cols))


def _high(panel: Panel) -> int:
    """Pixels of an element's height: its side, or more where rows are few and long."""
    return max(_side(panel), min(HIGH, FLAT // panel.rows))


def crosses(panel: Panel) -> list[tuple[int, int, int]]:
    """Row, first column and columns of each cross: as many elements as make it about square."""
    together = max(1, _high(panel) // _side(panel))
    found: list[tuple[int, int, int]] = []
    for row, col in sorted(panel.stale):
        last = found[-1] if found else (-1, 0, 0)
        if last[0] == row and last[1] + last[2] == col and last[2] < together:
            found[-1] = (row, last[1], last[2] + 1)
        else:
            found.append((row, col, 1))
    return found


def _paint(sheet: Sheet, panel: Panel, x: float, y: float, warps: int) -> None:
    from ..sheet import ACCENT, FAINT, GROUND, INK

    side, tall = _side(panel), _high(panel)
    for row in range(panel.rows):
        col = 0
        pairs = zip(panel.warps[row].tolist(), panel.under_way[row].tolist(), strict=True)
        for (warp, flying), group in groupby(pairs):
            many = len(list(group))
            box = (x + col * side, y + row * tall, many * side, tall)
            if warp >= 0 and flying:
                sheet.box(*box, fill=GROUND, edge=_colour(warp, warps), thick=0.8, hatch="....")
            elif warp >= 0:
                sheet.box(*box, fill=_colour(warp, warps))
            elif warp == -1:
                sheet.box(*box, fill=GROUND, edge=FAINT, thick=0.4, hatch="////")
            col += many
    wide, high = panel.cols * side, panel.rows * tall
    if tall > side:  # rows that stand for something of their own: stages, buffers
        between = [y + row * tall for row in range(1, panel.rows)]
        sheet.lines([(x, at, x + wide, at) for at in between], colour=GROUND, thick=1)
    ends: list[tuple[float, float, float, float]] = []
    for row, col, many in crosses(panel):
        left, top = x + col * side, y + row * tall
        sheet.box(left, top, many * side, tall, fill=GROUND)
        right, bottom = left + many * side - 1, top + tall - 1
        ends += [(left + 1, top + 1, right, bottom), (left + 1, bottom, right, top + 1)]
    sheet.lines(ends, colour=ACCENT, thick=1.4)
    sheet.box(x, y, wide, high, edge=INK)


def _colour(warp: int, warps: int) -> str:
    from ..sheet import shade

    return shade(warp, max(2, warps))


def _legend(sheet: Sheet, y: float, warps: int, *, beside: bool, copies: bool) -> None:
    from ..legend import Key, legend
    from ..sheet import ACCENT, FAINT, GROUND, INK, SERIES

    x = float(LEFT)
    shown = sorted({0, warps // 3, 2 * warps // 3, warps - 1})
    for warp in shown:
        sheet.box(x, y - 6, 12, 12, fill=_colour(warp, warps))
        sheet.write(x + 17, y, f"warp {warp}", align="left")
        x += 78
    sheet.box(x, y - 6, 12, 12, fill=GROUND, edge=FAINT, thick=0.4, hatch="////")
    sheet.write(x + 17, y, "not yet written", align="left")
    x += 128
    sheet.lines([(x, y - 6, x + 12, y + 6), (x, y + 6, x + 12, y - 6)], colour=ACCENT, thick=1.4)
    sheet.write(x + 17, y, "read stale", align="left")
    if copies:
        x += 98
        sheet.box(x, y - 6, 12, 12, fill=GROUND, edge=_colour(0, warps), thick=0.8, hatch="....")
        sheet.write(x + 17, y, "copy under way", align="left")
    if beside:
        keys = [
            Key("part of a global array that the phase reads", FAINT, INK),
            Key("part that it writes", SERIES[WRITTEN], INK),
        ]
        legend(sheet, LEFT, y + KEYS, keys)
