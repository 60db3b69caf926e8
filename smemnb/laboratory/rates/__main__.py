"""Microbenchmarks, from the command line.

python -m smemnb.laboratory.rates record --out FILE.json     on a GPU
python -m smemnb.laboratory.rates loops --onto FILE.json     their machine code, without one
python -m smemnb.laboratory.rates list                       without one
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory.rates")
    what = parser.add_subparsers(dest="what", required=True)
    record = what.add_parser("record")
    record.add_argument("--out", type=Path, required=True)
    loops = what.add_parser("loops")
    loops.add_argument("--onto", type=Path, required=True, help="a file that `record` wrote")
    what.add_parser("list")
    options = parser.parse_args(argv)
    if options.what == "loops":
        from .recording import add_loops

        add_loops(options.onto, say=_say)
        return 0
    if options.what == "list":
        from .table import READINGS

        for one in READINGS:
            _say(f"{one.group:20} {one.name:32} {one.tells}")
        return 0
    from .recording import record as record_all

    record_all(options.out, say=_say)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
