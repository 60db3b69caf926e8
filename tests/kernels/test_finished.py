"""No finished kernel has an error, nor a warning that is not waived with its reason."""

import pytest

from tests.kernels.finished import TAUGHT, finished


@pytest.mark.parametrize("one", finished(), ids=lambda one: one.name)
def test_waived(one):
    """All checks on: what is left are notes, and what is waived is no error."""
    report = one.launch()
    left = report.waive(TAUGHT)
    assert [found for found in left.findings if found.severity != "note"] == []
    assert {found.finding.severity for found in left.waived} <= {"warning", "note"}
    assert not [found for found in left.findings if "waiver" in found.kind]


@pytest.mark.parametrize("kind, kernel", TAUGHT)
def test_taught(kind, kernel):
    """What a rung is there to show stands in its trace."""
    (one,) = [one for one in finished() if one.name == kernel]
    assert kind in {found.kind for found in one.launch().findings}
