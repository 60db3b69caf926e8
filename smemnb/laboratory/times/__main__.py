"""Times of kernels of many kinds, from the command line.

python -m smemnb.laboratory.times record --out FILE.json [--raw FILE.csv]    on a GPU
python -m smemnb.laboratory.times launch [KERNEL ...]        what the profiler runs
python -m smemnb.laboratory.times predict [KERNEL ...] [--beside FILE.json]    without a GPU
"""

from __future__ import annotations

import argparse
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
    launch = what.add_parser("launch")
    launch.add_argument("kernels", nargs="*")
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

        launch_all(options.kernels)
        return 0
    from .recording import record as record_all

    record_all(options.out, raw=options.raw, say=_say)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
