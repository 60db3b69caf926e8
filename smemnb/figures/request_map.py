"""`bank_map`: the lanes of one request over the 32 banks, and the wavefront that serves each.

One row per lane, one column per bank. A cell holds the number of the wavefront that serves the
lane, so a conflict is a column of rising numbers, and a broadcast a column of equal ones, ringed
because those lanes share one word and joined by an upright line. On the right stands the word that
a lane asks for; below, how many turns each bank takes. Lines across the map part the phases of a
wide request. The order of service is explained, with its limits, in `service`. Taught in
`14_banks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy.typing as npt

from ..hardware import BANKS, WARP_LANES
from ..tracing import Trace
from ..tracing.report.bank_map import BankMap, spread
from .drawing import Drawing
from .service import Service, service
from .words import counted, listed

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["Tie", "alt", "bank_map", "headline", "text", "ties"]

CELL, ROW = 23, 18  # pixels of a cell
LEFT, TOP, RIGHT, BELOW = 78, 52, 70, 68  # pixels around the map
TITLE = 22  # pixels above, if there is a title
WAVEFRONTS_SAID = 6  # in the text


@overload
def bank_map(address: BankMap, *, title: str | None = None) -> Drawing: ...


@overload
def bank_map(
    address: npt.ArrayLike,
    *,
    width: int,
    active: npt.ArrayLike | None = None,
    kind: str = "load",
    title: str | None = None,
) -> Drawing: ...


def bank_map(
    address: npt.ArrayLike | BankMap,
    *,
    width: int | None = None,
    active: npt.ArrayLike | None = None,
    kind: str = "load",
    title: str | None = None,
) -> Drawing:
    """Lanes x banks of one shared-memory request, drawn, with its numbers as text.

    >>> bank_map([lane * 32 * 4 for lane in range(32)], width=4)
    load of 4 bytes by 32 lanes: 32-way, 32 wavefronts, 31 extra (model)
    n-way of each bank: 32 in bank 0
    wavefront 1: lane 0
    wavefront 2: lane 1
    wavefront 3: lane 2
    wavefront 4: lane 3
    ...
    wavefront 32: lane 31

    Args:
        address: 32 byte addresses, or the request that `trace.bank_map(line)` returned.
        width: bytes per lane, one of 1, 2, 4, 8, 16; a traced request knows its own.
        active: 32 bools; None means all lanes.
        kind: one of `rules.bank.KINDS`.
        title: line above the map; a traced request has its source line there.

    Raises:
        TypeError: addresses that are not integers, a mask that is not bool, no width; a whole
            trace, with the lines of which it has requests.
        ValueError: more or less than one request, or a request that no GPU could be asked.
    """
    if title is not None and "\n" in title:
        raise ValueError(f"title {title!r} has several lines; give one")
    if isinstance(address, Trace):
        raise TypeError(_which(address))
    if isinstance(address, BankMap):
        if width is not None or active is not None or kind != "load":
            raise ValueError(
                "width, active and kind come with a traced request: write bank_map(request)"
            )
        block = ", ".join(map(str, address.block))
        said = f"line {address.line}, {address.access}: block ({block}), warp {address.warp}"
        title = said if title is None else title
        served = service(
            address.address, width=address.width, active=address.active, kind=address.kind
        )
    elif width is None:
        raise TypeError("width is missing: bytes that each lane moves, 4 for float32")
    else:
        served = service(address, width=width, active=active, kind=kind)
    return Drawing(
        text(served, title), alt(served), LEFT + BANKS * CELL + RIGHT, lambda: _png(served, title)
    )


def _which(trace: Trace) -> str:
    """What to write for a whole trace."""
    rows = [row for row in trace.lines if row.space == "shared" and row.worst is not None]
    if not rows:
        return f"this trace has no request of shared memory: {trace.launch.kernel} makes none"
    known = ", ".join(str(line) for line in sorted({row.line for row in rows}))
    worst = max(rows, key=lambda row: (row.ways, row.extra)).line
    return (
        "bank_map draws one request, and a trace has those of all its lines: write"
        f" bank_map(trace.bank_map({worst})); lines with shared requests: {known}"
    )


def text(served: Service, title: str | None = None) -> str:
    """The numbers of the map: counts, n-way of the banks, lanes of the first wavefronts."""
    said = [] if title is None else [title]
    said += [f"{headline(served)} (model)"]
    said += [f"n-way of each bank: {spread(served.bank_ways) or 'no lane asks'}"]
    if len(served.phases) > 1:
        parts = "; ".join(listed("lane", phase) for phase in served.phases)
        said += [f"{len(served.phases)} phases: {parts}"]
    if served.shared_words:
        words = counted(served.shared_words, "word")
        said += [f"multicast: {words} for {counted(sum(served.together), 'lane')}"]
    turns = [n for n in range(1, served.wavefronts + 1) if n in served.wavefront]
    lines = [f"wavefront {_turn(served, n)}: {listed('lane', served.served_in(n))}" for n in turns]
    if len(lines) > WAVEFRONTS_SAID:
        lines = [*lines[: WAVEFRONTS_SAID - 2], "...", lines[-1]]
    return "\n".join(said + lines)


def alt(served: Service) -> str:
    """One sentence for those who do not see the map."""
    asked = "no bank"
    busy = [bank for bank, ways in enumerate(served.bank_ways) if ways]
    if busy:
        asked = listed("bank", busy)
    ends = ", some lanes sharing a word" if served.shared_words else ""
    return f"Bank map of one request, lanes by banks: {headline(served)}, on {asked}{ends}."


def headline(served: Service) -> str:
    """The request and its counts in one line."""
    what = served.kind.replace("_", " ")
    return (
        f"{what} of {counted(served.width, 'byte')} by {counted(served.lanes, 'lane')}: "
        f"{served.ways}-way, {counted(served.wavefronts, 'wavefront')}, {served.extra} extra"
    )


def _turn(served: Service, first: int) -> str:
    """The wavefronts that serve a lane, of which `first` is the first."""
    return f"{first}-{first + 1}" if served.kind == "atomic_cas" else str(first)


def _png(served: Service, title: str | None) -> bytes:
    from .sheet import painted

    size = LEFT + BANKS * CELL + RIGHT, TOP + WARP_LANES * ROW + BELOW

    def paint(sheet: Sheet) -> None:
        _paint_head(sheet, served, title)
        _paint_frame(sheet, served)
        for lane in range(WARP_LANES):
            _paint_lane(sheet, served, lane)
        _paint_together(sheet, served)
        _paint_foot(sheet, served)

    return painted(*size, paint, above=0 if title is None else TITLE)


def _paint_head(sheet: Sheet, served: Service, title: str | None) -> None:
    from .sheet import FAINT, shortened

    if title is not None:
        short = shortened(title, BANKS * CELL + RIGHT - 8, 13, bold=True)
        sheet.write(LEFT, -3, short, size=13, bold=True, align="left")
    sheet.write(LEFT, 17, f"{headline(served)} (model)", size=13, align="left")
    sheet.write(LEFT - 8, TOP - 11, "bank", colour=FAINT, align="right")
    sheet.write(LEFT + BANKS * CELL + RIGHT / 2, TOP - 11, "word", colour=FAINT)
    for bank in range(BANKS):
        sheet.write(LEFT + (bank + 0.5) * CELL, TOP - 11, str(bank), colour=FAINT)


def _paint_frame(sheet: Sheet, served: Service) -> None:
    from .sheet import EMPTY, FAINT, GRID, INK

    right, bottom = LEFT + BANKS * CELL, TOP + WARP_LANES * ROW
    columns = [LEFT + bank * CELL for bank in range(BANKS + 1)]
    rows = [TOP + lane * ROW for lane in range(WARP_LANES + 1)]
    sheet.box(LEFT, TOP, BANKS * CELL, WARP_LANES * ROW, fill=EMPTY, below=True)
    sheet.lines([(x, TOP, x, bottom) for x in columns], colour=GRID, thick=0.7, below=True)
    sheet.lines([(LEFT, y, right, y) for y in rows], colour=GRID, thick=0.7, below=True)
    if len(served.phases) == 1:
        sheet.write(16, (TOP + bottom) / 2, "lane", colour=FAINT, upright=True)
        return
    size = 8 if served.width == 16 and len(served.phases) > 2 else 16
    for number, phase in enumerate(served.phases, start=1):
        first = phase[0] // size * size
        middle = TOP + (first + size / 2) * ROW
        sheet.write(16, middle, f"phase {number}", colour=INK, upright=True)
        if number > 1:
            y = TOP + first * ROW
            sheet.lines([(6, y, right + RIGHT - 6, y)], colour=INK, thick=1.4)


def _paint_lane(sheet: Sheet, served: Service, lane: int) -> None:
    from .sheet import FAINT, GRID, INK, ink_on, shade

    y = TOP + lane * ROW
    middle = y + ROW / 2
    on = served.active[lane]
    sheet.write(LEFT - 8, middle, str(lane), colour=INK if on else FAINT, align="right")
    if not on:
        sheet.box(LEFT, y, BANKS * CELL, ROW, edge=GRID, thick=0, hatch="////")
        sheet.write(LEFT + BANKS * CELL + RIGHT / 2, middle, "inactive", colour=FAINT)
        return
    first = served.wavefront[lane]
    fill = shade(first - 1, served.wavefronts)
    banks = served.banks(lane)
    x = LEFT + banks[0] * CELL
    sheet.box(x + 0.5, y + 0.5, len(banks) * CELL - 1, ROW - 1, fill=fill)
    across = x + len(banks) * CELL / 2
    sheet.write(across, middle, str(first), colour=ink_on(fill), size=11.5, bold=True)
    sheet.write(LEFT + BANKS * CELL + RIGHT / 2, middle, _words(served, lane))


def _words(served: Service, lane: int) -> str:
    first = served.word[lane]
    return str(first) if served.span == 1 else f"{first}-{first + served.span - 1}"


@dataclass(frozen=True)
class Tie:
    """The line that joins the lanes of one word, in ascending `lanes`.

    It runs along the left side of the word's banks, or with `right` along the other one.
    """

    lanes: tuple[int, ...]
    right: bool = False


def ties(served: Service) -> tuple[Tie, ...]:
    """The lines of a map: one for each word that serves several lanes at once.

    Lines of one bank that would run beside each other take its two sides. Where a bank has more
    of them it has none: the rings and the words on the right tell the lanes.

    >>> ties(service([lane % 2 * 128 for lane in range(32)], width=4))[1].right
    True
    >>> ties(service([lane % 3 * 128 for lane in range(32)], width=4))
    ()
    """
    by_bank: dict[int, list[tuple[int, ...]]] = {}
    for lanes in _sharing(served):
        by_bank.setdefault(served.banks(lanes[0])[0], []).append(lanes)
    found: list[Tie] = []
    for words in by_bank.values():
        ends = [-1, -1]  # the last lane of the line on either side
        here = []
        for lanes in words:
            side = next((side for side in (0, 1) if ends[side] < lanes[0]), None)
            if side is None:
                break
            ends[side] = lanes[-1]
            here.append(Tie(lanes, right=side == 1))
        else:
            found += here
    return tuple(found)


def _sharing(served: Service) -> list[tuple[int, ...]]:
    """Lanes that share a word and are served together, by their first lane."""
    groups: dict[tuple[int, int], list[int]] = {}
    for lane in range(WARP_LANES):
        if served.together[lane]:
            groups.setdefault((served.wavefront[lane], served.word[lane]), []).append(lane)
    return [tuple(lanes) for lanes in groups.values()]


def _paint_together(sheet: Sheet, served: Service) -> None:
    """Rings around the lanes that share a word, and the lines that join them."""
    from .sheet import ACCENT, DARK

    for lane in range(WARP_LANES):
        if served.together[lane]:
            x, width = _across(served, lane)
            sheet.box(x + 1.5, TOP + lane * ROW + 1.5, width - 3, ROW - 3, edge=DARK, thick=1.6)
    for tie in ties(served):
        x, width = _across(served, tie.lanes[0])
        x += width - 1 if tie.right else 1
        for first, last in _stretches(served, tie):
            ends = (x, TOP + first * ROW + 1, x, TOP + (last + 1) * ROW - 1)
            sheet.lines([ends], colour=ACCENT, thick=2)


def _across(served: Service, lane: int) -> tuple[int, int]:
    """Left pixel of a lane's banks, and how many pixels they take."""
    banks = served.banks(lane)
    return LEFT + banks[0] * CELL, len(banks) * CELL


