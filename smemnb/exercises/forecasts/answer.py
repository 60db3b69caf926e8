"""The answer to `forecast`: a table to fill in, a refusal, or what was judged right and what wrong.

The text is the same in every run: no addresses, no paths, no times.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from ..grading.verdict import INDENT, WIDTH, Verdict, unknown_exercise
from .figures import COLUMNS

State = Literal["right", "misjudged", "open"]


@dataclass(frozen=True)
class Misjudged:
    """A figure that is not what the trace counted: which, and by what rule it comes about.

    `number` counts the wrong figures that there were, this one included; from the second on `text`
    has the count.
    """

    column: str
    given: int
    text: str
    number: int


@dataclass(frozen=True)
class Line:
    """One access and what was forecast of it; `where` is its line: "line 21".

    `figures` are those that were given. A line is "open" as long as one is missing and none wrong.
    """

    access: str
    where: str
    state: State
    figures: tuple[tuple[str, int], ...]
    missing: tuple[str, ...] = ()
    misjudged: tuple[Misjudged, ...] = ()

    @property
    def said(self) -> str:
        """The access and its forecast: "load inp[row, col]: 192 requests, 768 sectors"."""
        shown = [counted(number, column) for column, number in self.figures]
        shown += [f"no {column} yet" for column in self.missing]
        where = f" ({self.where})" if self.misjudged else ""
        return f"{self.access}{where}: {', '.join(shown)}"


@dataclass(frozen=True, repr=False)
class Forecast:
    """What `forecast` has to say; true if the kernel is right and every figure is.

    Attributes:
        exercise: its name.
        verdict: on the kernel; None where nothing was graded.
        launch: the launch that is forecast, in words.
        lines: the accesses with what was forecast; empty where nothing was judged.
        table: Python to be filled in; "" where something was.
        refusal: why nothing was judged; "" if it was.
        first_try: how many accesses were right at first try, and of how many; None as long as
            some are open.
        note: of the record of progress.
        known: whether there is such an exercise.
    """

    exercise: str
    verdict: Verdict | None = None
    launch: str = ""
    lines: tuple[Line, ...] = ()
    table: str = ""
    refusal: str = ""
    first_try: tuple[int, int] | None = None
    note: str = ""
    known: bool = True

    def __bool__(self) -> bool:
        return bool(self.verdict and self.lines) and self.right == len(self.lines)

    @property
    def right(self) -> int:
        """Lines whose figures are all there and right."""
        return sum(line.state == "right" for line in self.lines)

    @property
    def head(self) -> str:
        """The first line: the kernel, how much of the forecast is right, and what of it is open.

        As long as figures are missing, those that were given are counted, column by column.
        """
        begin = f"{self.exercise}: kernel done, forecast"
        still_open = {column for line in self.lines for column in line.missing}
        if not still_open:
            return f"{begin} {_accesses(self.right, len(self.lines))}"
        given = Counter(column for line in self.lines for column, _ in line.figures)
        wrong = Counter(one.column for line in self.lines for one in line.misjudged)
        right = ", ".join(
            f"{given[column] - wrong[column]} of {given[column]} {_unit(column, given[column])}"
            for column in COLUMNS
            if given[column]
        )
        left = ", ".join(
            f"some {column}" if given[column] else column
            for column in COLUMNS
            if column in still_open
        )
        return f"{begin} {right} right; still open: {left}"

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What is said besides the lines, below them."""
        told = ("first try", self._first), ("note", self.note)
        return [(name, text) for name, text in told if text]

    @property
    def _first(self) -> str:
        """The score of the first try, which may have been of another form of the kernel."""
        if self.first_try is None:
            return ""
        right, of = self.first_try
        earlier = "" if of == len(self.lines) else ", in an earlier form of the kernel"
        return _accesses(right, of) + earlier

    def __repr__(self) -> str:
        if self.table:
            return self.table
        if self.refusal:
            told = _row("forecast", self.refusal)
            first = f"{self.exercise}: not yet" if self.known else unknown_exercise(self.exercise)
            return f"{first if self.verdict is None else self.verdict}\n{told}"
        rows = [_row("launch", self.launch)]
        for line in self.lines:
            rows.append(_row(line.state, line.said))
            rows += [_row("", f"{one.column}: {one.text}") for one in line.misjudged]
        rows += [_row(name, text) for name, text in self.rows]
        head = textwrap.wrap(self.head, INDENT + WIDTH, subsequent_indent=" " * INDENT)
        return "\n".join([*head, *rows])

    def _repr_html_(self) -> str:
        from ..as_html import forecast

        return forecast(self)


def counted(number: int, column: str) -> str:
    """A count with its unit.

    >>> counted(1, "wavefronts"), counted(1024, "sectors")
    ('1 wavefront', '1,024 sectors')
    """
    return f"{number:,} {column.removesuffix('s') if number == 1 else column}"


def _accesses(right: int, of: int) -> str:
    """How many accesses are right, with their unit."""
    return f"{right} of {of} {'access' if of == 1 else 'accesses'} right"


def _row(name: str, text: str) -> str:
    lines = [
        short
        for line in text.split("\n")
        for short in textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
    first, *rest = lines or [""]
    return "\n".join([f"{name:<{INDENT}}{first}", *(" " * INDENT + line for line in rest)])


def _unit(column: str, count: int) -> str:
    """The name of a column behind a number.

    >>> _unit("sectors", 1), _unit("sectors", 2), _unit("n-way", 1)
    ('sector', 'sectors', 'n-way')
    """
    return column.removesuffix("s") if count == 1 else column
