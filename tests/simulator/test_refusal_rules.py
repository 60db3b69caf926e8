"""The rules about Numba's messages are asked in one order, whatever is imported first."""

from types import ModuleType

import import_order
import pytest

from smemnb.simulator.refusals.words import rule, rules

RULES = "smemnb.simulator.refusals:RULES"


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


@pytest.mark.parametrize("order", ["reversed", "shuffled"])
def test_no_import_order_changes_the_rules(order):
    names = import_order.orders("smemnb.simulator.refusals")[order]
    here = import_order.contents(RULES)
    assert len(here) == 44
    assert import_order.contents_after(names, RULES) == here
