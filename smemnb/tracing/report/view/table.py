"""The source of one function as a table: a row for each line, with its counts, bars and notes.

Columns have fixed widths and lines wrap, so that the table is as wide as the page leaves it. All
styles are inline, as few and as short as will do: a view has many rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ...findings import Finding
from .bars import LONGEST, drawn
from .blocks import Block
from .code import coloured, monospaced
from .counts import LineCounts, Memory
from .links import Link, links
from .notes import Key

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
# word-break: JupyterLab breaks the lines of a <pre> within words, unless it is told not to
_FOLDED = (
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:0;padding:0;background:none;"
    "word-break:normal"
)
_LONG = 36
"""Characters of a line from which on it may wrap and is given a hanging indent."""


def table(
    block: Block,
    lines: Mapping[Key, LineCounts],
    notes: Mapping[Key, Sequence[str]],
    findings: Sequence[Finding],
    memories: Sequence[Memory],
) -> str:
    """The table of a block, as HTML.

    Args:
        block: the function.
        lines: what the lines of all functions move.
        notes: what is said at each line.
        findings: those of the trace, for the links.
        memories: those that have a column.
    """
    return _Table(block, lines, notes, links(findings, block), memories).html()


@dataclass(frozen=True)
class _Table:
    block: Block
    lines: Mapping[Key, LineCounts]
    notes: Mapping[Key, Sequence[str]]
    links: Sequence[Link]
    memories: Sequence[Memory]

    def html(self) -> str:
        texts = list(self.block.lines.values())
        # what is no whole function is no text that could be read as one
        rows = coloured(texts) if self.block.whole else [coloured([text])[0] for text in texts]
        codes = dict(zip(self.block.lines, rows, strict=True))
        body = []
        for numbers, folded in self.block.stretches(self._marked()):
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

    def _marked(self) -> set[int]:
        """Lines with counts or notes, and lines that call a function that has some."""
        keys = {*self.lines, *self.notes}
        names = {function.partition(" ")[0] for function, _ in keys} - {self.block.function}
        call = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\(" if names else "(?!)")
        own = {line for function, line in keys if function == self.block.function}
        return own | {line for line, text in self.block.lines.items() if call.search(text)}

    def _head(self) -> str:
        digits = len(str(max(self.block.lines)))
        names = [("line", f"{_SIDE};width:{max(26, 12 + 8 * digits)}px")]
        names += [("", "width:7px;padding:0")] * self._columns
        names += [("source", _SOURCE)]
        names += [(one.unit, f"{_SIDE};width:{_width(one)}px") for one in self.memories]
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
        moved = self.lines.get((self.block.function, number))
        text = self._code(number, code)
        if moved is None:
            text = self._wide(text)
        else:
            text = f'<details><summary style="{_SUMMARY}">{text}</summary>{moved.details}</details>'
            text = f'<td style="{_SOURCE}">{text}</td>'
            text += "".join(self._counts(memory, moved) for memory in self.memories)
        row = f'<th scope="row" style="{_NUMBER}">{number}</th>{self._strokes(number, number)}'
        said = "" if moved is None else moved.notes
        said += "".join(self.notes.get((self.block.function, number), ()))
        return f"{_TR}{row}{text}</tr>{self._below(number, said)}"

    def _below(self, number: int, said: str) -> str:
        """The row below a line with what is said there, as wide as the table; "" without notes."""
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

    def _counts(self, memory: Memory, moved: LineCounts) -> str:
        bar = moved.bars.get(memory.space)
        if bar is None:
            return "<td></td>"
        number = "?" if bar.count is None else f"{bar.count:,}"
        picture = drawn(bar.count or 0, bar.extra, memory.most)
        return f'<td style="{_SIDE}">{number} <span style="{_BAR}">{picture}</span></td>'

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


def _width(memory: Memory) -> int:
    """Pixels of a column: its longest number and the bar, or its heading."""
    return max(8 * len(f"{memory.most:,}") + _BAR_WIDTH + 12, 8 * len(memory.unit) + 4)
