"""One child process: runs the tests of some modules and writes a line of JSON for each.

    python -m tests.numba_suites.worker RESULTS PATTERN MODULE...

Tests that RESULTS already names are left out, so a worker that was stopped is simply started
again, and tests that hang without a GPU are named there from the beginning. The lines are
{"start": test}, then {"test", "outcome", "why", "launches", "seconds"}.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TextIO

launches = 0


def count_launches() -> None:
    """Count what reaches the engine, from now on."""
    from smemnb.simulator import launch

    engine = launch.lockstep_launch

    def counted(*args: Any, **options: Any) -> Any:
        global launches
        launches += 1
        return engine(*args, **options)

    launch.lockstep_launch = counted


def assume_device_libraries() -> None:
    """Skip nothing for want of libraries that only a real device's code is linked with."""
    from numba.cuda import testing

    testing.cudadevrt_missing = lambda: False  # for grid synchronisation
    if hasattr(testing.CUDATestCase, "skip_if_lto"):  # in-tree: makes a linker to look at it
        testing.CUDATestCase.skip_if_lto = lambda self, reason: None


class Record(unittest.TestResult):
    """Writes each outcome as soon as it is known."""

    def __init__(self, results: TextIO) -> None:
        super().__init__()
        self._results = results
        self._outcome: dict[str, tuple[str, str]] = {}
        self._begun = (0.0, 0)

    def _write(self, line: dict[str, Any]) -> None:
        self._results.write(json.dumps(line) + "\n")
        self._results.flush()

    def whole(self, name: str, outcome: str, why: str) -> None:
        """Note what came of a module or class as a whole."""
        self._write({"test": name, "outcome": outcome, "why": why})

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._write({"start": test.id()})
        self._begun = (time.monotonic(), launches)

    def _note(self, test: Any, outcome: str, why: str = "") -> None:
        self._outcome.setdefault(test.id(), (outcome, why))

    def addError(self, test: Any, err: Any) -> None:
        if isinstance(test, unittest.TestCase):
            self._note(test, "error", _why(err))
        else:  # a class or module that cannot be set up
            self.whole(test.id(), "error", _why(err))

    def addFailure(self, test: Any, err: Any) -> None:
        self._note(test, "fail", _why(err))

    def addSkip(self, test: Any, reason: str) -> None:
        if isinstance(test, unittest.TestCase):
            self._note(test, "skip", reason)
        else:
            self.whole(test.id(), "skip", reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note(test, "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note(test, "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note(test, "fail", f"{subtest._subDescription()}: {_why(err)}")

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        outcome, why = self._outcome.pop(test.id(), ("ok", ""))
        began, before = self._begun
        self._write(
            {
                "test": test.id(),
                "outcome": outcome,
                "why": why,
                "launches": launches - before,
                "seconds": round(time.monotonic() - began, 2),
            }
        )


def _why(err: Any) -> str:
    """The traceback's end: where it was raised, and what was said."""
    kind, error, trace = err
    text = "".join(traceback.format_exception(kind, error, trace))
    return text[-3000:]


def tests_of(suite: unittest.TestSuite) -> Iterator[Any]:
    """The test cases of a suite, one after the other."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def main(results: str, pattern: str, *modules: str) -> None:
    """Run what is left to run."""
    if "smemnb" in sys.modules:
        count_launches()
        assume_device_libraries()
    path = Path(results)
    written = path.read_text().splitlines() if path.exists() else []
    done = {line.get("test") for line in map(json.loads, written)}
    chosen = unittest.TestSuite()
    with path.open("a") as lines:
        record = Record(lines)
        for name in modules:
            found = _load(name, record)
            chosen.addTests(
                [t for t in found if fnmatchcase(t.id(), pattern) and t.id() not in done]
            )
        chosen.run(record)


def _load(name: str, record: Record) -> list[Any]:
    """The tests of a module; one that cannot be imported counts as one test."""
    try:
        module = importlib.import_module(name)
    except unittest.SkipTest as skip:
        record.whole(name, "skip", str(skip))
    except BaseException as error:
        skipped = type(error).__name__ == "Skipped"  # pytest's
        why = _why((type(error), error, error.__traceback__))
        record.whole(name, "skip" if skipped else "error", why)
    else:
        return list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
