"""Source is parsed also while another thread changes the limit of recursion."""

import ast

import pytest

from smemnb.lockstep import source


def test_parsed_again(monkeypatch):
    """A parser that another thread disturbs is asked again; one that always fails says so."""
    parse, left = ast.parse, [3]

    def disturbed(text):
        left[0] -= 1
        if left[0] >= 0:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text)

    monkeypatch.setattr(source.ast, "parse", disturbed)
    assert ast.unparse(source.parsed("x = 1")) == "x = 1"
    left[0] = 99
    with pytest.raises(SystemError):
        source.parsed("x = 1")
