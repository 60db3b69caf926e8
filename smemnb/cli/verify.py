"""The commands `smemnb verify` and `smemnb sanitize`: the model beside NVIDIA's own tools.

smemnb verify                                   the set of kernels, on this GPU or as recorded
smemnb verify FILE.py:KERNEL --grid ... --args  one kernel of yours, on this GPU
smemnb verify --time                            predicted times beside those of this GPU, and n-way
                                                accesses by time; or predicted beside recorded
smemnb sanitize FILE.py:KERNEL --grid ...       compute-sanitizer's findings beside ours
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SmemnbError
from . import GRAMMAR
from .time_limit import add_option as add_time_limit
from .time_limit import within

if TYPE_CHECKING:
    from ..measure.verify.compare import Compared
    from ..measure.verify.recording import Recording

NO_GPU = "there is no NVIDIA GPU that this process may use"


def verify(argv: Sequence[str]) -> int:
    """Compare counters with the model; 0 if all agree, 1 if not or if there are no counters.

    Raises:
        SmemnbError: an option that cannot be meant so, or a launch that is refused.
    """
    options = _parser("verify").parse_args(argv)
    if options.into is not None:
        return _launch(options)
    if options.kernel is not None:
        return _verify_one(options, argv)
    return _by_time() if options.time else _verify_set(options.out)


def sanitize(argv: Sequence[str]) -> int:
    """Compute-sanitizer's four tools beside our findings; 0 if neither finds anything, else 1.

    Raises:
        SmemnbError: an option that cannot be meant so, or a launch that is refused.
    """
    import tempfile

    from ..measure.hazards import found_by, table_lines
    from ..measure.verify.predicted import calling_lines
    from .launches import launches
    from .terminal import show_report, show_traces

    options = _parser("sanitize").parse_args(argv)
    if options.into is not None:
        return _launch(options)
    if options.kernel is None:
        raise SmemnbError("say which kernel: smemnb sanitize FILE.py:KERNEL --grid ... --block ...")
    with within(options.seconds):
        cases, traces = launches(options)
    if not _has_gpu():
        show_traces(traces)
        print(f"\n{NO_GPU}: these are the findings of the model alone")
        return int(any(found for trace in traces for found in trace.findings if not found.price))
    dangerous = [found for trace in traces for found in trace.all_findings if found.kind in HANGS]
    if dangerous:
        raise SmemnbError(f"not launched on a GPU, where it may hang: {dangerous[0].cause}")
    with tempfile.TemporaryDirectory() as folder:
        command = _again("sanitize", argv, "--into", folder)
        reports = found_by(command, Path(folder))
    show_report(table_lines(traces, reports, calling_lines(cases[0].kernel)))
    return int(any(reports.values()) or not all(trace.ok for trace in traces))


HANGS = ("divergent_barrier", "exited_before_grid_barrier", "divergent_syncwarp")
"""Findings with which a kernel may not come back from a GPU."""


def _parser(what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"smemnb {what}",
        description=__doc__,
        epilog=GRAMMAR,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kernel", nargs="?", metavar="FILE.py:KERNEL")
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="blocks")
    parser.add_argument("--block", metavar="X[,Y[,Z]]", help="threads of a block")
    parser.add_argument("--shared", metavar="BYTES", type=int, default=0, help="dynamic shared")
    parser.add_argument("--args", metavar="ARG", nargs="*", default=None, help="see below")
    parser.add_argument("--call", metavar="FUNCTION", help="a function that launches the kernel")
    add_time_limit(parser)
    if what == "verify":
        parser.add_argument("--time", action="store_true", help="times, predicted and measured")
        parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep what was read")
    # the process that a tool looks into: launch, write a journal into this folder
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    return parser


def _has_gpu() -> bool:
    """Whether kernels run on a GPU in this process."""
    from numba import cuda  # noqa: F401  the plug decides when it is imported

    from ..simulator import devices

    return devices.launches() == "gpu"


def _launch(options: argparse.Namespace) -> int:
    """Launch what the command line means, for a tool that looks into this process."""
    from ..measure.verify.ncu.launching import launch_all
    from .launches import launches

    cases, _ = launches(options)
    first, last = map(int, (options.only or f"0:{len(cases)}").split(":"))
    cubins = options.into / "cubins"
    cubins.mkdir(parents=True, exist_ok=True)
    return int(launch_all(cases[first:last], options.into / "journal.jsonl", cubins) > 0)


def _again(what: str, argv: Sequence[str], *more: str) -> list[str]:
    """The command that does the launches of this one in a process of its own."""
    return [sys.executable, "-m", "smemnb.cli", what, *argv, *more]


def _verify_one(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """One kernel of the user's, live."""
    from ..measure.verify.compare import compare_all
    from ..measure.verify.ncu.profiling import profiler
    from ..measure.verify.recording import live
    from ..measure.verify.report import launch_lines, origin
    from .launches import launches
    from .terminal import show_report

    with within(options.seconds):
        cases, traces = launches(options)
    if not _has_gpu():
        raise SmemnbError(
            f"{NO_GPU}, so there are no counters of {cases[0].kernel_name} to compare with;"
            " `smemnb trace` shows the model, `smemnb sass` what the compiler makes of the kernel"
        )
    every = [found for trace in traces for found in trace.all_findings]  # a waiver repairs nothing
    wrong = [found for found in every if found.severity == "error"]
    if wrong:
        raise SmemnbError(f"not launched on a GPU before this is repaired: {wrong[0].cause}")
    profiler()

    def command(first: int, last: int, into: Path) -> list[str]:
        return _again("verify", argv, "--into", str(into), "--only", f"{first}:{last}")

    found = live(cases, command)
    compared = compare_all(cases, found.cases)
    lines = [line for one in compared for line in launch_lines(one)]
    lines += [f"not read: {name}: {why}" for name, why in found.missing.items()]
    show_report([origin(found.origin), *lines])
    return int(bool(found.missing) or not _agree(compared))


