"""The command: `python -m tests.numba_suites intree|numba_cuda [-k PATTERN]`."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from .comparison import compare, exceptions, report
from .runner import FOLDERS, Result, run_suite


def main() -> int:
    """Run both halves, write the table; 1 if a test fails that is no accepted exception."""
    ask = argparse.ArgumentParser(prog="python -m tests.numba_suites", description=__doc__)
    ask.add_argument("suite", choices=sorted(FOLDERS))
    ask.add_argument("-k", dest="pattern", default="", help="part of a test's name, or a pattern")
    ask.add_argument("-j", dest="jobs", type=int, default=2, help="processes at a time")
    ask.add_argument("--table", type=Path, help="write every test to this file (tab-separated)")
    ask.add_argument("--baseline", type=Path, help="keep the baseline here, or take it from here")
    ask.add_argument("--log", type=Path, help="write what the tests print to this file")
    given = ask.parse_args()
    pattern = given.pattern if set("*?[") & set(given.pattern) else f"*{given.pattern}*"
    pattern = pattern.replace("**", "*")
    began = time.monotonic()
    baseline = _kept(given.baseline)
    if baseline is None:
        baseline = run_suite(given.suite, simulator=True, pattern=pattern, jobs=given.jobs)
        if given.baseline:
            rows = [asdict(result) for result in baseline.values()]
            given.baseline.write_text(json.dumps(rows))
    left_out = exceptions(given.suite).left_out
    plug = run_suite(
        given.suite,
        simulator=False,
        pattern=pattern,
        leave_out=left_out,
        jobs=given.jobs,
        log=given.log,
    )
    baseline = {test: row for test, row in baseline.items() if fnmatchcase(test, pattern)}
    compared = compare(given.suite, baseline, plug, whole=not given.pattern)
    if given.table:
        given.table.write_text(compared.table())
    print(report(compared))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if compared.problems else 0


def _kept(path: Path | None) -> dict[str, Result] | None:
    """A baseline that was kept, None if there is none."""
    if path is None or not path.exists():
        return None
    return {row["test"]: Result(**row) for row in json.loads(path.read_text())}


if __name__ == "__main__":
    raise SystemExit(main())
