"""The recorded file: counters of every case on one GPU, with where and when they were read.

    record(FILE)        on a GPU: profile the set, keep what ncu printed in FILE's zip
    build(ZIP, FILE)    the file out of what was kept, on any machine
    load()              the file that is shipped, `recorded/h200_agreement.json`

Of the machine code only what touches shared, global or local memory is kept, summed by source line
and instruction: what warps executed, wavefronts, requests, sectors.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
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
from .ncu.profiling import Read, collected, command, only, profile
from .predicted import traced

SCHEMA = "smemnb.agreement/1"
SHIPPED = "h200_agreement.json"
COMMAND = "python -m smemnb.measure.verify record --out FILE"
TOUCHED, SPILLED = TABLED
_ATOMICS = ("ATOMG", "RED", "REDG", "ATOM")
_MEMORY = (
    *("LDS", "STS", "ATOMS", "LDSM", "LDL", "STL"),
    *("LDG", "STG", "ATOMG", "RED", "REDG", "LD", "ST", "ATOM"),
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


def record(
    out: Path,
    *,
    seconds: float = 600,
    numbers: Sequence[int] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Profile the set on this machine's GPU; the zip beside `out` that `build` makes the file of.

    The zip is written after each batch, so that what was read is not lost. `numbers` are those of
    the set, all of it if there are none.

    Raises:
        SmemnbError: ncu is missing or may not read counters.
    """
    from .corpus import CASES

    raw = Path(out).with_suffix(".zip")
    wanted = numbers or range(len(CASES))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        some = f" --cases {numbers[0]}:{numbers[-1] + 1}" if numbers else ""
        origin = {**machine(), "command": COMMAND + some}
        (work / "origin.json").write_text(json.dumps(origin), encoding="utf-8")

        def keep(line: str) -> None:
            _zip(work, raw)
            say(line)

        cases = [CASES[number] for number in wanted]
        profile(cases, work, seconds=seconds, say=keep, launcher=only(wanted))
        _zip(work, raw)
    return raw


def live(
    cases: Sequence[Case],
    launcher: Callable[[int, int, Path], list[str]] = command,
    *,
    say: Callable[[str], None] = lambda line: None,
) -> Recording:
    """Profile these cases on this machine's GPU, and keep nothing.

    `launcher` names the process that launches the cases from one number up to another, and writes
    journal and machine code into a folder, as `launching.launch_all` does.

    Raises:
        SmemnbError: ncu is missing, may not read counters, or saw nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        profile(cases, Path(folder), say=say, launcher=launcher)
        read, missing = collected(Path(folder))
        known = {case.name: case for case in cases}
        if all(known[name] is of_set(name) for name in read):
            every = each(recorded_of_set, list(read), list(read.values()), say)
        else:  # kernels of the user's, whose names mean nothing to another process
            every = [recorded(known[name], found) for name, found in read.items()]
        made = dict(zip(read, every, strict=True))
    return Recording({**machine(), "command": "smemnb verify"}, made, missing)


def build(
    raw: Sequence[Path],
    out: Path,
    *,
    onto: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Recording:
    """Read what was kept in these zips and write the file; of a case read twice the last counts.

    Args:
        raw: zips that `record` left.
        out: the file to write.
        onto: an older file, such as the shipped one: its cases stay unless the zips have them.
        say: is told how far it is.
    """
    from .corpus import CASES

    with tempfile.TemporaryDirectory() as folder:
        origin, read, missing = _unpacked(raw, Path(folder))
        names = [case.name for case in CASES if case.name in read]
        every = each(recorded_of_set, names, [read[name] for name in names], say)
        made = dict(zip(names, every, strict=True))
    found = Recording(origin, made, missing)
    if onto is not None:
        found = _added(read_text(onto.read_text(encoding="utf-8")), found)
    out.write_text(text(found), encoding="utf-8")
    ran = sum(one.compiled is not None for one in made.values())
    say(f"{len(made)} cases recorded, {ran} with the machine code that ran, {len(missing)} missing")
    return found


def _added(before: Recording, after: Recording) -> Recording:
    """Both recordings in one, the cases in the order of the set; the later one counts."""
    order = {case.name: number for number, case in enumerate(_set())}
    both = before.cases | after.cases
    cases = {name: both[name] for name in sorted(both, key=lambda name: order.get(name, -1))}
    runs = [*before.origin.get("runs", ()), *after.origin["runs"]]
    missing = before.missing | after.missing
    kept = {name: why for name, why in missing.items() if name not in both}
    return Recording({**after.origin, "runs": runs}, cases, kept)


def _set() -> Sequence[Case]:
    from .corpus import CASES

    return CASES


def _unpacked(
    raw: Sequence[Path], folder: Path
) -> tuple[dict[str, Any], dict[str, Read], dict[str, str]]:
    """Where and when, what was read and what was not, of several zips, unpacked into a folder."""
    read: dict[str, Read] = {}
    missing: dict[str, str] = {}
    runs = []
    for number, file in enumerate(raw):
        into = folder / str(number)
        with zipfile.ZipFile(file) as kept:
            kept.extractall(into)
        origin = json.loads((into / "origin.json").read_text(encoding="utf-8"))
        more, lacking = collected(into)
        read |= more
        missing |= lacking
        runs.append({"date": origin["date"], "command": origin["command"], "cases": len(more)})
    return (
        {**origin, "runs": runs},
        read,
        {name: why for name, why in missing.items() if name not in read},
    )


def of_set(name: str) -> Case | None:
    """The case of that name in the set, None if there is none."""
    from .corpus import CASES

    return next((case for case in CASES if case.name == name), None)


def recorded_of_set(name: str, read: Read) -> Recorded:
    """One case of the set as it is kept."""
    case = of_set(name)
    assert case is not None, name
    return recorded(case, read)


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


def _zip(folder: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as kept:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".ncu-rep":
                kept.write(path, path.relative_to(folder))
