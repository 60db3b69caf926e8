"""The as-compiled view of a case, named as the counters that answer its counts.

`trace(...).as_compiled(cc, elf)` runs machine code instruction by instruction: the code that ran on
the GPU, where it was kept, or what is compiled here. Warps whose lanes are all switched off by a
predicate execute an instruction that asks for nothing (`idle`); some counters count them.
"""

from __future__ import annotations

from ...tracing import Trace
from .ncu.counters import COUNTS, ISSUED


def totals(trace: Trace, elf: bytes | None = None, cc: tuple[int, int] = (9, 0)) -> dict[str, int]:
    """The counts of `COUNTS` as the machine code makes them; those not determined are absent.

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
    sums = dict.fromkeys(COUNTS, 0)
    unknown: set[str] = set()
    for row in view.lines:
        kind = row.kind if row.kind in ("load", "store") else "atomic"
        requests = f"{row.space}_{kind}_requests"
        if requests not in sums:  # local memory
            continue
        cost = requests.replace("requests", "wavefronts" if row.space == "shared" else "sectors")
        sums[requests] += row.requests + (row.idle if requests in ISSUED else 0)
        sums[cost] += row.wavefronts if row.space == "shared" else row.sectors
        if row.unknown:
            unknown |= {requests, cost}
    return {count: value for count, value in sums.items() if count not in unknown}
