"""The command `smemnb grade`: the submissions of many learners, and none of their code run.

smemnb grade FOLDER                            one folder or file per learner in FOLDER
smemnb grade FOLDER --exercises ex03,ex04_xor  these only; ex03 means all of chapter 3
smemnb grade FOLDER --csv grades.csv --junit grades.xml
smemnb grade FOLDER --execute                  run what cannot be taken from the text
"""

from __future__ import annotations

import argparse
import math
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SmemnbError

if TYPE_CHECKING:
    from .executing.sandbox import Level
    from .limits import Limits
    from .outcome import Outcome
    from .tables import Grades

EPILOG = """grades:
  accepted      right values, no findings, within the budget
  right values  but with conflicts, races, too many requests ...: the reason says
  wrong         wrong values, or a kernel that cannot be run
  not tried     no kernel for it, or the stub as it was given
  stopped       time, memory, crash; no kernel came of the file (source); or its kernel is made by
                code that would have to be run (needs --execute)

A kernel is found by check("ex01_place", place) or forecast("ex01_place", place, ...) in its file,
and taken from the text with its constants and device functions: no statement of a submission is
executed. With --execute, the statements that such kernels need are run, kept apart as well as this
machine can (smemnb doctor says how well); what comes of them is judged outside, like any other
text.

Grades are kept as they come, in the file that --results names. A run that was stopped goes on
where it was when the same command is given again, with the same fresh cases."""

SUFFIX = ".results.jsonl"


def print_table(grades: Grades) -> None:
    """Print the grades as plain text."""
    from .tables import table

    print(table(grades))


def main(argv: Sequence[str], show: Callable[[Grades], None] = print_table) -> int:
    """Grade, show the table and write the files; 0 whatever the grades are.

    Raises:
        SmemnbError: an option that cannot be meant so, no submissions, a file in the way, or
            nothing can be graded here.
    """
    from ..exercises.chapters import CHAPTERS
    from .bar import Bar
    from .results import begun
    from .running import Course, grade_all
    from .submissions import learners
    from .workers import Workers

    options = _parser().parse_args(argv)
    limits = _checked(options)
    names = chosen(options.exercises)
    _refuse_taken([options.csv, options.junit], force=options.force)
    results_file = options.results or _results_file(options)
    found, aside = learners(options.folder, frozenset(CHAPTERS))
    for line in aside:
        print(f"left aside: {_shown(line)}", file=sys.stderr)
    try:
        with _terminations_interrupt(), Workers() as workers:
            level = _level(options)
            results = begun(
                results_file,
                _how(options, names, limits),
                options.seed,
                secrets.randbelow(2**31),
                force=options.force,
                named=options.results is not None,
            )
            course = Course(names, limits, level, [str(options.folder.resolve())])
            with results:
                _say_where(results_file, results.seed, sum(map(len, results.done.values())))
                bar = Bar(sys.stderr, len(found) * len(names), "exercises")
                try:
                    grades = grade_all(found, course, workers, results, options.jobs, bar.step)
                finally:
                    bar.close()
                show(grades)
                _write(options, grades)
                results.finish()
    except KeyboardInterrupt:
        kept = f"what was graded is kept in {results_file}, and the same command goes on"
        raise SmemnbError(
            f"stopped; {kept if results_file.exists() else 'nothing was graded'}"
        ) from None
    return 0


def chosen(text: str | None) -> list[str]:
    """Names of the exercises that a list such as "ex03,ex04_xor" means; all of them for None.

    >>> chosen("ex00_bias,ex01")
    ['ex00_bias', 'ex01_place', 'ex01_window', 'ex01_rank']

    Raises:
        SmemnbError: one of them means none.
    """
    from ..exercises.registry import NAMES, unknown

    if text is None:
        return list(NAMES)
    wanted: set[str] = set()
    for word in text.replace(",", " ").split():
        meant = {name for name in NAMES if name == word or name.startswith(f"{word}_")}
        if not meant:
            raise SmemnbError(f"--exercises: {unknown(word)}")
        wanted |= meant
    if not wanted:
        raise SmemnbError("--exercises names none: write ex03,ex04_xor or leave it out")
    return [name for name in NAMES if name in wanted]


