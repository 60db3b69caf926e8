"""One fault in a copy of the tree, and the tests that are run until one of them fails.

The tests run in two goes: first those near the changed module (its own doctests, the test file that
mirrors it, its room's tests, files that name it), which is where most faults are seen within a
minute; then, if none failed, all others. Chapters come last, since each starts a kernel.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .faults import Fault

NEAR = 4
"""Ranks below this one are near."""
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv", "venv", "*.egg-info", ".*_cache", ".hypothesis", "*.log", "smemnb-workbook"
)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", flags=re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: `by` is the first test that failed, "time limit", or "" if none did."""

    by: str
    seconds: float
    tail: str = ""

    @property
    def seen(self) -> bool:
        """Whether a test saw the fault."""
        return bool(self.by)


def copied(tree: Path, folder: Path) -> Path:
    """A copy of the tree, with its compiled modules, so that each trial starts fast."""
    shutil.copytree(tree, folder, ignore=LEFT_BEHIND, symlinks=True)
    return folder


@contextlib.contextmanager
def planted(copy: Path, fault: Fault) -> Iterator[None]:
    """The fault stands in the copy within the block, and not after it."""
    path = copy / fault.path
    text, stamp = path.read_bytes(), path.stat()
    path.write_bytes(fault.planted(text.decode()).encode())
    # a second from all others: what Python compiled before and after is not taken for this text
    os.utime(path, (stamp.st_atime, int(stamp.st_mtime) + 7))
    try:
        yield
    finally:
        path.write_bytes(text)
        os.utime(path, (stamp.st_atime, int(stamp.st_mtime) + 14))


def rank(test: Path, fault: Fault, text: Callable[[Path], str]) -> tuple[int, int, str]:
    """How near a test file, a module with doctests or a chapter is to the changed module."""
    changed = Path(fault.path)
    name = test.as_posix()
    if name == fault.path:
        return 0, 0, name
    if test.suffix == ".ipynb":
        return 9, 0, name
    inner = changed.with_suffix("").parts[1:]
    stem = inner[-2] if inner[-1] == "__init__" and len(inner) > 1 else inner[-1]
    if test.parts[0] == "tests":
        mine = test.parts[1:-1]
        shared = next(
            (n for n, pair in enumerate(zip(mine, inner, strict=False)) if pair[0] != pair[1]),
            min(len(mine), len(inner)),
        )
        if test.stem == f"test_{stem.lstrip('_')}" and shared:
            return 1, -shared, name
        if shared:
            return 2, -shared, name
        if re.search(rf"\b{re.escape(stem)}\b", text(test)):
            return 3, 0, name
        return 5, 0, name
    return 6, 0, name


def goes(copy: Path, fault: Fault) -> tuple[list[str], list[str]]:
    """The test files of both goes, nearest first."""
    tests = [
        *(copy / "tests").rglob("test_*.py"),
        *(path for path in (copy / "smemnb").rglob("*.py") if ">>>" in path.read_text("utf-8")),
        *(copy / "notebooks").glob("*.ipynb"),
    ]
    # an example project is run by the test beside it; .venv and the like are not copied
    wanted = [path.relative_to(copy) for path in tests if "example_project" not in path.parts]
    read = lambda path: (copy / path).read_text("utf-8")  # noqa: E731
    ranked = sorted(rank(path, fault, read) for path in wanted)
    near = [name for first, _, name in ranked if first < NEAR]
    return near, [name for first, _, name in ranked if first >= NEAR]


def run(copy: Path, names: list[str], marks: str, limit: float) -> Outcome:
    """Run these files until a test fails; a run that takes too long has failed, too."""
    if not names:
        return Outcome("", 0.0)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-rfE", "--color=no"]
    command += ["-p", "no:cacheprovider", *(["-m", marks] if marks else []), *names]
    # what the tests need may lie on the path of whoever called
    paths = os.pathsep.join(filter(None, [str(copy), os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Outcome("time limit", time.monotonic() - began)
    seconds = time.monotonic() - began
    if process.returncode in (0, 5):  # all passed, or the marks left nothing
        return Outcome("", seconds)
    if process.returncode == 4 and "conftest" not in said:
        raise RuntimeError(
            f"pytest could not run, so this says nothing of a fault:\n{said[-2000:]}"
        )
    failed = FAILED.search(said)
    by = failed[1] if failed else f"exit code {process.returncode}"
    return Outcome(by, seconds, said[-2000:])


def tried(copy: Path, fault: Fault, marks: str, limit: float) -> Outcome:
    """What the tests say of the fault, in both goes."""
    near, others = goes(copy, fault)
    with planted(copy, fault):
        first = run(copy, near, marks, limit)
        if first.seen:
            return first
        second = run(copy, others, marks, limit)
    return Outcome(second.by, first.seconds + second.seconds, second.tail)
