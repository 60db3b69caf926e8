"""What a pair of the corpus is: a kernel with one mistake, its clean twin, and what must be found.

`@buggy(kind, count, ...)` and `@clean` below it make a pair. Lines are marked in the source by
comments: `# (1)` is the line of the finding, `# (2)` the other one, where a finding has two. The
count is worked out by hand from the kernel and its launch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PAIRS: list[Pair] = []


@dataclass(frozen=True)
class Pair:
    """A buggy kernel and its clean twin, launched alike."""

    kind: str
    count: int
    buggy: Any
    clean: Any
    launch: tuple[Any, ...]
    args: Callable[[], tuple[Any, ...]]

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.buggy.__name__}"

    @property
    def lines(self) -> tuple[int, ...]:
        """The marked lines, in ascending order; one line marked twice counts as both."""
        source, first = inspect.getsourcelines(self.buggy)
        marks = ("(1)", "(2)")
        found = [
            (mark, first + number)
            for number, line in enumerate(source)
            for mark in marks
            if "#" in line and mark in line.split("#")[1]
        ]
        assert sorted(mark for mark, _ in found) in (["(1)"], ["(1)", "(2)"]), self.name
        return tuple(sorted(line for _, line in found))


def buggy(
    kind: str,
    count: int,
    *launch: Any,
    args: Callable[[], tuple[Any, ...]],
) -> Callable[[Any], Any]:
    """The kernel with the mistake: kind and count of its finding, grid, block, arguments."""

    def keep(function: Any) -> Any:
        _waiting.append((kind, count, function, launch, args))
        return function

    return keep


_waiting: list[Any] = []


def clean(function: Any) -> Any:
    """The twin of the buggy kernel above it."""
    kind, count, mistaken, launch, args = _waiting.pop()
    PAIRS.append(Pair(kind, count, mistaken, function, launch, args))
    return function


def floats(*shape: int) -> Any:
    """float32 numbers without symmetry, small and exact."""
    return np.random.default_rng(sum(shape)).integers(1, 50, shape).astype(np.float32)


def ints(*shape: int, below: int = 1000) -> Any:
    """int32 numbers without symmetry."""
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype(np.int32)


def zeros(*shape: int) -> Any:
    """A float32 array to be written."""
    return np.zeros(shape, np.float32)


def vectors(size: int) -> Callable[[], tuple[Any, ...]]:
    """(out, inp), both float32 of this size."""
    return lambda: (zeros(size), floats(size))


def matrices(rows: int, columns: int) -> Callable[[], tuple[Any, ...]]:
    """(out, inp): inp of this shape, out of the shape turned round."""
    return lambda: (zeros(columns, rows), floats(rows, columns))
