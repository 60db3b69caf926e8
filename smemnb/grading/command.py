"""The command `smemnb grade`: the submissions of many learners, each in a process of its own.

smemnb grade FOLDER                            one folder or file per learner in FOLDER
smemnb grade FOLDER --exercises ex03,ex04_xor  these only; ex03 means all of chapter 3
smemnb grade FOLDER --csv grades.csv --junit grades.xml
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SmemnbError

if TYPE_CHECKING:
    from .outcome import Outcome

EPILOG = """grades:
  accepted      right values, no findings, within the budget
  right values  but with conflicts, races, too many requests ...: the reason says
  wrong         wrong values, or a kernel that cannot be run
  not tried     no kernel for it, or the stub as it was given
  stopped       time, memory, crash, or no kernel came of the file (source)

A kernel is found by check("ex01_place", place) in its file. Only the statements that it needs
are run. A process keeps accidents apart; it is no sandbox: grade strangers in a container."""


def main(argv: Sequence[str]) -> int:
    """Grade, print the table and write the files; 0 whatever the grades are.

    Raises:
        SmemnbError: an option that cannot be meant so, no submissions, or a file in the way.
    """
    from ..exercises.registry import exercises
    from .bar import Bar
    from .running import Limits, grade_all
    from .submissions import learners
    from .tables import table

    options = _parser().parse_args(argv)
    limits = Limits(*_checked(options))
    _refuse_taken([options.csv, options.junit], force=options.force)
    names = chosen(options.exercises)
    found, aside = learners(options.folder, frozenset(one.chapter for one in exercises()))
    for line in aside:
        print(f"left aside: {line}", file=sys.stderr)
    bar = Bar(sys.stderr, len(found) * len(names), "exercises")
    try:
        grades = grade_all(found, names, limits, options.jobs, bar.step)
    except KeyboardInterrupt:
        raise SmemnbError("stopped by you; nothing was written") from None
    finally:
        bar.close()
    print(table(grades))
    _write(options, grades)
    return 0


def chosen(text: str | None) -> list[str]:
    """Names of the exercises that a list such as "ex03,ex04_xor" means; all of them for None.

    >>> chosen("ex00_bias,ex01")
    ['ex00_bias', 'ex01_place', 'ex01_window', 'ex01_rank']

    Raises:
        SmemnbError: one of them means none.
    """
    from ..exercises.registry import exercises, unknown

    names = [one.name for one in exercises()]
    if text is None:
        return names
    wanted: set[str] = set()
    for word in text.replace(",", " ").split():
        meant = {name for name in names if name == word or name.startswith(f"{word}_")}
        if not meant:
            raise SmemnbError(f"--exercises: {unknown(word)}")
        wanted |= meant
    if not wanted:
        raise SmemnbError("--exercises names none: write ex03,ex04_xor or leave it out")
    return [name for name in names if name in wanted]


def _parser() -> argparse.ArgumentParser:
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
    parser.add_argument("--force", action="store_true", help="overwrite these files")
    jobs = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=jobs, help="learners at a time (%(default)s)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=20,
        help="for one exercise, waiting for a processor left out (default: %(default)s)",
    )
    parser.add_argument(
        "--memory",
        type=int,
        default=1024,
        metavar="MB",
        help="for one learner, beside what the grader takes itself (default: %(default)s)",
    )
    return parser


def _checked(options: argparse.Namespace) -> tuple[float, int]:
    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        raise SmemnbError(f"--seconds {options.seconds:g}: more than 0 is wanted, such as 20")
    for name, least in (("jobs", 1), ("memory", 64)):
        value = getattr(options, name)
        if value < least:
            raise SmemnbError(f"--{name} {value}: {least} or more is wanted")
    return options.seconds, options.memory


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


def _write(options: argparse.Namespace, grades: dict[str, list[Outcome]]) -> None:
    from .tables import to_csv, to_junit

    for file, text in ((options.csv, to_csv), (options.junit, to_junit)):
        if file is not None:
            try:
                file.write_text(text(grades), encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise SmemnbError(f"{file} cannot be written: {error.strerror}") from error
