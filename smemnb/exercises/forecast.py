"""`forecast(name, kernel, {...})`: what each line costs, said before the run.

The kernel is graded first, as `check` does. Then each figure is compared with the trace of one
launch, which the table states. An access that was misjudged says by what rule its count comes
about; the count itself is said from the second wrong figure on, so that a second try is worth
something. Of accesses that were not forecast nothing is said.

How many accesses were right at first try is kept with the learner's progress, once, when each has
had its figures; it stays what it was if the kernel has more of them, or fewer, later.
**Limits**: a forecast is of the source as it is written; a compiler may merge or drop accesses.
What was tried is remembered as long as the session lasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import SmemnbError
from ..lockstep.intrinsics.printing import unshown
from ..session import failed_definition
from ..tracing import trace
from ..tracing.trace import Trace
from .check import PATIENCE_SECONDS, answered, checked, of_earlier_run, refused
from .exercise import Exercise
from .forecasts import tries
from .forecasts.accesses import Access, accesses_of
from .forecasts.answer import Forecast, Line
from .forecasts.figures import Refused, check_form, matched
from .forecasts.judging import judged, right_at_first_try
from .forecasts.table import launch_text, table_text
from .grading.observe import initial_output, outputs_of
from .progress import first_try_of, remember
from .source import function_of, parameters

NOT_A_TRY = "not judged, and not a try: first the kernel"


def forecast(name: Any, kernel: Any, figures: Any = None) -> Forecast:
    """Grade a kernel and what was forecast of its accesses; without figures, print a table.

    The table is Python: copy it into a cell, put a number in place of each None, run it. A row is
    named by its access, so it stays the same when lines move. Its figures are of the whole launch
    that the table states: requests and wavefronts in shared memory, requests and sectors in global
    memory. None stands for a figure that is not forecast yet.

    >>> from smemnb.exercises.chapters.ex00_scale import scale
    >>> forecast("ex00_scale", scale)
    # grid 8, block 128, out 1024 float32, inp 1024 float32
    forecast("ex00_scale", scale, {
        # global memory: (requests, sectors)
        "store out[i]": (None, None),
        "load inp[i]": (None, None),
    })
    >>> forecast("ex00_scale", scale, {"load inp[i]": (32, 128)})
    ex00_scale: kernel done, forecast 1 of 1 request, 1 of 1 sector right;
                still open: some requests, some sectors
    launch      grid 8, block 128, out 1024 float32, inp 1024 float32
    open        store out[i]: no requests yet, no sectors yet
    right       load inp[i]: 32 requests, 128 sectors

    Args:
        name: of the exercise.
        kernel: the answer to it.
        figures: per access, as a dict: (requests, wavefronts) or (requests, sectors), or a dict of
            these by their names. None for the table.

    Raises:
        SmemnbError: NUMBA_ENABLE_CUDASIM=1, so that nothing can be graded.
    """
    return answered(
        "forecast",
        name,
        partial(forecast_of, kernel=kernel, figures=figures),
        lambda exercise, part, text: Forecast(exercise, refusal=text, known=part != "exercise"),
    )


def forecast_of(exercise: Exercise, kernel: Any, figures: Any = None) -> Forecast:
    """Grade a kernel and the forecast of it; the same for an exercise at hand."""
    function = function_of(kernel)
    called = function.__name__ if function else "kernel"
    if figures is None or (
        isinstance(figures, Mapping) and not any(map(_filled, figures.values()))
    ):
        return _table(exercise, kernel, called)
    try:
        check_form(exercise.name, called, figures)
        verdict = checked(exercise, kernel)
        if not verdict:
            return Forecast(exercise.name, verdict, refusal=NOT_A_TRY)
        traced, launch = _traced(exercise, kernel)
        accesses = accesses_of(traced)
        given = matched(accesses, figures)
    except Refused as refusal:
        return Forecast(exercise.name, refusal=f"{refusal}\nNothing was judged: this was no try.")
    lines = judged(exercise.name, traced, accesses, given)
    first, note = _first_try(exercise.name, accesses, lines)
    return Forecast(
        exercise.name, verdict, launch, lines, first_try=first, note=verdict.note or note
    )


def _filled(figures: Any) -> bool:
    """Whether a row of a table has a figure."""
    if isinstance(figures, Mapping):
        figures = tuple(figures.values())
    return figures is not None and not (
        isinstance(figures, (tuple, list)) and all(number is None for number in figures)
    )


def _table(exercise: Exercise, kernel: Any, called: str) -> Forecast:
    """The table of a kernel's accesses; why there is none, if it does not come to an end."""
    cell = failed_definition(kernel)
    if cell is not None:
        return Forecast(exercise.name, of_earlier_run(exercise, cell), refusal=NOT_A_TRY)
    refusal = refused(exercise, kernel)
    if refusal:
        return Forecast(exercise.name, refusal=refusal)
    try:
        traced, launch = _traced(exercise, kernel)
    except SmemnbError as error:
        return Forecast(exercise.name, refusal=f"the kernel did not come to its end: {error}")
    accesses = accesses_of(traced)
    if not accesses:
        text = f"{called} comes to no access yet: write it, check it, then ask for its table"
        return Forecast(exercise.name, refusal=text)
    text = table_text(exercise.name, called, launch, accesses)
    return Forecast(exercise.name, launch=launch, table=text)


def _traced(exercise: Exercise, kernel: Any) -> tuple[Trace, str]:
    """The trace of the launch that is forecast, and that launch in words."""
    case = exercise.cases[exercise.forecast_case]
    inputs = case.inputs()
    outputs = [initial_output(exercise, array) for array in outputs_of(exercise, inputs)]
    args = (*outputs, *inputs)
    watched = trace(kernel, checks=False, waivers=False, patience_s=PATIENCE_SECONDS)
    with unshown():
        traced = watched[case.grid, case.block, 0, case.shared_bytes](*args)
    return traced, launch_text(case, parameters(kernel), args)


def _first_try(
    name: str, accesses: Sequence[Access], lines: Sequence[Line]
) -> tuple[tuple[int, int] | None, str]:
    """How many accesses were right at first try, once all have had figures; and a note."""
    if any(line.missing for line in lines):
        return None, ""
    score = tries.first_score(name, (right_at_first_try(name, accesses), len(lines)))
    note = remember(name, forecast=score)
    return first_try_of(name) or score, note
