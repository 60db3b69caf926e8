"""A trace as plain text: the launch, one table, the findings.

The table groups accesses under their source line. Shared memory fills its left group of columns
(wavefronts, the worst n-way, extra wavefronts), global memory the right one (sectors, sectors
for each request, extra sectors); both begin with the totals. A line with a single access takes
one row. At most 100 columns as long as numbers stay below a billion; what is too long ends in
"..." here and stands whole in `Trace.lines`. In less than 100 columns each memory has a table of
its own where one for both does not fit.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import compress, groupby
from typing import TYPE_CHECKING, NamedTuple

from ..findings import Finding, kind_of
from ..model import AccessRow, GlobalTotals, LocalArray, SharedTotals, place

if TYPE_CHECKING:
    from ..trace import Trace
    from ..waivers import Waived

WIDTH = 100
_HEAD = ("requests", "wavefronts", "n-way", "extra", "sectors", "each", "extra")
_GAPS = (2, 3, 2, 2, 3, 2, 2)
_SHORTEST_ACCESS = 24
_NARROW_ACCESS, _NARROW_LABEL = 12, 24  # below WIDTH
_FINDINGS = 10
_WAIVED = 10

RETRY = "?: an atomic that is a retry loop has no fixed count of wavefronts; totals leave it out"

Cells = tuple[str, ...]
Line = tuple[str, str, Cells]


class Table(NamedTuple):
    """Columns of numbers with their names, and rows of a label, words and as many numbers.

    A row without numbers is a source line whose accesses follow.
    """

    head: Cells
    gaps: tuple[int, ...]
    rows: tuple[Line, ...]


def text(trace: Trace, width: int = WIDTH) -> str:
    """The whole report in lines of `width` columns, joined, no newline at the end."""
    parts = _wrapped(heading(trace), "", "  ", width)
    if trace.launch.counted:
        for table in tables(trace, width):
            parts += _columned(table, width)
        parts += _wrapped(table_note(trace), "", "  ", width)
    for line in closing_lines(trace):
        indent = "  " * (line[:1] == " ")
        parts += _wrapped(line.lstrip(), indent, indent + "  ", width)
    return "\n".join(parts)


def closing_lines(trace: Trace) -> Iterator[str]:
    """What stands below the tables: local arrays, findings, waivers, what was not examined.

    The findings and waivers are indented.
    """
    for array in trace.local_arrays:
        yield local_line(array, trace)
    yield findings_line(trace)
    for found in trace.findings[:_FINDINGS]:
        yield f"  {finding_line(found, trace)}"
    left = len(trace.findings) - _FINDINGS
    if left > 0:
        yield f"  and {left} more in .findings"
    for one in trace.waived[:_WAIVED]:
        yield f"  {waived_line(one, trace)}"
    left = len(trace.waived) - _WAIVED
    if left > 0:
        yield f"  and {left} more in .waived"
    costliest = costliest_line(trace)
    if costliest:
        yield costliest
    for said in trace.limits:
        yield f"not examined: {said}"


def heading(trace: Trace) -> str:
    """The launch in one line: kernel, blocks, threads, shared memory, and that it is the model."""
    launch = trace.launch
    said = f"{_number(launch.blocks, 'block')} of {_number(launch.threads_per_block, 'thread')}"
    shared_bytes = launch.static_shared_bytes + launch.dynamic_shared_bytes
    if shared_bytes:
        said += f", {shared_bytes:,} shared bytes each"
    if launch.estimated:
        seen = _number(launch.watched_blocks or 0, "block")
        return f"{launch}: {said} (model, estimated from {seen})"
    return f"{launch}: {said} (model)"


def shared_cells(counts: AccessRow | SharedTotals) -> Cells:
    """Requests, wavefronts, the worst n-way, extra wavefronts; "?" where no model counts them."""
    if isinstance(counts, AccessRow) and not counts.modelled:
        return (f"{counts.requests:,}", "?", "?", "?")
    numbers = (counts.requests, counts.wavefronts, counts.ways, counts.extra)
    return tuple(f"{number:,}" for number in numbers)


def global_cells(counts: AccessRow | GlobalTotals) -> Cells:
    """Requests, sectors, sectors for each request with one decimal, extra sectors."""
    each = counts.sectors / counts.requests if counts.requests else 0.0
    return (
        f"{counts.requests:,}",
        f"{counts.sectors:,}",
        f"{each:.1f}",
        f"{counts.extra_sectors:,}",
    )


def named(cell: str, noun: str) -> str:
    """A number of a table with its noun.

    >>> named("1", "request"), named("1,024", "request"), named("?", "wavefront")
    ('1 request', '1,024 requests', '? wavefronts')
    """
    return f"{cell} {noun}" + ("" if cell == "1" else "s")


def line_label(row: AccessRow, trace: Trace) -> str:
    """The line number, with the function's name in front where it is not the kernel's."""
    own = row.function == trace.launch.kernel
    return f"{row.line}" if own else f"{row.function}:{row.line}"


def findings_line(trace: Trace) -> str:
    """How many findings of each severity, how many are waived, or that nobody looked."""
    if not trace.launch.checked:
        return "findings: not checked"
    seen = [found.severity for found in trace.findings]
    numbers = [
        _number(seen.count(severity), severity)
        for severity in ("error", "warning", "note")
        if severity in seen
    ]
    waived = [f"{len(trace.waived):,} waived"] if trace.waived else []
    return f"findings: {', '.join((numbers or ['none']) + waived)}"


def costliest_line(trace: Trace) -> str:
    """Where most extra wavefronts are; "" if there are none.

    A bank conflict is no finding, so that "none" could be read as praise: there it is said.
    """
    rows = [row for row in trace.lines if row.space == "shared" and row.modelled and row.extra]
    if not rows:
        return ""
    extra: Counter[tuple[str, int]] = Counter()
    for row in rows:
        extra[row.function, row.line] += row.extra
    (function, line), most = max(extra.items(), key=lambda one: one[1])
    ways = max(row.ways for row in rows if (row.function, row.line) == (function, line))
    place = f"line {line}" + ("" if function == trace.launch.kernel else f" of {function}")
    said = "The costliest line is"
    if trace.launch.checked and not trace.findings:
        said = "Findings are about correctness; the costliest line is"
    return f"{said} {place} ({ways}-way, {_number(most, 'extra wavefront')})."


def waived_line(one: Waived, trace: Trace) -> str:
    """A waived finding in one line: severity, kind, line and reason."""
    found = one.finding
    where = f"line {found.line}"
    if found.function != trace.launch.kernel:
        where += f" of {found.function}"
    if found.other_line is not None:
        where += f" and line {found.other_line}"
        if found.other_function not in (found.function, None):
            where += f" of {found.other_function}"
    return f"waived: {found.severity}, {found.kind.replace('_', ' ')}, {where}: {one.reason}"


LIES = {"open": "in registers or in local memory, as the compiler decides"}


def local_line(array: LocalArray, trace: Trace) -> str:
    """A local array in one line: its shape and type, bytes per thread, where it lies."""
    own = array.function == trace.launch.kernel
    where = f"line {array.line}" if own else f"{array.function}:{array.line}"
    lies = LIES.get(array.lies, f"in {array.lies}")
    return (
        f"local array {array.name} {array.shape} {array.dtype}, {where}:"
        f" {array.bytes:,} bytes per thread, {lies} (by the source)"
    )


def finding_line(found: Finding, trace: Trace) -> str:
    """A finding in one line: severity, cause, how much of it and where first, cure."""
    return " ".join((f"{found.severity}:", found.cause, *_extent(found, trace), found.cure))


def _extent(found: Finding, trace: Trace) -> Iterator[str]:
    block = f"block {place(found.block, trace.launch.grid)}"
    many = f"{found.count:,} {found.unit} in all."
    if kind_of(found.kind).of_source:
        return
    if trace.launch.blocks == 1 or found.price:
        yield from [many] * (found.count > 1)
    else:
        yield f"First in {block}; {many}" if found.count > 1 else f"In {block}."


def tables(trace: Trace, width: int = WIDTH) -> list[Table]:
    """Totals and every access under its source line, in one table, or in one of each memory.

    Two where one would not fit; none where no memory was touched.
    """
    both = {row.space for row in trace.lines}
    whole = [_table(trace, both, width)] if both else []
    if width < WIDTH and len(both) == 2 and _room(whole[0], width) < _SHORTEST_ACCESS:
        return [_table(trace, {space}, width) for space in ("shared", "global")]
    return whole


def table_note(trace: Trace) -> str:
    """What a reader of the tables has to know besides; mostly nothing."""
    if not trace.lines:
        return "no shared or global memory was touched"
    return "" if all(row.modelled for row in trace.lines) else RETRY


def _table(trace: Trace, spaces: set[str], width: int) -> Table:
    """The table of the accesses to these memories."""
    rows: list[Line] = []
    if "shared" in spaces and trace.shared.requests:
        rows.append(("", "shared memory", _shared(trace.shared)))
    if "global" in spaces and trace.global_.requests:
        rows.append(("", "global memory", _global(trace.global_)))
    rows += _lines(trace, spaces)
    used = [True, *["shared" in spaces] * 3, *["global" in spaces] * 3]
    return Table(
        tuple(compress(_HEAD, used)),
        tuple(compress(_GAPS, used)),
        tuple(
            (_label(label, width), words, tuple(compress(cells, used)))
            for label, words, cells in rows
        ),
    )


def _label(label: str, width: int) -> str:
    """A label; where there is little room, the end of a long one, with the line."""
    if width >= WIDTH or _columns(label) <= _NARROW_LABEL:
        return label
    return f"...{label[3 - _NARROW_LABEL :]}"


def _lines(trace: Trace, spaces: set[str]) -> Iterator[Line]:
    told = [row for row in trace.lines if row.space in spaces]
    for label, group in groupby(told, lambda row: line_label(row, trace)):
        rows = list(group)
        source = rows[0].source.strip()
        if len(rows) == 1 and rows[0].text in source and rows[0].names_its_array:
            yield label, source, _cells(rows[0])
            continue
        yield label, source, ()
        for row in rows:
            yield "", f"  {row.access}", _cells(row)


def _cells(row: AccessRow) -> Cells:
    return _shared(row) if row.space == "shared" else _global(row)


def _shared(counts: AccessRow | SharedTotals) -> Cells:
    return (*shared_cells(counts), "", "", "")


def _global(counts: AccessRow | GlobalTotals) -> Cells:
    requests, *numbers = global_cells(counts)
    return (requests, "", "", "", *numbers)


def _columned(table: Table, width: int) -> list[str]:
    """The lines of a table with their columns aligned."""
    lines = [("line", "source, access", table.head), *table.rows]
    widths = _widths(table)
    first = max(_columns(label) for label, _, _ in lines)
    room = max(_room(table, width), _SHORTEST_ACCESS if width >= WIDTH else _NARROW_ACCESS)
    second = min(room, max(_columns(words) for _, words, cells in lines if cells))
    return [_aligned(line, first, second, widths, width) for line in lines]


def _widths(table: Table) -> list[int]:
    """Columns that each number takes, with the gap before it."""
    full = [table.head, *(cells for _, _, cells in table.rows if cells)]
    return [gap + max(_columns(cells[i]) for cells in full) for i, gap in enumerate(table.gaps)]


def _room(table: Table, width: int) -> int:
    """Columns that are left for sources and accesses."""
    first = max(len("line"), *(_columns(label) for label, _, _ in table.rows))
    return width - first - 2 - sum(_widths(table))


def _aligned(line: Line, first: int, second: int, widths: list[int], width: int) -> str:
    """Label to the right, words to the left and cut to their room, numbers to the right."""
    label, words, cells = line
    said = " " * (first - _columns(label)) + label + "  "
    if not cells:
        return (said + clipped(words, width - _columns(said))).rstrip()
    words = clipped(words, second)
    said += words + " " * (second - _columns(words))
    for cell, columns in zip(cells, widths, strict=True):
        said += " " * (columns - _columns(cell)) + cell
    return said.rstrip()


def _wrapped(line: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        line,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def clipped(line: str, columns: int) -> str:
    """The line, or its beginning and "..." where it is wider than `columns`.

    >>> clipped("tile[ty, tx] = inp[row, col]", 15)
    'tile[ty, tx]...'
    """
    if _columns(line) <= columns:
        return line
    kept = ""
    for character in line:
        if _columns(kept + character) > columns - 3:
            break
        kept += character
    return kept + "..."


def _columns(line: str) -> int:
    """Columns on a page of fixed pitch: wide characters take two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in line)
    return len(line) + wide - sum(unicodedata.combining(character) > 0 for character in line)


def _number(count: int, noun: str) -> str:
    return named(f"{count:,}", noun)
