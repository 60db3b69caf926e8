"""`check(name, kernel)`: is it right, is it safe, is it within the budget? It never raises.

The kernel runs only in the lockstep engine, also where a GPU is present, because a wrong kernel
can hang one. It is graded in this order: whether it can run at all; its values, in every case;
changed inputs; findings (races, barriers, initialisation, bounds); counts per line. No case runs
after one whose values are wrong. **Limits**: an answer is tried on the cases of its exercise, not
on every launch.
"""

from __future__ import annotations

import inspect
import re
import time
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

from ..errors import SmemnbError, UnsupportedSyntax, shortened
from .exercise import Exercise
from .grading.advice import on_findings, on_launches, on_values
from .grading.observe import Run, observe
from .grading.parts import count_parts, findings_part
from .grading.values import changed_input, wrong_cell
from .grading.verdict import Part, Verdict
from .progress import remember
from .registry import find, unknown
from .source import described, function_of, parameters, same_code, source_line
from .variants import is_mark

PATIENCE_SECONDS = 15.0
"""For one check; the solution of an exercise takes less than 2."""

_DISPATCHERS = {"CUDADispatcher", "FakeCUDAKernel"}


def check(name: Any, kernel: Any) -> Verdict:
    """Grade a kernel as the answer to an exercise; what the kernel prints is not shown.

    >>> check("ex00_scale", None)
    ex00_scale: not yet
    kernel      this is None, not a kernel: give check the function under @cuda.jit
    """
    exercise = find(name)
    if exercise is None:
        shown = name[:40] if isinstance(name, str) else "check"
        return Verdict(shown, (Part("exercise", unknown(name), ok=False),))
    try:
        verdict = graded(exercise, kernel)
    except KeyboardInterrupt as error:
        raise shortened(error) from error.__cause__
    except Exception as error:  # a fault of ours must not end a learner's cell in a traceback
        text = f"the checker itself failed, please report it: {plain(error)}"
        return Verdict(exercise.name, (Part("check", text, ok=False),))
    if verdict.part("output") is None:  # nothing ran, nothing to remember
        return verdict
    return replace(verdict, note=remember(exercise.name, done=bool(verdict), checks=1))


def graded(exercise: Exercise, kernel: Any, *, advise: bool = True) -> Verdict:
    """Grade a kernel without recording it.

    Args:
        exercise: what the kernel is an answer to.
        kernel: any object.
        advise: whether to look for a hint, which may take one more launch.
    """
    refusal = refused(exercise, kernel)
    if refusal:
        return Verdict(exercise.name, (Part("kernel", refusal, ok=False),))
    if same_code(kernel, exercise.stub):
        return Verdict(
            exercise.name,
            (Part("kernel", _untouched(exercise), ok=False),),
            f'Write the missing lines, run the cell, check again. hint("{exercise.name}", 1) '
            "says how to begin.",
        )
    try:
        with redirect_stdout(StringIO()):
            runs = _runs(exercise, kernel)
    except SmemnbError as error:
        return Verdict(exercise.name, (Part("kernel", _engine_refusal(error), ok=False),))
    except Exception as error:  # whatever a learner's code can raise
        text = f"the kernel stopped: {plain(error)}"
        return Verdict(exercise.name, (Part("kernel", text, ok=False),))
    return _verdict(exercise, kernel, runs, advise)


def _runs(exercise: Exercise, kernel: Any) -> list[Run]:
    runs: list[Run] = []
    end = time.monotonic() + PATIENCE_SECONDS
    for case in exercise.cases:
        runs.append(observe(exercise, case, kernel, end - time.monotonic()))
        if wrong_cell(exercise, runs[-1]):
            break
    return runs


def _verdict(exercise: Exercise, kernel: Any, runs: list[Run], advise: bool) -> Verdict:
    cell = wrong_cell(exercise, runs[-1])
    wrong = "" if cell is None else cell.text
    right = f"right answer in {len(runs)} of {len(exercise.cases)} launches"
    parts = [Part("output", wrong or right, ok=not wrong)]
    changed = next((text for text in map(changed_input, runs) if text), "")
    if changed:
        parts.append(Part("inputs", changed, ok=False))
    findings, first = findings_part(runs)
    if wrong and first and first.kind in ("uninitialised", "stale"):
        text = f"{wrong}\nSuch a value may come from a cell that no thread has stored."
        parts[0] = replace(parts[0], text=text)
    parts.append(findings)
    if not wrong:
        parts += count_parts(exercise, runs)
    verdict = Verdict(exercise.name, tuple(parts))
    if not verdict and advise:
        said = verdict.advice
        if first and (wrong or verdict.reason == "findings"):
            said = on_findings(exercise, kernel, first, wrong=bool(wrong))
        elif cell is not None:
            said = on_values(exercise, kernel, runs[-1], cell)
        if wrong:
            said += on_launches(runs)
        said = f'{said}\nhint("{exercise.name}", 1) says more.'
        verdict = replace(verdict, hint=said)
    return verdict


def refused(exercise: Exercise, kernel: Any) -> str:
    """Say why something cannot be run as an answer; "" if it can."""
    function = function_of(kernel)
    classes = {base.__name__ for base in type(kernel).__mro__}
    if isinstance(kernel, type) or function is None:
        if hasattr(kernel, "dispatcher"):
            return "this is a kernel with its launch: leave out [grid, block]"
        return f"this is {described(kernel)}, not a kernel: give check the function under @cuda.jit"
    name = function.__name__
    if "CPUDispatcher" in classes:
        return f"{name} is compiled for the CPU: write @cuda.jit in place of @njit or @jit"
    if not classes & _DISPATCHERS:
        return f"{name} is not a kernel yet: write @cuda.jit above its def"
    if getattr(kernel, "targetoptions", {}).get("device"):
        return f"{name} is a device function: a kernel has @cuda.jit without device=True"
    asked, given = parameters(exercise.solution), parameters(kernel)
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    if kinds - {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        return f"{name} takes * or keyword parameters: write them as ({', '.join(asked)})"
    if len(given) != len(asked):
        return f"{name} takes ({', '.join(given)}); this exercise wants ({', '.join(asked)})"
    return ""


def plain(error: BaseException) -> str:
    """Say an error in one line, without addresses and folders.

    >>> plain(ValueError("no at 0x7fa3, in /home/me/k.py"))
    'ValueError: no at 0x..., in k.py'
    """
    text = f"{type(error).__name__}: {error}".split("\n")[0].rstrip(": ")
    text = re.sub(r"0x[0-9a-fA-F]+", "0x...", text)
    folders = r"(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][\w.<>~-]+)+[\\/](?=[\w.<>-])"
    return re.sub(folders, "", text)[:200]


def _engine_refusal(error: SmemnbError) -> str:
    said = re.sub(r"0x[0-9a-fA-F]+", "0x...", str(error))
    if isinstance(error, UnsupportedSyntax):
        line = source_line(error.file, error.line)
        return f"{said}\n{error.line} | {line}" if line else said
    return said


def _untouched(exercise: Exercise) -> str:
    lines = exercise.stub.split("\n")
    holes = "; ".join(line.strip() for line in lines if is_mark(line))
    return f"this is the stub as it was given; still to do: {holes}"