def _verify_set(out: Path | None) -> int:
    """The set, on this GPU, or as recorded on another."""
    from ..laboratory.agreement import build, record
    from ..measure.verify.recording import load

    if _has_gpu():
        try:
            if out is None:
                from ..laboratory.corpus import CASES, case_named
                from ..measure.verify.recording import live

                return _reported(live(CASES, named=case_named, say=_say))
            return _reported(build([record(out, say=_say)], out, say=_say))
        except SmemnbError as error:
            print(f"{error}\n\nby time instead:", file=sys.stderr)
            _by_time()
            return 1
    if out is not None:
        raise SmemnbError(f"--out keeps what a GPU counts, and {NO_GPU}")
    print(f"{NO_GPU}: today's model beside the counters that were recorded")
    return _reported(load())


def _reported(found: Recording) -> int:
    from ..laboratory.corpus import CASES
    from ..measure.verify.compare import compare_all
    from ..measure.verify.report import origin, whole_lines
    from .terminal import show_report

    compared = compare_all(CASES, found.cases)
    show_report([origin(found.origin), *whole_lines(compared, found.missing)])
    return int(not _agree(compared))


def _agree(compared: Sequence[Compared]) -> bool:
    """As compiled everywhere; in the source view where there is one instruction per access."""
    return not any(
        one.compiled_differs or (one.one_to_one and one.source_differs) for one in compared
    )


def _by_time() -> int:
    from ..laboratory.times.predicting import beside
    from ..measure.predictions import load, table_lines
    from ..measure.verify.timing import lines, times
    from .terminal import show_report

    if not _has_gpu():
        said = f"{NO_GPU}: predicted times beside those that were recorded on an H200"
        show_report([said, *table_lines(load())])
        return 0
    show_report(lines(times()))
    beside(_say)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
