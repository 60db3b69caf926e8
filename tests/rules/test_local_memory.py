"""Sectors of local memory: interleaved by words, one sector for 8 neighbouring lanes at a place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemnb.rules import local_memory, sector

LANES = np.arange(32)


@pytest.mark.parametrize(
    ("place", "width", "expected"),
    [
        (LANES * 0, 4, 4),  # all lanes at one word
        (LANES * 0 + 28, 4, 4),
        (LANES * 4, 4, 32),  # every lane at another word
        (LANES * 400, 4, 32),
        (LANES // 8 * 4, 4, 4),  # eight neighbours at one word: a sector each
        (LANES // 4 * 4, 4, 8),
        (LANES % 2 * 4, 4, 8),
        (LANES % 8 * 4, 4, 32),
        (LANES * 0, 1, 4),  # a byte of each lane's own word
        (LANES % 4, 1, 4),  # four bytes of one word of a lane are one word
        (LANES % 8, 1, 8),
        (LANES * 2, 2, 16),  # two neighbours share the number of their word
        (LANES * 0, 8, 8),  # two words
        (LANES * 8, 8, 64),
        (LANES * 0, 16, 16),  # four words
        (LANES * 16, 16, 128),
    ],
)
def test_sectors(place, width, expected):
    """Counts of a request of all lanes, worked out by hand."""
    assert int(local_memory.sectors(place, width=width)) == expected


def test_inactive_lanes_move_nothing():
    """A lane that sits out has no say; eight lanes that all sit out have no sector."""
    active = LANES < 9
    assert int(local_memory.sectors(LANES * 0, width=4, active=active)) == 2
    assert int(local_memory.sectors(LANES * 4, width=4, active=active)) == 9
    assert int(local_memory.sectors(LANES * 4, width=4, active=LANES < 0)) == 0


@given(
    st.lists(st.integers(0, 40), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_the_interleaved_bytes_are_global_memory(places, active, width):
    """The rule is that of global memory for the interleaved addresses, word by word."""
    own = np.array(places) * width
    mask = np.array(active)
    words = [local_memory.interleaved(own + at) for at in range(0, width, 4)]
    narrow = min(width, 4)
    expected = sum(int(sector.sectors(one, width=narrow, active=mask)) for one in words)
    found = local_memory.measure(own, width=width, active=mask)
    assert int(found.sectors) == expected
    groups = mask.reshape(4, 8).any(axis=1).sum()
    assert int(found.ideal) == groups * max(1, width // 4)


def test_many_requests_at_once():
    """Requests in rows give a count for each."""
    rows = np.stack([LANES * 0, LANES * 4])
    assert local_memory.sectors(rows, width=4).tolist() == [4, 32]


@pytest.mark.parametrize(("place", "width"), [(LANES * 4, 3), (LANES * 4, 8), (LANES - 1, 4)])
def test_refused(place, width):
    """Widths and addresses that no instruction has."""
    with pytest.raises(ValueError):
        local_memory.sectors(place, width=width)
