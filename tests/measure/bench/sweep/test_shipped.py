"""The sweep of products that is shipped: its problems are those of its seed, its results right."""

from importlib.resources import files
from math import prod

from smemnb.measure.bench.sweep.model import decode
from smemnb.measure.bench.sweep.problems import problems
from smemnb.measure.bench.sweep.summary import summary

NAME = "h200_sweep_matmul.json"
SWEEP = decode((files("smemnb.measure.recorded") / NAME).read_text(encoding="utf-8"), NAME)


def test_problems():
    """Those of the seed, in their order; each was timed beside both libraries."""
    wanted = list(problems("matmul", SWEEP.count, SWEEP.seed))
    there = [one.problem for one in SWEEP.readings]
    assert there == [one for one in wanted if one in set(there)]
    for one in SWEEP.readings:
        assert (one.status, set(one.libraries)) == ("timed", {"torch", "cupy"})


def test_results():
    """Every product gave the same bits twice, and no error is beyond what its depth allows."""
    for one in SWEEP.readings:
        assert one.repeats
        assert one.error <= 2**-21 * one.shape[2]


def test_what_tuning_says():
    """The figures that `kernels/TUNING.md` gives of it, above 1 GFLOP and below."""
    assert (SWEEP.seed, len(SWEEP.readings)) == (5150, 300)
    for large, wanted in ((True, (1.018, 0.851, 0.927)), (False, (1.592, 0.739, 0.927))):
        ratios = (one.ratio for one in SWEEP.readings if (2 * prod(one.shape) > 1e9) == large)
        found = summary(ratios, (0.9,))
        assert tuple(round(one, 3) for one in (found.mean, found.least, *found.shares)) == wanted
    assert round(max(one.error / one.torch_error for one in SWEEP.readings), 2) == 1.65
