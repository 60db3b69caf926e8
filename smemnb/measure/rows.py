"""Lines of a report that know their columns.

A report is text, made a line at a time, and a pipe gets these lines as they are. A line of a table
is a `Row`: as text it is that line, and beside it stands what each column holds, so that a terminal
can draw the table in the columns that it has (`smemnb/cli/terminal.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

__all__ = ["Row", "Show", "head", "print_lines", "row"]

Show: TypeAlias = Callable[[Iterable[str]], None]
"""What puts lines before a reader."""


class Row(str):
    """A line of a table, as text.

    Attributes:
        cells: what its columns hold; () for a line that only names them.
        names: of the columns; () where an earlier line of the table named them.
    """

    __slots__ = ("cells", "names")
    cells: tuple[str, ...]
    names: tuple[str, ...]

    def __new__(cls, line: str, cells: Iterable[str] = (), names: Iterable[str] = ()) -> Row:
        """A row of a line, its cells, and the names of the columns."""
        made = super().__new__(cls, line)
        made.cells, made.names = tuple(cells), tuple(names)
        return made


def row(*parts: str) -> Row:
    """The row that consists of these parts, one per column, each padded to its width.

    >>> row("  torch ", "  1.25"), row("  torch ", "  1.25").cells
    ('  torch   1.25', ('torch', '1.25'))
    """
    return Row("".join(parts).rstrip(), (part.strip() for part in parts))


def head(*parts: str) -> Row:
    """The line above a table, whose parts are the names of its columns."""
    return Row("".join(parts).rstrip(), (), (part.strip() for part in parts))


def print_lines(lines: Iterable[str]) -> None:
    """Print each line as soon as it is there."""
    for line in lines:
        print(line, flush=True)
