"""The two tiers of the tests: what is left to the exhaustive one, and how a sample is drawn.

The first tier is what `pytest` runs: every room, every chapter, every exercise, one seed. A test
with the mark `exhaustive` is in the second, which `.ci/run` and the nightly workflow run:

    python -m pytest -m exhaustive                       the second tier alone
    python -m pytest -m "exhaustive or not exhaustive"   both

What takes too long even for that has the mark `nightly`, and runs at night alone.

Where many cases say the same of one thing, some of them stay in the first tier: the mark `first(n)`
keeps n drawn cases of a test, `sampled` some of each group of cases, and some for the second tier.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

SEED = 2026
exhaustive = pytest.mark.exhaustive


def sampled(
    cases: Iterable[Any],
    keep: int,
    *,
    second: int | None = None,
    by: Callable[[Any], Hashable] = lambda case: None,
    seed: int = SEED,
) -> list[Any]:
    """The cases as parameters: of each group, `keep` drawn ones are plain, the others exhaustive.

    With `second`, that many others of each group are exhaustive and what is left is nightly.

    A case is a value, a tuple of values or a `pytest.param`. `by` says to which group a case
    belongs; without it all are one group. What is drawn depends on the seed, the place of the group
    and the number of its cases alone, so it is the same in every process.
    """
    cases = list(cases)
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number, case in enumerate(cases):
        groups[by(case)].append(number)
    marks: dict[int, tuple[pytest.MarkDecorator, ...]] = {}
    for place, numbers in enumerate(groups.values()):
        # of one generator's seed for all, groups of similar size would give the same case
        rng = random.Random(f"{seed} {place}")
        first = set(rng.sample(numbers, min(keep, len(numbers))))
        others = [number for number in numbers if number not in first]
        rare = (
            set()
            if second is None
            else set(others) - set(rng.sample(others, min(second, len(others))))
        )
        for number in numbers:
            mark = pytest.mark.nightly if number in rare else exhaustive
            marks[number] = () if number in first else (mark,)
    return [_parameters(case, marks[number]) for number, case in enumerate(cases)]


def _parameters(case: Any, marks: tuple[pytest.MarkDecorator, ...]) -> Any:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, *marks))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
