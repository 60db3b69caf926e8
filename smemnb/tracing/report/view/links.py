"""Lines that join the two ends of a finding, drawn beside the source with borders.

Each stands in a column of its own, as wide as a stroke; where two need the same rows, the second
takes the next column. They only draw what the notes of both lines say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...findings import Finding
from .blocks import Block, places
from .colours import SEVERITY

MOST = 3
"""Columns at most; what does not fit is not drawn."""


@dataclass(frozen=True)
class Link:
    """The ends of a finding in one function, its column, and the colour of its severity."""

    first: int
    last: int
    column: int
    colour: str

    def stroke(self, line: float, last: float) -> str:
        """The borders of its cell in a row that shows lines `line` to `last`; "" outside of it.

        Both are 5.5 for a row between the lines 5 and 6.
        """
        if last < self.first or line > self.last:
            return ""
        side = f"2px solid {self.colour}"
        ends = [f";border-top:{side}"] * (line == self.first)
        ends += [f";border-bottom:{side}"] * (line == self.last)
        return f"border-left:{side}{''.join(ends)}"


def links(findings: Iterable[Finding], block: Block) -> list[Link]:
    """The links inside of one function."""
    found: list[Link] = []
    for one in findings:
        ends = [line for function, line, _ in places(one) if function == block.function]
        if len(ends) < 2 or not set(ends) <= block.lines.keys():
            continue
        first, last = sorted(ends)
        colour = SEVERITY[one.severity]
        if any((link.first, link.last) == (first, last) for link in found):
            continue
        taken = {link.column for link in found if link.first <= last and first <= link.last}
        column = next((column for column in range(MOST) if column not in taken), None)
        if column is not None:
            found.append(Link(first, last, column, colour))
    return found