def _stretches(served: Service, tie: Tie) -> list[tuple[int, int]]:
    """First and last lane of each part of a line: it passes behind the lanes of other words."""
    bank = served.banks(tie.lanes[0])[0]
    found: list[tuple[int, int]] = []
    for lane in range(tie.lanes[0], tie.lanes[-1] + 1):
        if lane not in tie.lanes and served.active[lane] and bank in served.banks(lane):
            continue
        if found and found[-1][1] == lane - 1:
            found[-1] = (found[-1][0], lane)
        else:
            found.append((lane, lane))
    return found


def _paint_foot(sheet: Sheet, served: Service) -> None:
    from .sheet import ACCENT, DARK, FAINT, INK, shade

    y = TOP + WARP_LANES * ROW
    sheet.write(LEFT - 8, y + 15, "n-way", colour=FAINT, align="right")
    for bank, ways in enumerate(served.bank_ways):
        most = ways == served.ways > 1
        colour = ACCENT if most else INK if ways else FAINT
        words = str(ways) if ways else "."
        sheet.write(LEFT + (bank + 0.5) * CELL, y + 15, words, colour=colour, bold=most)
    which = "first wavefront" if served.kind == "atomic_cas" else "wavefront"
    said = f"number and colour: the {which} that serves the lane"
    sheet.write(LEFT, y + 38, said, colour=FAINT, align="left")
    said = "n-way: turns the bank takes" + (" within a phase" if len(served.phases) > 1 else "")
    sheet.write(LEFT, y + 56, said, colour=FAINT, align="left")
    if any(served.together):
        box = (LEFT + 390, y + 31, CELL, ROW - 3)
        sheet.box(*box, fill=shade(0, 1), edge=DARK, thick=1.6)
        said = "ringed: shares its word with other lanes, served together"
        sheet.write(LEFT + 390 + CELL + 6, y + 38, said, colour=FAINT, align="left")
    if ties(served):
        x = LEFT + 390 + CELL / 2
        sheet.lines([(x, y + 49, x, y + 63)], colour=ACCENT, thick=2)
        said = "line: joins the lanes of one word"
        sheet.write(LEFT + 390 + CELL + 6, y + 56, said, colour=FAINT, align="left")
