"""Statistics against numbers worked out by hand."""

import pytest

from smemnb.measure.bench.sweep.summary import Summary, groups, summary, worst
from tests.measure.bench.sweep.sample import READINGS, SWEEP, TRANSPOSES


def test_summary():
    """1/4, 1, 1, 2, 8: the product is 4, so the mean its fifth root; quartiles are 1 and 2."""
    found = summary([8.0, 1.0, 0.25, 2.0, 1.0])
    assert found == Summary(5, 5, pytest.approx(4 ** (1 / 5)), 0.25, 1.0, 1.0, 2.0, (0.8, 0.8))


def test_quartiles_between_neighbours():
    """0.5, 1, 1.5, 2: three steps, so the first quartile lies at 3/4 of the first."""
    found = summary([2.0, 0.5, 1.5, 1.0])
    assert (found.low, found.median, found.high) == (0.875, 1.25, 1.625)


@pytest.mark.parametrize(
    ("ratios", "share_09", "share_1"),
    [([0.9, 0.89999], 0.5, 0.0), ([1.0, 0.99999], 1.0, 0.5), ([3.0, None, None, 0.95], 0.5, 0.25)],
)
def test_shares(ratios, share_09, share_1):
    """0.9 and 1 count; what was not timed counts as a problem that reaches neither."""
    found = summary(ratios)
    assert found.shares == (share_09, share_1)
    assert (found.problems, found.timed) == (
        len(ratios),
        sum(ratio is not None for ratio in ratios),
    )


def test_none_and_one():
    assert summary([]) is None and summary([None]) is None
    assert summary([0.7]) == Summary(1, 1, pytest.approx(0.7), 0.7, 0.7, 0.7, 0.7, (0.0, 0.0))


def test_groups_of_products():
    """By 1 GFLOP and by layout; a refusal belongs in, what did not fit into memory does not."""
    at = {
        name: [READINGS.index(one) for one in readings] for name, readings in groups(SWEEP).items()
    }
    assert at == {
        "above 1 GFLOP": [1, 3, 5],
        "up to 1 GFLOP": [0, 2, 4],
        "all": [0, 1, 2, 3, 4, 5],
        "NN": [0, 5],
        "NT": [1],
        "TN": [2, 4],
        "TT": [3],
    }


def test_groups_of_transposes():
    """By 100 MB and by bytes per element; a group without problems is left out."""
    assert {name: len(found) for name, found in groups(TRANSPOSES).items()} == {
        "above 100 MB": 1,
        "up to 100 MB": 2,
        "all": 3,
        "1 byte": 2,
        "2 bytes": 1,
    }


def test_worst():
    """Smallest first; what has no ratio is none of them."""
    assert [one.ratio for one in worst(READINGS)] == [0.5, 0.9, 1.0, 1.25, 2.0]
    assert [one.ratio for one in worst(READINGS, count=2)] == [0.5, 0.9]
