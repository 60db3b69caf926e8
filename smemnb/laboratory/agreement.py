"""Counters of the set on one GPU, as a file: `measure/recorded/h200_agreement.json` was made so.

record(FILE)        on a GPU: profile the set, keep what ncu printed in FILE's zip
build(ZIP, FILE)    the file out of what was kept, on any machine
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..measure.verify.machine_code import each
from ..measure.verify.ncu.profiling import Read, collected, only, profile
from ..measure.verify.recording import (
    COMMAND,
    Recording,
    machine,
    read_text,
    recorded_by_name,
    text,
)
from .corpus import CASES, case_named


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
        say: called with each line about how far it is.
    """
    with tempfile.TemporaryDirectory() as folder:
        origin, read, missing = _unpacked(raw, Path(folder))
        names = [case.name for case in CASES if case.name in read]
        every = each(
            partial(recorded_by_name, case_named), names, [read[name] for name in names], say
        )
        made = dict(zip(names, every, strict=True))
    found = Recording(origin, made, missing)
    if onto is not None:
        found = _added(read_text(onto.read_text(encoding="utf-8")), found)
    out.write_text(text(found), encoding="utf-8")
    ran = sum(one.compiled is not None for one in made.values())
    say(f"{len(made)} cases recorded, {ran} with the machine code that ran, {len(missing)} missing")
    return found


def _added(before: Recording, after: Recording) -> Recording:
    """Both recordings in one: the cases of the set, in its order; the later one counts."""
    both = before.cases | after.cases
    cases = {case.name: both[case.name] for case in CASES if case.name in both}
    runs = [*before.origin.get("runs", ()), *after.origin["runs"]]
    missing = before.missing | after.missing
    kept = {name: why for name, why in missing.items() if name not in both}
    return Recording({**after.origin, "runs": runs}, cases, kept)


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


def _zip(folder: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as kept:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".ncu-rep":
                kept.write(path, path.relative_to(folder))
