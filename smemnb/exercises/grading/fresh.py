"""What a fresh case allows: the counts of the solution's own run on it.

A fresh case asks for what the published case asks for that it is like, or else for what the
exercise asks for. The numbers relate to the solution as those of published budgets do, which the
solution takes exactly: what grows with a launch (requests, barriers, bytes) is what the solution
takes in this very launch; a rate (extra wavefronts of a line, its n-way, its sectors per request)
is the published one, or the solution's where a ragged size takes more.

The solution runs only where an answer takes more than is known without it, and once per case: the
budgets of the seeds that came last are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ..exercise import Array, Budget, Case, Exercise
from ..source import parameters
from .observe import Run, counted, outputs_of
from .parts import (
    count_parts,
    lines,
    requests_of,
    sectors_of,
    shared_bytes_of,
    shared_loads_of,
    shared_requests_of,
)

LANES = 32
KEPT = 256
"""Budgets, of some seeds of every exercise."""


def held(exercise: Exercise, runs: Sequence[Run]) -> list[Run]:
    """The runs of the fresh cases of a seed, in their order, each with what it is held to."""
    return [_held(exercise, run, number) for number, run in enumerate(runs)]


def _held(exercise: Exercise, run: Run, number: int) -> Run:
    within = _with(run, least(exercise, run))
    if run.case.seed is None or all(part.ok for part in count_parts(exercise, [within])):
        return within
    return _with(run, taken(exercise, run.case.seed, number))


def _with(run: Run, budget: Budget) -> Run:
    return replace(run, case=replace(run.case, budget=budget))


def asked(exercise: Exercise, case: Case) -> Budget:
    """The published budget that says what is asked of a fresh case."""
    published = case if case.like is None else exercise.cases[case.like]
    return published.budget or exercise.budget


def least(exercise: Exercise, run: Run) -> Budget:
    """Counts that the solution cannot be below: an answer that keeps them needs no comparison.

    No array is moved in fewer requests than its elements fill, and static arrays take the bytes
    that they take in every launch.
    """
    wanted = asked(exercise, run.case)
    sizes = _sizes(exercise, run.expected, run.inputs)
    at_once = _at_once(exercise, run.case.like)
    return replace(
        wanted,
        requests={name: -(-sizes[name] // at_once.get(name, LANES)) for name in wanted.requests},
        shared_bytes=None
        if wanted.shared_bytes is None
        else run.case.shared_bytes or wanted.shared_bytes,
        shared_requests=None if wanted.shared_requests is None else 0,
        shared_loads=None if wanted.shared_loads is None else 0,
        sectors=dict.fromkeys(wanted.sectors, 0),
        barriers=None if wanted.barriers is None else 0,
    )


@lru_cache(maxsize=KEPT)
def taken(exercise: Exercise, seed: int, number: int) -> Budget:
    """What the solution takes in fresh case `number` of a seed, as far as it is asked for."""
    case = exercise.drawn(seed)[number]
    wanted = asked(exercise, case)
    run = counted(exercise, case)
    shared, through = (
        lines([run], "shared"),
        [one for one in lines([run], "global") if one.requests],
    )
    return Budget(
        extra=_rate(wanted.extra, [line.extra for line in shared]),
        ways=_rate(wanted.ways, [line.ways for line in shared]),
        sectors_per_request=_rate(
            wanted.sectors_per_request, [-(-line.sectors // line.requests) for line in through]
        ),
        requests={name: requests_of(run, name) for name in wanted.requests},
        shared_bytes=None if wanted.shared_bytes is None else shared_bytes_of(run),
        sectors={name: sectors_of(run, name) for name in wanted.sectors},
        shared_requests=None if wanted.shared_requests is None else shared_requests_of(run),
        shared_loads=None if wanted.shared_loads is None else shared_loads_of(run),
        barriers=None if wanted.barriers is None else run.trace.barriers,
    )


def _rate(published: int | None, seen: Sequence[int]) -> int | None:
    return None if published is None else max([published, *seen])


@lru_cache(maxsize=KEPT)
def _at_once(exercise: Exercise, like: int | None) -> dict[str, int]:
    """Elements per request of each array: a lane's one each, or more where the solution does so."""
    if like is None:
        return {}
    case = exercise.cases[like]
    inputs, wanted = case.inputs(), asked(exercise, case)
    sizes = _sizes(exercise, outputs_of(exercise, inputs), inputs)
    return {name: max(LANES, -(-sizes[name] // count)) for name, count in wanted.requests.items()}


def _sizes(
    exercise: Exercise, outputs: tuple[Array, ...], inputs: tuple[object, ...]
) -> dict[str, int]:
    arrays = zip(parameters(exercise.solution), (*outputs, *inputs), strict=True)
    return {name: int(getattr(array, "size", 0)) for name, array in arrays}
