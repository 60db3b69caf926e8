"""The command `smemnb bench`: times of the ladders on a GPU, and what to do with them.

smemnb bench transpose | matmul | all | overhead      measure, on a GPU
smemnb bench engine                                   the lockstep engine, on any machine
smemnb bench sweep matmul | transpose                 random problems beside torch and CuPy
smemnb bench tensor                                   products by tensor cores beside cuBLAS
smemnb bench patterns reduction | scan | ...          sums, scans, stencils, histograms, rows
smemnb bench --show [FILE] --chart FILE.png           a table and a chart of results
smemnb bench --compare A.json B.json                  what became faster or slower
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SmemnbError
from .terminal import show_report

if TYPE_CHECKING:
    from ..measure.results import Results

WHAT = ("transpose", "matmul", "all", "overhead", "engine", "sweep", "patterns", "tensor")
INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Measure, show or compare; 0 if all is well, 1 if a kernel was not, 130 if interrupted.

    Raises:
        SmemnbError: an option that cannot be meant so, no GPU, or a bad file of results.
    """
    if argv[:1] == ["engine"]:
        return _engine(argv[1:])
    if argv[:1] == ["sweep"]:
        from .bench_sweep import main as sweep

        return sweep(argv[1:])
    if argv[:1] == ["patterns"]:
        from .bench_patterns import main as patterns

        return patterns(argv[1:])
    if argv[:1] == ["tensor"]:
        from .bench_tensor import main as tensor

        return tensor(argv[1:])
    options = _parser().parse_args(argv)
    if options.compare:
        return _compare(*options.compare)
    if options.what is not None:
        return _bounds(options) if options.bounds else _measure(options, argv)
    if options.show is None and options.chart is None:
        raise SmemnbError(f"say what: {', '.join(WHAT)}; or --show, --chart, --compare (--help)")
    results = _results(options.show)
    if options.show is not None:
        from ..measure.results import table

        show_report(table.lines(results))
    _chart(results, options.chart)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemnb bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", choices=WHAT, metavar="WHAT", help=", ".join(WHAT))
    _add_measuring(parser.add_argument_group("measuring"))
    kept = parser.add_argument_group("results")
    kept.add_argument("--out", type=Path, metavar="FILE.json", help="keep results, as they grow")
    kept.add_argument("--force", action="store_true", help="write over FILE.json")
    kept.add_argument(
        "--show",
        nargs="?",
        const="",
        metavar="FILE.json",
        help="print results, or the shipped ones",
    )
    kept.add_argument("--chart", type=Path, metavar="FILE.png", help="draw them; .png or .svg")
    kept.add_argument("--compare", nargs=2, metavar=("A.json", "B.json"), help="row by row")
    return parser


def _add_measuring(group: Any) -> None:
    group.add_argument(
        "--rungs", type=words, default=(), help="names with commas, all, or fastest: the choice"
    )
    group.add_argument(
        "--also", default="", metavar="FILE.py", help="try out the rungs in its RUNGS beside these"
    )
    group.add_argument(
        "--sizes", type=words, default=(), help="such as 8192,4096x16384 or 4095x4097x4099"
    )
    group.add_argument(
        "--itemsizes", type=words, default=(), help="bytes per element of transposes: 2,8"
    )
    group.add_argument(
        "--against",
        type=words,
        default=("torch", "cupy", "cublas"),
        help="of torch, cupy, cublas, none; what is not installed is left out and named",
    )
    group.add_argument(
        "--l2",
        choices=("flushed", "resident"),
        default="flushed",
        help="before each launch the L2 cache is read full of other data, or left (%(default)s)",
    )
    group.add_argument("--quick", action="store_true", help="one shape, few rounds")
    group.add_argument("--seconds", type=float, default=float("inf"), help="then no further shape")
    group.add_argument("--processes", type=int, help="that compile side by side")
    group.add_argument(
        "--bounds",
        nargs="?",
        const="H200",
        metavar="CHIP",
        help="print only the least times that the model allows there; needs no GPU (%(const)s)",
    )


