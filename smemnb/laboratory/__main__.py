"""The set under a profiler, from the command line.

    python -m smemnb.laboratory record --out FILE.json     on a GPU: read all
    python -m smemnb.laboratory build --raw RAW.zip ... --out FILE.json
    python -m smemnb.laboratory launch --cases 0:45 --into FOLDER      what the profiler runs
    python -m smemnb.laboratory timing                     by time, where counters are forbidden

`record` also keeps what ncu printed and the machine code, in a zip beside the file; `build` makes
the file from it again, on any machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import SmemnbError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory")
    what = parser.add_subparsers(dest="what", required=True)
    record = what.add_parser("record")
    record.add_argument("--out", type=Path, required=True)
    record.add_argument("--seconds", type=float, default=600.0)
    record.add_argument("--cases", help="FIRST:LAST of the set, or numbers with commas")
    record.add_argument("--raw-only", action="store_true", help="keep the zip, build it elsewhere")
    build = what.add_parser("build")
    build.add_argument("--raw", type=Path, required=True, nargs="+", help="later ones count")
    build.add_argument("--out", type=Path, required=True)
    build.add_argument("--onto", type=Path, help="an older file, whose other cases are kept")
    launch = what.add_parser("launch")
    launch.add_argument("--cases", required=True, help="FIRST:LAST, or numbers with commas")
    launch.add_argument("--into", type=Path, required=True)
    what.add_parser("timing")
    options = parser.parse_args(argv)
    try:
        return _run(options)
    except SmemnbError as error:
        print(error, file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.what == "launch":
        from ..measure.verify.ncu.launching import launch_all
        from .corpus import CASES

        cases = [CASES[number] for number in _numbers(options.cases, len(CASES))]
        cubins = options.into / "cubins"
        cubins.mkdir(parents=True, exist_ok=True)
        journal = options.into / "journal.jsonl"
        return int(launch_all(cases, journal, cubins) > 0)
    if options.what == "timing":
        from ..measure.verify.timing import table, times

        print(table(times()))
        return 0
    from .agreement import build, record
    from .corpus import CASES

    if options.what == "build":
        build(options.raw, options.out, onto=options.onto, say=_say)
        return 0
    numbers = _numbers(options.cases, len(CASES)) if options.cases else []
    raw = record(options.out, seconds=options.seconds, numbers=numbers, say=_say)
    if not options.raw_only:
        build([raw], options.out, say=_say)
    return 0


def _numbers(text: str, size: int) -> list[int]:
    """Numbers of the set.

    >>> _numbers("3:6", 9), _numbers("7:", 9), _numbers("7,2", 9)
    ([3, 4, 5], [7, 8], [7, 2])
    """
    first, colon, last = text.partition(":")
    if colon:
        return list(range(size))[int(first or 0) : int(last or size)]
    return [int(word) for word in text.split(",")]


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
