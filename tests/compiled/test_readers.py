"""Operands of machine instructions that the as-compiled view reads, and those it refuses."""

import pytest

from smemnb.compiled.warps.operands import Unknown, operand
from smemnb.compiled.warps.readers import Readers


@pytest.mark.parametrize("reader", ["integer", "pair"])
@pytest.mark.parametrize("text", ["R4.H0_H0", "|R4|", "!R4"])
def test_modifiers_that_integers_do_not_have(reader, text):
    """A half, an absolute value, a logical not: refused by name, never read without it."""
    with pytest.raises(Unknown, match=r"R4"):
        getattr(Readers(None), reader)(operand(text))
