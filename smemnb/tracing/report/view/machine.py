"""Machine code as HTML: the kernel's source, beside each line what its instructions move.

What the compiler made of a line stands below it, in the words of the text report. Instructions of a
device function that was inlined stand at the kernel's line that calls it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ..as_compiled import became, groups, heading, totals, undetermined
from ..text import named
from .blocks import block_of
from .counts import Bar, LineCounts, lanes_of, legend, memories
from .frame import paragraph, sentence, whole
from .notes import note
from .table import table

if TYPE_CHECKING:
    from ...as_compiled import AsCompiled, MachineRow


def html(view: AsCompiled) -> str:
    """The whole view as one `<div>`."""
    kernel = view.launch.kernel
    said: defaultdict[int, list[str]] = defaultdict(list)
    for line, some in groups(view):
        said[line].append(note(escape(became(view, some))))
    nowhere = said.pop(0, [])
    rows: defaultdict[int, list[MachineRow]] = defaultdict(list)
    for row in view.lines:
        rows[row.line].append(row)
    known = {line: some[0].source for line, some in rows.items() if line}
    text = None if view.source is None else view.source.texts.get(kernel)
    block = block_of(kernel, text, known, known)
    lines = {(kernel, line): _counts(some) for line, some in rows.items() if line}
    parts = [paragraph(f"<strong>{escape(heading(view))}</strong>")]
    parts.append(sentence("; ".join(totals(view)) or "no memory was touched"))
    parts += legend(lines.values())
    if block.lines:
        notes = {(kernel, line): words for line, words in said.items()}
        parts.append(table(block, lines, notes, (), memories(lines.values())))
    if nowhere:
        parts.append(paragraph("of a line that is not determined:") + "".join(nowhere))
    return whole([*parts, *map(sentence, undetermined(view))])


def _counts(rows: Sequence[MachineRow]) -> LineCounts:
    spaces = dict.fromkeys(row.space for row in rows)
    bars = {space: _bar([row for row in rows if row.space == space]) for space in spaces}
    return LineCounts(bars, "".join(note(escape(_said(row))) for row in rows))


def _bar(rows: Sequence[MachineRow]) -> Bar:
    if any(row.unknown for row in rows):
        return Bar(None, 0)
    if rows[0].space == "shared":
        count = sum(row.wavefronts for row in rows)
        return Bar(count, count - sum(row.ideal for row in rows))
    count = sum(row.sectors for row in rows)
    return Bar(count, count - sum(row.ideal_sectors for row in rows))


def _said(row: MachineRow) -> str:
    """One instruction with its counts."""
    said = f"{row.instruction} at {row.address:#x}"
    said += f", from {row.inner}" if row.inner else ""
    if row.unknown:
        return f"{said}: not determined, {row.unknown}"
    moved = named(f"{row.sectors:,}", "sector")
    if row.space == "shared":
        moved = f"{named(f'{row.wavefronts:,}', 'wavefront')}, n-way {row.ways:,}"
    return f"{said}: {named(f'{row.requests:,}', 'request')}, {moved}, {lanes_of(row)}"
