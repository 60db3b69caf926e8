"""What a view says at a line, below its source: extra parts, findings, waivers, local arrays.

Each finding stands whole at its first line, in the words of the text report; at its other line
stands which line that is, with the threads and the element.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from ...findings import Finding
from ...model import AccessRow, place
from ..bank_map import BankMap, spread
from ..text import finding_line, global_cells, local_line, shared_cells, waived_line
from .bars import EXTRA_MARK
from .blocks import places
from .code import monospaced
from .colours import EXTRA, SEVERITY

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
        found[first[:2]].append(_note(escape(waived_line(waived, trace))))
        for function, line, _ in other:
            found[function, line].append(_note(f"waived: {_from_other(waived.finding, trace)}"))
    for array in trace.local_arrays:
        found[array.function, array.line].append(_note(escape(local_line(array, trace))))
    return found


def whole_finding(found: Finding, trace: Trace) -> str:
    """A finding in the words of the text report, its severity at the edge and as a word."""
    severity, _, said = finding_line(found, trace).partition(" ")
    return _edged(found.severity, f"<strong>{escape(severity)}</strong> {escape(said)}")


def _other_end(found: Finding, trace: Trace) -> str:
    """The finding at its second line."""
    severity = f"<strong>{escape(found.severity)}:</strong>"
    return _edged(found.severity, f"{severity} {_from_other(found, trace)}")


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


def extra_notes(rows: Iterable[AccessRow]) -> str:
    """For each access with an extra part, how much it is, as HTML."""
    rows = list(rows)
    said = []
    for row in rows:
        text = _extra(row)
        if text:
            of = "" if len(rows) == 1 else f"{monospaced(escape(row.access))}: "
            mark = f'<span aria-hidden="true" style="color:{EXTRA}">{EXTRA_MARK}</span> '
            said.append(_note(f"{mark}{of}<strong>{escape(text)}</strong>"))
    return "".join(said)


def details(rows: Iterable[AccessRow]) -> str:
    """The counts of each access of a line, as HTML; of conflicts, which banks are asked for."""
    said = []
    for row in rows:
        numbers = _shared(row) if row.space == "shared" else _global(row)
        text = f": {numbers}; {row.dtype}, {row.lanes:,} lanes of {row.width:,} bytes"
        if row.worst is not None and row.ways > 1:
            worst = BankMap.of(row, row.worst)
            block = "(" + ", ".join(map(str, worst.block)) + ")"
            text += f"; worst request in block {block}, warp {worst.warp}:"
            text += f" distinct words per bank: {spread(worst.words)}"
        said.append(_note(monospaced(escape(row.access)) + escape(text)))
    return "".join(said)


def _extra(row: AccessRow) -> str:
    if row.extra:
        return f"{row.ways:,}-way, {row.extra:,} of {row.wavefronts:,} wavefronts are extra"
    if row.extra_sectors:
        each = global_cells(row)[2]
        return f"{each} sectors per request, {row.extra_sectors:,} of {row.sectors:,} are extra"
    return ""


def _shared(row: AccessRow) -> str:
    requests, wavefronts, ways, extra = shared_cells(row)
    return (
        f"{requests} requests, {wavefronts} wavefronts, {ways}-way, {extra} extra,"
        f" {row.multicast:,} requests with multicast"
    )


def _global(row: AccessRow) -> str:
    requests, sectors, each, extra = global_cells(row)
    return f"{requests} requests, {sectors} sectors, {each} per request, {extra} extra"


def _edged(severity: str, said: str) -> str:
    edge = f"border-left:3px solid {SEVERITY[severity]};padding:0 0 0 6px"
    return f'<div style="{_NOTE};{edge}">{said}</div>'


def _note(said: str) -> str:
    return f'<div style="{_NOTE}">{said}</div>'
