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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

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
