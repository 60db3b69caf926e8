import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemnb.figures.service import service
from smemnb.rules import bank

LANE = np.arange(32)


@pytest.mark.parametrize(
    ("stride_words", "wavefront"),
    [
        (0, (1,) * 32),
        (1, (1,) * 32),
        (2, (1,) * 16 + (2,) * 16),
        (32, tuple(range(1, 33))),
        (33, (1,) * 32),
    ],
)
def test_strides(stride_words, wavefront):
    """A lane is served at the turn of its word in its bank."""
    assert service(LANE * stride_words * 4, width=4).wavefront == wavefront


def test_phases_of_wide_loads():
    """16 bytes per lane go in quarters, in halves if lanes pair up; phases follow each other."""
    apart = service(LANE * 16, width=16)
    assert [len(phase) for phase in apart.phases] == [8] * 4
    assert apart.wavefront == (1,) * 8 + (2,) * 8 + (3,) * 8 + (4,) * 8
    paired = service(LANE // 2 * 16, width=16)
    assert [len(phase) for phase in paired.phases] == [16] * 2
    assert paired.wavefront == (1,) * 16 + (2,) * 16


def test_wide_lane_touches_neighbouring_banks():
    """A lane of 16 bytes touches four banks."""
    served = service(LANE * 16, width=16)
    assert served.span == 4
    assert served.banks(3) == (12, 13, 14, 15)
    assert served.bank_ways == (1,) * 32


def test_together():
    """Lanes that want one word are served together, and only they are marked."""
    served = service(np.array([0, 0, 128, 4] + [0] * 28), width=4, active=LANE < 4)
    assert served.wavefront[:5] == (1, 1, 2, 1, 0)
    assert served.together[:4] == (True, True, False, False)
    assert served.shared_words == 1


def test_atomics():
    """Atomic adds of one word take turns, two each if they compare first; increments merge."""
    word = LANE * 0
    assert service(word, width=4, kind="atomic_add").wavefront[:3] == (1, 2, 3)
    assert service(word, width=4, kind="atomic_cas").wavefront[:3] == (1, 3, 5)
    assert service(word, width=4, kind="atomic_increment").wavefront[:3] == (1, 1, 1)


def test_no_lane():
    """A request without an active lane takes no wavefront."""
    served = service(LANE * 4, width=4, active=LANE < 0)
    assert (served.lanes, served.ways, served.wavefronts, served.phases) == (0, 0, 0, ())


@st.composite
def requests(draw):
    width = draw(st.sampled_from(bank.WIDTHS))
    kinds = ("load", "store")
    if width == 4:
        kinds = [kind for kind in bank.KINDS if not kind.endswith("matrix")]
    if width == 16:
        kinds = ("load", "store", "ldmatrix", "stmatrix")
    units = draw(st.lists(st.integers(0, draw(st.sampled_from([3, 40, 400]))), min_size=32,
                          max_size=32))  # fmt: skip
    if draw(st.booleans()):
        units = [units[lane // 2 * 2] for lane in range(32)]
    active = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=32, max_size=32)))
    return np.array(units) * width, width, active, draw(st.sampled_from(kinds))


@pytest.mark.exhaustive
@given(requests())
@settings(max_examples=150, deadline=None)
def test_agrees_with_the_rule(one):
    """The last turn is the number of wavefronts, and the busiest bank is the n-way."""
    address, width, active, kind = one
    served = service(address, width=width, active=active, kind=kind)
    last = max(served.wavefront) + (kind == "atomic_cas" and served.lanes > 0)
    assert last == bank.wavefronts(address, width=width, active=active, kind=kind)
    assert served.ways == bank.ways(address, width=width, active=active, kind=kind)
    assert len(served.phases) == bank.ideal(address, width=width, active=active, kind=kind)


def test_several_requests_are_refused():
    with pytest.raises(ValueError, match=r"address has shape \(2, 32\).*pick one"):
        service(np.zeros((2, 32), np.int64), width=4)


def test_misaligned_is_refused():
    with pytest.raises(ValueError, match="address 2 is not a multiple of the width 4"):
        service(LANE * 4 + 2, width=4)
