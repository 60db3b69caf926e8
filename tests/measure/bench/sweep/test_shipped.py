"""The sweep of products that is shipped: its problems are those of its seed, its results right."""

from importlib.resources import files

from smemnb.measure.bench.sweep.model import decode
from smemnb.measure.bench.sweep.problems import problems

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
