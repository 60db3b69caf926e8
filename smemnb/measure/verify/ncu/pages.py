"""The two pages of Nsight Compute as CSV: counters per launch, and counts per machine instruction.

`launches` reads `ncu --page raw --csv`: a row of names, a row of units, a row per launch.
`listings` reads `ncu --page source --csv`: per launch its kernel's name, a row of names, and a row
per instruction of the machine code, in order. Lines that are not CSV (ncu's own words, output of
the program) may stand between.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from .counters import METRICS

_COLUMNS = {
    "executed": "Instructions Executed",
    "threads": "Predicated-On Thread Instructions Executed",
    "wavefronts": "L1 Wavefronts Shared",
    "requests": "L1 Tag Requests Global",
    "sectors": "L2 Theoretical Sectors Global",
}


@dataclass(frozen=True)
class ProfiledLaunch:
    """Counters of one launch: the kernel's name as profilers show it, values by our names."""

    kernel: str
    counters: dict[str, int]


@dataclass(frozen=True)
class Instruction:
    """One machine instruction over a launch: its place, its text, and what was counted.

    Attributes:
        number: its place in the kernel, from 0; 16 bytes each.
        text: as the disassembler shows it.
        executed: by how many warps.
        threads: lanes that were switched on, summed.
        wavefronts: of shared memory, by patched code.
        requests, sectors: of global memory.
    """

    number: int
    text: str
    executed: int
    threads: int
    wavefronts: int
    requests: int
    sectors: int


@dataclass(frozen=True)
class Listing:
    """The machine code of one launch."""

    kernel: str
    instructions: tuple[Instruction, ...]


def launches(text: str) -> list[ProfiledLaunch]:
    """The launches of a raw page in the order in which they ran."""
    found: list[ProfiledLaunch] = []
    names: list[str] = []
    for row in _rows(text):
        if "Kernel Name" in row and "ID" in row:
            names = row
        elif names and len(row) == len(names) and row[names.index("ID")].strip().isdecimal():
            values = dict(zip(names, row, strict=True))
            counters = {
                name: number
                for name, metric in METRICS.items()
                if (number := _number(values.get(metric, ""))) is not None
            }
            found.append(ProfiledLaunch(values["Kernel Name"], counters))
    return found


def listings(text: str) -> list[Listing]:
    """The instructions of each launch of a source page, in the order in which they ran."""
    found: list[Listing] = []
    kernel = kernel_before = ""
    places: dict[str, int] = {}
    code: list[Instruction] = []
    for row in _rows(text):
        if row[0] in ("Kernel Name", "Function Name") and len(row) > 1:
            kernel = row[1]
        elif "Source" in row and _COLUMNS["executed"] in row:
            if code:
                found.append(Listing(kernel_before, tuple(code)))
            places, code, kernel_before = _places(row), [], kernel
        elif places and len(row) > max(places.values()) and row[places["executed"]].isdecimal():
            numbers = {name: _number(row[places[name]]) or 0 for name in _COLUMNS if name in places}
            numbers = dict.fromkeys(_COLUMNS, 0) | numbers
            code.append(Instruction(len(code), row[places["source"]].strip(), **numbers))
    if code:
        found.append(Listing(kernel_before, tuple(code)))
    return found


def _places(header: list[str]) -> dict[str, int]:
    """Where the columns are; the first of a name that comes twice."""
    wanted = {"source": "Source", **_COLUMNS}
    return {name: header.index(column) for name, column in wanted.items() if column in header}


def _rows(text: str) -> Iterator[list[str]]:
    lines = (line for line in text.splitlines() if line.startswith('"'))
    return (row for row in csv.reader(io.StringIO("\n".join(lines))) if row)


def _number(text: str) -> int | None:
    """A count as ncu writes it: "1,024", "3.00"; None for "n/a" and the like."""
    try:
        return round(float(text.replace(",", "")))
    except ValueError:
        return None
