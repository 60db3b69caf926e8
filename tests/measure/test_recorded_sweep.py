"""The transposes of a seed that no choice was fitted to, as they were timed on an H200."""

from collections import Counter
from importlib.resources import files

import pytest

from smemnb.measure.bench.sweep.chart import series
from smemnb.measure.bench.sweep.model import decode
from smemnb.measure.bench.sweep.problems import ITEMSIZES, problems
from smemnb.measure.bench.sweep.summary import summary

NAME = "h200_sweep_transpose.json"


@pytest.fixture(scope="module")
def sweep():
    """The file that comes with the package."""
    source = files("smemnb.measure.recorded") / NAME
    return decode(source.read_text(encoding="utf-8"), NAME)


def test_provenance(sweep):
    """Where, with what, and which seed: another one than the choices were fitted to."""
    assert (sweep.gpu.name, sweep.operation, sweep.seed) == ("NVIDIA H200", "transpose", 7411)
    assert {"torch", "cupy"} <= set(sweep.libraries)
    assert sweep.command.startswith("smemnb bench sweep transpose --seed 7411")


def test_every_problem_is_right(sweep):
    """All of the seed's problems in their order, timed, and equal bit by bit when repeated."""
    timed = [one.problem for one in sweep.readings]
    assert timed == [one for one in problems("transpose", sweep.count, 7411) if one in set(timed)]
    assert {one.status for one in sweep.readings} == {"timed"}
    assert all(one.repeats for one in sweep.readings)
    assert set(Counter(one.itemsize for one in sweep.readings)) == set(ITEMSIZES)


def test_chart(sweep):
    """A point for each problem, a colour for each size: `smemnb bench sweep --show ... --chart`."""
    assert sum(len(one.points) for one in series(sweep)) == len(sweep.readings)


def test_what_tuning_says(sweep):
    """The figures that `kernels/TUNING.md` gives of it."""
    beside = summary((one.ratio for one in sweep.readings), (0.9, 1.0))
    copied = summary((one.copy_ratio for one in sweep.readings), (0.7, 0.85))
    assert (round(beside.mean, 2), round(beside.least, 3)) == (1.99, 0.855)
    assert beside.shares == (0.995, 0.96)
    assert (round(copied.mean, 3), round(copied.least, 2)) == (0.765, 0.28)
    assert copied.shares == (0.72, 0.495)
