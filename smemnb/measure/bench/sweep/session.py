"""A whole sweep: problem after problem, the file growing, also when it is interrupted.

A sweep that ended early is continued: what its file has is kept, what failed or is missing is
measured. A file of another operation, seed or GPU, or of other versions, is not continued, as its
readings would not belong together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ....errors import SmemnbError
from ...results.compare import differences
from ...results.model import Clocks
from .model import Reading, Sweep
from .problems import Problem, problems

__all__ = ["Keeping", "continued", "measured"]


@dataclass(frozen=True)
class Keeping:
    """What happens to a sweep on the way.

    Attributes:
        keep: called with the sweep after each problem.
        clocks: reads the clocks, given a moment's name.
        progress: called with the problems done, their number and what comes next.
    """

    keep: Callable[[Sweep], object] = lambda sweep: None
    clocks: Callable[[str], Clocks] | None = None
    progress: Callable[[int, int, str], object] = lambda done, number, words: None


def measured(
    base: Sweep,
    measure: Callable[[Problem], Reading],
    keeping: Keeping,
    *,
    seconds: float = float("inf"),
    now: Callable[[], float] = time.monotonic,
) -> Sweep:
    """Measure what a sweep lacks; after an interruption (Ctrl-C), or out of time, what there is.

    Args:
        base: the sweep as it is so far.
        measure: reads one problem.
        keeping: what happens to the sweep on the way.
        seconds: after so many no further problem begins.
        now: a clock in seconds.
    """
    began, sweep = now(), _clocked(base, keeping, "before")
    wanted = problems(sweep.operation, sweep.count, sweep.seed)
    there = {one.problem for one in sweep.readings}
    try:
        for done, problem in enumerate(wanted):
            if problem in there:
                continue
            if now() - began > seconds:
                break
            keeping.progress(done, len(wanted), str(problem))
            sweep = _in_order(sweep.grown(measure(problem)), wanted)
            there.add(problem)
            keeping.keep(sweep)
    except KeyboardInterrupt:
        keeping.keep(sweep)
        return sweep
    finished = there.issuperset(wanted)
    sweep = _clocked(replace(sweep, finished=finished), keeping, "at the end")
    keeping.keep(sweep)
    return sweep


def continued(old: Sweep, base: Sweep, name: str) -> Sweep:
    """The sweep of a file as the beginning of a new one; `name` is that of the file.

    Raises:
        SmemnbError: they are not of the same operation, seed, GPU and versions.
    """
    if old.operation != base.operation:
        raise SmemnbError(f"--resume: {name} is a sweep of {old.operation}, not {base.operation}")
    if old.seed != base.seed:
        raise SmemnbError(f"--resume: {name} has seed {old.seed}, and --seed is {base.seed}")
    if base.count < old.count:
        raise SmemnbError(
            f"--resume: {name} is of {old.count} problems; --count {base.count} would lose some"
        )
    apart = differences(old, base)
    if apart:
        raise SmemnbError(
            f"--resume: {name} was measured elsewhere; it differs in {apart[0]}. Measure into"
            " another file, and --compare the two"
        )
    wanted = set(problems(base.operation, base.count, base.seed))
    kept = tuple(one for one in old.readings if one.status != "failed" and one.problem in wanted)
    return replace(base, readings=kept, clocks=old.clocks)


def _in_order(sweep: Sweep, wanted: tuple[Problem, ...]) -> Sweep:
    place = {problem: at for at, problem in enumerate(wanted)}
    return replace(
        sweep, readings=tuple(sorted(sweep.readings, key=lambda one: place[one.problem]))
    )


def _clocked(sweep: Sweep, keeping: Keeping, when: str) -> Sweep:
    return sweep if keeping.clocks is None else sweep.clocked(keeping.clocks(when))
