"""A trace as HTML for a notebook: a table for each memory and a list of findings.

Nothing but elements and a few inline styles that inherit their colours, so that it reads in
light and dark themes and by a screen reader (`caption`, `scope`), and loads nothing.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..model import AccessRow
from .text import (
    RETRY,
    Cells,
    clipped,
    finding_line,
    findings_line,
    global_cells,
    heading,
    line_label,
    shared_cells,
)

if TYPE_CHECKING:
    from ..findings import Finding
    from ..trace import Trace

_SHARED = ("requests", "wavefronts", "n-way", "extra wavefronts", "requests with broadcast")
_GLOBAL = ("requests", "sectors", "sectors per request", "extra sectors")
_COLOURS = "color:inherit;background:inherit"
_RIGHT = ' style="text-align:right"'
_LEFT = ' style="text-align:left"'
_LONGEST = 120


def html(trace: Trace) -> str:
    """The whole report as one `<div>`."""
    parts = [f"<p><strong>{escape(heading(trace))}</strong></p>"]
    if trace.launch.counted:
        shared, global_ = trace.shared, trace.global_
        totals = (*shared_cells(shared), f"{shared.multicast:,}")
        parts.append(_memory(trace, "shared", _SHARED, totals))
        parts.append(_memory(trace, "global", _GLOBAL, global_cells(global_)))
    parts.append(f"<p>{escape(findings_line(trace))}</p>")
    if trace.findings:
        parts.append("<ul>" + "".join(_finding(one, trace) for one in trace.findings) + "</ul>")
    return f'<div style="{_COLOURS}">' + "\n".join(parts) + "</div>"


def _memory(trace: Trace, space: str, head: Cells, totals: Cells) -> str:
    rows = [row for row in trace.lines if row.space == space]
    if not rows:
        return f"<p>no {space} memory was touched</p>"
    names = (("line", _RIGHT), *((name, _RIGHT) for name in head))
    names += (("access", _LEFT), ("source", _LEFT))
    columns = "".join(f'<th scope="col"{style}>{name}</th>' for name, style in names)
    body = "".join(_row(trace, row) for row in rows)
    foot = f'<tr><th scope="row"{_RIGHT}>all</th>{_numbers(totals)}<td></td><td></td></tr>'
    return (
        f'<table style="{_COLOURS}">'
        f'<caption style="{_COLOURS};text-align:left">{space} memory (model)</caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
        + ("" if all(row.modelled for row in rows) else f"<p>{escape(RETRY)}</p>")
    )


def _row(trace: Trace, row: AccessRow) -> str:
    shared = row.space == "shared"
    numbers = (*shared_cells(row), f"{row.multicast:,}") if shared else global_cells(row)
    return (
        f'<tr><th scope="row"{_RIGHT}>{escape(line_label(row, trace))}</th>{_numbers(numbers)}'
        f"<td{_LEFT}>{_code(row.access)}</td><td{_LEFT}>{_code(row.source.strip())}</td></tr>"
    )


def _numbers(cells: Cells) -> str:
    return "".join(f"<td{_RIGHT}>{cell}</td>" for cell in cells)


def _code(line: str) -> str:
    return f"<code>{escape(clipped(line, _LONGEST))}</code>"


def _finding(found: Finding, trace: Trace) -> str:
    sources = {found.line: found.source}
    if found.other_line is not None and found.other_source is not None:
        sources.setdefault(found.other_line, found.other_source)
    lines = "".join(f"<br>{_code(f'{line}: {source}')}" for line, source in sources.items())
    return f"<li>{escape(finding_line(found, trace))}{lines}</li>"
