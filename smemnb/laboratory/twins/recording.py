"""Racecheck over all twins on a GPU, a few processes at once, and the file of its verdicts.

    {"schema": "smemnb.twins/1", ... where and when ...,
     "twins": {NAME: [source, [[severity, accesses, [file, line], [file, line], hazards], ...]]},
     "missing": {NAME: why}}

A twin without a race has an empty list. `source` is a digest of the twin's own source: where a
kernel was changed since, its verdict is out of date. Where the tool names no line, the line is
looked up in the machine code that ran.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from ...compiled.listing import Located, listing
from ...errors import SmemnbError
from ...measure.hazards import Report, Spot, reports
from ...measure.verify.case import Case
from ...measure.verify.ncu.launching import launch_all, read_journal
from .source import Twin, barriers, twins
from .verdicts import TWIN, Pair, pair_of

SCHEMA = "smemnb.twins/1"
SHIPPED = "h200_twins.json"
COMMAND = "python -m smemnb.laboratory.twins record --out FILE"
AT_ONCE = 14
OPTIONS = ("--tool", "racecheck", "--racecheck-detect-level", "info", "--print-limit", "100000")
LEFT_OUT = frozenset(
    f"matmul_{name}" for name in "8x8 turned prefetched warped tall snaking overlapped".split()
) | frozenset(f"scan_{name}" for name in "lookback deep grouped early broad".split())
"""Rungs whose barriers are those of a rung that is in; and scans that look back: without the
barrier behind a tile's number it may be any number, and the launch waits for ever."""


@dataclass(frozen=True)
class Verdicts:
    """The file: where and when, racecheck's pairs of lines per twin, and what is missing."""

    origin: dict[str, Any]
    pairs: dict[str, tuple[Pair, ...]]
    sources: dict[str, str]
    missing: dict[str, str]


def chosen() -> list[Case]:
    """A case per kernel with a barrier: the one with the most threads in a block.

    Of equal ones the last, whose lanes meet in more places.
    """
    from ..corpus import CASES

    best: dict[int, Case] = {}
    for case in CASES:
        if case.name.split()[0] in LEFT_OUT or not barriers(case.kernel.py_func):
            continue
        known = best.get(id(case.kernel))
        if known is None or math.prod(case.block) >= math.prod(known.block):
            best[id(case.kernel)] = case
    return list(best.values())


def all_twins(folder: Path) -> Iterator[Twin]:
    """The twins of the chosen cases, their files in folders of their own."""
    for number, case in enumerate(chosen()):
        into = folder / f"{number:02d}"
        into.mkdir(parents=True, exist_ok=True)
        yield from twins(case, into)


def launch(part: int, parts: int, into: Path) -> int:
    """Launch every `parts`-th twin from `part` on; to be run under compute-sanitizer alone."""
    into.mkdir(parents=True, exist_ok=True)
    (into / "cubins").mkdir(exist_ok=True)
    every = list(all_twins(into / "sources"))[part::parts]
    cases = [twin.case for twin in every]
    return launch_all(
        cases, into / "journal.jsonl", into / "cubins", compiled=lambda kernel: kernel
    )


