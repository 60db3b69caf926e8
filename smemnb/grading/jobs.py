"""What a worker process can be asked to do; `worker_process` calls it.

    prove   grade a solution of ours: what cannot accept it must grade nobody
    judge   the kernels of one learner, out of the files or out of programs

Nothing of a learner's is executed here. What takes too long or too much is ended by the grader,
at whatever exercise `begin` named last; a new worker does the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from ..errors import SmemnbError
from ..exercises.check import plain
from .judging import judged
from .kernel_names import known_names
from .limits import limit_memory, limit_reading
from .outcome import (
    ACCEPTED,
    NEEDS_EXECUTE,
    NOT_TRIED,
    STOPPED,
    STOPS,
    WRONG,
    Outcome,
    bounded,
    stopped,
)
from .program import NotAProgram, Program, from_json
from .taking import EXECUTE, NotTaken, take
from .taking.cells import Unreadable, cells_of, parsed
from .worker_process import Say

_PROOF = b"""from numba import cuda

@cuda.jit
def ex00_scale(out, inp):
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = 2 * inp[i]
"""


def proved() -> str:
    """Say why nothing can be graded here, "" if a right kernel is accepted.

    What is made on the way, once for all, is there for every worker that is forked afterwards.
    """
    try:
        answers = take({"proof.py": _PROOF}, known_names()).answers["ex00_scale"]
        outcome = judged("ex00_scale", answers, seed=1)
        return "" if outcome.grade == ACCEPTED else outcome.whole.replace("\n", "; ")
    except Exception as error:
        return plain(error)


def prove(request: dict[str, Any], blobs: list[bytes], say: Say) -> None:
    """Say why nothing can be graded here, "" if a right kernel is accepted."""
    say(proved=proved())


def judge(request: dict[str, Any], blobs: list[bytes], say: Say) -> None:
    """Say the outcome of each exercise, or that it needs to be executed."""
    memory_mb = request["memory_mb"]
    limit_reading()
    limit_memory(memory_mb)
    say(ready=os.getpid())
    answers: dict[str, list[Program | NotTaken]]
    if "programs" in request:
        answers, problems = {}, []
        for name, recorded in request["programs"].items():
            answers[name] = _recorded(recorded)
    else:
        files = dict(zip(request["files"], blobs, strict=True))
        if request["one_by_one"]:
            _read_each(files, say)
        say(reading=None)
        taken = take(files, known_names())
        answers, problems = taken.answers, [*request["problems"], *taken.problems]
    for name in request["exercises"]:
        limit_memory(memory_mb)
        say(begin=name)
        began = time.monotonic()
        mine = answers.get(name, [])
        outcome = _outcome(name, mine, problems, request["seed"])
        raised = request.get("programs", {}).get(name, {}).get("problem", "")
        if raised and outcome.reason == "kernel":  # a name is missing, and this is why
            outcome = stopped(name, "crash", raised)
        if outcome.reason == NEEDS_EXECUTE and request["execute"]:
            say(needs=name)
            continue
        outcome = replace(outcome, seconds=round(time.monotonic() - began, 3))
        kept = bounded(asdict(outcome))
        assert kept is not None
        say(done=asdict(kept))
        if outcome.grade == STOPPED and outcome.reason in ("time", "memory", "crash"):
            return  # what it has left behind is not for the next exercise
    say(end=True)


def _read_each(files: dict[str, bytes], say: Say) -> None:
    """Read the files alone, each by its name: one of them has stopped a worker."""
    for name, content in files.items():
        say(reading=name)
        try:
            for cell in cells_of(name, content):
                parsed(cell.text)
        except Unreadable:
            continue


def _outcome(
    name: str, answers: Sequence[Program | NotTaken], problems: list[str], seed: int | None
) -> Outcome:
    if not answers:
        text = problems[0] if problems else ""
        return Outcome(name, NOT_TRIED, "source" if text else "", text, "\n".join(problems))
    try:
        outcome = judged(name, answers, seed=seed)
    except SmemnbError as error:
        return stopped(name, "crash", plain(error))
    if outcome.reason == "source" and EXECUTE in outcome.whole:
        return replace(outcome, reason=NEEDS_EXECUTE)
    if outcome.reason in STOPS and outcome.grade == WRONG:
        return replace(outcome, grade=STOPPED)
    return outcome


def _recorded(recorded: dict[str, Any]) -> list[Program | NotTaken]:
    """What came of a learner's own process: programs as texts, and why there is no other."""
    answers: list[Program | NotTaken] = []
    for text in recorded["programs"]:
        try:
            answers.append(from_json(text))
        except NotAProgram as error:
            answers.append(NotTaken("what was executed", str(error)))
    if recorded["reason"]:
        answers.append(NotTaken("", recorded["text"], recorded["reason"]))
    return answers
