"""Racecheck's verdicts on the twins, from the command line.

python -m smemnb.laboratory.twins record --out FILE.json      on a GPU; keeps FILE.zip too
python -m smemnb.laboratory.twins build --raw RAW.zip --out FILE.json
python -m smemnb.laboratory.twins launch --part 0:14 --into FOLDER    under racecheck only
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import SmemnbError
from .recording import build, launch, record


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.laboratory.twins")
    what = parser.add_subparsers(dest="what", required=True)
    recording = what.add_parser("record")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--seconds", type=float, default=120.0)
    recording.add_argument("--raw-only", action="store_true", help="keep the zip alone")
    building = what.add_parser("build")
    building.add_argument("--raw", type=Path, required=True)
    building.add_argument("--out", type=Path, required=True)
    launching = what.add_parser("launch")
    launching.add_argument("--part", required=True, help="PART:PARTS")
    launching.add_argument("--into", type=Path, required=True)
    options = parser.parse_args(argv)
    try:
        if options.what == "launch":
            part, parts = map(int, options.part.split(":"))
            return int(launch(part, parts, options.into) > 0)
        if options.what == "build":
            build(options.raw, options.out, say=_say)
            return 0
        raw = record(options.out, seconds=options.seconds, say=_say)
        if not options.raw_only:
            build(raw, options.out, say=_say)
    except SmemnbError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
