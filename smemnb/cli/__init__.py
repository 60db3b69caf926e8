"""The command `smemnb`: lab, doctor, check, progress, grade, trace, sass, bench, tune, verify, ...

Each subcommand imports what it needs when it is called, so that `smemnb --help` answers at once.
Exit codes: 0 all is well, 1 the answer is no (a refused exercise, an error in a trace, a kernel
that was stopped, something broken), 2 the command was not understood.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import KernelStopped, SmemnbError
from ..version import VERSION
from .closed_pipe import patient_streams
from .time_limit import add_option as add_time_limit

EPILOG = "README.md says how to begin; GLOSSARY.md says what the words mean."

GRAMMAR = """how the kernel is launched, one of:
  --grid 4,4 --block 32,8 --args ARG ARG ...     one launch, one ARG per parameter
  --call main                                    main() of FILE.py launches it, as often as it likes

ARG is one of (quote it, shells read brackets):
  "float32[128,128]"          an array with 0, 1, 2, ... in the order of memory
  "float32[128,128]=0"        filled with a number
  "float32[128,128]=random"   random numbers, the same in every run: floats of 0 to 1,
                              integers of 0 to 99
  "int32[4096]=random:64"     random integers of 0 to 63
  "float32[128,128]F"         column-major
  "@data.npy"                 a saved array
  5   2.5   True   "(1, 2)"   a Python value
  "int32(5)"                  a NumPy scalar"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # a console that cannot show a character shows its code in place of failing
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    with patient_streams():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    parser = build_parser()
    options, rest = parser.parse_known_args(argv)
    if rest and not options.passes_on:
        launch = getattr(options, "grid", None) or getattr(options, "block", None)
        numbers = launch and all(word.isdecimal() for word in rest)
        commas = ": --grid and --block take commas, as in --grid 4,4 --block 32,8"
        parser.error(f"not understood: {' '.join(rest)}{commas if numbers else ''}")
    _leave_simulator(options.command)
    try:
        return int(options.run(options, rest))
    except KernelStopped as error:
        from .time_limit import places

        lines = [str(error), *map(str, places(error))]
        print(f"smemnb {options.command}:", "\n  ".join(lines), file=sys.stderr)
        return 1
    except SmemnbError as error:
        print(f"smemnb {options.command}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None or error.strerror is None:
            raise
        print(f"smemnb {options.command}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2


_SIMULATED = ("doctor", "bench")
"""The commands that themselves tell what NUMBA_ENABLE_CUDASIM spoils."""


def _leave_simulator(command: str) -> None:
    """Let this process and its children have the real numba.cuda, where Numba is to simulate.

    Common where there is no GPU; but the engine needs none, and Numba's simulator has no types.
    """
    if command in _SIMULATED or os.environ.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0"):
        return
    if "numba" not in sys.modules:  # else it has been read: whatever needs types refuses
        del os.environ["NUMBA_ENABLE_CUDASIM"]
        said = "NUMBA_ENABLE_CUDASIM is set, and left aside: kernels run in the lockstep engine"
        print(f"smemnb {command}: {said}", file=sys.stderr)


def build_parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    parser = argparse.ArgumentParser(
        prog="smemnb", description=(__doc__ or "").splitlines()[0], epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"smemnb {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_lab(commands)
    _add_doctor(commands)
    _add_check(commands)
    _add_progress(commands)
    _add_grade(commands)
    _add_trace(commands)
    _add_sass(commands)
    _add_bench(commands)
    _add_tune(commands)
    _add_tools(commands)
    return parser


if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def _add_lab(commands: Commands) -> None:
    parser = commands.add_parser(
        "lab",
        help="open your copy of the workbook in JupyterLab",
        epilog="Options that are not listed go to JupyterLab unchanged.",
    )
    parser.add_argument(
        "--folder",
        default="smemnb-workbook",
        help="your copy (made if absent; what you worked in is kept; default: %(default)s)",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--port", type=int, help="port of the server")
    parser.set_defaults(run=_lab, passes_on=True)


def _add_doctor(commands: Commands) -> None:
    parser = commands.add_parser("doctor", help="what works here, what does not, and the cure")
    parser.set_defaults(run=_doctor, passes_on=False)


def _add_check(commands: Commands) -> None:
    parser = commands.add_parser("check", help="grade a kernel as the answer to an exercise")
    parser.add_argument("name", help="the exercise, such as ex00_scale")
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.set_defaults(run=_check, passes_on=False)


def _add_progress(commands: Commands) -> None:
    from ..exercises.home import file

    parser = commands.add_parser(
        "progress",
        help="which exercises are done",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Progress is kept in one file:\n  {file()}\nTo begin anew, delete that file."
        " SMEMNB_HOME names another folder for it.",
    )
    parser.set_defaults(run=_progress, passes_on=False)


def _add_grade(commands: Commands) -> None:
    said = "grade the submissions of many learners, in processes with limits"
    parser = commands.add_parser("grade", help=said, add_help=False)
    parser.set_defaults(run=_grade, passes_on=True)


def _add_trace(commands: Commands) -> None:
    parser = commands.add_parser(
        "trace",
        help="counts per source line, and findings, of one kernel",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=GRAMMAR,
    )
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="blocks")
    parser.add_argument("--block", metavar="X[,Y[,Z]]", help="threads of a block")
    parser.add_argument("--shared", metavar="BYTES", type=int, default=0, help="dynamic shared")
    parser.add_argument("--args", metavar="ARG", nargs="*", default=None, help="see below")
    parser.add_argument(
        "--call", metavar="FUNCTION", help="a function of FILE.py that launches the kernel"
    )
    parser.add_argument(
        "--blocks",
        metavar="WHICH",
        default="all",
        help="blocks to watch: all, first, last, edges, or how many; totals are then estimates",
    )
    parser.add_argument(
        "--skip-others", action="store_true", help="leave the blocks out that are not watched"
    )
    parser.add_argument("--json", metavar="FILE", help="one trace per line; - is the screen")
    parser.add_argument("--html", metavar="FILE", help="a page with the traces")
    parser.add_argument("--sarif", metavar="FILE", help="the findings as SARIF 2.1.0")
    parser.add_argument(
        "--no-waivers",
        action="store_true",
        help="report also what comments of the source allow (# smemnb: allow[kind] reason)",
    )
    add_time_limit(parser)
    parser.set_defaults(run=_trace, passes_on=False)


def _add_sass(commands: Commands) -> None:
    parser = commands.add_parser(
        "sass",
        help="machine code per source line, compiled without a GPU",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=GRAMMAR[GRAMMAR.index("ARG is") :],
    )
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("--args", metavar="ARG", nargs="*", default=None, help="see below")
    parser.add_argument("--cc", default="9.0", help="compute capability (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="list every instruction")
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="with --block: counts of a launch too")
    parser.add_argument("--block", metavar="X[,Y[,Z]]", help="threads of a block")
    parser.add_argument("--shared", metavar="BYTES", type=int, default=0, help="dynamic shared")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is the screen")
    add_time_limit(parser)
    parser.set_defaults(run=_sass, passes_on=False)


def _add_bench(commands: Commands) -> None:
    parser = commands.add_parser(
        "bench",
        help="times of the ladders on a GPU, beside libraries; tables and charts of them",
        add_help=False,
    )
    parser.set_defaults(run=_bench, passes_on=True)


def _add_tune(commands: Commands) -> None:
    parser = commands.add_parser(
        "tune",
        help="which choices of a kernel are best on this GPU; without one, the candidates",
        add_help=False,
    )
    parser.set_defaults(run=_tune, passes_on=True)


def _add_tools(commands: Commands) -> None:
    for name, said in (
        ("verify", "the model's counts beside those of Nsight Compute"),
        ("sanitize", "compute-sanitizer's findings beside ours, of one kernel"),
    ):
        parser = commands.add_parser(name, help=said, add_help=False)
        parser.set_defaults(run=_tools, passes_on=True)


def _lab(options: argparse.Namespace, rest: list[str]) -> int:
    from .lab import open_lab

    return open_lab(options.folder, port=options.port, browser=not options.no_browser, more=rest)


def _doctor(options: argparse.Namespace, rest: list[str]) -> int:
    from .doctor import examine, report
    from .machine import look
    from .terminal import show_checks

    checks = examine(look())
    show_checks(checks, report)
    return int(any(check.state == "wrong" for check in checks))


def _check(options: argparse.Namespace, rest: list[str]) -> int:
    from ..exercises.check import check
    from ..exercises.registry import find, unknown
    from .kernel_file import load
    from .terminal import show_lines

    if find(options.name) is None:  # 1 is for an answer that is not right yet
        raise SmemnbError(unknown(options.name, listed_by="smemnb progress"))
    verdict = check(options.name, load(options.kernel).kernel)
    show_lines(str(verdict), rf"^{options.name}: (done|not yet)$")
    return int(not verdict)


def _progress(options: argparse.Namespace, rest: list[str]) -> int:
    from ..exercises.home import file
    from ..exercises.progress import off, progress
    from .terminal import show_lines

    said = str(progress())
    if not off() and file().exists():
        said += f"\nkept in {file()}; to begin anew, delete that file"
    show_lines(said, r"^  (done|open) ")
    return 0


def _grade(options: argparse.Namespace, rest: list[str]) -> int:
    from ..grading.command import main as grade
    from .terminal import show_grades

    return grade(rest, show_grades)


def _trace(options: argparse.Namespace, rest: list[str]) -> int:
    from .kernel_file import load
    from .time_limit import within
    from .traces import traces, write

    with within(options.seconds):
        found = traces(
            load(options.kernel),
            grid=options.grid,
            block=options.block,
            shared_bytes=options.shared,
            texts=options.args,
            call=options.call,
            blocks=int(options.blocks) if options.blocks.isdigit() else options.blocks,
            others="skip" if options.skip_others else "run",
            waivers=not options.no_waivers,
        )
    write(found, json_file=options.json, html_file=options.html, sarif_file=options.sarif)
    return int(not all(trace.ok for trace in found))


def _sass(options: argparse.Namespace, rest: list[str]) -> int:
    from .kernel_file import load
    from .terminal import show_report
    from .time_limit import within
    from .traces import machine_code

    with within(options.seconds):
        said = machine_code(load(options.kernel), options)
    if options.json == "-":  # for a program: whole lines
        print(*said, sep="\n")
    else:
        show_report(said)
    return 0


def _bench(options: argparse.Namespace, rest: list[str]) -> int:
    from .bench import main as bench

    return bench(rest)


def _tune(options: argparse.Namespace, rest: list[str]) -> int:
    from .tune import main as tune

    return tune(rest)


def _tools(options: argparse.Namespace, rest: list[str]) -> int:
    from . import verify

    return int(getattr(verify, options.command)(rest))
