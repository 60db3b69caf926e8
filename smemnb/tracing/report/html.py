"""A trace as HTML for a notebook: a table for each memory and a list of findings.

Nothing but elements and a few inline styles that inherit their colours, so that it reads in
light and dark themes and by a screen reader (`caption`, `scope`), and loads nothing. In a narrow
pane the words of the head wrap, code does not, and a table scrolls by itself.
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
    local_line,
    shared_cells,
    waived_line,
)

if TYPE_CHECKING:
    from ..findings import Finding
    from ..trace import Trace

_SHARED = ("requests", "wavefronts", "n-way", "extra wavefronts", "requests with multicast")
_GLOBAL = ("requests", "sectors", "sectors per request", "extra sectors")
_COLOURS = "color:inherit;background:inherit"
_PAGE = f"{_COLOURS};padding:2px 0 0 6px"
_TABLE = f"{_COLOURS};margin:6px 0"
_CAPTION = f"{_COLOURS};text-align:left;white-space:nowrap"
_EXTRA = 3  # the column of extra wavefronts or sectors: bold where there are some
_RIGHT = ' style="text-align:right"'
_WHOLE = ' style="text-align:right;white-space:nowrap"'
_LEFT = ' style="text-align:left"'
_LONGEST = 120


def html(trace: Trace) -> str:
    """The whole report as one `<div>`."""
    parts = [_paragraph(f"<strong>{escape(heading(trace))}</strong>")]
    if trace.launch.counted and not trace.lines:
        parts.append(_said("no shared or global memory was touched"))
    elif trace.launch.counted:
        shared, global_ = trace.shared, trace.global_
        totals = (*shared_cells(shared), f"{shared.multicast:,}")
        parts.append(_memory(trace, "shared", _SHARED, totals))
        parts.append(_memory(trace, "global", _GLOBAL, global_cells(global_)))
    parts += [_said(local_line(array, trace)) for array in trace.local_arrays]
    parts.append(_said(findings_line(trace)))
    if trace.findings:
        parts.append("<ul>" + "".join(_finding(one, trace) for one in trace.findings) + "</ul>")
    if trace.waived:
        items = (f"<li>{escape(waived_line(one, trace))}</li>" for one in trace.waived)
        parts.append("<ul>" + "".join(items) + "</ul>")
    parts += [_said(f"not examined: {said}") for said in trace.limits]
    return f'<div style="{_PAGE}">' + "\n".join(parts) + "</div>"


def _said(line: str) -> str:
    return _paragraph(escape(line))


def _paragraph(inside: str) -> str:
    return f'<p style="margin:0 0 4px 0">{inside}</p>'


def _memory(trace: Trace, space: str, head: Cells, totals: Cells) -> str:
    rows = [row for row in trace.lines if row.space == space]
    if not rows:
        return _said(f"no {space} memory was touched")
    names = (("line", _RIGHT), *((name, _RIGHT if " " in name else _WHOLE) for name in head))
    names += (("access", _LEFT), ("source", _LEFT))
    columns = "".join(f'<th scope="col"{style}>{name}</th>' for name, style in names)
    body = "".join(_row(trace, row) for row in rows)
    foot = f'<tr><th scope="row"{_RIGHT}>all</th>{_numbers(totals)}<td></td><td></td></tr>'
    return (
        f'<div style="overflow-x:auto"><table style="{_TABLE}">'
        f'<caption style="{_CAPTION}">{space} memory (model)</caption>'
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
        "</div>" + ("" if all(row.modelled for row in rows) else _said(RETRY))
    )


def _row(trace: Trace, row: AccessRow) -> str:
    shared = row.space == "shared"
    numbers = (*shared_cells(row), f"{row.multicast:,}") if shared else global_cells(row)
    return (
        f'<tr><th scope="row"{_RIGHT}>{escape(line_label(row, trace))}</th>{_numbers(numbers)}'
        f"<td{_LEFT}>{_code(row.access)}</td><td{_LEFT}>{_code(row.source.strip())}</td></tr>"
    )


def _numbers(cells: Cells) -> str:
    marked = [
        f"<strong>{cell}</strong>" if i == _EXTRA and cell not in ("0", "?") else cell
        for i, cell in enumerate(cells)
    ]
    return "".join(f"<td{_RIGHT}>{cell}</td>" for cell in marked)


def _code(line: str) -> str:
    return f'<code style="white-space:nowrap">{escape(clipped(line, _LONGEST))}</code>'


def _finding(found: Finding, trace: Trace) -> str:
    sources = {found.line: found.source}
    if found.other_line is not None and found.other_source is not None:
        sources.setdefault(found.other_line, found.other_source)
    lines = "".join(f"<br>{_code(f'{line}: {source}')}" for line, source in sources.items())
    severity, _, said = finding_line(found, trace).partition(" ")
    return f"<li><strong>{severity}</strong> {escape(said)}{lines}</li>"
