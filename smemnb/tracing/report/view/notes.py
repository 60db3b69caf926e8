"""What a view says at a line, below its source: findings, waivers, local arrays.

Each finding stands whole at its first line, in the words of the text report; at its other line
stands which line that is, with the threads and the element.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING

from ...findings import Finding
from ...model import place
from ..text import finding_line, local_line, waived_line
from .blocks import places
from .colours import SEVERITY

if TYPE_CHECKING:
    from ...trace import Trace

Key = tuple[str, int]
"""A function and a line of it."""

_NOTE = "white-space:normal;margin:0 0 3px"


def notes(trace: Trace) -> dict[Key, list[str]]:
    """The notes of each line, as HTML, the worst first."""
    found: defaultdict[Key, list[str]] = defaultdict(list)
    for one in trace.findings:
        first, *other = places(one)
        found[first[:2]].append(whole_finding(one, trace))
        for function, line, _ in other:
            found[function, line].append(_other_end(one, trace))
    for waived in trace.waived:
        first, *other = places(waived.finding)
        found[first[:2]].append(note(escape(waived_line(waived, trace))))
        for function, line, _ in other:
            found[function, line].append(note(f"waived: {_from_other(waived.finding, trace)}"))
    for array in trace.local_arrays:
        found[array.function, array.line].append(note(escape(local_line(array, trace))))
    return found


def whole_finding(found: Finding, trace: Trace) -> str:
    """A finding in the words of the text report, its severity at the edge and as a word."""
    severity, _, said = finding_line(found, trace).partition(" ")
    return edged(found.severity, f"<strong>{escape(severity)}</strong> {escape(said)}")


def _other_end(found: Finding, trace: Trace) -> str:
    """The finding at its second line."""
    severity = f"<strong>{escape(found.severity)}:</strong>"
    return edged(found.severity, f"{severity} {_from_other(found, trace)}")


def _from_other(found: Finding, trace: Trace) -> str:
    """Where a finding stands whole, its threads and element, as HTML."""
    where = f"line {found.line}"
    if found.function != found.other_function:
        where += f" of {found.function}"
    said = f"{found.kind.replace('_', ' ')} with {where}"
    threads = [place(one, trace.launch.block) for one in found.threads]
    if len(threads) > 1:
        said += f": threads {' and '.join(threads)}"
        said += f", {found.array}{list(found.index)}" if found.array and found.index else ""
    return escape(said)


def edged(severity: str, said: str) -> str:
    """A note, given as HTML, with the colour of a severity at its edge."""
    edge = f"border-left:3px solid {SEVERITY[severity]};padding:0 0 0 6px"
    return f'<div style="{_NOTE};{edge}">{said}</div>'


def note(said: str) -> str:
    """A note, given as HTML, on lines of its own."""
    return f'<div style="{_NOTE}">{said}</div>'
