"""What compute-sanitizer wrote, as data: each report with its tool's words and its source lines.

    ========= Error: Race reported between Write access at kernel(...)+0x90 in a.py:11
    =========     and Read access at kernel(...)+0x120 in a.py:13 [248 hazards]

    ========= Invalid __global__ read of size 4 bytes
    =========     at kernel(...)+0x70 in a.py:11
    =========     by thread (31,0,0) in block (0,0,0)

Lines are those of kernels compiled with `lineinfo=True`; without it they are 0. Equal reports of
many threads are one `Report` with their number. The order of the two lines of a race says nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..errors import SmemnbError
from .rows import head, row
from .sanitizer import TOOLS

if TYPE_CHECKING:
    from ..tracing import Finding, Trace

Place = tuple[str, int]
MISSING = (
    "`compute-sanitizer` is not on the PATH; it comes with the CUDA toolkit, and from conda as"
    " cuda-sanitizer-api"
)

_MARK = "========="
_SPOT = re.compile(
    r"\bat (?P<kernel>.+?)\+0x(?P<offset>[0-9a-f]+)(?: in (?P<file>.+?):(?P<line>\d+))?(?=\s|$)"
)
_RACE = re.compile(r"(?:(?P<severity>\w+): )?Race reported between (?P<first>\w+) access")
_OTHER = re.compile(r"^\s*and (?P<second>\w+) access")
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_HEADS = (
    "Invalid ",
    "Uninitialized ",
    "Barrier error",
    "Misaligned ",
    "Out-of-range",
    "Divergent ",
)


@dataclass(frozen=True)
class Spot:
    """A place: the kernel's name as the tool shows it, file name and line (0 if unknown).

    `offset` is where the instruction stands in the machine code, in bytes.
    """

    kernel: str
    file: str = ""
    line: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Report:
    """One thing that a tool found.

    Attributes:
        said: the tool's words, or for a race the two accesses: "Write, Read".
        severity: "error", "warning" or "info".
        spots: one place, or the two of a race in the tool's order.
        count: hazards of a race, threads of anything else.
    """

    said: str
    severity: str
    spots: tuple[Spot, ...]
    count: int = 1

    @property
    def pair(self) -> tuple[int, int]:
        """Its lines, the smaller one first; twice the same for one place."""
        lines = sorted(spot.line for spot in self.spots)
        return lines[0], lines[-1]


def reports(text: str) -> tuple[Report, ...]:
    """Everything in the output of one tool, in order; equal reports are added up."""
    found: dict[Report, int] = {}
    for one in _reports(text):
        key = replace(one, count=0)
        found[key] = found.get(key, 0) + one.count
    return tuple(replace(one, count=count) for one, count in found.items())


def _reports(text: str) -> Iterator[Report]:
    lines = [line[len(_MARK) :].strip() for line in text.splitlines() if line.startswith(_MARK)]
    first: tuple[Spot, str, str] | None = None
    waiting = ""
    for line in lines:
        race, other, spot = _RACE.search(line), _OTHER.match(line), _SPOT.search(line)
        if race and spot:
            severity = _severity(race["severity"] or "Error")
            first, waiting = (_spot(spot), race["first"], severity), ""
        elif other and spot and first:
            hazards = _HAZARDS.search(line)
            pair = f"{first[1]}, {other['second']}"
            count = int(hazards[1]) if hazards else 1
            yield Report(pair, first[2], (first[0], _spot(spot)), count)
        elif line.removeprefix("Error: ").startswith(_HEADS):
            waiting, first = line.removeprefix("Error: "), None
            if spot:
                yield Report(waiting[: spot.start()].strip(), "error", (_spot(spot),))
                waiting = ""
        elif waiting and spot:
            yield Report(waiting, "error", (_spot(spot),))
            waiting = ""


def _severity(word: str) -> str:
    return {"error": "error", "warning": "warning", "warn": "warning"}.get(word.lower(), "info")


def _spot(found: re.Match[str]) -> Spot:
    file, line = found["file"] or "", int(found["line"] or 0)
    return Spot(found["kernel"], PurePath(file).name, line, int(found["offset"], 16))


def found_by(command: Sequence[str], into: Path) -> dict[str, tuple[Report, ...]]:
    """What each of the four tools reports of a program that launches kernels.

    `into` is a folder for what the tools write: TOOL.log.

    Raises:
        SmemnbError: compute-sanitizer is missing, or the program failed by itself.
    """
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        raise SmemnbError(MISSING)
    found = {}
    for name in TOOLS:
        more = ["--racecheck-detect-level", "info"] if name == "racecheck" else []
        done = subprocess.run(
            [tool, "--tool", name, *more, *command], capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        (into / f"{name}.log").write_text(said, encoding="utf-8")
        found[name] = reports(said)
        if done.returncode and not found[name]:
            last = (said.strip().splitlines() or ["no output"])[-1]
            raise SmemnbError(f"under {name} the program failed by itself: {last}")
    return found


def table(
    ours: Iterable[Trace], found: Mapping[str, tuple[Report, ...]], calls: Mapping[str, set[Place]]
) -> str:
    """The lines of `table_lines` as one text."""
    return "\n".join(table_lines(ours, found, calls))


def table_lines(
    ours: Iterable[Trace], found: Mapping[str, tuple[Report, ...]], calls: Mapping[str, set[Place]]
) -> list[str]:
    """Both sides, by lines of the kernel: what the tools report, and what we find.

    Args:
        ours: the traces of the launches.
        found: reports by tool.
        calls: the kernel's lines that reach each device function, as profilers show it.
    """
    rows: dict[tuple[int, int], tuple[list[str], list[str]]] = {}
    for name, some in found.items():
        for one in some:
            number = f" ({one.count:,})" if one.count > 1 else ""
            rows.setdefault(one.pair, ([], []))[0].append(f"{name}: {one.said}{number}")
    for trace in ours:
        for finding in trace.all_findings:
            if finding.price:
                continue
            mine = rows.setdefault(_lines(finding, calls), ([], []))[1]
            said = f"{finding.severity}, {finding.kind.replace('_', ' ')}"
            if said not in mine:
                mine.append(said)
    if not rows:
        return [f"no finding: {', '.join(found)}, and none of ours"]
    lines: list[str] = [head(f"{'lines':<12}", f"{'compute-sanitizer':<56}", "smemnb")]
    for (first, last), (theirs, mine) in sorted(rows.items()):
        where = f"{first}" if first == last else f"{first}, {last}"
        beside = zip_longest(theirs or ["nothing"], mine or ["nothing"], fillvalue="")
        for their, my in beside:
            lines.append(row(f"{where:<12}", f"{their:<56}", my))
            where = ""
    return lines


def _lines(finding: Finding, calls: Mapping[str, set[Place]]) -> tuple[int, int]:
    """The lines of a finding in the kernel: of a device function, the first that calls it."""
    other = finding.other_function or finding.function, finding.other_line or finding.line
    both = sorted(
        min(line for _, line in calls[function]) if function in calls else line
        for function, line in ((finding.function, finding.line), other)
    )
    return both[0], both[-1]
