"""Whether the values of a run are right, and which element is the first that is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exercise import Array, Exercise
from .observe import Run

WHOLE = 10**15
"""Whole numbers below it are written with all their digits."""


@dataclass(frozen=True)
class WrongElement:
    """The first wrong element of a run: number of the output, index, and what is wrong, in words.

    `written`: whether a thread stored it; `any_written`: one of this output at all.
    """

    output: int
    index: tuple[int, ...]
    written: bool
    any_written: bool
    text: str


def wrong_element(exercise: Exercise, run: Run) -> WrongElement | None:
    """Find the first wrong element; None if every element of every output is right."""
    results = zip(run.names, run.outputs, run.expected, run.unwritten, strict=False)
    for output, (name, got, expected, unwritten) in enumerate(results):
        close = np.isclose(got, expected, rtol=exercise.rtol, atol=0, equal_nan=True)
        bad = unwritten | ~close
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            text = _first_bad(name, got, expected, unwritten, bad, index)
            return WrongElement(
                output, index, not unwritten[index], not unwritten.all(), f"{text}\n({run.title})"
            )
    return None


def _first_bad(
    name: str, got: Array, expected: Array, unwritten: Array, bad: Array, index: tuple[int, ...]
) -> str:
    if unwritten.all():
        return f"no element of {name} was written"
    element = f"{name}[{', '.join(map(str, index))}]"
    seen = "was not written" if unwritten[index] else f"is {number(got[index])}"
    missing = int(unwritten.sum())
    counts = [(int(bad.sum()) - missing, "wrong"), (missing, "not written")]
    said = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{element} {seen}, expected {number(expected[index])} (of {got.size} elements: {said})"


def number(value: Any) -> str:
    """Write a value as a reader does: whole floats without ".0", no more digits than it needs.

    >>> number(np.float32(6.0)), number(np.float32(0.1)), number(np.int32(-3))
    ('6', '0.1', '-3')
    >>> number(np.float64(1099511627777.0))
    '1099511627777'
    """
    if not isinstance(value, np.floating):
        return str(int(value))
    if np.isfinite(value) and value == np.rint(value) and abs(value) < WHOLE:
        return str(int(value))
    return str(value)


def changed_input(run: Run) -> str:
    """Name the first input that the kernel has changed; "" if there is none."""
    names = run.names[len(run.outputs) :]
    for name, before, after in zip(names, run.inputs, run.inputs_after, strict=False):
        if isinstance(before, np.ndarray):
            bad = ~np.isclose(before, after, rtol=0, atol=0, equal_nan=True)
            if bad.any():
                index = tuple(int(i) for i in np.argwhere(bad)[0])
                element = f"{name}[{', '.join(map(str, index))}]"
                values = f"was {number(before[index])} and is {number(after[index])}"
                return f"{element} {values} after the launch\n({run.title})"
    return ""
