"""What the warps of a kernel wait for, as Nsight Compute reads it.

    python -m smemnb.measure.stalls KERNEL PROGRAM.py ARGUMENT ...

runs the program on this machine's GPU and prints, of the first launch whose name contains KERNEL,
the reasons for which its warps stood, the largest first. `recorded/h200_ladder_stalls.json` holds
them of the rungs of both ladders; `ladder` reads it.

Each cycle a scheduler looks at its warps. One that can issue its next instruction is *eligible*;
one of the eligible is *selected*; every other warp is counted for the reason of its wait. The
figures are cycles that a warp spends so per instruction that it issues. Their sum is, by Little's
law, the warps of a scheduler over the instructions that it issues per cycle.

**Limits**: averages over all warps and the whole launch. A wait that another warp's work covers
costs no time, so a reason says what warps wait for, and not yet that the kernel is slow by it:
`issue`, the share of cycles with an instruction, tells whether anything is lost.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from textwrap import fill
from typing import Any, Final

from ..errors import SmemnbError
from .verify.ncu.profiling import profiler

__all__ = ["REASONS", "Waits", "account", "ladder", "ladder_source", "launches", "printed"]

FILE = "h200_ladder_stalls.json"
REASONS: Final = {
    "long_scoreboard": "a load from global or local memory",
    "short_scoreboard": "a load from shared memory, or a slow unit of arithmetic",
    "mio_throttle": "a place in the queue to shared memory and the slow units",
    "lg_throttle": "a place in the queue to global and local memory",
    "barrier": "the other warps of the block, at a barrier",
    "membar": "stores that others are to see first, at a fence",
    "wait": "the fixed time of the instruction before",
    "math_pipe_throttle": "a unit of arithmetic that other warps keep busy",
    "dispatch_stall": "the dispatcher, which was held up",
    "branch_resolving": "the target of a branch",
    "no_instruction": "its instructions, which were not in the cache",
    "imc_miss": "a constant that was not in its cache",
    "drain": "stores that have to leave before the warp may end",
    "tex_throttle": "a place in the queue to the texture unit",
    "sleeping": "the end of a nap that it asked for",
    "gmma": "a matrix product of its warp group",
    "warpgroup_arrive": "the other warps of its warp group",
    "misc": "something else",
    "not_selected": "nothing: it could go on, and another warp was taken",
    "selected": "nothing: it issued",
}
"""Stall reason of Nsight Compute -> what a warp counted for it waits for."""
IDLE: Final = frozenset({"selected", "not_selected"})
"""Reasons of warps that could go on."""

_STALL = re.compile(r"^smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio$")
FURTHER: Final = {
    "issue": "smsp__issue_active.avg.per_cycle_active",
    "warps": "smsp__warps_active.avg.per_cycle_active",
    "eligible": "smsp__warps_eligible.avg.per_cycle_active",
    "instructions": "smsp__inst_executed.sum",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "branch_uniformity": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "branches": "smsp__sass_branch_targets.sum",
    "branches_divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "branches_uniform": "smsp__sass_branch_targets_threads_uniform.sum",
    "duration_ns": "gpu__time_duration.sum",
}
"""What else is kept, here -> its name in Nsight Compute."""
SECTIONS: Final = ("WarpStateStats", "SchedulerStats", "SourceCounters")


@dataclass(frozen=True)
class Waits:
    """Of one launch, per scheduler.

    Attributes:
        issue: share of cycles in which an instruction was issued.
        warps: resident, on average.
        eligible: of them, able to issue, on average.
        stalls: reason -> cycles that a warp spends so per instruction that it issues.
        further: what else was read, by the names of `FURTHER`.
    """

    issue: float
    warps: float
    eligible: float
    stalls: dict[str, float]
    further: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, read: Mapping[str, float]) -> Waits:
        """From figures named as in the recorded files: `stall_X`, `issue`, ..."""
        found = {name.removeprefix("stall_"): read[name] for name in read if "stall_" in name}
        # `dispatch_stall` begins without the word
        stalls = {name: value for name, value in found.items() if f"stall_{name}" in read}
        rest = {name: read[name] for name in read if name.removeprefix("stall_") == name}
        own = {name: rest.pop(name) for name in ("issue", "warps", "eligible")}
        return cls(**own, stalls=stalls, further=rest)

    @property
    def largest(self) -> list[tuple[str, float]]:
        """Reasons for which warps stand, the largest first; without those that could go on."""
        standing = [(name, each) for name, each in self.stalls.items() if name not in IDLE]
        return sorted(standing, key=lambda pair: -pair[1])


@cache
def ladder() -> dict[str, Waits]:
    """The recorded rungs, by name.

    >>> ladder()["matmul_naive"].largest[0]
    ('math_pipe_throttle', 8.53)
    """
    return {name: Waits.of(read) for name, read in _file()["rungs"].items()}


def ladder_source() -> str:
    """Where they were read.

    >>> ladder_source()
    'measured (NVIDIA H200)'
    """
    return f"measured ({_file()['gpu'].split(',')[0]})"


def _file() -> dict[str, Any]:
    text = (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def account(waits: Waits, most: int = 4) -> str:
    """The largest waits in words, a line each, below the share of cycles that issue."""
    rows = [
        f"issues in {waits.issue:.0%} of cycles",
        f"{waits.warps:.1f} warps per scheduler, {waits.eligible:.1f} of them able to go on",
    ]
    for name, each in waits.largest[:most]:
        row = f"{each:6.2f} cycles  {name:18} {REASONS.get(name, 'not known here')}"
        rows.append(fill(row, 72, subsequent_indent=" " * 34))
    return "\n".join(rows)


def printed(command: Sequence[str], kernels: str) -> str:
    """What ncu prints of the launches of a program whose kernels' names match an expression.

    Raises:
        SmemnbError: `ncu` is missing, was forbidden to read counters, or saw no such launch.
    """
    tool = profiler()
    sections = [word for name in SECTIONS for word in ("--section", name)]
    metrics = ["--metrics", ",".join(FURTHER.values())]
    said: list[str] = []
    for asked in ([*sections, *metrics], sections, sections[:2]):
        options = ["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        line = [tool, *options, *asked, "-k", f"regex:{kernels}", *command]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode == 0 and '\n"0",' in done.stdout:
            return done.stdout
        said = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
    raise SmemnbError(f"ncu read nothing of {kernels}: {said[-1]}")


def launches(text: str) -> dict[str, dict[str, float]]:
    """What `printed` printed: kernel -> its figures, named as in the recorded files.

    Of several launches of one kernel the first counts.
    """
    rows = [line for line in text.splitlines() if line.startswith('"')]
    names, _, *values = list(csv.reader(rows))
    found: dict[str, dict[str, float]] = {}
    for row in values:
        one = dict(zip(names, row, strict=True))
        found.setdefault(one["Kernel Name"], _figures(one))
    return found


def _figures(row: Mapping[str, str]) -> dict[str, float]:
    read: dict[str, float] = {}
    for metric, value in row.items():
        match = _STALL.search(metric)
        if match and not match[1].endswith("_not_issued") and _number(value) is not None:
            read[f"stall_{match[1]}"] = float(value.replace(",", ""))
    for name, metric in FURTHER.items():
        number = _number(row.get(metric, ""))
        if number is not None:
            read[name] = number
    return read


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """The command: KERNEL, then a program of Python with its arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) < 2:
        print("python -m smemnb.measure.stalls KERNEL PROGRAM.py ARGUMENT ...", file=sys.stderr)
        return 2
    try:
        found = launches(printed([sys.executable, *words[1:]], re.escape(words[0])))
    except SmemnbError as error:
        print(error, file=sys.stderr)
        return 1
    for name, read in found.items():
        print(name)
        print(account(Waits.of(read)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
