"""The as-compiled view as text: per source line, what its accesses became."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..as_compiled import AsCompiled, MachineRow


def text(view: AsCompiled) -> str:
    """The view: launch, totals, then a row per line and kind of access."""
    from ...compiled.lines import short_name

    rows = [f"{view.launch} as compiled for cc {view.cc[0]}.{view.cc[1]} (model)"]
    rows += [f"  {name}: {_number(value)}" for name, value in view.counters.items() if value != 0]
    by_line: dict[tuple[int, str], list[MachineRow]] = defaultdict(list)
    for row in view.lines:
        by_line[row.line, row.counted_as].append(row)
    for (line, what), some in by_line.items():
        names: dict[str, int] = defaultdict(int)
        for row in some:
            names[short_name(row.instruction)] += 1
        became = " and ".join(f"{count} {name}" for name, count in names.items())
        rows.append(f"  line {line or '-'}: {some[0].source}")
        rows.append(f"    {_words(what)}: {became}: {_unit(some)}")
    rows += [
        f"  not determined: {said.removeprefix('not determined: ')}" for said in view.undetermined
    ]
    return "\n".join(rows)


def _number(value: int | None) -> str:
    return "not determined" if value is None else f"{value:,}"


def _words(what: str) -> str:
    return what.replace("_", " ")


def _unit(rows: list[MachineRow]) -> str:
    requests = sum(row.requests for row in rows)
    said = f"{requests:,} requests"
    if rows[0].space == "shared":
        return f"{said}, {sum(row.wavefronts for row in rows):,} wavefronts"
    if rows[0].space == "global":
        return f"{said}, {sum(row.sectors for row in rows):,} sectors"
    return said
