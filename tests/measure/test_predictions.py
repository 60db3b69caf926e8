"""Predicted ladders beside the recorded ones: the shipped table, and how errors are counted."""

from dataclasses import replace

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure import predictions, stalls
from smemnb.measure.predictions import Row, errors, load, recorded_ms, table

ROW = Row("a", "matmul", 64, 1.1, 0.9, 1.3, 1.0, 0.5, 0.55, "barrier", "barrier", "barrier")


def test_the_shipped_table_is_of_the_recorded_times():
    """Every rung of the largest edges is in it, with its recorded time, issue and cause."""
    found = load()
    wanted = {key: ms for key, ms in recorded_ms().items() if key[1] != 2048}
    assert {(row.name, row.size): row.measured_ms for row in found} == pytest.approx(
        wanted, rel=1e-3
    )
    for row in found:
        waits = stalls.ladder().get(row.name)
        assert row.measured_issue == (None if waits is None else waits.issue)
        assert row.measured_cause == (None if waits is None else waits.largest[0][0])
        assert row.low_ms < row.ms < row.high_ms


def test_recorded_at_two_sizes():
    """All rungs of the product ladder at both edges, each more than six times longer at 4096."""
    found = recorded_ms()
    small = {name: ms for (name, size), ms in found.items() if size == 2048}
    assert len(small) == len(predictions.PRODUCTS)
    assert all(found[name, 4096] > 6 * ms for name, ms in small.items())


def test_errors():
    """Three rungs, 10 % above, exact, and half; the second step has the wrong sign."""
    found = errors(
        [
            ROW,
            replace(ROW, name="b", ms=2.0, measured_ms=2.0, measured_issue=0.7, cause=""),
            replace(ROW, name="c", ms=1.5, measured_ms=3.0, measured_cause="wait"),
        ]
    )
    assert (found.count, found.inside, found.near, found.issues) == (3, 1, 2, 3)
    assert (found.mean, found.worst) == pytest.approx((0.2, 0.5))
    assert (found.steps, found.right) == (2, 1)
    assert (found.causes, found.same, found.withheld) == (3, 2, 1)
    assert found.ranks == pytest.approx(0.5)


def test_small_steps_have_no_sign():
    near = replace(ROW, name="b", ms=0.9, measured_ms=1.04)
    assert errors([ROW, near]).steps == 0
    assert errors([ROW, replace(near, measured_ms=1.06)]).steps == 1


def test_no_rows():
    with pytest.raises(SmemnbError, match="no rung"):
        errors([])
    assert predictions.rows(only="no such rung") == []


def test_the_table_says_each_rung():
    said = table([ROW, replace(ROW, name="b", cause="")])
    assert said.count("withheld)") == 2  # of the second rung, and in the sum
    assert "+10.0%" in said
