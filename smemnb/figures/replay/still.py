"""The still picture of a run: its shared arrays at the end of each phase, by who wrote what.

An element has the colour of the warp that wrote it last, hatched is what nobody has written, and a
cross marks an element of which a load was stale. A run with stale reads is shown at the first of
them, too: there are the elements that are missing.

**Limits**: `MOMENTS` moments, `TILES` arrays, `SIDE` rows and columns of each are drawn; of a run
with stale reads those around the first one.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..drawing import Drawing
from ..words import counted
from .record import NOBODY, PLACES, Array, Run
from .words import phase_title, said_stale, summary, title

if TYPE_CHECKING:
    from ..sheet import Sheet

__all__ = ["Panel", "panels", "still"]

MOMENTS, TILES, SIDE = 3, 2, 64
ROW_ELEMS = 32  # of an array of one dimension
EDGE = 256  # pixels of the longer side of an array, about
LEFT, TOP, GAP, HEAD, BELOW = 24, 60, 40, 42, 46
NARROWEST = 720


class Panel(NamedTuple):
    """One shared array at a moment: `warps[row][col]` wrote it last, -1 for nobody.

    `stale` are the elements that loads have found stale, in the phase or, at the first stale read,
    in its step.
    """

    moment: str
    name: str
    rows: int
    cols: int
    warps: Array
    stale: tuple[tuple[int, int], ...]


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
            _Moment(phase_title(run, phase).replace(", to ", ", at "), ends[phase], marked)
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
    return Panel(moment.said, name, part.shape[0], part.shape[1], part, inside)


def still(run: Run) -> Drawing:
    """The shared arrays at the end of the first phases, drawn."""
    drawn = panels(run)
    across = max(1, len({panel.name for panel in drawn}))
    width = max(NARROWEST, LEFT + across * (EDGE + GAP))
    return Drawing(_text(run, drawn), _alt(run), width, lambda: _png(run, drawn, width))


def _text(run: Run, drawn: list[Panel]) -> str:
    said = [title(run)]
    for panel in drawn:
        written = int((panel.warps >= 0).sum())
        crossed = f", {len(panel.stale)} read stale" if panel.stale else ""
        said.append(
            f"{panel.moment}: {counted(written, 'element')} of {panel.name} written{crossed}"
        )
    return "\n".join([*said, summary(run)])


def _alt(run: Run) -> str:
    """One sentence for those who do not see the picture."""
    found = f"; first, {said_stale(run, run.stale[0])}" if run.stale else ""
    return (
        f"The shared arrays of {title(run)}, at the end of {counted(run.phases, 'phase')},"
        f" coloured by the warp that wrote each element: {summary(run)}{found}."
    )


def _png(run: Run, drawn: list[Panel], width: int) -> bytes:
    from ..sheet import painted

    rows = [list(group) for _, group in groupby(drawn, key=lambda panel: panel.moment)]
    tall = [max(panel.rows * _side(panel) for panel in row) for row in rows]
    height = TOP + sum(tall) + HEAD * len(rows) + BELOW

    def paint(sheet: Sheet) -> None:
        sheet.write(LEFT, 20, title(run), size=13, bold=True, align="left")
        sheet.write(LEFT, 42, summary(run), size=12, align="left")
        y = TOP
        for row, high in zip(rows, tall, strict=True):
            sheet.write(LEFT, y + 11, row[0].moment, bold=True, align="left")
            for number, panel in enumerate(row):
                x = LEFT + number * (EDGE + GAP)
                sheet.write(x, y + 30, panel.name, align="left")
                _paint(sheet, panel, x, y + HEAD, run.warps)
            y += HEAD + high
        _legend(sheet, y + 24, run.warps)

    return painted(width, height, paint)


def _side(panel: Panel) -> int:
    """Pixels of an element's side."""
    return max(2, EDGE // max(panel.rows, panel.cols))


def _paint(sheet: Sheet, panel: Panel, x: float, y: float, warps: int) -> None:
    from ..sheet import ACCENT, FAINT, GROUND, INK

    side = _side(panel)
    for row in range(panel.rows):
        col = 0
        for warp, group in groupby(panel.warps[row].tolist()):
            many = len(list(group))
            box = (x + col * side, y + row * side, many * side, side)
            if warp >= 0:
                sheet.box(*box, fill=_colour(warp, warps))
            elif warp == -1:
                sheet.box(*box, fill=GROUND, edge=FAINT, thick=0.4, hatch="////")
            col += many
    wide, high = panel.cols * side, panel.rows * side
    for row, col in panel.stale:
        sheet.box(x + col * side, y + row * side, side, side, fill=GROUND)
    crosses = [(x + col * side, y + row * side) for row, col in panel.stale]
    ends = [(left + 1, top + 1, left + side - 1, top + side - 1) for left, top in crosses]
    ends += [(left + 1, top + side - 1, left + side - 1, top + 1) for left, top in crosses]
    sheet.lines(ends, colour=ACCENT, thick=1.4)
    sheet.box(x, y, wide, high, edge=INK)


def _colour(warp: int, warps: int) -> str:
    from ..sheet import shade

    return shade(warp, max(2, warps))


def _legend(sheet: Sheet, y: float, warps: int) -> None:
    from ..sheet import ACCENT, FAINT, GROUND

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
