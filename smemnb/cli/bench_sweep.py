"""The command `smemnb bench sweep`: seeded random problems on a GPU, beside torch and CuPy.

smemnb bench sweep matmul | transpose --out FILE.json         measure
smemnb bench sweep matmul --out FILE.json --resume            go on where it ended
smemnb bench sweep --show FILE.json --chart FILE.svg          print and draw a file
smemnb bench sweep --show NEW.json --compare OLD.json         what became slower
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SmemnbError
from .bench import INTERRUPTED, drawable, need_gpu, words
from .terminal import show_report

if TYPE_CHECKING:
    from ..measure.bench.sweep.model import Sweep

__all__ = ["main"]

MEASURING = ("count", "seed", "against", "seconds", "processes", "lock", "out", "force", "resume")
FAULTS = ("refused", "wrong", "failed")


def main(argv: Sequence[str]) -> int:
    """Measure or show; 0 if all is well, 1 if a problem was refused or wrong, 130 if interrupted.

    Raises:
        SmemnbError: an option that cannot be meant so, no GPU, or a bad file.
    """
    options = _parser().parse_args(argv)
    if options.what is not None:
        need_gpu()
    _check(options)
    from ..measure.bench.sweep import compare, report
    from ..measure.bench.sweep.model import load

    old = None if options.compare is None else load(options.compare)
    if old is not None and options.what is not None:
        compare.check_operation(old, options.what)
    sweep = load(options.show) if options.what is None else _measured(options, argv)
    show_report(report.lines(sweep))
    if old is not None:
        show_report(["", *compare.lines(old, sweep, options.compare)])
    _chart(sweep, options.chart)
    if options.what is None:
        return 0
    if options.out is not None:
        print(f"sweep: {options.out}")
    if not sweep.finished and options.seconds == float("inf"):
        return INTERRUPTED
    return int(any(one.status in FAULTS for one in sweep.readings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemnb bench sweep",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=("matmul", "transpose"), help="the operation")
    parser.add_argument("--count", type=int, help="problems (matmul 300, transpose 200)")
    parser.add_argument(
        "--seed", type=int, help="of the problems (1); --resume takes both from the file"
    )
    parser.add_argument("--against", type=words, help="of torch, cupy (both)")
    parser.add_argument("--seconds", type=float, help="then no further problem")
    parser.add_argument(
        "--processes", type=int, metavar="N", help="that compile ahead (processors less 2); 0: none"
    )
    parser.add_argument(
        "--lock", type=Path, metavar="FILE", help="compile all, then lock it and time"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep it, as it grows")
    parser.add_argument("--force", action="store_true", help="write over FILE.json")
    parser.add_argument("--resume", action="store_true", help="go on with FILE.json")
    parser.add_argument("--show", metavar="FILE.json", help="print a file")
    parser.add_argument(
        "--compare", metavar="OLD.json", help="what is measured or shown, beside an older file"
    )
    parser.add_argument("--chart", type=Path, metavar="FILE.svg", help="draw it; .svg or .png")
    return parser


def _check(options: argparse.Namespace) -> None:
    """Refuse what cannot be meant so, before anything is read or measured."""
    if options.what is None and options.show is None:
        raise SmemnbError("say what: matmul or transpose to measure, or --show FILE (--help)")
    if options.what is not None and options.show is not None:
        raise SmemnbError("--show prints a file that is there; a measurement prints its own report")
    if options.what is None:
        for name in (
            "count",
            "seed",
            "against",
            "seconds",
            "processes",
            "lock",
            "out",
            "force",
            "resume",
        ):
            given = getattr(options, name)
            if given is not None and given is not False:
                raise SmemnbError(f"--{name} goes with a measurement, not with --show")
    if options.count is not None and options.count < 1:
        raise SmemnbError(f"--count {options.count}: a sweep has at least 1 problem")
    if options.seconds is None:
        options.seconds = float("inf")
    if not options.seconds > 0:
        raise SmemnbError(f"--seconds {options.seconds:g}: more than 0")
    if options.processes is not None and options.processes < 0:
        raise SmemnbError(f"--processes {options.processes}: 0, or how many compile ahead")
    if options.resume and options.out is None:
        raise SmemnbError("--resume goes on with the file of --out; name it")
    if options.resume and options.force:
        raise SmemnbError("--resume keeps what the file has, --force writes over it: one of them")
    drawable(options.chart)


def _measured(options: argparse.Namespace, argv: Sequence[str]) -> Sweep:
    from ..measure.bench.sweep.command import COUNTS, Wish, measure
    from ..measure.bench.sweep.model import load

    count, seed = COUNTS[options.what], 1
    if options.resume and options.out.exists():
        old = load(options.out)
        count, seed = old.count, old.seed
    wish = Wish(
        options.what,
        count=count if options.count is None else options.count,
        seed=seed if options.seed is None else options.seed,
        against=("torch", "cupy") if options.against is None else options.against,
        seconds=options.seconds,
        command=["bench", "sweep", *argv],
        processes=options.processes,
        lock=options.lock,
    )
    return measure(wish, out=options.out, force=options.force, resume=options.resume)


def _chart(sweep: Sweep, path: Path | None) -> None:
    if path is None:
        return
    from ..measure.bench.sweep.chart import picture

    path.write_bytes(picture(sweep, drawable(path)))
    print(f"chart: {path}")
