"""`check(name, kernel)`: is it right, is it safe, is it within the budget?

Whatever a learner hands over, it gives a verdict and never raises. Only where nothing can be
graded, because Numba simulates and has no types, it raises: that is nobody's wrong answer.

The kernel runs only in the lockstep engine, also where a GPU is present, because a wrong kernel
can hang one. It is graded in this order: whether it can run at all; its values, in every case;
changed inputs; findings (races, barriers, initialisation, bounds); counts per line; where an
exercise asks for it, which loads are under way while a tile is read, and, if the compiler's wheels
are installed, its machine code. No case runs after one whose values are wrong. A kernel that holds
in all published cases is tried on fresh ones, other sizes and other numbers, drawn from a seed that
its text makes: what it does there cannot have been looked up. **Limits**: an answer is tried on
some launches, not on every one.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..errors import SmemnbError, UnsupportedSyntax, shortened
from ..lockstep.intrinsics.printing import unshown
from ..session import FailedCell, failed_definition, tell, watch_cells
from ..simulator.devices import need_types
from ..tracing.findings import Finding
from .draw import seed_of
from .exercise import PARTS, Case, Exercise, Kernel
from .grading.advice import on_findings, on_fresh, on_launches, on_stop, on_values
from .grading.fresh import held
from .grading.machine_code import machine_part
from .grading.observe import Run, observe, outputs_of, title_of
from .grading.overlap import overlap_part
from .grading.parts import count_parts, findings_part
from .grading.pipeline import pipeline_part
from .grading.values import WrongElement, changed_input, wrong_element
from .grading.verdict import Part, Verdict
from .host_hooks import host_hook
from .progress import remember
from .registry import find, unknown
from .source import described, function_of, parameters, same_code, source_line, source_of
from .variants import is_mark

PATIENCE_SECONDS = 15.0
"""For one check; the solution of an exercise takes less than 2."""

_DISPATCHERS = {"CUDADispatcher", "FakeCUDAKernel"}


def check(name: Any, kernel: Any) -> Verdict:
    """Grade a kernel as the answer to an exercise; what the kernel prints is not shown.

    >>> check("ex00_scale", None)
    ex00_scale: not yet
    kernel      this is None, not a kernel: give check the function under @cuda.jit

    Raises:
        SmemnbError: NUMBA_ENABLE_CUDASIM=1, so that nothing can be graded.
    """
    return answered("check", name, partial(checked, kernel=kernel), refused_verdict)


def refused_verdict(exercise: str, part: str, text: str) -> Verdict:
    """The verdict where nothing was graded: the part that says why, and why."""
    return Verdict(exercise, (Part(part, text, ok=False),))


Answer = TypeVar("Answer")


def answered(
    call: str,
    name: Any,
    answer: Callable[[Exercise], Answer],
    refusal: Callable[[str, str, str], Answer],
) -> Answer:
    """What a learner's call gives: its answer, or a refusal where it has none.

    Args:
        call: what was called: "check", "forecast".
        name: of the exercise, as the learner gave it.
        answer: what is to be done with the exercise.
        refusal: makes an answer of the exercise's name, the part that is refused, and the reason.

    Raises:
        SmemnbError: NUMBA_ENABLE_CUDASIM=1, so that nothing can be graded.
    """
    try:
        need_types(call)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__
    exercise = find(name)
    if exercise is None:
        return refusal(name[:40] if isinstance(name, str) else "", "exercise", unknown(name))
    try:
        watch_cells()
        return answer(exercise)
    except KeyboardInterrupt as error:
        raise shortened(error) from error.__cause__
    except Exception as error:  # a fault of ours must not end a learner's cell in a traceback
        text = f"the checker itself failed, please report it: {plain(error)}"
        return refusal(exercise.name, call, text)


def checked(exercise: Exercise, kernel: Any) -> Verdict:
    """Grade a kernel and record it, where it ran."""
    cell = failed_definition(kernel)
    if cell is not None:
        return of_earlier_run(exercise, cell)
    verdict = graded(exercise, kernel)
    if verdict.part("output") is None:  # nothing ran, nothing to remember
        return verdict
    return replace(verdict, note=remember(exercise.name, done=bool(verdict), checks=1))


def of_earlier_run(exercise: Exercise, cell: FailedCell) -> Verdict:
    """The verdict on a kernel that a failed cell was to define anew: nothing is graded."""
    said = f"the cell that defines {cell.name} did not run, so this {cell.name} is an earlier one"
    text = "\n".join(line for line in (said, cell.why, cell.source) if line)
    hint = "Repair that cell, run it, then check again."
    return Verdict(exercise.name, (Part("kernel", text, ok=False),), hint)


def graded(
    exercise: Exercise,
    kernel: Any,
    *,
    advise: bool = True,
    seed: int | None = None,
    compiling: bool = True,
) -> Verdict:
    """Grade a kernel without recording it.

    Args:
        exercise: what the kernel is an answer to.
        kernel: any object.
        advise: whether to look for a hint, which may take one more launch.
        seed: of the fresh cases; None for the one that the kernel's text makes.
        compiling: whether a right kernel is compiled, where the exercise asks for its machine code.

    Raises:
        SmemnbError: NUMBA_ENABLE_CUDASIM=1, so that nothing can be graded.
    """
    need_types("grading")
    refusal = refused(exercise, kernel)
    if refusal:
        return refused_verdict(exercise.name, "kernel", refusal)
    if same_code(kernel, exercise.stub):
        return Verdict(
            exercise.name,
            (Part("kernel", _untouched(exercise), ok=False),),
            f'Write the missing lines, run the cell, check again. hint("{exercise.name}", 1) '
            "says how to begin.",
        )
    seed = seed_of(source_of(kernel) or "") if seed is None else seed
    end = time.monotonic() + PATIENCE_SECONDS
    try:
        with unshown():
            runs = _runs(exercise, kernel, exercise.cases, end)
            verdict = _verdict(exercise, kernel, runs, advise=advise)
            if verdict:
                verdict = _with_order(exercise, kernel, verdict)
            if verdict and exercise.fresh is not None:
                fresh = _runs(exercise, kernel, exercise.drawn(seed), end)
                verdict = _with_fresh(exercise, kernel, verdict, runs, fresh, advise=advise)
            if verdict:
                verdict = _with_machine_code(exercise, kernel, verdict, look=compiling)
            return verdict
    except _TimeOver as over:
        if over.runs and not (verdict := _verdict(exercise, kernel, over.runs, advise=advise)):
            return verdict
        return Verdict(exercise.name, (Part("kernel", str(over), ok=False),), over.hint)
    except _Stopped as stopped:
        verdict = refused_verdict(exercise.name, "kernel", str(stopped))
        return (
            replace(verdict, hint=_with_more(exercise, stopped.hint)) if stopped.hint else verdict
        )


class _TimeOver(Exception):
    """The time of a check was over between two launches; `runs` are those on published cases."""

    hint = "Does every thread do the work of all? Give each thread elements of its own."

    def __init__(self, runs: list[Run], cases: Sequence[Case]) -> None:
        super().__init__(
            f"the launches of this check may take {PATIENCE_SECONDS:.0f} s together, and these took"
            f" more, with {len(runs)} of {len(cases)} done"
        )
        self.runs = runs if cases[0].seed is None else []  # the counts of fresh ones are held later


class _Stopped(Exception):
    """A kernel did not come to its end; the text says why, and where, the hint what to look at."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def _runs(exercise: Exercise, kernel: Any, cases: Sequence[Case], end: float) -> list[Run]:
    """The runs of these cases, up to the first with wrong values.

    Raises:
        _Stopped: a run did not come to its end.
        _TimeOver: the time was over before the last one.
    """
    runs: list[Run] = []
    for case in cases:
        left = end - time.monotonic()
        if left <= 0:
            raise _TimeOver(runs, cases)
        try:
            runs.append(observe(exercise, case, kernel, left))
        except SmemnbError as error:
            tell(error)
            text = _engine_refusal(error) + _fresh_title(exercise, case)
            raise _Stopped(text, on_stop(error)) from None
        except Exception as error:  # whatever a learner's code can raise
            text = f"the kernel stopped: {plain(error)}"
            raise _Stopped(text + _fresh_title(exercise, case)) from None
        if wrong_element(exercise, runs[-1]):
            break
    return runs


