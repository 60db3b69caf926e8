"""The as-compiled view as text: per source line, what its accesses became."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..as_compiled import AsCompiled, MachineRow

UNITS = {"shared": "wavefront", "global": "sector", "local": "sector"}


def text(view: AsCompiled) -> str:
    """The view: the launch, a line per source line and kind of access, then the totals."""
    rows = [heading(view)]
    last = -1
    for line, some in groups(view):
        if line != last:
            rows.append(f"{line:5}  {some[0].source}" if line else "    -  line not determined")
        last = line
        rows.append(f"         {became(view, some)}")
    rows += ["totals", *(f"  {one}" for one in totals(view)), *undetermined(view)]
    return "\n".join(row for row in rows if row.strip())


def heading(view: AsCompiled) -> str:
    """The launch, what it was compiled for, and what a thread and a block need."""
    return (
        f"{view.launch} as compiled for cc {view.cc[0]}.{view.cc[1]} (model):"
        f" {view.registers} registers, {view.shared_bytes:,} bytes of shared memory,"
        f" {view.local_bytes:,} of local memory per thread"
    )


def groups(view: AsCompiled) -> list[tuple[int, list[MachineRow]]]:
    """The instructions of one line and one kind of access, with the line, in the view's order."""
    found: dict[tuple[int, str, bool], list[MachineRow]] = {}
    for row in view.lines:
        found.setdefault((row.line, row.counted_as, row.spill), []).append(row)
    return [(line, rows) for (line, *_), rows in found.items()]


def totals(view: AsCompiled) -> list[str]:
    """The totals that are not 0, one each."""
    return list(filter(None, (_total(view, name) for name in view.counters)))


def undetermined(view: AsCompiled) -> list[str]:
    """What is not determined, one each."""
    said = [one.removeprefix("not determined: ") for one in view.undetermined]
    return [f"not determined: {one}" for one in said]


def became(view: AsCompiled, rows: list[MachineRow]) -> str:
    """What became of the accesses of one kind in one line, each time that it is executed."""
    from ...compiled.lines import short_name

    first = rows[0]
    names = Counter(short_name(row.instruction) for row in rows)
    became = _listed([f"{count} {name}" for name, count in names.items()])
    if first.spill:
        became += ", spilled registers"
    asked, unit = _asked(view, first), UNITS[first.space]
    spent = sum(getattr(row, f"{unit}s") for row in rows)
    times = {row.requests for row in rows}
    if any(row.unknown for row in rows):
        return f"{became}: not determined"
    if asked and len(times) == 1 and (each := times.pop()) and not asked % each | spent % each:
        what = _plural(asked // each, first.counted_as.replace("_", " "))
        often = "once" if each == 1 else f"{each:,} times"
        verb = "is" if asked == each else "became"
        return f"{what} {verb} {became}: {_plural(spent // each, unit)}, {often}"
    of = f" ({asked:,} in the source)" if asked else ""
    requests = sum(row.requests for row in rows)
    return f"{became}: {_plural(requests, 'request')}{of}, {_plural(spent, unit)}"


def _asked(view: AsCompiled, first: MachineRow) -> int:
    """Requests of this kind that the source line makes; 0 where the trace has none for it."""
    if view.source is None or not first.line:
        return 0
    kinds = {"shared_atomic": "atomic", "global_atomic": "atomic", "global_reduction": "atomic"}
    kind = kinds.get(first.counted_as, first.kind)
    return sum(
        row.requests
        for row in view.source.line(first.line, view.launch.kernel)
        if row.space == first.space and row.kind.split("_")[0] == kind
    )


def _total(view: AsCompiled, name: str) -> str:
    value = view.counters[name]
    if value == 0:
        return ""
    return f"{name.replace('_', ' ')}: " + ("not determined" if value is None else f"{value:,}")


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
