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
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..tracing.report.text import WIDTH, closing_lines, heading, table_note, tables, text

if TYPE_CHECKING:
    from rich.console import Console

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


def show_lines(said: str, judged: str) -> None:
    """Print lines that are laid out, their words of judgement coloured where `judged` matches."""
    screen = console()
    if screen is None:
        print(said)
        return
    for line in said.splitlines():
        screen.print(_coloured(line) if re.search(judged, line) else line, soft_wrap=True)
