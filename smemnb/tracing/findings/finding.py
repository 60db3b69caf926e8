"""One thing that is wrong with a launch, and the order in which such things are told.

Severity "error" changes results or hangs a GPU; "warning" works until the hardware schedules the
lanes differently, or costs much; "note" is harmless today, or the price of something. A new kind
gets its severity and the noun of its count here, and its words in the file of its family.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ..model import Dim3

SEVERITY = {
    "race": "error",
    "race_in_warp": "warning",
    "race_same_value": "note",
    "race_between_blocks": "error",
    "race_atomic": "error",
    "race_flag": "warning",
    "divergent_barrier": "error",
    "exited_before_barrier": "error",
    "uninitialised": "error",
    "stale": "error",
    "out_of_range": "error",
    "wrapped_index": "warning",
    "index_overflow": "error",
    "divergent_syncwarp": "error",
    "stray_shuffle": "error",
    "unnamed_lane": "error",
    "missing_lane": "error",
    "uncoalesced": "warning",
    "phantom_padding": "warning",
    "float64_arithmetic": "warning",
    "interleaved": "note",
    "scattered": "note",
    "misaligned": "note",
    "local_array": "warning",
    "open_local_array": "note",
    "shared_occupancy": "note",
    "unused_shared": "note",
    "unused_barrier": "note",
}
PRICES = {"uncoalesced", "phantom_padding", "float64_arithmetic", "scattered", "misaligned"}
PRICES |= {"interleaved", "shared_occupancy", "unused_shared", "unused_barrier"}
PRICES |= {"local_array", "open_local_array"}
"""Kinds that cost something and change no result."""

_RANK = {"error": 0, "warning": 1, "note": 2}
_UNIT = {"uninitialised": "time", "stale": "time", "out_of_range": "time", "wrapped_index": "time"}
_UNIT |= {"index_overflow": "time", "unused_barrier": "time", "float64_arithmetic": "operation"}
_UNIT |= {"uncoalesced": "extra sector", "scattered": "extra sector", "misaligned": "extra sector"}
_UNIT |= {"interleaved": "extra sector"}
_UNIT |= {"phantom_padding": "extra wavefront", "unused_shared": "byte", "shared_occupancy": "byte"}
_UNIT |= {"local_array": "line", "open_local_array": "line"}
_UNIT |= {"divergent_syncwarp": "thread", "missing_lane": "time"}
_UNIT |= {"stray_shuffle": "time", "unnamed_lane": "time"}
_UNIT |= {"divergent_barrier": "thread", "exited_before_barrier": "thread"}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a launch, with its lines, threads and cell, and its cure.

    `count` is how many cells (races), threads (barriers) or lanes (reads of what nobody stored,
    indices out of range) it concerns in the whole launch; `threads`, `warps`, `block` and `index`
    name the first of them.
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

    @property
    def unit(self) -> str:
        """What `count` counts, in the right number: "cells", "threads" or "times"."""
        noun = _UNIT.get(self.kind, "cell")
        return noun if self.count == 1 else noun + "s"

    @property
    def price(self) -> bool:
        """Whether it only costs time or memory: results are right, on any GPU."""
        return self.kind in PRICES

    def __repr__(self) -> str:
        return f"{self.severity}, {self.kind.replace('_', ' ')}: {self.cause} {self.cure}"

    def __str__(self) -> str:
        """As the repr, in lines of at most 96 columns, which a page does not break in a word."""
        lines = textwrap.wrap(
            repr(self),
            96,
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        return "\n".join(lines)


def in_order(finding: Finding) -> tuple[object, ...]:
    """Sort key of a finding: severity, broken barriers first (they cause races), then lines."""
    return (
        _RANK[finding.severity],
        finding.kind not in ("divergent_barrier", "exited_before_barrier"),
        finding.line,
        finding.other_line or 0,
        finding.kind,
        finding.array or "",
        finding.function,
        finding.other_function or "",
        finding.block,
        finding.threads,
    )