def _fresh_title(exercise: Exercise, case: Case) -> str:
    """The launch of a fresh case, in a line of its own; "" for a published one."""
    if case.seed is None:
        return ""
    inputs = case.inputs()
    return f"\n({title_of(case, inputs, outputs_of(exercise, inputs)[0])})"


def _verdict(exercise: Exercise, kernel: Any, runs: list[Run], *, advise: bool) -> Verdict:
    parts, element, first = _parts(exercise, runs, len(exercise.cases))
    verdict = Verdict(exercise.name, parts)
    if verdict or not advise:
        return verdict
    return replace(verdict, hint=_hint(exercise, kernel, verdict, runs, element, first))


def _with_order(exercise: Exercise, kernel: Kernel, verdict: Verdict) -> Verdict:
    """The verdict on a kernel that holds in the published cases, with what its loads wait for."""
    part = overlap_part(exercise, kernel) or pipeline_part(exercise, kernel)
    if part is None:
        return verdict
    verdict = replace(verdict, parts=(*verdict.parts, part))
    return replace(verdict, hint=_with_more(exercise, verdict.advice)) if not part.ok else verdict


def _with_more(exercise: Exercise, said: str) -> str:
    return f'{said}\nhint("{exercise.name}", 1) says more.'


def _with_fresh(
    exercise: Exercise,
    kernel: Any,
    published: Verdict,
    before: list[Run],
    fresh: list[Run],
    *,
    advise: bool,
) -> Verdict:
    """The verdict on a kernel that is right in the published cases, with the fresh ones."""
    seed = fresh[0].case.seed
    assert seed is not None
    count = len(exercise.drawn(seed))
    parts, element, first = _parts(exercise, held(exercise, fresh), count)
    if (
        element is None
    ):  # what holds is said of the published cases, whose counts are always the same
        failed = {part.name: part for part in parts if not part.ok}
        both = {part.name: part for part in published.parts} | failed
        said = f"{both['output'].text}, and in {count} fresh ones of seed {seed}"
        both["output"] = replace(both["output"], text=said)
        parts = tuple(both[name] for name in PARTS if name in both)
    verdict = Verdict(exercise.name, parts)
    if verdict or not advise:
        return verdict
    return replace(
        verdict, hint=_hint(exercise, kernel, verdict, [*before, *fresh], element, first)
    )


