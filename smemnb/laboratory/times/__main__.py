"""Times of kernels of many kinds, from the command line.

python -m smemnb.laboratory.times record --out FILE.json [--raw FILE.csv]    on a GPU
    [--part 2/8] [--lock FILE]   every eighth kernel; FILE is held while something is timed
    [--no-counters]              without Nsight Compute
python -m smemnb.laboratory.times merge FILE.json ... --out FILE.json    what the parts wrote
python -m smemnb.laboratory.times launch [KERNEL ...]        what the profiler runs
python -m smemnb.laboratory.times predict [KERNEL ...] [--beside FILE.json]    without a GPU
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory.times")
    what = parser.add_subparsers(dest="what", required=True)
    record = what.add_parser("record")
    record.add_argument("--out", type=Path, required=True)
    record.add_argument("--raw", type=Path, help="where to keep what Nsight Compute printed")
    record.add_argument("--part", default="1/1", help="2/8: every eighth kernel, from the second")
    record.add_argument("--lock", type=Path, help="a file to hold while something is timed")
    record.add_argument("--no-counters", action="store_true", help="without Nsight Compute")
    merge = what.add_parser("merge")
    merge.add_argument("parts", type=Path, nargs="+")
    merge.add_argument("--out", type=Path, required=True)
    launch = what.add_parser("launch")
    launch.add_argument("kernels", nargs="*")
    launch.add_argument("--lock", type=Path, help="a file to hold while a kernel runs")
    predict = what.add_parser("predict")
    predict.add_argument("kernels", nargs="*")
    predict.add_argument("--beside", type=Path, help="a file that `record` wrote")
    options = parser.parse_args(argv)
    if options.what == "predict":
        from .predicting import table
        from .recording import load

        table(options.kernels, None if options.beside is None else load(options.beside), _say)
        return 0
    if options.what == "launch":
        from .recording import launch_all

        launch_all(options.kernels, options.lock)
        return 0
    if options.what == "merge":
        from ..in_parts import merged

        whole = merged(options.parts, ("kernels", "waits"))
        options.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        return 0
    from ..in_parts import part
    from .cases import CASES
    from .recording import record as record_all

    cases = part(options.part, CASES)
    counters = not options.no_counters
    record_all(
        options.out, cases=cases, raw=options.raw, counters=counters, lock=options.lock, say=_say
    )
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
