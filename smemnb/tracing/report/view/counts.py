"""What a line of the source moves: a bar for each memory, and in words what it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...model import AccessRow
from ..bank_map import BankMap, spread
from ..text import global_cells, shared_cells
from .bars import MARK
from .code import monospaced
from .frame import paragraph
from .notes import note

UNITS = {"shared": "wavefronts", "global": "sectors", "local": "local sectors"}
"""Of each memory, what its bars count; in the order of the columns."""


@dataclass(frozen=True)
class Bar:
    """Wavefronts or sectors of a line, and how many are extra; `count` is None if not known."""

    count: int | None
    extra: int


@dataclass(frozen=True)
class LineCounts:
    """What a line moves.

    Attributes:
        bars: by memory.
        details: of each access, as HTML; folded below the line.
        notes: what is said below the line, as HTML.
    """

    bars: Mapping[str, Bar]
    details: str
    notes: str = ""

    @classmethod
    def of(cls, rows: Sequence[AccessRow]) -> LineCounts:
        """What the accesses of one line move, in the model of the source."""
        spaces = dict.fromkeys(row.space for row in rows)
        bars = {space: _bar([row for row in rows if row.space == space]) for space in spaces}
        return cls(bars, _details(rows), _extras(rows))


@dataclass(frozen=True)
class Memory:
    """A memory that has a column, and the largest count of a line there, 0 where none is."""

    space: str
    most: int

    @property
    def unit(self) -> str:
        """What its bars count."""
        return UNITS[self.space]


def memories(lines: Iterable[LineCounts]) -> list[Memory]:
    """The memories that lines touch."""
    bars = [bar for line in lines for bar in line.bars.items()]
    return [
        Memory(space, max(bar.count or 0 for name, bar in bars if name == space))
        for space in UNITS
        if any(name == space for name, _ in bars)
    ]


def legend(lines: Iterable[LineCounts]) -> list[str]:
    """What the second pattern of the bars is, as HTML; nothing where no bar has one."""
    if not any(bar.extra for line in lines for bar in line.bars.values()):
        return []
    return [paragraph(f"{MARK} in a bar: extra, above the fewest possible")]


def _bar(rows: Sequence[AccessRow]) -> Bar:
    """The bar of the accesses of one memory."""
    shared = rows[0].space == "shared"
    if not any(row.modelled for row in rows):
        return Bar(None, 0)
    return Bar(
        sum(row.wavefronts if shared else row.sectors for row in rows),
        sum(row.extra if shared else row.extra_sectors for row in rows),
    )


def _extras(rows: Sequence[AccessRow]) -> str:
    """For each access with an extra part, how much it is, as HTML."""
    said = []
    for row in rows:
        text = _extra(row)
        if text:
            of = "" if len(rows) == 1 else f"{monospaced(escape(row.access))}: "
            said.append(note(f"{MARK} {of}<strong>{escape(text)}</strong>"))
    return "".join(said)


def _details(rows: Sequence[AccessRow]) -> str:
    """The counts of each access of a line, as HTML; of conflicts, which banks are asked for."""
    said = []
    for row in rows:
        numbers = _shared(row) if row.space == "shared" else _global(row)
        text = f": {numbers}; {row.dtype}, {row.lanes:,} lanes of {row.width:,} bytes"
        if row.worst is not None and row.ways > 1:
            worst = BankMap.of(row, row.worst)
            block = "(" + ", ".join(map(str, worst.block)) + ")"
            text += f"; worst request in block {block}, warp {worst.warp}:"
            text += f" distinct words per bank: {spread(worst.words)}"
        said.append(note(monospaced(escape(row.access)) + escape(text)))
    return "".join(said)


def _extra(row: AccessRow) -> str:
    if row.extra:
        return f"{row.ways:,}-way, {row.extra:,} of {row.wavefronts:,} wavefronts are extra"
    if row.extra_sectors:
        each = global_cells(row)[2]
        return f"{each} sectors per request, {row.extra_sectors:,} of {row.sectors:,} are extra"
    return ""


def _shared(row: AccessRow) -> str:
    requests, wavefronts, ways, extra = shared_cells(row)
    return (
        f"{requests} requests, {wavefronts} wavefronts, {ways}-way, {extra} extra,"
        f" {row.multicast:,} requests with multicast"
    )


def _global(row: AccessRow) -> str:
    requests, sectors, each, extra = global_cells(row)
    return f"{requests} requests, {sectors} sectors, {each} per request, {extra} extra"
