"""The warps of a multiprocessor over cycles: groups, shares, and the picture."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from smemnb.figures.timeline import COLUMNS, GROUPS, measure, text, warp_timeline

REASONS = ("selected", "wait", "long_scoreboard", "barrier", "drain")


@dataclass
class Predicted:
    kernel: str = "k"
    gpu: str = "H200"
    drawn: list = field(default_factory=list)

    def timeline(self, cycles):
        return REASONS, np.array(self.drawn, np.int8)[:, :cycles]


def test_each_column_has_what_most_of_its_cycles_are():
    """512 cycles in columns of two: a warp that waits for memory, one that comes late."""
    early = [2] * 256 + [0] * 256
    late = [-1] * 128 + [3] * 383 + [1]
    found = measure(Predicted(drawn=[early, late]), 512)
    names = list(GROUPS)
    assert (found.per_column, len(found.groups[0])) == (2, COLUMNS)
    assert set(found.groups[0][:128]) == {names.index("global memory")}
    assert set(found.groups[0][128:]) == {names.index("issues")}
    assert found.groups[1][63] == -1
    assert set(found.groups[1][64:255]) == {names.index("barrier")}
    assert found.shares["barrier"] == pytest.approx(383 / 896)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_drawn():
    """The numbers as text, a sentence, and a picture when it is asked for."""
    drawn = warp_timeline(Predicted(drawn=[[0] * 64, [4] * 64]), 64)
    assert "50.0%  issues" in text(measure(Predicted(drawn=[[0] * 64, [4] * 64]), 64))
    assert "50%" in drawn.alt
    assert drawn.png.startswith(b"\x89PNG")


@pytest.mark.parametrize("cycles", [63, 65537])
def test_other_cycles_are_refused(cycles):
    with pytest.raises(ValueError, match=f"cycles is {cycles}"):
        warp_timeline(Predicted(), cycles)
