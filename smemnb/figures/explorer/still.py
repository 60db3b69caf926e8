"""The explorer's still picture: the lanes of one request on their way to the banks.

Above stand the lanes, below the banks, and between them what the explorer shows as it begins: from
every lane a line to its bank, where the words that are asked for wait. A chip is a word, with the
number of its lane; in a row lie those that one wavefront serves, the first one lowest.

**Limits**: the order of the wavefronts is that of `service`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...hardware import BANKS, WARP_LANES
from ..drawing import Drawing
from ..request_map import headline, text
from ..service import Service

if TYPE_CHECKING:
    from ..sheet import Sheet

__all__ = ["Chip", "chips", "flight"]

Line = tuple[float, float, float, float]

CELL, LOWEST, HIGHEST = 24, 14, 20  # pixels of a lane or bank; of a row of chips
LEFT, RIGHT, TOP, BELOW = 72, 14, 36, 66  # pixels around
PIECE, AIR = 18, 110  # pixels of a lane and of a bank; between the lanes and the first chips
TIMES = "\N{MULTIPLICATION SIGN}"
TITLE = 22  # pixels above, if there is a title
WIDTH = LEFT + BANKS * CELL + RIGHT


class Chip(NamedTuple):
    """A word at its bank, for `lanes`, in `wavefront`; it is `wide` banks and `high` rows."""

    lanes: tuple[int, ...]
    bank: int
    wavefront: int
    wide: int
    high: int


def chips(served: Service) -> tuple[Chip, ...]:
    """The words of a request as they wait at the banks, by their first lane.

    >>> from smemnb.figures.service import service
    >>> chips(service([0, 0, *range(128, 128 * 31, 128)], width=4))[:2]
    (Chip(lanes=(0, 1), bank=0, wavefront=1, wide=1, high=1), \
Chip(lanes=(2,), bank=0, wavefront=2, wide=1, high=1))
    """
    high = 2 if served.kind == "atomic_cas" else 1
    found: dict[tuple[int, int], list[int]] = {}
    for lane in range(WARP_LANES):
        if served.active[lane]:
            found.setdefault((served.wavefront[lane], served.word[lane]), []).append(lane)
    return tuple(
        Chip(tuple(lanes), word % BANKS, wavefront, served.span, high)
        for (wavefront, word), lanes in found.items()
    )


def flight(served: Service, title: str) -> Drawing:
    """Lanes, banks and what is under way between them, drawn, with the numbers as text."""
    alt = (
        f"Lanes on their way to the banks, where their words wait in rows, one for each wavefront:"
        f" {headline(served)}."
    )
    return Drawing(text(served, title), alt, WIDTH, lambda: _png(served, title))


def _png(served: Service, title: str) -> bytes:
    from ..sheet import FAINT, INK, painted, shortened

    high = min(HIGHEST, max(LOWEST, 360 // max(1, served.wavefronts)))
    banks = TOP + PIECE + AIR + served.wavefronts * high + 4

    def paint(sheet: Sheet) -> None:
        name = shortened(title, WIDTH - LEFT - RIGHT, 13, bold=True)
        sheet.write(LEFT, -3, name, size=13, bold=True, align="left")
        sheet.write(LEFT, 17, f"{headline(served)} (model)", size=13, align="left")
        sheet.write(LEFT - 8, TOP + PIECE / 2, "lane", colour=FAINT, align="right")
        sheet.write(LEFT - 8, banks + PIECE / 2, "bank", colour=FAINT, align="right")
        for colour, ends in _ways(served, banks, high):
            sheet.lines(ends, colour=colour, thick=0.9, below=True)
        for lane in range(WARP_LANES):
            _paint_piece(sheet, lane, TOP, on=served.active[lane])
        for chip in chips(served):
            _paint_chip(sheet, served, chip, banks - 4, high)
        for number in range(1, served.wavefronts + 1):
            y = banks - 4 - (number - 0.5) * high
            sheet.write(LEFT - 8, y, str(number), colour=INK, align="right")
        middle = banks - 4 - served.wavefronts * high / 2
        sheet.write(16, min(middle, banks - 40), "wavefront", colour=FAINT, upright=True)
        for bank, ways in enumerate(served.bank_ways):
            _paint_piece(sheet, bank, banks, on=ways > 0)
        _paint_foot(sheet, served, banks + PIECE)

    return painted(WIDTH, banks + PIECE + BELOW, paint, above=TITLE)


def _ways(served: Service, banks: float, high: float) -> Iterator[tuple[str, list[Line]]]:
    """From the lanes of each chip to the highest one of its bank, in the colour of the chip."""
    from ..sheet import shade

    tops: dict[int, int] = {}
    for chip in chips(served):
        tops[chip.bank] = max(tops.get(chip.bank, 0), chip.wavefront + chip.high - 1)
    for chip in chips(served):
        x, y = LEFT + (chip.bank + chip.wide / 2) * CELL, banks - 4 - tops[chip.bank] * high
        starts = (LEFT + (lane + 0.5) * CELL for lane in chip.lanes)
        ends: list[Line] = [(start, TOP + PIECE, x, y) for start in starts]
        yield shade(chip.wavefront - 1, served.wavefronts), ends


def _paint_piece(sheet: Sheet, number: int, y: float, *, on: bool) -> None:
    """A lane or a bank."""
    from ..sheet import EMPTY, FAINT, GRID, INK

    x = LEFT + number * CELL
    sheet.box(x + 1, y, CELL - 2, PIECE, fill=EMPTY, edge=FAINT if on else GRID)
    sheet.write(x + CELL / 2, y + PIECE / 2, str(number), colour=INK if on else FAINT)


def _paint_chip(sheet: Sheet, served: Service, chip: Chip, bottom: float, high: float) -> None:
    from ..sheet import ink_on, shade

    fill = shade(chip.wavefront - 1, served.wavefronts)
    x, y = LEFT + chip.bank * CELL, bottom - (chip.wavefront + chip.high - 1) * high
    sheet.box(x + 1, y + 1, chip.wide * CELL - 2, chip.high * high - 2, fill=fill)
    said = str(chip.lanes[0]) if len(chip.lanes) == 1 else f"{TIMES}{len(chip.lanes)}"
    middle = x + chip.wide * CELL / 2, y + chip.high * high / 2
    sheet.write(*middle, said, colour=ink_on(fill), bold=len(chip.lanes) == 1)


def _paint_foot(sheet: Sheet, served: Service, y: float) -> None:
    from ..sheet import ACCENT, FAINT, INK

    sheet.write(LEFT - 8, y + 14, "n-way", colour=FAINT, align="right")
    for bank, ways in enumerate(served.bank_ways):
        most = ways == served.ways > 1
        colour = ACCENT if most else INK if ways else FAINT
        words = str(ways) if ways else "."
        sheet.write(LEFT + (bank + 0.5) * CELL, y + 14, words, colour=colour, bold=most)
    said = "a row of chips: what one wavefront serves, the lowest row first; its number: the lane"
    if any(served.together):
        said += f", or {TIMES} how many share the word"
    sheet.write(LEFT, y + 42, said, colour=FAINT, align="left")
