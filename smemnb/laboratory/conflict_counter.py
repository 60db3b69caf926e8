"""The counter of bank conflicts on a kernel that has none: `h200_conflict_counter.json`.

    python -m smemnb.laboratory.conflict_counter FILE

launches `transpose_padded` (1024 x 1024) under Nsight Compute several times, on a GPU, and keeps
what three counters of its shared loads say. Warps that compete for the pipe are counted by the
hardware's own counters, so the count of conflicts is not 0 and differs from launch to launch; the
counter that patched code adds up is the same each time.

**Limits**: one kernel, one chip. Other launches lose other numbers of passes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from ..errors import SmemnbError
from ..measure import nsight

__all__ = ["METRICS", "Counted", "clean_kernel", "record", "source"]

FILE = "h200_conflict_counter.json"
KERNEL = "transpose_padded"
LAUNCHES = 10
METRICS: Final = {
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "hardware": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "patched": nsight.METRICS["shared_load_wavefronts"],
}
"""Field of `Counted` -> the counter's name in Nsight Compute."""


@dataclass(frozen=True)
class Counted:
    """One launch: its bank conflicts, its wavefronts by the hardware and by patched code."""

    conflicts: int
    hardware: int
    patched: int


@cache
def clean_kernel() -> tuple[Counted, ...]:
    """The recorded launches, all of the same kernel and arguments.

    >>> {one.patched for one in clean_kernel()}
    {32768}
    """
    return tuple(Counted(**one) for one in _file()["launches"])


def source() -> str:
    """Where the counters were read.

    >>> source()
    'measured (NVIDIA H200)'
    """
    return f"measured ({_file()['gpu']})"


def record(path: Path) -> None:
    """Read the counters on this machine's GPU and write the file.

    Raises:
        SmemnbError: `ncu` is missing, or was forbidden to read counters; nothing is written.
    """
    from ..measure.verify.recording import machine

    command = [sys.executable, "-m", "smemnb.measure.readings", "launch", KERNEL]
    launches = [nsight.counters(command, KERNEL, METRICS) for _ in range(LAUNCHES)]
    whole = {
        **machine(),
        "command": "python -m smemnb.laboratory.conflict_counter FILE",
        "kernel": f"{KERNEL}, 1024 x 1024",
        "metrics": METRICS,
        "launches": launches,
    }
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    for one in launches:
        print("  ".join(f"{name} {count:,}" for name, count in one.items()), flush=True)


def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m smemnb.laboratory.conflict_counter FILE")
    try:
        record(Path(sys.argv[1]))
    except SmemnbError as error:
        sys.exit(str(error))
