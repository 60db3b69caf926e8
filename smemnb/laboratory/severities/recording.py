"""All experiments side by side, each in a process of its own, and the file of what came of them.

    {"schema": "smemnb.severities/1", ... where and when ..., "launches": 20, "seconds": 5.0,
     "experiments": {NAME: {"kind", "outcome", "launches", "wrong", "first", "said"}}}

`outcome` is "wrong values", "hang", "fault", "right values" or "not run"; `launches` is how many
came back and `wrong` how many of them gave a wrong value; `first` is the place of the first wrong
value, the value, and the right one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...errors import SmemnbError
from .everything import EXPERIMENTS

SCHEMA = "smemnb.severities/1"
SHIPPED = "h200_severities.json"
COMMAND = "python -m smemnb.laboratory.severities record --launch-wrong-kernels --out FILE.json"
AT_ONCE = 12
PATIENCE_S = 5.0
"""How long a launch may take before it counts as one that never comes back."""
STARTUP_S = 40.0
"""How long a process may take to import, open a context and compile."""
GRACE_S = 10.0
"""How long processes may go on when no more are begun."""
LOOK_S = 0.05


@dataclass(frozen=True)
class Outcome:
    """What came of one experiment.

    Attributes:
        kind: of the finding.
        outcome: "wrong values", "hang", "fault", "right values" or "not run".
        launches: that came back.
        wrong: launches with a wrong value.
        first: of the first wrong value: place, value, right value; empty if there is none.
        said: the error, if one ended it.
    """

    kind: str
    outcome: str
    launches: int = 0
    wrong: int = 0
    first: tuple[int, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class Outcomes:
    """The file: where and when, and what came of each experiment by its name."""

    origin: dict[str, Any]
    experiments: dict[str, Outcome]


def record(
    out: Path,
    *,
    launches: int = 20,
    seconds: float = 80.0,
    at_once: int | None = None,
    names: Sequence[str] = (),
    onto: Outcomes | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Outcomes:
    """Run the experiments and write the file; all of them unless names are given.

    Args:
        out: the file.
        launches: of each experiment.
        seconds: after which no more are begun; what has not begun by then is "not run".
        at_once: processes side by side; at most as many as there are processors.
        names: of experiments.
        onto: earlier outcomes, of which those of other experiments are kept.
        say: gets a line per experiment.
    """
    chosen = [one for one in EXPERIMENTS if not names or one.name in names]
    end = time.monotonic() + seconds
    found = {} if onto is None else dict(onto.experiments)
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(at_once or max(1, min(AT_ONCE, os.cpu_count() or 1))) as pool,
    ):
        origin = pool.submit(_origin)
        jobs = [
            pool.submit(_run, one.name, one.kind, launches, Path(folder) / f"{number}.jsonl", end)
            for number, one in enumerate(chosen)
        ]
        for one, job in zip(chosen, jobs, strict=True):
            found[one.name] = seen = job.result()
            say(f"{one.kind or 'control':<27}{one.name:<40}{_shown(seen)}")
        whole = {
            "schema": SCHEMA,
            **origin.result(),
            "command": COMMAND,
            "launches": launches,
            "seconds": PATIENCE_S,
        }
    head = json.dumps(whole, indent=1).removesuffix("\n}")
    rows = (f"  {json.dumps(name)}: {json.dumps(asdict(one))}" for name, one in found.items())
    text = head + ',\n "experiments": {\n' + ",\n".join(rows) + "\n }\n}\n"
    out.write_text(text, encoding="utf-8")
    return read_text(text)


def _shown(seen: Outcome) -> str:
    if seen.outcome == "wrong values":
        at, value, right = seen.first
        return f"wrong values in {seen.wrong} of {seen.launches} ([{at}] is {value}, not {right})"
    if seen.outcome == "right values":
        return f"right values in all {seen.launches}"
    return f"{seen.outcome} after {seen.launches} {seen.said}".rstrip()


def _run(name: str, kind: str, launches: int, journal: Path, end: float) -> Outcome:
    """One experiment in a process of its own, which is ended when it does not come back."""
    if time.monotonic() > end:
        return Outcome(kind, "not run", said="the time was over")
    module = [sys.executable, "-m", "smemnb.laboratory.severities", "launch"]
    log = journal.with_suffix(".log")
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*module, name, "--launch-wrong-kernels", "--times", str(launches), "--into", journal],
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        hung = watch(process, journal, end + GRACE_S)
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    return outcome_of(kind, _lines(journal), hung=hung, code=process.returncode, said="".join(last))


def watch(
    process: subprocess.Popen[bytes], journal: Path, end: float, patience_s: float = PATIENCE_S
) -> bool:
    """Wait for a process; whether it was ended because its journal grew no longer."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        grown = journal.stat().st_size if journal.is_file() else 0
        if grown != size:
            size, since = grown, now
        patience = patience_s if size > 0 else STARTUP_S
        if now - since > patience or now > end:
            with contextlib.suppress(ProcessLookupError):
                _end(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=PATIENCE_S)  # the driver lets go of the kernel, or never
            return True
        time.sleep(LOOK_S)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _lines(journal: Path) -> list[dict[str, Any]]:
    """The lines of a journal that were written to their end."""
    text = journal.read_text(encoding="utf-8") if journal.is_file() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def outcome_of(
    kind: str, lines: list[dict[str, Any]], *, hung: bool, code: int | None, said: str
) -> Outcome:
    """What a journal says of its experiment."""
    back = [line for line in lines if line["state"] == "back"]
    wrong = [line for line in back if line["wrong"]]
    read = (len(back), len(wrong), tuple(wrong[0]["first"]) if wrong else ())
    last = lines[-1] if lines else {"state": "nothing"}
    said = last.get("said", said)
    if last["state"] in ("nothing", "refused", "ready"):
        return Outcome(kind, "not run", *read, said=said or f"the process ended with {code}")
    if last["state"] == "hang" or (hung and last["state"] == "launch"):
        return Outcome(kind, "hang", *read, said=last.get("said", ""))
    if last["state"] in ("fault", "launch"):
        return Outcome(kind, "fault", *read, said=said or f"the process ended with {code}")
    return Outcome(kind, "wrong values" if wrong else "right values", *read)


