"""A case, measured: sets of inputs, every contender checked on each, then timed in turns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..sweep.timing import Contender, Place, _said, _timed
from ..timing import spread
from .case import PatternCase, Prepared, Side
from .model import COPY, OURS, PatternReading, Time

__all__ = ["SETS", "SET_BYTES", "reading"]

SETS = 4
SET_BYTES = 256 << 20
"""A case that moves more has one set: no L2 cache holds it."""


def reading(case: PatternCase, side: Side, place: Place, seed: int = 0) -> PatternReading:
    """Check and time a case; what went wrong is in the reading."""
    base = PatternReading(case.operation, case.words, case.moved, {}, {}, seed=seed)
    try:
        sets = [case.prepare(side, at) for at in range(SETS if case.moved <= SET_BYTES else 1)]
    except Exception as error:  # a case that fails is no reason to lose the others
        return replace(base, left_out={OURS: _said(error)})
    right, left_out = [], {}
    for name in sets[0].runs:
        try:
            wrong = _wrong(name, sets)
        except Exception as error:  # a library's own errors, whatever they are
            wrong = _said(error)
        if wrong:
            left_out[name] = wrong
        else:
            right.append(Contender(name, [one.runs[name] for one in sets]))
    if case.copy:
        right.append(Contender(COPY, [_copy(side, case.moved) for _ in sets]))
    if not right:
        return replace(base, left_out=left_out)
    try:
        found = _timed(right, place)
    except Exception as error:
        return replace(base, left_out=left_out | {OURS: _said(error)})
    times = {}
    for one, each in zip(right, found.times, strict=True):
        quartiles = spread(each)
        times[one.name] = Time(quartiles.median, quartiles.low, quartiles.high)
    return replace(
        base,
        times=times,
        left_out=left_out,
        launches=found.launches,
        rounds=len(found.times[0]),
        not_captured=found.not_captured or None,
    )


def _wrong(name: str, sets: list[Prepared]) -> str:
    """What is wrong with a contender's results; "" where all are right."""
    for one in sets:
        wrong = one.rights.get(name, one.right)(one.runs[name]())
        if wrong:
            return f"wrong values: {wrong}"
    return ""


def _copy(side: Side, moved: int) -> Callable[[], Any]:
    count = max(1, moved // 2)
    source, target = side.empty((count,), "uint8"), side.empty((count,), "uint8")
    with suppress(AttributeError):
        source.zero_()
    return lambda: target.copy_(source)
