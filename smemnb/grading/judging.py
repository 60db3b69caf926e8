"""The verdict on a program, made by the process that judges: it runs nothing of a learner's.

A `Program` is rebuilt (`building`) and goes through the grading of `check`, in the lockstep
engine. What comes back is an `Outcome`, plain data. Call it where time and memory are limited: a
kernel may loop for as long as it likes, and Numba's inference takes what the text makes it take.
Nothing is compiled, so a grade is the same with and without the compiler's wheels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..exercises.check import graded, plain
from ..exercises.exercise import Exercise
from ..exercises.likeness import likeness
from ..exercises.registry import find
from .building import build
from .outcome import NOT_TRIED, STOPPED, WRONG, Outcome, of_verdict
from .permitted import NotForKernels
from .program import NotAProgram, Program
from .taking import NotTaken


def judged(name: str, answers: Sequence[Program | NotTaken], seed: int | None = None) -> Outcome:
    """The outcome of an exercise by its name; an untouched stub gives way to the next answer.

    `seed` is that of the fresh cases; None for the one that the kernel's text makes.
    """
    outcome = Outcome(name, NOT_TRIED)
    for answer in answers:
        outcome = judge(name, answer, seed)
        if outcome.grade != NOT_TRIED:
            break
    return outcome


def judge(name: str, answer: Program | NotTaken, seed: int | None = None) -> Outcome:
    """The outcome of one answer to an exercise."""
    if isinstance(answer, NotTaken):
        grade = WRONG if answer.reason == "kernel" else STOPPED
        return Outcome(name, grade, answer.reason, str(answer), str(answer))
    place = f"{answer.kernel.file}, line {answer.kernel.first_line}"
    exercise = find(name)
    if exercise is None:
        return Outcome(name, NOT_TRIED)
    try:
        kernel = build(answer)
        outcome = of_verdict(graded(exercise, kernel, seed=seed, compiling=False))
        return replace(outcome, likeness=_likeness(exercise, answer))
    except NotForKernels as error:
        return Outcome(name, WRONG, "kernel", str(error), f"{place}: {error}")
    except NotAProgram as error:
        return Outcome(name, STOPPED, "source", f"{place}: {error}", f"{place}: {error}")
    except MemoryError:
        text = f"{place}: more memory than allowed"
        return Outcome(name, STOPPED, "memory", text, text)
    except Exception as error:  # a text of a learner's went through Numba and the engine
        text = f"{place}: {plain(error)}"
        return Outcome(name, STOPPED, "crash", text, text)


def _likeness(exercise: Exercise, program: Program) -> float | None:
    """How like the solution the kernel with its device functions is; None if nobody can say."""
    others = [one.source for one in program.functions if one is not program.kernel]
    return likeness(exercise, "\n\n".join([*others, program.kernel.source]))
