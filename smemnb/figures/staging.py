"""`staging_map`: what each line of a launch moves between global memory, shared memory, registers.

One arrow per access, from the memory that is read to the one that is written, in the order of the
source; its bytes are those that the lanes ask for: lanes x bytes per lane. A load goes to
registers, also where the line stores the value at once, so that staging is two arrows. What is
loaded from global memory once and from shared memory often is what staging pays for.

Taught in `12_shared_memory`. **Limits**: counts are of the whole launch, or of its blocks on the
average where they come out even; loops are summed up; `MOST` arrows are drawn, and where there
are more than `APART` accesses, those of one line to one array share one; a barrier is drawn where
the kernel's own text has `syncthreads`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ..tracing.model import AccessRow
from ..tracing.trace import Trace
from .drawing import Drawing
from .words import counted

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["Move", "Staging", "alt", "measure", "staging_map", "text"]

MOST = 16
APART = 12  # of a launch with more accesses, those of one line to one array share an arrow
WIDTH, TOP, ROW = 640, 92, 34
STRIP = 26  # pixels of the upright strip of a memory
PLACES = {"global": 118, "shared": 352, "registers": 586}
"""Where the strip of a memory stands: the middle."""
ROOM = 200  # pixels for a label between two neighbouring memories
ALONG = 416  # pixels for a label along an arrow that passes shared memory


@dataclass(frozen=True)
class Move:
    """What one access moves: `bytes` of all its lanes in `requests` requests.

    `line` is that of the source, `access` as in `AccessRow.text`; `source` and `target` are
    "global", "shared" or "registers".
    """

    line: int
    access: str
    source: str
    target: str
    requests: int
    bytes: int


@dataclass(frozen=True)
class Staging:
    """The moves of a launch in the order of the source; of one line loads, atomics, then stores.

    `per_block` tells whether they are those of one block; `barriers` are lines of the kernel.
    """

    launch: str
    blocks: int
    threads: int
    shared_bytes: int
    per_block: bool
    moves: tuple[Move, ...]
    barriers: tuple[int, ...]
    left_out: int = 0

    def bytes(self, source: str, target: str) -> int:
        """Bytes that are moved from one memory to another."""
        return sum(m.bytes for m in self.moves if (m.source, m.target) == (source, target))


def staging_map(trace: Trace) -> Drawing:
    """The accesses of a launch as arrows between memories, with their bytes, drawn.

    >>> import numpy as np
    >>> from smemnb.kernels.transpose import transpose_tiled
    >>> from smemnb.tracing.tracer import trace
    >>> inp, out = np.zeros((2, 64, 64), np.float32)
    >>> staging_map(trace(transpose_tiled)[(2, 2), (32, 32)](out, inp))
    transpose_tiled[(2, 2), (32, 32)] (model)
    per block of 4 blocks, 1,024 threads and 4,096 shared bytes each
    line 22  global    -> registers     4,096 bytes    32 requests  inp[row, col]
    line 22  registers -> shared        4,096 bytes    32 requests  tile[ty, tx]
    line 23  barrier
    line 29  shared    -> registers     4,096 bytes    32 requests  tile[tx, ty]
    line 29  registers -> global        4,096 bytes    32 requests  out[out_row, out_col]

    Args:
        trace: of a launch that touches global or shared memory.

    Raises:
        TypeError: something that is not a trace.
        ValueError: the launch has touched neither.
    """
    if not isinstance(trace, Trace):
        raise TypeError(
            f"{trace!r} is no trace: write staging_map(trace(kernel)[grid, block](...))"
        )
    found = measure(trace)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(trace: Trace) -> Staging:
    """The same as numbers.

    Raises:
        ValueError: the launch has touched neither global nor shared memory.
    """
    rows = [row for row in trace.lines if row.space in ("global", "shared") and row.lanes]
    if not rows:
        raise ValueError(f"{trace.launch} has touched neither global nor shared memory")
    blocks = trace.launch.blocks
    even = all(row.requests % blocks == 0 and row.lanes % blocks == 0 for row in rows)
    share = blocks if even else 1
    turn = {"load": 0, "store": 2}  # what an atomic brings back can only then be stored
    rows = sorted(rows, key=lambda row: (row.line, turn.get(row.kind, 1), row.column))
    moves = [_move([row], share) for row in rows]
    if len(moves) > APART:
        moves = [
            _move(list(alike), share)
            for _, alike in groupby(rows, lambda row: (row.line, row.kind, row.space, row.array))
        ]
    how = trace.launch
    return Staging(
        str(how),
        blocks,
        how.threads_per_block,
        how.static_shared_bytes + how.dynamic_shared_bytes,
        even,
        tuple(moves[:MOST]),
        _barriers(trace),
        max(0, len(moves) - MOST),
    )


def _move(rows: list[AccessRow], share: int) -> Move:
    """What some accesses of one line to one array move together, in each of `share` blocks."""
    row = rows[0]
    ends = (row.space, "registers") if row.kind == "load" else ("registers", row.space)
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return Move(
        row.line,
        f"{row.text}{more}",
        *ends,
        sum(one.requests for one in rows) // share,
        sum(one.lanes * one.width for one in rows) // share,
    )


def _barriers(trace: Trace) -> tuple[int, ...]:
    """Lines of the kernel's text that wait for the block."""
    whole = trace.texts.get(trace.launch.kernel)
    lines = {row.line for row in trace.lines if row.function == trace.launch.kernel}
    if whole is None or not lines:
        return ()
    found = [n for n, line in whole.own.items() if "syncthreads()" in line.partition("#")[0]]
    return tuple(number for number in found if min(lines) < number)


