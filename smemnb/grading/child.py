"""The process that grades one submission; run by `running`, never by hand.

It reads a request (JSON) from stdin and reports on what was stdout, a line of JSON each:
`ready` when all is imported, `begin` and `done` per exercise (`begin: null` while it reads the
files), `end`. Its own stdout and stderr lead nowhere from then on, so that no flood of prints
comes through. After an exercise that was stopped it ends, and a new process does the rest.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import CodeType
from typing import Any

from ..exercises.check import graded, plain
from ..exercises.exercise import Exercise
from ..exercises.registry import exercises
from .limits import MEGABYTE, set_own
from .outcome import NOT_TRIED, STOPPED, Outcome, of_verdict
from .reading import Answer, Reading, Statement, read

Say = Callable[..., None]


class Stopped(Exception):
    """No kernel came of the file; the reason in a word and in a line."""


def main() -> None:
    """Grade what the request names, and end."""
    request = json.loads(sys.stdin.buffer.read())
    say = _reporting()
    chosen = [one for one in exercises() if one.name in request["exercises"]]
    set_own(request["memory_mb"] * MEGABYTE, request["cpu_seconds"])
    say(ready=True)
    work = Path.cwd()
    sys.path.append(str(work))
    say(begin=None)
    files = [work / name for name in request["files"]]
    readings = _readings(files)
    for exercise in chosen:
        say(begin=exercise.name)
        began = time.monotonic()
        outcome = _outcome(exercise, readings)
        if not all(file.exists() for file in files):
            text = "it has deleted files of its own folder"
            outcome = Outcome(exercise.name, STOPPED, "crash", text, text)
        seconds = round(time.monotonic() - began, 3)
        say(done={**asdict(outcome), "seconds": seconds})
        if outcome.grade == STOPPED and outcome.reason != "source":
            os._exit(0)
    say(end=True)
    os._exit(0)  # threads that a submission has begun do not hold the process


def _reporting() -> Say:
    """A channel to the parent; stdout and stderr lead nowhere from now on."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def say(**what: Any) -> None:
        channel.write(json.dumps(what) + "\n")
        channel.flush()

    return say


def known_names() -> dict[str, str]:
    """The name of the solution's kernel for each exercise, its own where two have the same."""
    names = {one.name: one.solution.py_func.__name__ for one in exercises()}
    shared = list(names.values())
    return {one: name if shared.count(name) == 1 else one for one, name in names.items()}


def _readings(files: list[Path]) -> list[Reading]:
    """The files taken apart, the last one first."""
    known = known_names()
    cells = Path(tempfile.mkdtemp(prefix="cells_", dir=Path.cwd()))
    return [read(file, cells, known) for file in reversed(files)]


def _outcome(exercise: Exercise, readings: list[Reading]) -> Outcome:
    """The outcome of the last file that tries the exercise."""
    seen = Outcome(exercise.name, NOT_TRIED)
    for reading in readings:
        answer = reading.answers.get(exercise.name)
        if answer is not None:
            seen = _of_answer(exercise, reading, answer)
        elif exercise.name in reading.unreadable:
            text = reading.unreadable[exercise.name]
            seen = Outcome(exercise.name, STOPPED, "source", text, text)
        if seen.grade != NOT_TRIED:
            return seen
    if not seen.reason and (problems := [text for one in readings for text in one.problems]):
        return Outcome(exercise.name, NOT_TRIED, "source", problems[0], "\n".join(problems))
    return seen


def _of_answer(exercise: Exercise, reading: Reading, answer: Answer) -> Outcome:
    try:
        kernel, problems = _kernel(reading, answer)
        outcome = of_verdict(graded(exercise, kernel))
        if outcome.reason != "kernel" or not problems:
            return outcome
        reason, text = "crash", problems[0]
    except Stopped as stopped:
        reason, text = stopped.args
    except MemoryError:
        reason, text = "memory", f"{answer.place}: more memory than allowed"
    except BaseException as error:  # whatever a learner's code can raise
        reason, text = "crash", f"{answer.place}: {plain(error)}"
    return Outcome(exercise.name, STOPPED, reason, text, text)


def _kernel(reading: Reading, answer: Answer) -> tuple[Any, list[str]]:
    """What the expression of an answer stands for, and what the statements it needs raised."""
    names: dict[str, Any] = {"__name__": "submission"}
    problems: list[str] = []
    for one in reading.needed(answer):
        problem = _run(one, names)
        problems += [problem] if problem else []
    try:
        return eval(_expression(answer), names), problems
    except MemoryError:
        raise
    except BaseException as error:
        problems = problems or [f"{answer.place}: {plain(error)}", *reading.problems]
        raise Stopped("source", "; ".join(problems[:2])) from None


def _expression(answer: Answer) -> CodeType:
    return compile(ast.Expression(answer.expression), "<check>", "eval", dont_inherit=True)


def _run(one: Statement, names: dict[str, Any]) -> str:
    """Run a statement; "", or what it raised: as in a notebook, the next one runs anyway."""
    try:
        exec(one.code, names)
    except MemoryError:
        raise
    except BaseException as error:
        return f"{one.place}, line {one.node.lineno}: {plain(error)}"
    return ""