def words(text: str) -> tuple[str, ...]:
    """The words of a list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _engine(argv: Sequence[str]) -> int:
    from ..measure import engine_bench

    parser = argparse.ArgumentParser(
        prog="smemnb bench engine", description="The lockstep engine beside Numba's simulator."
    )
    parser.add_argument(
        "--beside", metavar="FILE.py", help="another engine: run(function, grid, block, args)"
    )
    parser.add_argument(
        "--no-simulator", action="store_true", help="leave out the simulator, which takes minutes"
    )
    options = parser.parse_args(argv)
    try:
        show_report(engine_bench.report(options.beside, not options.no_simulator))
    except ValueError as error:
        raise SmemnbError(str(error)) from None
    return 0


def _measure(options: argparse.Namespace, argv: Sequence[str]) -> int:
    need_gpu()
    if options.show is not None:
        raise SmemnbError("--show prints a file that is there; a measurement prints its own table")
    drawable(options.chart)
    from ..measure.bench.command import Wish, measure

    wish = Wish(
        operations=_operations(options.what),
        overhead=options.what in ("all", "overhead"),
        sizes=options.sizes,
        itemsizes=_itemsizes(options.itemsizes),
        rungs=options.rungs,
        also=options.also,
        against=options.against,
        flushed=options.l2 == "flushed",
        quick=options.quick,
        seconds=options.seconds,
        processes=options.processes,
        command=shlex.join(["smemnb", "bench", *argv]),
    )
    results = measure(wish, out=options.out, force=options.force, show=show_report)
    _chart(results, options.chart)
    if not results.finished and options.seconds == float("inf"):
        return INTERRUPTED
    # a kernel that did not take a shape has no name there, and was not launched
    return int(any(row.kernel and not row.right for row in results.rows))


def _bounds(options: argparse.Namespace) -> int:
    """The bounds of a plan on a chip, GPU or none."""
    from ..hardware import chip
    from ..measure.bench.case import plan
    from ..measure.bench.command import bound_lines

    try:
        wanted = chip(options.bounds)
    except ValueError as error:
        raise SmemnbError(f"--bounds {options.bounds}: {error}") from None
    cases = plan(
        _operations(options.what),
        sizes=options.sizes,
        itemsizes=_itemsizes(options.itemsizes),
        rungs=options.rungs,
        quick=options.quick,
    )
    show_report(bound_lines(cases, wanted))
    return 0


def _compare(before: str, after: str) -> int:
    from ..measure.results import compare, load

    show_report(compare.lines(load(before), load(after), (before, after)))
    return 0


def _results(name: str | None) -> Results:
    from ..measure.results import load, shipped
    from ..measure.results.present import of_now

    if name in WHAT and not Path(name).exists():
        raise SmemnbError(
            f"--show takes a file of results, and {name} is what can be measured. The shipped"
            " results hold both operations: smemnb bench --show"
        )
    return load(name) if name else of_now(shipped())


def _chart(results: Results, path: Path | None) -> None:
    if path is None:
        return
    form = drawable(path)
    from ..figures.bars import picture
    from ..measure.results import panels

    drawn = picture(panels.panels(results), panels.source(results), form)
    path.write_bytes(drawn)
    print(f"chart: {path}")


def drawable(path: Path | None) -> str:
    """The form of a chart's file.

    Raises:
        SmemnbError: its name has another ending.
    """
    form = "png" if path is None else path.suffix.lower().lstrip(".")
    if form not in ("png", "svg"):
        raise SmemnbError(f"--chart {path}: the name ends with .png or .svg")
    return form


def _operations(what: str) -> tuple[str, ...]:
    return {"all": ("transpose", "matmul"), "overhead": ()}.get(what, (what,))


def _itemsizes(words: Sequence[str]) -> tuple[int, ...]:
    bad = [word for word in words if not word.isdecimal()]
    if bad:
        raise SmemnbError(f"--itemsizes {bad[0]}: elements have 1, 2, 4, 8 or 16 bytes")
    return tuple(int(word) for word in words)


def need_gpu() -> None:
    """Refuse where kernels do not run on a GPU.

    Raises:
        SmemnbError: what is missing, and what works without.
    """
    from numba import cuda

    from ..simulator.devices import choice, launches, simulated_by_numba

    instead = (
        "Without one: `smemnb bench --show FILE.json`, `smemnb bench WHAT --bounds`,"
        " `smemnb bench engine`"
    )
    if simulated_by_numba():
        raise SmemnbError(f"NUMBA_ENABLE_CUDASIM is set: times are measured on a GPU. {instead}")
    if choice() == "lockstep":
        raise SmemnbError(
            "SMEMNB_DEVICE=lockstep asks for the engine; times are measured on a GPU:"
            f" unset it where there is one. {instead}"
        )
    if launches() in ("lockstep", "no gpu") or not cuda.is_available():
        raise SmemnbError(
            "times are measured on an NVIDIA GPU, and this process has none that Numba can use:"
            " it takes the GPU, its driver, and the compiler libraries; `smemnb doctor` tells"
            f" which is missing. {instead}"
        )
