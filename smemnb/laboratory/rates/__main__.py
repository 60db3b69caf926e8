"""Microbenchmarks, from the command line.

python -m smemnb.laboratory.rates record --out FILE.json     on a GPU
    [--part 2/8] [--lock FILE]     every eighth reading; FILE is held while something is timed
python -m smemnb.laboratory.rates merge FILE.json ... --out FILE.json    what the parts wrote
python -m smemnb.laboratory.rates loops --onto FILE.json     their machine code, without one
python -m smemnb.laboratory.rates list                       without one
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory.rates")
    what = parser.add_subparsers(dest="what", required=True)
    record = what.add_parser("record")
    record.add_argument("--out", type=Path, required=True)
    record.add_argument("--part", default="1/1", help="2/8: every eighth reading, from the second")
    record.add_argument("--lock", type=Path, help="a file to hold while something is timed")
    merge = what.add_parser("merge")
    merge.add_argument("parts", type=Path, nargs="+")
    merge.add_argument("--out", type=Path, required=True)
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
    if options.what == "merge":
        from ..in_parts import merged

        whole = merged(options.parts, ("readings",))
        options.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        return 0
    from ..in_parts import part
    from .recording import record as record_all
    from .table import READINGS

    record_all(options.out, readings=part(options.part, READINGS), lock=options.lock, say=_say)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