def _origin() -> dict[str, Any]:
    """Where and when, asked in a process of its own: this one opens no context."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "smemnb.laboratory.severities", "machine"],
            capture_output=True,
            text=True,
            timeout=STARTUP_S,
            check=False,
        )
        said: dict[str, Any] = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired) as error:  # the outcomes are worth more
        return {"gpu": "unknown", "said": _last_words(error)}
    return said


def _last_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:400]


def machine() -> dict[str, Any]:
    """GPU, driver, versions and the time, or that it is the engine."""
    from .launching import on_gpu

    if not on_gpu():
        return {"gpu": "none: a rehearsal in the engine"}
    from ...measure.verify.recording import machine as of_gpu

    return of_gpu()


def read_text(stored: str) -> Outcomes:
    """The outcomes of a file's text.

    Raises:
        SmemnbError: it is no such file.
    """
    whole = json.loads(stored)
    if whole.get("schema") != SCHEMA:
        raise SmemnbError(f"this is no file of severities: its schema is {whole.get('schema')!r}")
    rows = whole.pop("experiments")
    return Outcomes(
        whole,
        {name: Outcome(**{**row, "first": tuple(row["first"])}) for name, row in rows.items()},
    )


@cache
def load() -> Outcomes:
    """What came of the experiments on an H200, as it comes with the package.

    Raises:
        SmemnbError: nothing was recorded so far.
    """
    file = files("smemnb.measure.recorded") / SHIPPED
    if not file.is_file():
        raise SmemnbError(f"nothing was recorded so far; on a GPU: {COMMAND}")
    return read_text(file.read_text(encoding="utf-8"))
