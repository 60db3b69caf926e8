"""The recorded file: counters of every case on one GPU, with where and when they were read.

    live(cases)    on a GPU: read counters now, and keep nothing
    load()         the file that is shipped, `recorded/h200_agreement.json`

`smemnb.laboratory.agreement` makes that file.

Of the machine code only what touches shared, global or local memory is kept, summed by source line
and instruction: what warps executed, wavefronts, requests, sectors.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from ...compiled.image import spills
from ...compiled.listing import Located, listing
from ...compiled.toolchain import available, cubin
from ...compiled.warps.flow import STEP
from ...errors import SmemnbError
from ...tracing import Trace
from ..bench import provenance
from .case import Case
from .machine_code import each, totals
from .ncu.counters import METRICS, TABLED
from .ncu.pages import Instruction
from .ncu.profiling import Read, collected, command, profile
from .predicted import traced

SCHEMA = "smemnb.agreement/1"
SHIPPED = "h200_agreement.json"
COMMAND = "python -m smemnb.laboratory record --out FILE"
TOUCHED, SPILLED, *MATRICES = TABLED
_ATOMICS = ("ATOMG", "RED", "REDG", "ATOM")
_MEMORY = (
    *("LDS", "STS", "ATOMS", "LDSM", "STSM", "LDL", "STL"),
    *("LDG", "STG", "ATOMG", "RED", "REDG", "LD", "ST", "ATOM", "LDGSTS"),
)


@dataclass(frozen=True)
class Measured:
    """What the instructions of one name on one source line did over a launch.

    Attributes:
        file, line: of the source; "" and 0 where the machine code has no line.
        name: of the instructions, such as "LDS.128".
        instructions: how many there are in the machine code.
        executed: by how many warps, all of them together; of `threads` lanes.
        wavefronts: of shared memory, by patched code.
        requests, sectors: of global memory.
    """

    file: str
    line: int
    name: str
    instructions: int
    executed: int
    threads: int
    wavefronts: int
    requests: int
    sectors: int


@dataclass(frozen=True)
class Recorded:
    """One case: counters by the names of `METRICS`, and the table per line where it was read.

    `compiled` holds the counts that the as-compiled view of the trace predicts for the very machine
    code that ran (`code` is the SHA-256 of its instructions as text); None where it was not
    computed, for the reason that `stopped` gives.
    """

    counters: dict[str, int]
    lines: tuple[Measured, ...] = ()
    code: str = ""
    compiled: dict[str, int] | None = None
    stopped: str = ""


@dataclass(frozen=True)
class Recording:
    """The file: GPU, driver, versions, date and command; the cases; why others are missing."""

    origin: dict[str, Any]
    cases: dict[str, Recorded]
    missing: dict[str, str]


def live(
    cases: Sequence[Case],
    launcher: Callable[[int, int, Path], list[str]] = command,
    *,
    named: Callable[[str], Case] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Recording:
    """Profile these cases on this machine's GPU, and keep nothing.

    `named` finds a case by its name, also in another process; with it, processes share the work
    of running the machine code. A kernel of the user's means nothing to another process.

    `launcher` names the process that launches the cases from one number up to another, and writes
    journal and machine code into a folder, as `launching.launch_all` does.

    Raises:
        SmemnbError: ncu is missing, may not read counters, or saw nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        profile(cases, Path(folder), say=say, launcher=launcher)
        read, missing = collected(Path(folder))
        known = {case.name: case for case in cases}
        if named is not None:
            every = each(partial(recorded_by_name, named), list(read), list(read.values()), say)
        else:
            every = [recorded(known[name], found) for name, found in read.items()]
        made = dict(zip(read, every, strict=True))
    return Recording({**machine(), "command": "smemnb verify"}, made, missing)


def recorded_by_name(named: Callable[[str], Case], name: str, read: Read) -> Recorded:
    """The case that `named` finds, as it is kept."""
    return recorded(named(name), read)


def recorded(case: Case, read: Read) -> Recorded:
    """One case as it is kept; what needs a disassembler is left out where there is none."""
    trace = traced(case)
    elf = _machine_code(case, trace, read)
    code: tuple[Located, ...] = ()
    compiled, stopped = None, "the machine code that ran was not kept, and other code is made here"
    try:
        code = listing(elf) if elf else ()
        if elf:
            compiled, stopped = totals(trace, elf), ""
    except SmemnbError as error:
        stopped = str(error)
    places = [_place(one.places) for one in code]
    lines = summed(read.instructions, places)
    counters = dict(read.counters)
    if read.instructions:
        counters[TOUCHED] = _touched(lines)
        for count, instruction in zip(MATRICES, ("LDSM", "STSM"), strict=True):
            named = [row for row in lines if row.name.split(".")[0] == instruction]
            counters[count] = sum(row.executed for row in named)
    if read.instructions and elf:
        marked = spills(elf)
        counters[SPILLED] = sum(
            one.executed for one in read.instructions if one.number * STEP in marked
        )
    return Recorded(counters, lines, digest(code), compiled, stopped)


