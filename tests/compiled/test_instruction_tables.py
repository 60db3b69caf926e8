"""The tables of machine instructions: put together by name, one builder for each."""

from types import ModuleType

import pytest

from smemnb.compiled.warps.instructions import CONTROLS, STEPS
from smemnb.compiled.warps.semantics import builders, controls, implements


def module(**functions):
    """A module that defines these functions."""
    made = ModuleType("made")
    for name, function in functions.items():
        function.__module__, function.__name__ = "made", name
        setattr(made, name, function)
    return made


def builder():
    return lambda one, context: None


def test_tables_hold_what_modules_mark():
    add, jump = implements("ADD", "SUB")(builder()), controls("JMP")(builder())
    assert builders(module(add=add, jump=jump)) == ({"ADD": add, "SUB": add}, {"JMP": jump})


def test_an_imported_builder_is_not_taken_twice():
    add = implements("ADD")(builder())
    first, second = module(add=add), ModuleType("second")
    second.add = add
    assert builders(first, second) == ({"ADD": add}, {})


@pytest.mark.parametrize("mark", [implements, controls])
def test_two_builders_of_one_instruction_are_refused(mark):
    functions = {"add": implements("ADD")(builder()), "other": mark("MUL", "ADD")(builder())}
    with pytest.raises(ValueError, match="ADD"):
        builders(module(**functions))


def test_one_builder_marked_twice_with_a_name_is_refused():
    with pytest.raises(ValueError, match="ADD"):
        builders(module(add=implements("ADD")(implements("ADD")(builder()))))


def test_there_is_one_builder_for_each_instruction():
    assert (len(STEPS), len(CONTROLS), len(STEPS.keys() & CONTROLS.keys())) == (107, 8, 0)
