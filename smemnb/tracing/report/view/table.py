"""The source of one function as a table: a row for each line, with its counts, bars and notes.

Columns have fixed widths and lines wrap, so that the table is as wide as the page leaves it. All
styles are inline, as few and as short as will do: a view has many rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...findings import Finding
from ...model import AccessRow
from .bars import LONGEST, drawn
from .blocks import Block
from .code import coloured, monospaced
from .links import Link, links
from .notes import Key, details, extra_notes

_TABLE = "table-layout:fixed;width:100%;border-collapse:collapse;font-size:12px;margin:0 0 6px"
_NAME = "text-align:left;padding:2px 4px;caption-side:top;color:inherit"
_SIDE = "text-align:right;vertical-align:top;padding:1px 4px"
_NUMBER = f"{_SIDE};font-weight:normal"
_TR = '<tr style="background:none">'  # not striped: a line may have two rows
_SOURCE = (
    "text-align:left;vertical-align:top;padding:1px 4px 1px 16px;"
    "white-space:pre-wrap;overflow-wrap:anywhere"
)
_BAR_WIDTH = 7 * LONGEST + 4  # pixels, in the font of a table
_BAR = (
    f"display:inline-block;width:{_BAR_WIDTH}px;"
    "text-align:left;white-space:nowrap;font-family:monospace"
)
_SUMMARY = "display:list-item;list-style-position:outside;cursor:pointer"
_FOLDED = "white-space:pre-wrap;overflow-wrap:anywhere;margin:0;padding:0;background:none"
_LONG = 36
"""Characters of a line from which on it may wrap and is given a hanging indent."""


@dataclass(frozen=True)
class Memory:
    """A memory that has a column: its name, the unit of its bars, the largest count of a line."""

    space: str
    unit: str
    most: int

    @classmethod
    def of(cls, space: str, lines: Mapping[Key, Sequence[AccessRow]]) -> Memory:
        """The column of a memory; its `most` is 0 where nothing is counted."""
        unit = {"shared": "wavefronts", "global": "sectors"}[space]
        return cls(space, unit, max((_sums(space, rows)[0] for rows in lines.values()), default=0))

    @property
    def width(self) -> int:
        """Pixels of the column: its longest number and the bar, or its heading."""
        return max(8 * len(f"{self.most:,}") + _BAR_WIDTH + 12, 84)


def table(
    block: Block,
    lines: Mapping[Key, Sequence[AccessRow]],
    notes: Mapping[Key, Sequence[str]],
    findings: Sequence[Finding],
    memories: Sequence[Memory],
) -> str:
    """The table of a block, as HTML.

    Args:
        block: the function.
        lines: the accesses of each line of each function.
        notes: what is said at each line.
        findings: those of the trace, for the links.
        memories: those that have a column.
    """
    return _Table(block, lines, notes, links(findings, block), memories).html()


@dataclass(frozen=True)
class _Table:
    block: Block
    lines: Mapping[Key, Sequence[AccessRow]]
    notes: Mapping[Key, Sequence[str]]
    links: Sequence[Link]
    memories: Sequence[Memory]

    def html(self) -> str:
        texts = list(self.block.lines.values())
        # what is no whole function is no text that could be read as one
        rows = coloured(texts) if self.block.whole else [coloured([text])[0] for text in texts]
        codes = dict(zip(self.block.lines, rows, strict=True))
        marked = {line for function, line in self._keys() if function == self.block.function}
        body = []
        for numbers, folded in self.block.stretches(marked):
            if folded:
                body.append(self._folded(numbers, codes))
            else:
                body += [self._row(number, codes[number]) for number in numbers]
        name = monospaced(escape(self.block.function))
        name += f" in {escape(self.block.file)}" if self.block.file else ""
        return (
            f'<table style="{_TABLE}"><caption style="{_NAME}">{name}</caption>'
            f"<thead>{_TR}{self._head()}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        )

    def _keys(self) -> set[Key]:
        return {*self.lines, *self.notes}

    def _head(self) -> str:
        digits = len(str(max(self.block.lines)))
        names = [("line", f"{_SIDE};width:{max(26, 12 + 8 * digits)}px")]
        names += [("", "width:7px;padding:0")] * self._columns
        names += [("source", _SOURCE)]
        names += [(one.unit, f"{_SIDE};width:{one.width}px") for one in self.memories]
        return "".join(f'<th scope="col" style="{style}">{name}</th>' for name, style in names)

    @property
    def _columns(self) -> int:
        """Columns of links."""
        return max((link.column + 1 for link in self.links), default=0)

    def _strokes(self, line: float, last: float) -> str:
        cells = []
        for column in range(self._columns):
            strokes = [one.stroke(line, last) for one in self.links if one.column == column]
            stroke = "".join(strokes)
            cells.append(f'<td style="padding:0{";" + stroke if stroke else ""}"></td>')
        return "".join(cells)

    def _row(self, number: int, code: str) -> str:
        rows = self.lines.get((self.block.function, number), ())
        text = self._code(number, code)
        if rows:
            text = f'<details><summary style="{_SUMMARY}">{text}</summary>{details(rows)}</details>'
            text = f'<td style="{_SOURCE}">{text}</td>'
            text += "".join(self._counts(memory, rows) for memory in self.memories)
        else:
            text = self._wide(text)
        row = f'<th scope="row" style="{_NUMBER}">{number}</th>{self._strokes(number, number)}'
        return f"{_TR}{row}{text}</tr>{self._notes(number, rows)}"

    def _notes(self, number: int, rows: Sequence[AccessRow]) -> str:
        """The row below a line with what is said there, as wide as the table; "" without notes."""
        said = extra_notes(rows) + "".join(self.notes.get((self.block.function, number), ()))
        if not said:
            return ""
        # between the line and the next one: links that end or begin here do not pass
        strokes = self._strokes(number + 0.5, number + 0.5)
        return f"{_TR}<td></td>{strokes}{self._wide(said)}</tr>"

    def _wide(self, text: str) -> str:
        """A cell over source and counts."""
        return f'<td colspan="{1 + len(self.memories)}" style="{_SOURCE}">{text}</td>'

    def _code(self, number: int, code: str) -> str:
        line = self.block.lines[number]
        if len(line) <= _LONG:
            return monospaced(code)
        # 0.6em is the width of a character in most fonts of fixed pitch
        hang = 0.6 * (len(line) - len(line.lstrip()) + 4)
        return monospaced(
            code, f";display:block;margin-left:{hang:.1f}em;text-indent:-{hang:.1f}em"
        )

    def _counts(self, memory: Memory, rows: Sequence[AccessRow]) -> str:
        mine = [row for row in rows if row.space == memory.space]
        if not mine:
            return "<td></td>"
        count, extra = _sums(memory.space, rows)
        number = "?" if not all(row.modelled for row in mine) and not count else f"{count:,}"
        picture = f'<span style="{_BAR}">{drawn(count, extra, memory.most)}</span>'
        return f'<td style="{_SIDE}">{number} {picture}</td>'

    def _folded(self, numbers: Sequence[int], codes: Mapping[int, str]) -> str:
        width = len(str(numbers[-1]))
        text = "\n".join(f"{number:{width}}  {codes[number]}" for number in numbers)
        first, last = numbers[0], numbers[-1]
        return (
            f"{_TR}<td></td>{self._strokes(first, last)}"
            + self._wide(
                f'<details><summary style="{_SUMMARY}">lines {first} to {last}</summary>'
                f'<pre style="{_FOLDED}">{text}</pre></details>'
            )
            + "</tr>"
        )


def _sums(space: str, rows: Sequence[AccessRow]) -> tuple[int, int]:
    """Wavefronts or sectors of a line, and how many of them are extra."""
    if space == "shared":
        mine = [row for row in rows if row.space == "shared"]
        return sum(row.wavefronts for row in mine), sum(row.extra for row in mine)
    mine = [row for row in rows if row.space == "global"]
    return sum(row.sectors for row in mine), sum(row.extra_sectors for row in mine)
