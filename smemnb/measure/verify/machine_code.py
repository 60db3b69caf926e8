"""What the machine code of a case does to memory: the as-compiled view, named as the counters.

The code (the cubin that ran, or one compiled here) is run by `smemnb.compiled.warps`, instruction
by instruction. Warps whose lanes are all switched off by a predicate execute an instruction that
asks for nothing; they are told apart as `idle`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from .case import Case, Extent
from .ncu.counters import COUNTS, ISSUED


@dataclass(frozen=True)
class Row:
    """One memory instruction in one memory, over a launch.

    Attributes:
        file, line: of the kernel; of inlined code, the line that calls it.
        number: its place in the machine code, from 0.
        name: such as "LDS.128".
        space, kind: "shared" or "global"; "load", "store" or "atomic".
        executed: by how many warps with a lane switched on; `idle` by how many without.
        cost: wavefronts of shared memory, sectors of global memory.
    """

    file: str
    line: int
    number: int
    name: str
    space: str
    kind: str
    executed: int
    idle: int
    cost: int


def rows(case: Case, elf: bytes) -> tuple[Row, ...]:
    """The memory instructions of a case's machine code, as its launch executes them.

    Raises:
        SmemnbError: the code cannot be run here; the text says where and why.
    """
    from ...compiled.warps.run import Launch, run

    args = case.arguments()
    types = tuple(case.kernel.typeof_pyval(value) for value in args)
    launch = Launch(elf, _three(case.grid), _three(case.block), case.shared_bytes, args, types)
    return tuple(
        _row(site, space, found)
        for site in run(launch).sites
        for space, found in site.counts.items()
        if space in ("shared", "global")
    )


def totals(found: Sequence[Row]) -> dict[str, int]:
    """The counts of `COUNTS` over the launch, as their counters count."""
    sums = dict.fromkeys(COUNTS, 0)
    for row in found:
        unit = "wavefronts" if row.space == "shared" else "sectors"
        requests = f"{row.space}_{row.kind}_requests"
        sums[requests] += row.executed + (row.idle if requests in ISSUED else 0)
        sums[f"{row.space}_{row.kind}_{unit}"] += row.cost
    return sums


def _row(site: Any, space: str, found: dict[str, int]) -> Row:
    places = site.located.places
    file, line = (PurePath(places[-1].file).name, places[-1].line) if places else ("", 0)
    kind = site.kind if site.kind in ("load", "store") else "atomic"
    return Row(
        file=file,
        line=line,
        number=site.located.address // 16,
        name=site.located.name,
        space=space,
        kind=kind,
        executed=found.get("executed", 0),
        idle=found.get("idle", 0),
        cost=found.get("wavefronts" if space == "shared" else "sectors", 0),
    )


def _three(extent: Extent) -> tuple[int, int, int]:
    x, y, z = (*extent, 1, 1)[:3]
    return x, y, z
