"""Runs a suite in child processes: modules in chunks, a time limit for silence, starts again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).parent / "child"
SILENCE_S = 120.0
"""Seconds without a finished test after which a worker is stopped."""
CHUNK = 12
"""Modules per worker."""
FOLDERS = {"intree": "numba", "numba_cuda": "numba_cuda/numba"}


@dataclass(frozen=True)
class Result:
    """What came of one test."""

    test: str
    outcome: str
    why: str = ""
    launches: int = 0
    seconds: float = 0.0


def modules(suite: str) -> list[str]:
    """Names of the test modules of a suite, found as files: nothing of them is imported.

    Raises:
        SystemExit: this interpreter does not have the suite.
    """
    spec = find_spec(FOLDERS[suite].partition("/")[0])
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{sys.executable} has no {suite}")
    package = Path(spec.submodule_search_locations[0])
    tests = (package / "numba" if suite == "numba_cuda" else package) / "cuda" / "tests"
    found = sorted(path.relative_to(tests) for path in tests.rglob("test_*.py"))
    return ["numba.cuda.tests." + ".".join(path.with_suffix("").parts) for path in found]


def environment(suite: str, simulator: bool) -> dict[str, str]:
    """The environment of a half of a run; settings of the reader's own are left out."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SMEMNB", "NUMBA"))}
    paths = [str(CHILD), str(ROOT), kept.get("PYTHONPATH", "")]
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    kept["SMEMNB_SUITE"] = suite
    kept["NUMBA_CUDA_DEFAULT_PTX_CC"] = "7.5"  # the default, 5.0, is unknown to CUDA 13
    half = {"NUMBA_ENABLE_CUDASIM": "1"} if simulator else {"SMEMNB_DEVICE": "lockstep"}
    return kept | half


def run_suite(
    suite: str,
    *,
    simulator: bool,
    pattern: str = "*",
    leave_out: Collection[str] = (),
    jobs: int = 2,
    log: Path | None = None,
) -> dict[str, Result]:
    """All tests of a suite whose names match, by name.

    Args:
        suite: "intree" or "numba_cuda".
        simulator: the baseline, Numba's own simulator; else the plug.
        pattern: of test names, as a shell's.
        leave_out: tests that are not run; their outcome is "left out".
        jobs: workers at a time.
        log: a file that gets what the tests print.
    """
    names = modules(suite)
    names = [name for name in names if fnmatchcase(name, pattern)] or names
    leave_out = [test for test in leave_out if fnmatchcase(test, pattern)]
    chunks = [names[at :: -(-len(names) // CHUNK)] for at in range(-(-len(names) // CHUNK))]
    surroundings = environment(suite, simulator)
    with tempfile.TemporaryDirectory(prefix="suites-") as folder, ThreadPoolExecutor(jobs) as pool:
        places = [Path(folder) / f"chunk{number}" for number in range(len(chunks))]
        lines = [json.dumps({"test": test, "outcome": "left out"}) for test in leave_out]
        for place in places:
            place.mkdir()
            (place / "results").write_text("".join(line + "\n" for line in lines))
        list(pool.map(lambda c, p: _finish(c, p, pattern, surroundings), chunks, places))
        if log is not None:
            log.write_text("".join((p / "output").read_text(errors="replace") for p in places))
        rows = [row for place in places for row in _rows(place / "results") if "test" in row]
    return {row["test"]: Result(**row) for row in rows}


def _rows(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def _finish(chunk: Sequence[str], place: Path, pattern: str, surroundings: dict[str, str]) -> None:
    """Start workers on a chunk until one reaches its end."""
    results = place / "results"
    while True:
        how = _watch(chunk, place, pattern, surroundings)
        if not how:
            return
        rows = _rows(results)
        ended = {row.get("test") for row in rows}
        hanging = [row["start"] for row in rows if "start" in row and row["start"] not in ended]
        if not hanging:
            hanging = [f"{chunk[0]} and {len(chunk) - 1} more: the worker could not begin"]
        with results.open("a") as lines:
            for test in hanging:
                lines.write(json.dumps({"test": test, "outcome": how, "why": how}) + "\n")
        if "could not begin" in hanging[0]:
            return


def _watch(chunk: Sequence[str], place: Path, pattern: str, surroundings: dict[str, str]) -> str:
    """Run one worker: "" at its end, "timeout" where it fell silent, "crash" where it died."""
    results = place / "results"
    command = [sys.executable, "-m", "tests.numba_suites.worker", str(results), pattern, *chunk]
    with (place / "output").open("a") as output:
        worker = subprocess.Popen(
            command, stdout=output, stderr=output, env=surroundings, cwd=place
        )
        size, since = -1, time.monotonic()
        while True:
            try:
                status = worker.wait(1.0)
            except subprocess.TimeoutExpired:
                now = results.stat().st_size if results.exists() else 0
                if now != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > SILENCE_S:
                    worker.kill()
                    worker.wait()
                    return "timeout"
                continue
            return "" if status == 0 else "crash"
