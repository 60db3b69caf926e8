"""Kernels in the manner of tutorials, samples and libraries: right values, expected findings.

Each runs plainly, traced, and traced with its warps in reversed order; findings are exactly those
that its reader expects.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.foreign.cases import CASES, Case, Run
from tests.tiers import sampled

HERE = Path(__file__).parent
FAMILIES = sorted(
    path.stem for path in HERE.glob("*.py") if path.stem not in ("cases", "test_foreign")
)
for family in FAMILIES:
    importlib.import_module(f"tests.foreign.{family}")

SAMPLED = ("fields", "mistakes", "pictures", "sequences", "solvers", "tables")
"""Families of which the first tier runs one program each; of the others it runs all."""


def _marked(case: Case, size: object) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=case.wrong)] if case.wrong else []
    return pytest.param(case, size, id=f"{case.name}-{size}".replace(" ", ""), marks=marks)


def _family(case: Case) -> str:
    return case.body.__module__.rpartition(".")[2]


def _of(cases: list[Case]) -> list[object]:
    return [_marked(case, size) for case in cases for size in case.sizes]


WHOLE = [case for case in CASES if _family(case) not in SAMPLED]
OTHERS = [case for case in CASES if _family(case) in SAMPLED]
FAMILY = {case.name: _family(case) for case in OTHERS}


@pytest.mark.first(20)
@pytest.mark.parametrize(
    ("case", "size"),
    [*_of(WHOLE), *sampled(_of(OTHERS), 1, by=lambda one: FAMILY[one.values[0].name])],
)
def test_values_and_findings(case: Case, size: object) -> None:
    """Right values in a plain and a watched launch; the findings are those expected."""
    case.body(Run(), size)
    run = Run(checks=True)
    case.body(run, size)
    seen = {found.kind for found in run.findings}
    assert seen == case.finds, [str(found) for found in run.findings]


@pytest.mark.first(8)
@pytest.mark.parametrize(("case", "size"), [*sampled(_of(WHOLE), 25), *sampled(_of(OTHERS), 0)])
def test_values_in_reversed_order(case: Case, size: object) -> None:
    """Right values whatever warp comes first."""
    case.body(Run(checks=False, order="reversed"), size)


def test_enough_of_them() -> None:
    """At least 40 programs in each tier, no name twice."""
    names = [case.name for case in CASES]
    assert len(OTHERS) >= 40
    assert len(WHOLE) >= 40
    assert sorted(set(names)) == sorted(names)
