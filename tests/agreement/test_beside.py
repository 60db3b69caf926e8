"""Twins as a table, and the cells of a chapter that want a GPU."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.laboratory import here
from smemnb.laboratory.twins.beside import beside, seen
from smemnb.simulator import devices
from tests.agreement.shipped import needs_verdicts

pytestmark = needs_verdicts
PRODUCT = """\
twin               lines    racecheck  ours
barrier 1 removed   9, 17   race       race
                   10, 17   race       race
                   12, 17   race       race
                   14, 17   race       race
barrier 2 removed   9, 17   race       race
                   10, 17   race       race
                   12, 17   nothing    race in warp *
                   14, 17   nothing    race *
* it compares with the last access to a word and tells another race"""


def test_product():
    """Stores of lines 9, 10 (zeros), 12, 14 (cells) meet the loads of line 17."""
    assert beside("product_tiled 40 x 35 x 21") == PRODUCT


def test_one_tile():
    """A depth of 19 is one tile of 32: nobody comes to the second barrier's other side."""
    found = seen("matmul_tiled_32 37 x 70 x 19")
    assert len(found["barrier 1 removed"].both) == 4
    assert found["barrier 2 removed"].both == found["barrier 2 removed"].ours == ()
    assert beside("matmul_tiled_32 37 x 70 x 19").endswith("none     nothing    nothing")


def test_atomics():
    """An atomic beside a plain access is a race to us alone."""
    name = "histogram_shared, two blocks"
    assert beside(name).endswith(
        "race atomic *\n* an atomic beside a plain access is no race to it"
    )
    for both in seen(name).values():
        assert (both.both, both.theirs) == ((), ())
        assert [kind for _, kind in both.ours] == ["race_atomic"]


def test_moved_barriers():
    """Other changes are shown when they are asked for."""
    found = seen("sum_halving 2 x 128", ("before",))
    assert list(found) == ["barrier 1 before", "barrier 2 before"]
    assert found["barrier 1 before"].both == ((("twin", 6), ("twin", 10)),)


@pytest.mark.parametrize("name", ["add, ragged", "nothing of the kind", "sum_halving"])
def test_no_twins(name):
    with pytest.raises(SmemnbError, match="hold no twins"):
        beside(name)


def test_without_gpu():
    """Sentences where there is no GPU; a name that is not of the set is refused before that."""
    if devices.launches() == "gpu":
        pytest.skip("there is a GPU")
    assert here.verify_here("transpose_padded 128 x 64") == here.NO_GPU
    assert here.sanitize_here("transpose_padded 128 x 64").startswith("No GPU here: nothing was ex")
    for look in (here.verify_here, here.sanitize_here):
        with pytest.raises(SmemnbError, match="the set has no case 'flip'"):
            look("flip")