def text(found: Staging) -> str:
    """The numbers of the map."""
    said = [f"{found.launch} (model)", _whose(found)]
    digits = len(str(_rows(found)[-1][0]))
    for line, move in _rows(found):
        if move is None:
            said.append(f"line {line:{digits}d}  barrier")
            continue
        said.append(
            f"line {line:{digits}d}  {move.source:9} -> {move.target:9}"
            f" {move.bytes:9,} {_noun(move.bytes, 'byte'):5} {move.requests:5,}"
            f" {_noun(move.requests, 'request'):8}  {move.access}"
        )
    return "\n".join([*said, *_more(found)])


def _noun(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"


def _rows(found: Staging) -> list[tuple[int, Move | None]]:
    """Moves and barriers in the order of the source."""
    both: list[tuple[int, int, Move | None]] = [
        (move.line, number, move) for number, move in enumerate(found.moves)
    ]
    both += [(line, -1, None) for line in found.barriers]
    return [(line, move) for line, _, move in sorted(both, key=lambda row: row[:2])]


def _title(found: Staging) -> str:
    return f"{found.launch}: {_whose(found)}"


def _whose(found: Staging) -> str:
    each = "per block of " if found.per_block and found.blocks > 1 else ""
    return (
        f"{each}{counted(found.blocks, 'block')}, {found.threads:,}"
        f" {_noun(found.threads, 'thread')} and {found.shared_bytes:,} shared"
        f" {_noun(found.shared_bytes, 'byte')} each"
    )


def _more(found: Staging) -> list[str]:
    if not found.left_out:
        return []
    one = found.left_out == 1
    return [f"{found.left_out} more {'access is' if one else 'accesses are'} not shown"]


def alt(found: Staging) -> str:
    """One sentence for those who do not see the map."""
    ways = [
        f"{found.bytes(source, target):,} bytes from {_name(source)} to {_name(target)}"
        for source, target in (
            ("global", "registers"),
            ("registers", "shared"),
            ("shared", "registers"),
            ("registers", "global"),
        )
        if found.bytes(source, target)
    ]
    return f"What the lines of {_title(found)} move: {', '.join(ways)}."


def _name(place: str) -> str:
    return place if place == "registers" else f"{place} memory"


def _png(found: Staging) -> bytes:
    from .legend import heading
    from .sheet import EMPTY, FAINT, GRID, painted

    rows = _rows(found)
    high = ROW * len(rows) + 10
    more = _more(found)

    def paint(sheet: Sheet) -> None:
        heading(sheet, 20, found.launch, f"{_whose(found)} (model)")
        for place, x in PLACES.items():
            sheet.write(x, TOP - 14, _name(place), colour=FAINT)
            box = (x - STRIP / 2, TOP, STRIP, high)
            sheet.box(*box, fill=EMPTY, edge=GRID, below=True)
        for number, (line, move) in enumerate(rows):
            _paint_row(sheet, TOP + (number + 0.5) * ROW + 6, line, move)
        for said in more:
            sheet.write(20, TOP + high + 16, said, colour=FAINT, align="left")

    return painted(WIDTH, TOP + high + (34 if more else 16), paint)


def _paint_row(sheet: Sheet, y: float, line: int, move: Move | None) -> None:
    from .sheet import ACCENT, FAINT, INK, SERIES

    sheet.write(20, y, f"line {line}", colour=FAINT, align="left")
    if move is None:
        first, last = PLACES["global"] - STRIP, PLACES["registers"] + STRIP
        dashes = [(float(x), y, x + 5.0, y) for x in range(first, last, 9)]
        sheet.lines(dashes, colour=ACCENT, thick=1.6)
        sheet.write((first + last) / 2 + 117, y - 9, "barrier", colour=ACCENT)
        return
    start, end = PLACES[move.source], PLACES[move.target]
    step = 1 if end > start else -1
    colour = SERIES[0] if "global" in (move.source, move.target) else SERIES[2]
    tip = end - step * STRIP / 2
    sheet.lines([(start, y, tip, y)], colour=colour, thick=2)
    sheet.lines([(tip, y, tip - step * 8, y + up) for up in (-4.5, 4.5)], colour=colour, thick=2)
    sheet.box(start - 4, y - 4, 8, 8, fill=colour)
    middle, said = label(move)
    sheet.write(middle, y - 9, said, colour=INK)


def label(move: Move) -> tuple[float, str]:
    """The middle of an arrow's label and its words, of which the access alone is shortened.

    Beside shared memory if it fits there, else along the whole arrow.
    """
    from .sheet import SMALLEST, shortened, width_of

    others = "".join(re.findall(r" and \d+ more$", move.access))
    access = move.access.removesuffix(others)
    moved = f"{others}: {move.bytes:,} {_noun(move.bytes, 'byte')}"
    by_shared = "shared" in (move.source, move.target)
    fits = width_of(access + moved, SMALLEST) <= ROOM
    room = (ROOM if by_shared or fits else ALONG) - width_of(moved, SMALLEST)
    half = (PLACES["shared"] - PLACES["global"]) / 2
    away = half if by_shared else -half if fits else 0.0
    return PLACES["shared"] + away, shortened(access, room, SMALLEST) + moved
