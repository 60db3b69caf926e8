"""A trace as HTML: the source of the kernel with its counts, bars and findings at their lines.

Elements with inline styles, no script and no ids. What a page takes away leaves the rest readable:

- a notebook that is not trusted keeps all but `aria-hidden`;
- a page that drops styles, as GitHub does, keeps words, numbers, and bars, which are characters;
- a style sheet adds colours to the source (see `colours`).

    blocks      which lines of which functions are shown
    code        a source line as HTML
    bars        a count as a bar
    counts      what a line moves
    notes       what is said at a line
    links       strokes that join two lines of a finding
    table       a function as a table
    frame       what stands around the tables
    page        a page of its own, for `Trace.page()`
    machine     the same of machine code, for `Trace.as_compiled()`

Line numbers are those of the file or cell, as in findings, the text report and `show_source`.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ...model import AccessRow
from ..text import (
    RETRY,
    costliest_line,
    findings_line,
    heading,
    local_line,
    waived_line,
)
from .blocks import Block, blocks, places
from .counts import LineCounts, global_words, legend, memories, opened, shared_words
from .frame import paragraph, sentence, whole
from .notes import Key, notes, whole_finding
from .table import table

if TYPE_CHECKING:
    from ...findings import Finding
    from ...trace import Trace


def html(trace: Trace) -> str:
    """The whole view as one `<div>`."""
    lines = {key: LineCounts.of(rows) for key, rows in _by_line(trace).items()}
    columns = memories(lines.values())
    shown = list(blocks(trace))
    parts = [paragraph(f"<strong>{escape(heading(trace))}</strong>"), *_totals(trace)]
    parts += legend(lines.values())
    parts += opened(columns)
    parts.append(sentence(findings_line(trace) + _where(trace)))
    costliest = costliest_line(trace)
    if costliest:
        parts.append(sentence(costliest))
    said = notes(trace)
    parts += [table(block, lines, said, trace.findings, columns) for block in shown]
    parts += _elsewhere(trace, shown)
    parts += [sentence(f"not examined: {limit}") for limit in trace.limits]
    return whole(parts)


def _by_line(trace: Trace) -> dict[Key, list[AccessRow]]:
    found: dict[Key, list[AccessRow]] = {}
    for row in trace.lines:
        found.setdefault((row.function, row.line), []).append(row)
    return found


def _totals(trace: Trace) -> list[str]:
    """The totals of each memory."""
    if not trace.launch.counted:
        return []
    if not trace.lines:
        return [sentence("no shared or global memory was touched")]
    shared, global_ = trace.shared, trace.global_
    said = []
    if shared.requests:
        said.append(f"shared memory: {shared_words(shared, most=True)}")
    if global_.requests:
        said.append(f"global memory: {global_words(global_)}")
    parts = [paragraph("<br>".join(map(escape, said)))] if said else []
    return parts + ([] if all(row.modelled for row in trace.lines) else [sentence(RETRY)])


def _where(trace: Trace) -> str:
    """The lines of the findings, worst first."""
    said = []
    for found in trace.findings:
        lines = [
            f"{line}" if function == trace.launch.kernel else f"{line} of {function}"
            for function, line, _ in places(found)
        ]
        noun = "line" if len(lines) == 1 else "lines"
        said.append(f"{found.kind.replace('_', ' ')} at {noun} {' and '.join(lines)}")
    return f" ({'; '.join(dict.fromkeys(said))})" if said else ""


def _elsewhere(trace: Trace, shown: list[Block]) -> list[str]:
    """What belongs to a line that no block has, as a list."""
    lines = {(block.function, line) for block in shown for line in block.lines}
    items = [whole_finding(one, trace) for one in trace.findings if _first(one) not in lines]
    items += [
        escape(waived_line(one, trace))
        for one in trace.waived
        if not lines & {place[:2] for place in places(one.finding)}
    ]
    items += [
        escape(local_line(one, trace))
        for one in trace.local_arrays
        if (one.function, one.line) not in lines
    ]
    return ["<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"] if items else []


def _first(found: Finding) -> Key:
    return found.function, found.line
