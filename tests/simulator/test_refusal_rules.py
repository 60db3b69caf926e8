"""The rules about Numba's messages: those of names are asked before those of operations."""

from itertools import groupby
from types import ModuleType

import pytest

from smemnb.simulator.refusals import RULES
from smemnb.simulator.refusals.words import rule, rules

HOMES = [("names", 14), ("operations", 32)]


def module(*functions):
    made = ModuleType("made")
    for number, function in enumerate(functions):
        setattr(made, f"rule_{number}", function)
    return made


def words(*patterns):
    def said(match, scene):
        return None

    for pattern in patterns:
        said = rule(pattern)(said)
    return said


def test_rules_are_asked_as_they_stand():
    first, second, third = words("b"), words("d", "c"), words("a")
    found = rules(module(first, second), module(third))
    assert [(pattern.pattern, said) for pattern, said in found] == [
        ("b", first), ("d", second), ("c", second), ("a", third),
    ]  # fmt: skip


def test_a_pattern_that_could_never_be_asked_is_refused():
    with pytest.raises(ValueError, match="name '"):
        rules(module(words("name '")), module(words("name '")))


def test_names_come_before_operations():
    """A general rule of `operations` would answer for a special one of `names`."""
    homes = [said.__module__.rpartition(".")[2] for _, said in RULES]
    assert [(home, len(list(same))) for home, same in groupby(homes)] == HOMES
