import pytest

from smemnb.figures import occupancy_map
from smemnb.figures.multiprocessor import measure
from smemnb.hardware import LIMITS
from smemnb.rules.occupancy import occupancy
from tests.facts import facts

KB = 1024


def test_owners():
    """Three blocks of 8 warps, then 40 places stay empty."""
    found = measure((9, 0), 256, 64, 64 * KB)
    assert found.owners == (*[0] * 8, *[1] * 8, *[2] * 8, *[None] * 40)


@pytest.mark.parametrize("cc", LIMITS)
@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes"),
    [(256, 64, 40 * KB), (33, 40, 0), (1024, 255, 100), (64, 16, 1)],
)
def test_budgets_hold(cc, threads, registers, shared_bytes):
    """The blocks fit into every budget, and one more does not fit where it says so."""
    found = measure(cc, threads, registers, shared_bytes)
    assert found.blocks == occupancy(cc, threads, registers, shared_bytes).blocks
    for budget in found.budgets:
        assert found.blocks * budget.each <= budget.total
    full = {budget.name for budget in found.budgets if budget.name in found.limiters}
    assert full or "warps" in found.limiters
    for budget in found.budgets:
        if budget.name in full - {"registers"}:  # these come in four partitions
            assert (found.blocks + 1) * budget.each > budget.total


def test_text_and_alt():
    drawn = occupancy_map((9, 0), 256, 64, 64 * KB)
    head, warps, registers, shared, places, _ = drawn.text.splitlines()
    assert facts(head) == facts("9.0 256 3 24 64")
    assert facts(warps) == facts("24 64 8")
    assert facts(registers) == facts("49,152 65,536 16,384")
    assert facts(shared) == facts("199,680 233,472 66,560")
    assert facts(places) == facts("3 32 1")
    assert "199680" in facts(drawn.alt)


def test_refused():
    with pytest.raises(ValueError, match="threads"):
        occupancy_map((9, 0), 2048, 32)