def _parser() -> argparse.ArgumentParser:
    from .limits import Limits
    from .running import processors

    usual = Limits()
    parser = argparse.ArgumentParser(
        prog="smemnb grade",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with all submissions")
    parser.add_argument("--exercises", metavar="LIST", help="which (default: all)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="a line per grade")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="a suite per learner")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help=f"grades as they come, to go on with (default: beside the CSV or JUnit file, or "
        f"FOLDER{SUFFIX})",
    )
    parser.add_argument("--force", action="store_true", help="overwrite these files")
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="of the fresh cases, to have the same ones again (default: another one in each run)",
    )
    parser.add_argument(
        "--execute",
        action="store_true",
        help="run learners' code where a kernel cannot be taken from the text",
    )
    parser.add_argument(
        "--jobs", type=int, default=processors(), help="learners at a time (%(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=usual.seconds,
        help="for one exercise, waiting for a processor left out (default: %(default)s)",
    )
    for name, metavar, default, said in (
        ("memory", "MB", usual.memory_mb, "for all processes of one learner, beside the grader's"),
        ("processes", "N", usual.processes, "with --execute: of one learner"),
        ("written", "MB", usual.written_mb, "with --execute: in files of one learner"),
    ):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=default,
            metavar=metavar,
            help=f"{said} (default: %(default)s)",
        )
    return parser


def _checked(options: argparse.Namespace) -> Limits:
    from .limits import Limits

    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        raise SmemnbError(f"--seconds {options.seconds:g}: more than 0 is wanted, such as 20")
    for name, least in (("jobs", 1), ("memory", 64), ("processes", 1), ("written", 1)):
        value = getattr(options, name)
        if value < least:
            raise SmemnbError(f"--{name} {value}: {least} or more is wanted")
    if options.seed is not None and not 0 <= options.seed < 2**63:
        raise SmemnbError(f"--seed {options.seed}: 0 or more is wanted, below 2**63")
    return Limits(options.seconds, options.memory, options.processes, options.written)


def _results_file(options: argparse.Namespace) -> Path:
    beside: Path | None = options.csv or options.junit
    if beside is not None:
        return beside.with_name(f"{beside.stem}{SUFFIX}")
    folder: Path = options.folder.resolve()
    return folder.with_name(f"{folder.name}{SUFFIX}")


def _refuse_taken(files: Sequence[Path | None], *, force: bool) -> None:
    named = [file for file in files if file is not None]
    if len({file.absolute() for file in named}) < len(named):
        raise SmemnbError(f"--csv and --junit both name {named[0]}: give each a file of its own")
    for file in named:
        if not file.absolute().parent.is_dir():
            raise SmemnbError(f"{file} cannot be written: there is no folder {file.parent}")
        if file.is_dir():
            raise SmemnbError(f"{file} is a folder: name a file in it")
        if file.exists() and not force:
            raise SmemnbError(f"{file} is there already: name another, or add --force")


def _level(options: argparse.Namespace) -> Level | None:
    """What learners' code is run in; said, because it is theirs."""
    if not options.execute:
        return None
    from .executing.sandbox import level

    found = level()
    print(f"learners' code is executed in: {found.text}", file=sys.stderr)
    return found


def _how(options: argparse.Namespace, names: list[str], limits: Limits) -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        mine = version("smemnb")
    except PackageNotFoundError:  # a checkout that is not installed
        mine = "unknown"
    return {
        "folder": str(options.folder.resolve()),
        "exercises": names,
        "version": mine,
        "execute": options.execute,
        "limits": asdict(limits),
    }


def _say_where(file: Path, seed: int, known: int) -> None:
    done = f"; going on with a run of {known} learners" if known else ""
    print(f"fresh cases of seed {seed}; grades are kept in {file}{done}", file=sys.stderr)


@contextmanager
def _terminations_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does: end all that was started, keep what is known."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _shown(text: str) -> str:
    from .tables import printable

    return printable(text)


def _write(options: argparse.Namespace, grades: dict[str, list[Outcome]]) -> None:
    from .tables import to_csv, to_junit, write

    for file, text in ((options.csv, to_csv), (options.junit, to_junit)):
        if file is not None:
            try:
                write(file, text(grades))
            except OSError as error:
                raise SmemnbError(f"{file} cannot be written: {error.strerror}") from error
