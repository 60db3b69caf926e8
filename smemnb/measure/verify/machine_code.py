"""The as-compiled view of a case, named as the counters that answer its counts.

`trace(...).as_compiled(cc, elf)` runs machine code instruction by instruction: the code that ran on
the GPU, where it was kept, or what is compiled here. Warps whose lanes are all switched off by a
predicate execute an instruction that asks for nothing (`idle`); some counters count them.

A launch of the set takes seconds on one core, and the set has hundreds: `each` shares them out
among processes. They are started afresh, as one that has a GPU's context must not be forked.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...rules.bank import request_kind
from ...rules.local_memory import tag_requests
from ...tracing import Trace
from ...tracing.as_compiled import MachineRow
from .ncu.counters import COMPARED, COUNTED_WITH, ISSUED

Result = TypeVar("Result")
Read = TypeVar("Read")

FEW = 8
"""So many launches take no longer than processes take to start."""

MOST = 12
"""Processes, each of which needs up to 1 GB."""


def totals(trace: Trace, elf: bytes | None = None, cc: tuple[int, int] = (9, 0)) -> dict[str, int]:
    """The counts of `COMPARED` as the machine code makes them; those not determined are absent.

    Args:
        trace: of the launch.
        elf: the cubin that ran; None compiles the kernel for `cc`.
        cc: compute capability.

    Raises:
        SmemnbError: the compiler libraries are missing, or no count is determined; the text says
            where and why.
    """
    from ...errors import SmemnbError

    view = trace.as_compiled(cc, elf)
    if not view.lines and view.undetermined:
        raise SmemnbError(view.undetermined[0])
    sums = dict.fromkeys(COMPARED, 0)
    unknown: set[str] = set()
    for row in view.lines:
        found = _local_counts(row) if row.space == "local" else _counts(row)
        for name, value in found.items():
            sums[name] += value
        if row.unknown:
            unknown |= set(found)
    return {count: value for count, value in sums.items() if count not in unknown}


def _counts(row: MachineRow) -> dict[str, int]:
    """What an instruction adds to the counts of shared or global memory."""
    kind = row.kind if row.kind in ("load", "store") else "atomic"
    if row.instruction.startswith("LDGSTS"):
        kind = "copy"
    if row.instruction.startswith(("LDSM", "STSM")):
        kind = request_kind(kind, matrices=1)
    requests = f"{row.space}_{kind}_requests"
    executed = row.requests + (row.idle if requests in ISSUED else 0)
    moved = f"{row.space}_{kind}_wavefronts", row.wavefronts
    if row.space != "shared":
        moved = f"{row.space}_{kind}_sectors", row.sectors
    return {COUNTED_WITH.get(name, name): n for name, n in ((requests, executed), moved)}


def _local_counts(row: MachineRow) -> dict[str, int]:
    """What an instruction adds to the counts of local memory."""
    executed = 0 if row.generic else row.requests + row.idle
    return {
        f"local_{row.kind}_instructions": executed,
        f"local_{row.kind}_tag_requests": row.requests * tag_requests(row.width),
        f"local_{row.kind}_sectors": row.sectors,
        "local_spill_instructions": executed if row.spill else 0,
    }


def processes(launches: int, cores: int | None = None) -> int:
    """How many processes to start; 1 stands for this one.

    >>> processes(8, cores=16), processes(213, cores=16), processes(213, cores=2)
    (1, 12, 2)
    """
    cores = cores or os.cpu_count() or 1
    return 1 if launches <= FEW else min(cores, MOST, launches)


def each(
    made: Callable[[str, Read], Result],
    names: Sequence[str],
    read: Sequence[Read],
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """`made(name, what was read)` of every launch, in their order.

    Args:
        made: a function of a module, so that another process finds it.
        names: of the launches.
        read: what belongs to each.
        say: is called with how far it is, now and then.
    """
    pairs = list(zip(names, read, strict=True))
    count = processes(len(pairs))
    if count == 1:
        return [made(*pair) for pair in pairs]
    say(f"{len(pairs)} launches to predict, {count} at once")
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        return pool.starmap(made, pairs, chunksize=1)
