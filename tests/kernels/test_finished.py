"""No finished kernel has an error, nor a warning that is not waived with its reason."""

from pathlib import Path

import pytest

import smemnb.kernels
from smemnb.tracing.waivers import waivers_of
from tests.kernels.finished import TAUGHT, finished
from tests.tiers import exhaustive

ALL = [pytest.param(one, id=one.name, marks=() if one.quick else exhaustive) for one in finished()]


@pytest.mark.first(6)
@pytest.mark.parametrize("one", ALL)
def test_waived(one):
    """All checks on: what is left are notes, and what is waived is no error."""
    report = one.launch()
    left = report.waive(TAUGHT)
    assert [found for found in left.findings if found.severity != "note"] == []
    assert {found.finding.severity for found in left.waived} <= {"warning", "note"}


@pytest.mark.parametrize(("kind", "kernel"), TAUGHT)
def test_taught(kind, kernel):
    """What a rung is there to show stands in its trace."""
    (one,) = [one for one in finished() if one.name == kernel]
    assert kind in {found.kind for found in one.launch().findings}


@exhaustive
def test_no_waiver_too_many():
    """Each waiver in the sources is needed by some launch, and gives its reason."""
    used = {
        (report.files[one.finding.function], one.line, one.finding.kind)
        for report in (one.launch() for one in finished())
        for one in report.waived
    }
    written = {
        (str(path), waiver.comment, kind)
        for path in Path(smemnb.kernels.__file__).parent.rglob("*.py")
        for some in waivers_of(str(path)).values()
        for waiver in some
        for kind in waiver.kinds
    }
    assert written == used
