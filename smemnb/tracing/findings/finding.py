"""One thing that is wrong with a launch, and the order in which such things are reported."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ...session import PRINTED_COLUMNS
from ..model import Dim3
from .kinds import kind_of


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a launch, with its lines, threads and element, and its cure.

    What `kind` means stands in `kinds.KINDS`; an unknown one is refused.

    `count` is how many elements (races), threads (barriers) or lanes (reads of what nobody stored,
    indices out of range) it concerns in the whole launch; `threads`, `warps`, `block` and `index`
    name the first of them. `leads` says that others of this launch follow from it: it comes first.
    """

    kind: str
    severity: str
    function: str
    line: int
    source: str
    other_function: str | None
    other_line: int | None
    other_source: str | None
    threads: tuple[Dim3, ...]
    warps: tuple[int, ...]
    block: Dim3
    array: str | None
    index: tuple[int, ...] | None
    count: int
    cause: str
    cure: str
    leads: bool = False

    def __post_init__(self) -> None:
        kind_of(self.kind)

    @property
    def unit(self) -> str:
        """What `count` counts, in the right number: "elements", "extra sectors" or "times"."""
        noun = kind_of(self.kind).unit
        return noun if self.count == 1 else noun + "s"

    @property
    def race(self) -> bool:
        """Whether it is about two threads and one element, one of which stores."""
        return kind_of(self.kind).race

    @property
    def price(self) -> bool:
        """Whether it only costs time or memory: results are right, on any GPU."""
        return kind_of(self.kind).price

    def __repr__(self) -> str:
        return f"{self.severity}, {self.kind.replace('_', ' ')}: {self.cause} {self.cure}"

    def __str__(self) -> str:
        """As the repr, in lines that a notebook does not break within a word, indented or not."""
        lines = textwrap.wrap(
            repr(self),
            PRINTED_COLUMNS - 2,
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        return "\n".join(lines)


def in_order(finding: Finding) -> tuple[object, ...]:
    """Sort key of a finding: what leads to others, severity, what brings others about, lines."""
    kind = kind_of(finding.kind)
    return (
        not finding.leads,
        kind.rank,
        not kind.brings_others,
        finding.line,
        finding.other_line or 0,
        finding.kind,
        finding.array or "",
        finding.function,
        finding.other_function or "",
        finding.block,
        finding.threads,
    )
