"""Nsight Compute over a set of cases: a few processes for all of them, and what came of each.

    profile(CASES, folder, seconds=170)

leaves in the folder, per batch, what ncu printed (`raw.csv`, `source.csv`), the journal of the
launches and the machine code that ran; `collected` reads it back. The first few cases show whether
the table per instruction and all counters can be had; what stays unread is named.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....errors import SmemnbError
from ..case import Case
from .counters import COPIES, ESSENTIAL, FURTHER, METRICS
from .launching import read_journal
from .pages import Instruction, launches, listings

PROBE, BATCH = 3, 45
FORBIDDEN = "ERR_NVGPUCTRPERM"
WHERE_FORBIDDEN = (
    "the driver forbids counters to ordinary users. As root: run the command with sudo, or allow"
    " them to all by a file /etc/modprobe.d/nvidia-counters.conf with the line `options nvidia"
    " NVreg_RestrictProfilingToAdminUsers=0`, then restart; in a container, add CAP_SYS_ADMIN"
    " (docker run --cap-add=SYS_ADMIN)"
)
WHERE_MISSING = (
    "Nsight Compute's command `ncu` is not on the PATH. It comes with the CUDA toolkit, or alone"
    " from developer.nvidia.com/nsight-compute; conda has it as nsight-compute"
)
_ALL, _FEW = ",".join(METRICS.values()), ",".join(ESSENTIAL.values())
_USUAL = ",".join((ESSENTIAL | FURTHER).values())
_COPIES = ",".join((ESSENTIAL | FURTHER | COPIES).values())
_PER_INSTRUCTION = (
    "inst_executed,thread_inst_executed_true,memory_l1_wavefronts_shared,"
    "memory_l1_tag_requests_global,memory_l2_theoretical_sectors_global"
)
WAYS = (
    ("--metrics", _ALL, "--section", "SourceCounters"),
    ("--metrics", _COPIES, "--section", "SourceCounters"),
    ("--metrics", _USUAL, "--section", "SourceCounters"),
    ("--metrics", f"{_USUAL},{_PER_INSTRUCTION}"),
    ("--metrics", _USUAL),
    ("--metrics", _FEW),
)
"""What ncu is asked for, the most first; the first four give the table per instruction."""
TABLES = 4


@dataclass(frozen=True)
class Read:
    """What the profiler read of one case.

    `cubin` is the file of its machine code; `instructions` is empty where no table was read.
    """

    counters: dict[str, int]
    instructions: tuple[Instruction, ...] = ()
    cubin: Path | None = None


def profiler() -> str:
    """Where `ncu` is.

    Raises:
        SmemnbError: it is missing; the text says what to do.
    """
    tool = shutil.which("ncu")
    if tool is None:
        raise SmemnbError(WHERE_MISSING)
    return tool


def command(first: int, last: int, folder: Path) -> list[str]:
    """The process that launches the cases from `first` up to `last` of the set."""
    module = [sys.executable, "-m", "smemnb.laboratory", "launch"]
    return [*module, "--cases", f"{first}:{last}", "--into", str(folder)]


def only(numbers: Sequence[int]) -> Callable[[int, int, Path], list[str]]:
    """As `command`, for some cases of the set: the first of them is number 0."""

    def some(first: int, last: int, folder: Path) -> list[str]:
        words = ",".join(map(str, numbers[first:last]))
        module = [sys.executable, "-m", "smemnb.laboratory", "launch"]
        return [*module, "--cases", words, "--into", str(folder)]

    return some


def profile(
    cases: Sequence[Case],
    folder: Path,
    *,
    seconds: float = 600,
    say: Callable[[str], None] = lambda line: None,
    launcher: Callable[[int, int, Path], list[str]] = command,
) -> None:
    """Run all cases under ncu, a batch at a time, until the seconds are over.

    Raises:
        SmemnbError: ncu is missing or may not read counters, or the first batch gave nothing.
    """
    tool, began, way, first, size = profiler(), time.monotonic(), 0, 0, PROBE
    while first < len(cases):
        spent = time.monotonic() - began
        if first:  # as many as there is time for, by those before
            size = min(BATCH, int((seconds - spent) * first / spent * 0.8))
        if size < 1 or spent > seconds:
            say(f"cases {first} to {len(cases) - 1}: not read, the time is over")
            return
        last, into = min(first + size, len(cases)), folder / f"{first:03d}"
        into.mkdir(parents=True, exist_ok=True)
        said = _batch(tool, WAYS[way], launcher(first, last, into), into, seconds - spent)
        read = len(launches(_text(into / "raw.csv")))
        table = len(listings(_text(into / "source.csv")))
        spent = time.monotonic() - began
        say(f"cases {first} to {last - 1}: {read} read, {table} tables, {spent:.0f} s {said}")
        if first or (read and (table or way >= TABLES)):
            first = last
        elif way + 1 < len(WAYS):  # the first few cases show what can be had
            way += 1
            shutil.rmtree(into)
        elif not read:
            raise SmemnbError(f"ncu read no counters: {said or 'no output'}")


def _batch(
    tool: str, way: Sequence[str], launched: Sequence[str], into: Path, seconds: float
) -> str:
    """One process under ncu, and its report printed as two pages; what went wrong, or "".

    Raises:
        SmemnbError: the driver forbids counters.
    """
    report = into / "report"
    options = ["--force-overwrite", "-o", str(report), "--clock-control", "none"]
    options += ["--cache-control", "none", *way]
    try:
        done = _run([tool, *options, *launched], timeout=seconds)
    except subprocess.TimeoutExpired:
        return "stopped: the time is over"
    said = done.stdout + done.stderr
    (into / "ncu.log").write_text(said, encoding="utf-8")
    if FORBIDDEN in said:
        raise SmemnbError(f"ncu: {WHERE_FORBIDDEN}")
    shown = [tool, "--import", f"{report}.ncu-rep", "--csv", "--page"]
    raw = _run([*shown, "raw", "--print-units", "base"]).stdout
    (into / "raw.csv").write_text(raw, encoding="utf-8")
    if way in WAYS[:TABLES]:
        source = _run([*shown, "source", "--print-source", "sass"]).stdout
        if not listings(source):
            source = _run([*shown, "source"]).stdout
        (into / "source.csv").write_text(source, encoding="utf-8")
    wrong = [line for line in said.splitlines() if line.startswith("==ERROR==")]
    return wrong[0] if wrong else ""


def _run(command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=timeout
    )


def collected(folder: Path) -> tuple[dict[str, Read], dict[str, str]]:
    """What was read of each case, and of which cases nothing, with the reason."""
    found: dict[str, Read] = {}
    missing: dict[str, str] = {}
    for into in sorted(path for path in folder.iterdir() if path.is_dir()):
        seen = launches(_text(into / "raw.csv"))
        code = listings(_text(into / "source.csv"))
        with_code = len(code) == len(seen)
        at = 0
        for name, said in read_journal(into / "journal.jsonl").items():
            if said["state"] != "launched":
                missing[name] = said.get("error", "the process ended in this launch")
                continue
            while at < len(seen) and said["kernel"] not in seen[at].kernel:
                at += 1  # a launch that failed while it ran was seen as well
            if at == len(seen):
                missing[name] = "the profiler saw no such launch"
                continue
            cubin = into / "cubins" / str(said["cubin"]) if said.get("cubin") else None
            lines = code[at].instructions if with_code else ()
            found[name] = Read(seen[at].counters, lines, cubin)
            at += 1
    return found, missing


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
