"""`python -m smemnb.measure.bounds --chip H200`: the bounds of both ladders, printed.

Kernels are compiled where the compiler's libraries are installed, which takes some minutes;
a line that says "(source)" rests on the source alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import SmemnbError
from ...hardware import CHIPS, chip
from . import table
from .launches import chip_of_device


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 2 for options that do not fit."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.measure.bounds")
    parser.add_argument("--chip", help=f"this device if left out; {', '.join(CHIPS)}")
    parser.add_argument("--readings", type=Path, metavar="FILE.json", help="measured beside bound")
    parser.add_argument("--only", default="", help="rungs whose name holds this text")
    parser.add_argument("--source", action="store_true", help="compile nothing")
    options = parser.parse_args(argv)
    try:
        which = chip(options.chip) if options.chip else chip_of_device()
        measured = table.readings(options.readings) if options.readings else None
        for line in table.lines(which, measured, compiled=not options.source, only=options.only):
            print(line, flush=True)
    except (SmemnbError, ValueError) as error:
        parser.exit(2, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
