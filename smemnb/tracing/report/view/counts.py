"""What a line of the source moves: a bar for each memory, and in words what it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ...model import AccessRow, GlobalTotals, SharedTotals
from ..bank_map import BankMap, spread
from ..text import global_cells, named, shared_cells
from .bars import MARK
from .code import monospaced
from .frame import paragraph, sentence
from .notes import note

if TYPE_CHECKING:
    from ...as_compiled import MachineRow

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
    return [paragraph(f"{MARK} in a bar is extra: more than the fewest possible")]


_OPENED = {
    "shared": "n-way and extra",
    "global": "sectors per request and extra",
}
"""Of each memory, the columns of the text report that a line shows when it is opened."""


def opened(memories: Iterable[Memory]) -> list[str]:
    """Where the other columns of the text report are, as HTML; nothing where there are none."""
    known = [memory.space for memory in memories if memory.space in _OPENED]
    if not known:
        return []
    of = " ({} memory)" if len(known) > 1 else ""
    said = "; ".join(_OPENED[space] + of.format(space) for space in known)
    return [sentence(f"A line with a triangle opens and shows its requests, {said}.")]


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
        numbers = shared_words(row) if row.space == "shared" else global_words(row)
        text = f": {numbers}; {row.dtype}, {lanes_of(row)}"
        if row.worst is not None and row.ways > 1 and not row.copy:
            worst = BankMap.of(row, row.worst)
            block = "(" + ", ".join(map(str, worst.block)) + ")"
            text += f"; worst request in block {block}, warp {worst.warp}:"
            text += f" distinct words per bank: {spread(worst.words)}"
        said.append(note(monospaced(escape(row.access)) + escape(text)))
    return "".join(said)


def _extra(row: AccessRow) -> str:
    if row.extra:
        wavefronts = named(f"{row.wavefronts:,}", "wavefront")
        return f"{row.ways:,}-way, {row.extra:,} of {wavefronts} {_are(row.extra)} extra"
    if row.extra_sectors:
        each = global_cells(row)[2]
        extra = f"{row.extra_sectors:,} of {row.sectors:,} {_are(row.extra_sectors)} extra"
        return f"{each} sectors per request, {extra}"
    return ""


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def lanes_of(row: AccessRow | MachineRow) -> str:
    """Lanes of an access and the bytes that each moves."""
    return f"{named(f'{row.lanes:,}', 'lane')} of {named(f'{row.width:,}', 'byte')}"


def shared_words(counts: AccessRow | SharedTotals, *, most: bool = False) -> str:
    """The numbers of shared memory, by the names that the columns of the text report have.

    Args:
        counts: an access, or the totals.
        most: whether the n-way is the largest of several.
    """
    requests, wavefronts, ways, extra = shared_cells(counts)
    multicast = named(f"{counts.multicast:,}", "request")
    return (
        f"{named(requests, 'request')}, {named(wavefronts, 'wavefront')},"
        f" n-way {'at most ' * most}{ways}, {extra} extra, {multicast} with multicast"
    )


def global_words(counts: AccessRow | GlobalTotals) -> str:
    """The numbers of global memory, likewise."""
    requests, sectors, each, extra = global_cells(counts)
    return f"{named(requests, 'request')}, {named(sectors, 'sector')}, {each} each, {extra} extra"
