"""The command `smemnb bench patterns`: sums, scans, stencils, histograms, rows on a GPU.

smemnb bench patterns reduction --out FILE.json            measure a room beside torch and CuPy
smemnb bench patterns reduction --sweep 200 --seed 7       and sizes that are drawn
smemnb bench patterns reduction --only argmax              some of its cases
smemnb bench patterns --show reduction                     what was recorded on an H200, or a file
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SmemnbError
from .bench import INTERRUPTED, need_gpu, words
from .terminal import show_report

if TYPE_CHECKING:
    from ..measure.bench.patterns.model import PatternResults

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Measure or show; 0 if all is well, 1 if ours was wrong somewhere, 130 if interrupted.

    Raises:
        SmemnbError: an option that cannot be meant so, no GPU, or a bad file.
    """
    options = _parser().parse_args(argv)
    if (options.room is None) == (options.show is None):
        raise SmemnbError("say what: a room to measure, or --show ROOM or FILE.json (--help)")
    if options.room is not None:
        need_gpu()
    from ..measure.bench.patterns import report
    from ..measure.bench.patterns.model import OURS, load, recorded

    if options.show is not None:
        show = options.show
        show_report(report.lines(load(show) if show.endswith(".json") else recorded(show)))
        return 0
    results = _measured(options, argv)
    show_report(report.lines(results))
    if options.out is not None:
        print(f"results: {options.out}")
    if not results.finished and options.seconds == float("inf"):
        return INTERRUPTED
    return int(any(OURS in one.left_out for one in results.readings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemnb bench patterns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("room", nargs="?", help="reduction, scan, stencil, histogram or rows")
    parser.add_argument("--sweep", type=int, default=0, metavar="N", help="cases that are drawn")
    parser.add_argument("--seed", type=int, default=1, help="of those (1)")
    parser.add_argument("--only", type=words, default=(), help="cases whose names contain these")
    parser.add_argument("--against", type=words, help="of torch, cupy (both)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no further case")
    parser.add_argument(
        "--processes", type=int, metavar="N", help="that compile ahead (processors less 2); 0: none"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep it, as it grows")
    parser.add_argument("--force", action="store_true", help="write over FILE.json")
    parser.add_argument("--show", metavar="ROOM or FILE.json", help="print what is recorded")
    return parser


def _measured(options: argparse.Namespace, argv: Sequence[str]) -> PatternResults:
    from ..measure.bench.patterns.command import Wish, measure

    if options.sweep < 0 or options.seed < 1:
        raise SmemnbError(
            f"--sweep {options.sweep} --seed {options.seed}: a number of cases, and a seed above 0"
        )
    if options.processes is not None and options.processes < 0:
        raise SmemnbError(f"--processes {options.processes}: 0, or how many compile ahead")
    wish = Wish(
        options.room,
        sweep=options.sweep,
        seed=options.seed,
        only=options.only,
        against=("torch", "cupy") if options.against is None else options.against,
        seconds=options.seconds,
        command=["bench", "patterns", *argv],
        processes=options.processes,
    )
    return measure(wish, out=options.out, force=options.force)
