"""Launches shared out among processes, and the same in this one."""

import os

import pytest

from smemnb.measure.verify.machine_code import FEW, each, processes


def told(name, read):
    """What a worker answers: what it was given, and which process it is."""
    return name * read, os.getpid()


@pytest.mark.parametrize("count", [0, 1, FEW])
def test_few_stay_here(count):
    """No process is started for so few."""
    names, read = [f"{n} " for n in range(count)], list(range(count))
    assert each(told, names, read) == [(f"{n} " * n, os.getpid()) for n in range(count)]


def test_many_keep_their_order():
    """More go to other processes, and come back as they were asked."""
    if processes(FEW + 3) == 1:
        pytest.skip("one core")
    names, read = [f"{n} " for n in range(FEW + 3)], list(range(FEW + 3))
    said = []
    found = each(told, names, read, said.append)
    assert [text for text, _ in found] == [f"{n} " * n for n in range(FEW + 3)]
    assert os.getpid() not in {pid for _, pid in found}
    assert said == [f"{FEW + 3} launches to predict, {processes(FEW + 3)} at once"]


def failing(name, read):
    raise ValueError(f"{name} of {read}")


def test_a_failure_is_told():
    """What a worker raises is raised here."""
    with pytest.raises(ValueError, match="a of 0"):
        each(failing, ["a"] * (FEW + 1), [0] * (FEW + 1))
