"""The command `smemnb bench tensor`: products by tensor cores on a GPU.

smemnb bench tensor --out FILE.json                     all types, sizes and layouts
smemnb bench tensor --kinds bf16 --sizes 8192,4096      some of them
smemnb bench tensor --kinds bf16 --sizes 8192 --cuts    other choices of tiles beside them
smemnb bench tensor --kinds f16 --sizes 4096 --rungs    the ladders beside them
smemnb bench tensor --check                             small ones, once each, not timed
smemnb bench tensor --list                              what would be timed; needs no GPU
smemnb bench tensor --code                              main loops as compiled; needs no GPU
smemnb bench tensor --show [FILE.json]                  what was measured, or what is shipped
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ..errors import SmemnbError
from .bench import need_gpu, words
from .terminal import show_report

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Measure, list or show; 0 if all is well, 1 if ours was wrong or failed somewhere.

    Raises:
        SmemnbError: an option that cannot be meant so, no GPU, or a bad file.
    """
    options = _parser().parse_args(argv)
    from ..measure.bench import tensor

    if options.show is not None:
        show_report(tensor.lines(tensor.loaded(options.show if options.show.name else None)))
        return 0
    cases = tensor.cases_named(options.kinds, options.sizes)
    if options.code:
        show_report(tensor.mixes(options.kinds))
        return 0
    if options.list:
        show_report(one.name for one in cases)
        show_report(tensor.predicted())
        return 0
    if options.out is not None and options.out.exists() and not options.force:
        raise SmemnbError(f"{options.out} is there already: another name, or --force")
    need_gpu()
    if options.check:
        return _checked(options.kinds)
    return _measured(options, argv, cases)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smemnb bench tensor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kinds", type=words, default=("bf16", "f16", "tf32"), help="of operands")
    parser.add_argument(
        "--sizes",
        type=words,
        default=("8192", "4096", "ragged"),
        help="8192 (all layouts), 4096, ragged, or such as 4096x4096x8192:NT",
    )
    parser.add_argument("--cuts", action="store_true", help="other choices of tiles beside ours")
    parser.add_argument("--rungs", action="store_true", help="the ladders beside ours (f16)")
    parser.add_argument("--against", type=words, default=("torch", "cupy"), help="cuBLAS through")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no further case")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep it, as it grows")
    parser.add_argument("--force", action="store_true", help="write over FILE.json")
    parser.add_argument("--check", action="store_true", help="only compare small results")
    parser.add_argument("--list", action="store_true", help="only say what would be timed")
    parser.add_argument("--code", action="store_true", help="only say what the compiler makes")
    parser.add_argument(
        "--show",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE.json",
        help="print what is recorded, or the shipped readings",
    )
    return parser


def _checked(kinds: Sequence[str]) -> int:
    from ..measure.bench import tensor

    wrong = 0
    for one in tensor.checked(kinds):
        print(f"{one.case} {one.name}: {one.failed or f'right, {one.error:.1e}'}", flush=True)
        wrong += bool(one.failed)
    return int(wrong > 0)


def _measured(options: argparse.Namespace, argv: Sequence[str], cases: Sequence[object]) -> int:
    from ..measure.bench import device, libraries, provenance, tensor
    from ..measure.bench.timing import GpuClock

    found, said = libraries.found(options.against)
    command = shlex.join(["smemnb", "bench", "tensor", *argv])
    origin = provenance.origin(command, said, "flushed")
    about = {
        name: value for name, value in asdict(origin).items() if name not in ("rows", "overheads")
    }
    readings = tensor.measured(
        cases,  # type: ignore[arg-type]
        libraries=found,
        cuts=tensor.TUNED if options.cuts else (),
        rungs=options.rungs,
        warpgroups=origin.gpu.cc == "9.0",
        seconds=options.seconds,
        out=options.out,
        about=about,
        clock=GpuClock(),
        multiprocessors=origin.gpu.multiprocessors,
        between=device.sweep(2 * origin.gpu.l2_bytes),
    )
    if options.out is not None:
        print(f"results: {options.out}")
    return int(any(one.failed and one.name not in ("torch", "cupy") for one in readings))
