"""What a terminal shows: reports as tables with colours, in the columns that it has.

A pipe or a file gets the plain text, byte for byte what `print` writes. NO_COLOR in the environment
(https://no-color.org) leaves the tables and takes the colours. rich draws; where it is missing a
terminal gets the plain text as well, cut to its columns, so that `smemnb doctor` can say so.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any

from ..measure.rows import Row, print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from ..grading.tables import Grades
    from ..tracing import Trace
    from ..tracing.report.text import Table as Numbers
    from .doctor import Check

STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "waived": "dim",
    "works": "green",
    "wrong": "bold red",
    "done": "green",
    "open": "dim",
    "not yet": "yellow",
    "none": "green",
}
"""The style of a word wherever it stands for a judgement."""

ANSWERS = {
    "accepted": "green",
    "right values": "yellow",
    "wrong": "bold red",
    "stopped": "bold red",
    "not tried": "dim",
    "faster": "green",
    "SLOWER": "bold red",
    "within the spread": "dim",
    "WRONG VALUES": "bold red",
}
"""The style of a cell that holds no more than an answer."""

SLOW = {"n-way": 1, "extra": 0}
"""The columns in which a number is marked if it is larger."""


def console() -> Console | None:
    """The terminal that stdout is; None for a pipe or a file, or without rich."""
    if not on_terminal() or find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(
        file=sys.stdout,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        markup=False,
        emoji=False,
        highlight=False,
    )


def on_terminal() -> bool:
    """Whether somebody reads stdout on a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def show_traces(traces: Sequence[Trace]) -> None:
    """Print reports, with an empty line between two."""
    from ..tracing.report.text import WIDTH, text

    screen = console()
    if screen is None:
        width = min(WIDTH, shutil.get_terminal_size().columns) if on_terminal() else WIDTH
        print("\n\n".join(text(trace, width) for trace in traces))
        return
    for number, trace in enumerate(traces):
        screen.print(*([""] * (number > 0)), *report(trace, screen.width), sep="\n")


def report(trace: Trace, width: int) -> list[Any]:
    """A trace as what rich prints, in `width` columns: what `text` says, the numbers as tables."""
    from rich.text import Text

    from ..tracing.report.text import closing_lines, heading, table_note, tables

    name, _, launched = heading(trace).partition("[")
    parts: list[Any] = [Text(name, "bold").append(f"[{launched}", "not bold")]
    if trace.launch.counted:
        for number, table in enumerate(tables(trace, width)):
            parts += [*[""] * (number > 0), _numbers(table)]
        parts += [Text(note)] if (note := table_note(trace)) else []
    for is_judgement, group in groupby(closing_lines(trace), lambda line: line.startswith(" ")):
        lines = list(group)
        if is_judgement:
            parts.append(_judgements(lines))
        else:
            parts += [_coloured(line) if line.startswith("findings") else line for line in lines]
    return parts


def _numbers(table: Numbers) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False)
    drawn.add_column("line", justify="right", style="cyan", no_wrap=True)
    drawn.add_column("source, access", overflow="fold")
    for name in table.head:
        drawn.add_column(name, justify="right", no_wrap=True)
    blank = ("",) * len(table.head)
    for label, words, cells in table.rows:
        source = Text(words, "bold" if label else "")
        numbers = [
            Text(cell, _weight(name, cell))
            for name, cell in zip(table.head, cells or blank, strict=True)
        ]
        drawn.add_row(label, source, *numbers)
    return drawn


def _weight(column: str, cell: str) -> str:
    """The style of a number: red where it says that an access costs more than it has to."""
    number = cell.replace(",", "")
    dear = column in SLOW and number.isdecimal() and int(number) > SLOW[column]
    return "red" if dear else ""


def _judgements(lines: Iterable[str]) -> Any:
    """Findings and waivers below each other, each with its words beside its severity."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 1, 0, 0))
    drawn.add_column(width=1)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for line in lines:
        severity, colon, words = line.strip().partition(": ")
        if severity not in STYLES:
            severity, colon, words = "", "", line.strip()
        drawn.add_row("", _coloured(severity + colon.strip()), words)
    return drawn


def _coloured(line: str) -> Any:
    """A line with its words of judgement in their colours."""
    from rich.text import Text

    found = Text(line)
    for word, style in STYLES.items():
        found.highlight_regex(rf"\b{word}s?\b", style)
    return found


def show_checks(checks: Sequence[Check], plain: Callable[[list[Check]], str]) -> None:
    """Print the doctor's table; `plain` makes its text."""
    screen = console()
    said = plain(list(checks))
    if screen is None:
        print(said)
        return
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for check in checks:
        drawn.add_row(_coloured(check.state), check.name, check.seen)
        if check.cure:
            drawn.add_row("", "", f"cure: {check.cure}")
    screen.print(drawn, said.splitlines()[-1], sep="\n")


def show_grades(grades: Grades) -> None:
    """Print the grades of learners: a row per exercise, then their counts."""
    from ..grading.command import print_table
    from ..grading.tables import tables

    if console() is None:
        print_table(grades)
        return
    lines: list[str] = []
    for names, *rows in tables(grades):
        lines += [*([""] if lines else []), Row("", (), names), *(Row("", row) for row in rows)]
    show_report(lines)