def _with_machine_code(exercise: Exercise, kernel: Any, verdict: Verdict, *, look: bool) -> Verdict:
    """The verdict on a kernel that is right so far, with what the compiler made of it."""
    part = machine_part(exercise, kernel, look=look)
    if part is None:
        return verdict
    verdict = replace(verdict, parts=(*verdict.parts, part))
    if part.ok:
        return verdict
    return replace(verdict, hint=f'{verdict.advice}\nhint("{exercise.name}", 1) says more.')


def _parts(
    exercise: Exercise, runs: list[Run], cases: int
) -> tuple[tuple[Part, ...], WrongElement | None, Finding | None]:
    """The parts of runs of that many cases, the first wrong element, and the worst finding."""
    element = wrong_element(exercise, runs[-1])
    wrong = "" if element is None else element.text
    right = f"right answer in {len(runs)} of {cases} launches"
    parts = [Part("output", wrong or right, ok=not wrong)]
    changed = next((text for text in map(changed_input, runs) if text), "")
    if changed:
        parts.append(Part("inputs", changed, ok=False))
    findings, first = findings_part(runs)
    if wrong and first and first.kind in ("uninitialised", "stale"):
        text = f"{wrong}\nSuch a value may come from an element that no thread has stored."
        parts[0] = replace(parts[0], text=text)
    parts.append(findings)
    if not wrong:
        parts += count_parts(exercise, runs)
    return tuple(parts), element, first


def _hint(
    exercise: Exercise,
    kernel: Any,
    verdict: Verdict,
    runs: list[Run],
    element: WrongElement | None,
    first: Finding | None,
) -> str:
    said = verdict.advice
    if first and (element or verdict.reason == "findings"):
        said = on_findings(exercise, kernel, first, wrong=element is not None, runs=runs)
    elif element is not None:
        said = on_values(exercise, kernel, runs[-1], element)
    if element:
        said += on_launches(runs, kernel, found=first is not None)
    elif runs[-1].case.seed is not None:
        said += on_fresh(runs[-1])
    return _with_more(exercise, said)


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
    return host_hook(kernel)


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