def record(
    out: Path, *, seconds: float = 120, say: Callable[[str], None] = lambda line: None
) -> Path:
    """Run all twins under racecheck; the zip beside `out` that `build` makes the file of.

    Raises:
        SmemnbError: compute-sanitizer is missing.
    """
    from ...measure.verify.recording import machine

    tool = shutil.which("compute-sanitizer")
    if tool is None:
        raise SmemnbError("`compute-sanitizer` is not on the PATH; it comes with the CUDA toolkit")
    parts = max(1, min(AT_ONCE, os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "origin.json").write_text(json.dumps({**machine(), "command": COMMAND}))
        with ThreadPoolExecutor(parts) as pool:
            jobs = [
                pool.submit(_part, tool, part, parts, work / f"{part:02d}", seconds)
                for part in range(parts)
            ]
            for part, job in enumerate(jobs):
                say(f"part {part} of {parts}: {job.result()}")
        raw = out.with_suffix(".zip")
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as kept:
            for path in sorted(path for path in work.rglob("*") if path.is_file()):
                kept.write(path, path.relative_to(work))
    return raw


def _part(tool: str, part: int, parts: int, into: Path, seconds: float) -> str:
    into.mkdir(parents=True)
    module = [sys.executable, "-m", "smemnb.laboratory.twins", "launch"]
    command = [*module, "--part", f"{part}:{parts}", "--into", str(into)]
    log = into / "racecheck.log"
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                [tool, *OPTIONS, *command],
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "stopped: the time is over"
    last = (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["nothing"])[
        -1
    ]
    return f"{last} (exit {done.returncode})"


def build(raw: Path, out: Path, *, say: Callable[[str], None] = lambda line: None) -> Verdicts:
    """Read what was kept and write the file."""
    rows: dict[str, list[Any]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(raw) as kept:
        kept.extractall(folder)
        origin = json.loads((Path(folder) / "origin.json").read_text(encoding="utf-8"))
        for into in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
            _read(into, rows, missing)
    whole = {"schema": SCHEMA, **origin, "missing": missing}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    head = json.dumps(whole, indent=1).removesuffix("\n}")
    out.write_text(head + ',\n "twins": {\n' + lines + "\n }\n}\n", encoding="utf-8")
    racy = sum(bool(found) for _, found in rows.values())
    say(f"{len(rows)} twins, {racy} with a race by racecheck, {len(missing)} missing")
    return read_text(out.read_text(encoding="utf-8"))


def _read(into: Path, rows: dict[str, list[Any]], missing: dict[str, str]) -> None:
    """What racecheck said of the twins of one process."""
    log = into / "racecheck.log"
    said = reports(log.read_text(encoding="utf-8", errors="replace") if log.is_file() else "")
    for name, one in read_journal(into / "journal.jsonl").items():
        if one["state"] != "launched":
            missing[name] = one.get("error", "the process ended in this launch")
            continue
        code = _code(into / "cubins" / str(one.get("cubin")))
        mine = [report for report in said if _is_of(report, one["kernel"])]
        own = f"{one['kernel']}.py"
        source = next((into / "sources").rglob(own))
        rows[name] = [
            digest(source),
            _summed((_with_lines(report, code) for report in mine), own),
        ]


def digest(file: Path) -> str:
    """What tells whether a twin is still the same: its source, and a changed device function's."""
    files = sorted(file.parent.glob(f"{file.stem}*.py"))
    text = "".join(one.read_text(encoding="utf-8") for one in files)
    return hashlib.sha256(text.replace(file.stem, TWIN).encode()).hexdigest()[:16]


def _summed(found: Iterable[Report], own: str) -> list[list[Any]]:
    """A row per severity, accesses and pair of lines; hazards of unrolled copies are added up."""
    sums: dict[tuple[Any, ...], int] = {}
    for report in found:
        key = report.severity, report.said, *pair_of(report, own)
        sums[key] = sums.get(key, 0) + report.count
    return [
        [severity, said, list(first), list(second), count]
        for (severity, said, first, second), count in sorted(sums.items())
    ]


def _is_of(report: Report, kernel: str) -> bool:
    """Whether a report is of this kernel; names differ by what follows them."""
    _, found, after = report.spots[0].kernel.partition(kernel)
    return bool(found) and not after[:1].isalnum() and after[:1] != "_"


def _code(cubin: Path) -> dict[int, Located]:
    if not cubin.is_file():
        return {}
    try:
        return {one.address: one for one in listing(cubin.read_bytes())}
    except SmemnbError:
        return {}


def _with_lines(report: Report, code: dict[int, Located]) -> Report:
    """The report with lines from the machine code where the tool named none."""

    def named(spot: Spot) -> Spot:
        there = code.get(spot.offset)
        if spot.line or there is None or not there.places:
            return spot
        place = there.places[0]
        return replace(spot, file=PurePath(place.file).name, line=place.line)

    return replace(report, spots=tuple(map(named, report.spots)))


def read_text(stored: str) -> Verdicts:
    """The verdicts of a file's text.

    Raises:
        SmemnbError: the text is not of this schema.
    """
    try:
        whole = json.loads(stored)
        if whole.pop("schema") != SCHEMA:
            raise ValueError
        missing, rows = whole.pop("missing"), whole.pop("twins")
        pairs = {
            name: tuple(((a, m), (b, n)) for _, _, (a, m), (b, n), _ in found)
            for name, (_, found) in rows.items()
        }
        return Verdicts(whole, pairs, {name: source for name, (source, _) in rows.items()}, missing)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SmemnbError(f"this is no file of the schema {SCHEMA!r}: record it again") from None


@cache
def load() -> Verdicts:
    """The verdicts that come with the package.

    Raises:
        SmemnbError: they are not there.
    """
    file = files("smemnb.measure.recorded") / SHIPPED
    if not file.is_file():
        raise SmemnbError(f"no verdicts are shipped ({SHIPPED}); on a GPU, {COMMAND} makes them")
    return read_text(file.read_text(encoding="utf-8"))