def show_lines(said: str, judged: str) -> None:
    """Print lines that are laid out, their words of judgement coloured where `judged` matches."""
    screen = console()
    if screen is None:
        print(said)
        return
    for line in said.splitlines():
        for part in _filled(line, screen.width):
            screen.print(_coloured(part) if re.search(judged, line) else part)


def show_report(lines: Iterable[str]) -> None:
    """Print the lines of a report as they come; on a terminal its rows become tables."""
    screen = console()
    if screen is None:
        print_lines(lines)
        return
    for part in laid_out(lines, screen.width):
        screen.print(part)


def laid_out(lines: Iterable[str], width: int) -> Iterator[Any]:
    """The lines of a report as what rich prints, in `width` columns: tables, and filled lines.

    A table ends where another line or another head comes. One that is too wide becomes several
    with the same first column; words are folded, numbers never.
    """
    from rich.text import Text

    names: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    before: str | None = None  # a line that may be the title of a table
    for line in lines:
        named = line.names if isinstance(line, Row) else None
        if rows and named not in ((), names):
            yield from _tables(names, rows, width)
            rows = []
        if before is not None:
            is_title = named is not None and not before.startswith(" ")
            yield from (Text(part, "bold" if is_title else "") for part in _filled(before, width))
        before = line if named is None else None
        if isinstance(line, Row):
            names = line.names or names
            rows += [line.cells] if line.cells else []
    yield from _tables(names, rows, width)
    if before is not None:
        yield from map(Text, _filled(before, width))


_NUMBER = re.compile(r"-|[\d<>=(][\d.,:<>=()e%x+ -]*")


@dataclass(frozen=True)
class _Column:
    """A column of a table: `least` letters wide without a number cut, `most` without a fold."""

    name: str
    cells: tuple[str, ...]
    is_number: bool
    least: int
    most: int

    @classmethod
    def of(cls, name: str, *cells: str) -> _Column:
        is_number = all(_NUMBER.fullmatch(cell) for cell in cells if cell) and any(cells)
        words = [word for cell in cells for word in _parts(cell)]
        own = max(map(len, cells if is_number else words), default=0)
        least = max([own, *map(len, name.split())])
        return cls(name, cells, is_number, least, max(len(name), *map(len, cells)))


def _tables(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Any]:
    """The rows as tables with these names above their columns, none wider than `width`."""
    if not rows:
        return
    columns = [_Column.of(*column) for column in zip_longest(names, *rows, fillvalue="")]
    columns = [columns[0], *(column for column in columns[1:] if any(column.cells))]
    gap, groups = 2, _grouped(columns, width, 2)
    if len(groups) > 1 and len(tight := _grouped(columns, width, 1)) == 1:
        gap, groups = 1, tight
    for number, group in enumerate(groups):
        yield from [""] * (number > 0)
        yield _table(group, width, gap)


def _grouped(columns: Sequence[_Column], width: int, gap: int) -> list[list[_Column]]:
    """The columns of each table that fits; all begin with the first column."""
    label, *others = columns
    groups, room = [[label]], width - label.least
    for column in others:
        room -= gap + column.least
        if room < 0 and len(groups[-1]) > 1:
            groups.append([label])
            room = width - label.least - gap - column.least
        groups[-1].append(column)
    return groups


def _table(columns: Sequence[_Column], width: int, gap: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    widths = [column.least for column in columns]
    spare = width - sum(widths) - gap * (len(widths) - 1)
    # words take what is left first, from the left; then the names above numbers
    for number, column in sorted(enumerate(columns), key=lambda pair: pair[1].is_number):
        more = max(0, min(spare, column.most - column.least))
        widths[number] += more
        spare -= more
    between = 0, gap - 1, 0, 0  # the box has a letter of its own between two columns
    drawn = Table(box=SIMPLE_HEAD, show_edge=False, padding=between, pad_edge=False)
    for column, wide in zip(columns, widths, strict=True):
        drawn.add_column(
            column.name,
            justify="right" if column.is_number else "left",
            width=wide,
            overflow="fold",
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*map(_cell, cells, widths))
    return drawn


def _cell(words: str, wide: int) -> Any:
    """What stands in a cell, in lines of so many letters."""
    from rich.text import Text

    lines = [""]
    for word in words.split():
        for part in [word] if len(word) <= wide else _parts(word):
            fits = len(lines[-1]) + len(part) <= wide
            lines[-1:] = [lines[-1] + part] if fits else [lines[-1], part]
        lines[-1] += " "
    return Text("\n".join(map(str.rstrip, lines)), ANSWERS.get(words, ""))


def _parts(words: str) -> list[str]:
    """The parts of words between which a line may end: at spaces, and after _ within a name."""
    return re.findall(r"[^\s_]*_+|[^\s_]+", words)


def _filled(line: str, width: int) -> list[str]:
    """A line in as many lines as it takes, folded at spaces, with its indentation."""
    if len(line) <= width:
        return [line]
    inner = line.lstrip()
    indent = line[: len(line) - len(inner)]
    more = indent + ("# " if inner.startswith("#") else "  ")
    words = indent + re.sub("  +", "  ", inner)
    return textwrap.wrap(words, width, subsequent_indent=more, break_on_hyphens=False)