def _touched(lines: Iterable[Measured]) -> int:
    """Sectors that atomics of global memory touched, by the table per instruction."""
    return sum(row.sectors for row in lines if row.name.split(".")[0] in _ATOMICS)


def _machine_code(case: Case, trace: Trace, read: Read) -> bytes:
    """The cubin that ran: as it was kept, or compiled here if every instruction is the same."""
    if read.cubin is not None and read.cubin.is_file():
        return read.cubin.read_bytes()
    if trace.relaunch is None or not read.instructions or not available():
        return b""
    elf = cubin(case.kernel, trace.relaunch.types(), lineinfo=True)
    made = [one.name for one in listing(elf)]
    return elf if made == [_name(one.text) for one in read.instructions] else b""


def digest(code: Sequence[Located]) -> str:
    """SHA-256 of the instructions as text, which paths and names in a cubin do not change."""
    return hashlib.sha256("\n".join(one.text for one in code).encode()).hexdigest()


def summed(
    code: Iterable[Instruction], places: Sequence[tuple[str, int]] = ()
) -> tuple[Measured, ...]:
    """Instructions that touch shared or global memory, by line and name, in order of lines."""
    sums: dict[tuple[str, int, str], list[int]] = {}
    for one in code:
        name = _name(one.text)
        if name.split(".")[0] not in _MEMORY:
            continue
        file, line = places[one.number] if one.number < len(places) else ("", 0)
        row = sums.setdefault((file, line, name), [0] * 6)
        counts = (1, one.executed, one.threads, one.wavefronts, one.requests, one.sectors)
        row[:] = [before + more for before, more in zip(row, counts, strict=True)]
    return tuple(Measured(*key, *row) for key, row in sorted(sums.items()))


def _name(text: str) -> str:
    """The instruction's name without its guard: "@P0 LDS.64 R2, [R4]" is LDS.64."""
    words = text.split()
    if words and words[0].startswith("@"):
        words = words[1:]
    return words[0] if words else ""


def _place(places: Sequence[Any]) -> tuple[str, int]:
    """The kernel's line of an instruction."""
    return (PurePath(places[-1].file).name, places[-1].line) if places else ("", 0)


def text(found: Recording) -> str:
    """The file's text: a line per case."""
    head = {"schema": SCHEMA, **found.origin, "metrics": METRICS | TABLED, "missing": found.missing}
    made = []
    for name, one in found.cases.items():
        kept = {**asdict(one), "lines": [list(asdict(row).values()) for row in one.lines]}
        made.append(f"  {json.dumps(name)}: {json.dumps(kept)}")
    return (
        json.dumps(head, indent=1).removesuffix("\n}")
        + ',\n "cases": {\n'
        + ",\n".join(made)
        + "\n }\n}\n"
    )


def read_text(stored: str) -> Recording:
    """The recording that `text` wrote.

    Raises:
        SmemnbError: the text is not of this schema.
    """
    try:
        whole = json.loads(stored)
        if whole.pop("schema") != SCHEMA:
            raise ValueError
        cases = {
            name: Recorded(**{**one, "lines": tuple(Measured(*row) for row in one["lines"])})
            for name, one in whole.pop("cases").items()
        }
        return Recording(whole, cases, whole.pop("missing"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SmemnbError(f"this is no file of the schema {SCHEMA!r}: record it again") from None


@cache
def load() -> Recording:
    """The recording that comes with the package.

    Raises:
        SmemnbError: it is not there.
    """
    file = files("smemnb.measure.recorded") / SHIPPED
    if not file.is_file():
        raise SmemnbError(f"no recording is shipped ({SHIPPED}); on a GPU, {COMMAND} makes one")
    return read_text(file.read_text(encoding="utf-8"))


def machine() -> dict[str, Any]:
    """GPU, driver, versions and the time, as a recording names them."""
    found = provenance.origin(COMMAND, {}, "")
    return {
        "gpu": found.gpu.name,
        "compute_capability": found.gpu.cc,
        "driver": found.driver,
        "cuda": found.cuda,
        "versions": {**found.versions, "ncu": _ncu_version()},
        "date": found.date,
    }


def _ncu_version() -> str:
    tool = shutil.which("ncu")
    if tool is None:
        return "none"
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    words = [line for line in said.stdout.splitlines() if line.startswith("Version")]
    return words[0].removeprefix("Version ").strip() if words else "unknown"
