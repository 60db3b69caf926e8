"""The command; `python -m tests.mutation --help`."""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .choice import chosen
from .equivalents import EQUIVALENTS
from .faults import Fault
from .trial import copied, run, tried

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description="Plant one-line faults, one at a time, and tell which of them the tests see.",
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the sample (default 1)")
    parser.add_argument("--count", type=int, default=40, help="faults over all rooms (default 40)")
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time, one process each")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="whose package is changed and whose tests run"
    )
    parser.add_argument(
        "--tests", type=Path, help="a tree whose tests, chapters and settings replace the tree's"
    )
    parser.add_argument(
        "--marks",
        default="not exhaustive and not toolchain and not gpu",
        help="what pytest's -m gets: the first tier without a toolchain, if nothing else is said",
    )
    parser.add_argument("--limit", type=float, default=2400, help="seconds per go of a trial")
    parser.add_argument(
        "--out", type=Path, help="JSON lines; trials that it holds are not repeated"
    )
    parser.add_argument("--only-unseen", type=Path, help="only faults that this --out file missed")
    parser.add_argument("--least", type=int, help="fail if fewer are seen; all, if not given")
    parser.add_argument("--list", action="store_true", help="print the sample, run nothing")
    parser.add_argument("--sound", action="store_true", help="run the tests without a fault first")
    return parser.parse_args()


def main() -> int:
    """0 if as many faults were seen as are wanted; one that no test can see counts as seen."""
    options = arguments()
    sample = chosen(options.tree, options.seed, options.count)
    if options.only_unseen:
        missed = {row["key"] for row in read(options.only_unseen) if not row["by"]}
        sample = [fault for fault in sample if fault.key in missed]
    if options.list:
        for fault in sample:
            print(f"{fault.kind:13} {fault.path}:{fault.line}  {fault.key.partition(': ')[2]}")
        return 0
    done = {row["key"]: row for row in read(options.out)}
    left = [fault for fault in sample if fault.key not in done]
    with tempfile.TemporaryDirectory(prefix="smemnb-faults-") as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for n in range(min(options.jobs, max(1, len(left)))):
            copies.put(prepared(options, Path(folder) / str(n)))
        if options.sound and not sound(copies.queue[0], options):
            return 2
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda fault: trial(fault, copies, options), left):
                done[row["key"]] = row
    print(report([done[fault.key] for fault in sample]))
    seen = sum(bool(done[one.key]["by"]) or one.key in EQUIVALENTS for one in sample)
    return int(seen < (len(sample) if options.least is None else options.least))


def prepared(options: argparse.Namespace, folder: Path) -> Path:
    """A copy of the tree in which trials run, with the tests of another tree if one is given."""
    copy = copied(options.tree, folder)
    if options.tests:
        for name in ("tests", "notebooks", "conftest.py", "pyproject.toml", "nbval.cfg"):
            source, target = options.tests / name, copy / name
            if source.is_dir():
                shutil.rmtree(target)
                copied(source, target)
            else:
                shutil.copy2(source, target)
    return copy


def sound(copy: Path, options: argparse.Namespace) -> bool:
    """Whether the tests pass without a fault: else a failure would say nothing."""
    found = run(copy, ["smemnb", "tests", "notebooks"], options.marks, options.limit)
    print(f"without a fault: {found.by or 'passed'}, {found.seconds:.0f} s", flush=True)
    if found.seen:
        print(found.tail)
    return not found.seen


def trial(fault: Fault, copies: queue.Queue[Path], options: argparse.Namespace) -> dict[str, Any]:
    """The row of one trial, kept in the file at once."""
    copy = copies.get()
    try:
        found = tried(copy, fault, options.marks, options.limit)
    finally:
        copies.put(copy)
    row = asdict(fault) | {"key": fault.key, "room": fault.room}
    row |= {"by": found.by, "seconds": round(found.seconds, 1), "at": time.strftime("%H:%M:%S")}
    if options.out:
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    said = f"seen by {found.by}" if found.seen else "NOT SEEN"
    print(f"{row['seconds']:7.1f} s  {fault.path}:{fault.line} [{fault.kind}] {said}", flush=True)
    return row


def read(path: Path | None) -> list[dict[str, Any]]:
    """The rows of an --out file; none if there is no such file."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def report(rows: list[dict[str, Any]]) -> str:
    """Seen, equivalent and missed by room, and each one that was missed."""
    table: dict[str, Counter[str]] = {}
    missed = []
    for row in rows:
        state = "seen" if row["by"] else "equivalent" if row["key"] in EQUIVALENTS else "missed"
        table.setdefault(row["room"], Counter())[state] += 1
        if state != "seen":
            reason = EQUIVALENTS.get(row["key"], "")
            missed.append(
                f"{state}: {row['path']}:{row['line']} [{row['kind']}]\n"
                f"  - {row['before'].strip()}\n  + {row['after'].strip()}\n"
                + (f"  {reason}\n" if reason else "")
            )
    names = ("seen", "equivalent", "missed")
    lines = ["", f"{'room':14}" + "".join(f"{name:>12}" for name in names)]
    for room in sorted(table):
        lines.append(f"{room:14}" + "".join(f"{table[room][name]:12}" for name in names))
    whole = sum(table.values(), Counter())
    lines.append(f"{'all':14}" + "".join(f"{whole[name]:12}" for name in names))
    return "\n".join([*lines, "", *missed])


if __name__ == "__main__":
    sys.exit(main())
