"""The command `smemnb bench`: measurements of smemnb itself, printed as text.

bench engine    the lockstep engine beside Numba's simulator, and its cost against size
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import engine_bench


def main(argv: Sequence[str] | None = None) -> int:
    """Run a benchmark and print it; 0 if it ran, 2 for bad options."""
    parser = argparse.ArgumentParser(prog="smemnb bench", description=__doc__.splitlines()[0])
    what = parser.add_subparsers(dest="what", required=True)
    engine = what.add_parser("engine", help="the lockstep engine beside Numba's simulator")
    engine.add_argument(
        "--beside", metavar="FILE.py", help="another engine: run(function, grid, block, args)"
    )
    engine.add_argument(
        "--no-simulator", action="store_true", help="leave out the simulator, which takes minutes"
    )
    options = parser.parse_args(argv)
    try:
        for line in engine_bench.report(options.beside, not options.no_simulator):
            print(line, flush=True)
    except ValueError as error:
        parser.exit(2, f"{error}\n")
    return 0
