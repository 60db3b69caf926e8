"""The command `smemnb tune`: which choices of a kernel are best on this GPU.

smemnb tune matmul | transpose          search, on a GPU; without one, list the candidates
smemnb tune matmul --choices NAME=VALUE,...
                                        what can be said of choices of your own without timing them
smemnb tune --show FILE.json            what a search found, and how to use it

A search begins with the choices that the package ships and changes one thing at a time: each step
times its candidates beside the present best and the library, in the same rounds. TUNING.md in
smemnb/kernels says what the steps are for and when to stop.
"""

from __future__ import annotations

import argparse
import ast
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SmemnbError
from .terminal import show_report

if TYPE_CHECKING:
    from ..hardware import Chip
    from ..measure.tuning.space import Choices

INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Search, list or show; 0 if all is well, 130 if interrupted.

    Raises:
        SmemnbError: an option that cannot be meant so, or a bad file.
    """
    options = _parser().parse_args(argv)
    if options.show is not None:
        from ..measure.tuning import outcome

        show_report(outcome.lines(outcome.load(options.show)))
        return 0
    if options.what is None:
        raise SmemnbError("say what: transpose or matmul; or --show FILE.json (--help)")
    if options.choices is not None:
        return _assessed(options)
    from .bench import need_gpu

    try:
        need_gpu()
    except SmemnbError as reason:
        return _listed(options, str(reason))
    return _searched(options, argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemnb tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what", nargs="?", choices=("transpose", "matmul"), metavar="WHAT", help="transpose, matmul"
    )
    parser.add_argument("--size", default="", help="such as 8192, 4096x16384 or 4096x4096x1024")
    parser.add_argument("--itemsize", type=int, default=4, help="bytes per element of a transpose")
    parser.add_argument(
        "--steps", type=_words, default=(), help="only these, in this order, with commas"
    )
    parser.add_argument(
        "--choices",
        metavar="NAME=VALUE,...",
        help="rows=64,depth=16: only these, beside the package's; the others as in Tiling()",
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no further step")
    parser.add_argument("--rounds", type=int, default=15, help="behind a median (%(default)s)")
    parser.add_argument(
        "--against",
        type=_words,
        default=("torch", "cublas"),
        help="of torch, cupy, cublas, none; what is not installed is left out and named",
    )
    parser.add_argument("--processes", type=int, help="that compile side by side; 0: none")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep it, as it grows")
    parser.add_argument("--force", action="store_true", help="write over FILE.json")
    parser.add_argument("--show", metavar="FILE.json", help="print what a search found")
    parser.add_argument(
        "--chip", default="H200", help="without a GPU: for which chip (%(default)s)"
    )
    parser.add_argument(
        "--source", action="store_true", help="without a GPU: compile nothing, which is quick"
    )
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _chosen(text: str, best: Choices) -> dict[str, Any]:
    """The changes that `--choices` asks for."""
    found: dict[str, Any] = {}
    for word in _words(text):
        name, _, value = (part.strip() for part in word.partition("="))
        if name not in asdict(best):
            raise SmemnbError(f"--choices {word}: the choices are {', '.join(asdict(best))}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise SmemnbError(f"--choices {word}: write {name}=NUMBER, True or None") from None
    return found


def _assessed(options: argparse.Namespace) -> int:
    """Choices of one's own beside those of the package: threads, memory, wavefronts, registers."""
    from ..measure.tuning import model
    from ..measure.tuning.space import start

    best = start(options.what, options.itemsize)
    changes = _chosen(options.choices, best)
    if options.what == "transpose":
        changes.setdefault("itemsize", options.itemsize)
    try:
        yours = type(best)(**changes)
    except ValueError as error:
        raise SmemnbError(f"--choices {options.choices}: {error}") from None
    chip, compiled = _chip_and_compiler(options)
    print(f"{options.what} on {chip.name}: yours beside the package's (model)")
    show_report(model.beside(best, yours, chip, compiled=compiled))
    return 0


def _listed(options: argparse.Namespace, reason: str) -> int:
    """The candidates, and what can be said of them without a GPU."""
    from ..measure.tuning import model
    from ..measure.tuning.space import start, steps_named

    if options.out is not None:
        raise SmemnbError(f"--out keeps times. {reason}")
    chip, compiled = _chip_and_compiler(options)
    best = start(options.what, options.itemsize)
    print(f"{options.what} on {chip.name}: candidates beside the choices as they are (model)")
    steps = steps_named(best, options.steps)
    show_report(model.lines(best, steps, chip, compiled=compiled))
    why = reason.partition(" Without one:")[0]
    show_report(["", f"Which one is fastest takes a GPU: {why}"])
    return 0


def _chip_and_compiler(options: argparse.Namespace) -> tuple[Chip, bool]:
    """The chip that was named, and whether machine code can be looked at."""
    from ..compiled import available
    from ..hardware import chip

    try:
        which = chip(options.chip)
    except ValueError as error:
        raise SmemnbError(f"--chip {options.chip}: {error}") from None
    compiled = available() and not options.source
    if not compiled:
        print('without machine code: no registers (pip install "smemnb[cu13]" has the compiler)')
    return which, compiled


def _searched(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """A search on the GPU of this process."""
    from ..measure.tuning.on_gpu import Wish, search
    from ..measure.tuning.space import start, steps_named

    best = start(options.what, options.itemsize)
    wish = Wish(
        operation=options.what,
        size=options.size,
        itemsize=options.itemsize,
        start=best,
        steps=steps_named(best, options.steps),
        seconds=options.seconds,
        rounds=options.rounds,
        against=options.against,
        processes=options.processes,
        command=shlex.join(["smemnb", "tune", *argv]),
    )
    found = search(wish, out=options.out, force=options.force, show=show_report)
    return 0 if found.finished or options.seconds < float("inf") else INTERRUPTED
