from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemnb.rules import sector

LANE = np.arange(32)


def slow_blocks(address, active, width, size):
    """Distinct blocks of `size` bytes, byte by byte."""
    lanes = [i for i in range(32) if active[i]]
    return len({byte // size for i in lanes for byte in range(address[i], address[i] + width)})


def slow_ideal(address, active, width):
    """Sectors that the bytes of distinct addresses fill."""
    distinct = {address[i] for i in range(32) if active[i]}
    return -(-len(distinct) * width // 32)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.integers(0, 3000), min_size=32, max_size=32),
    st.one_of(st.just([True] * 32), st.lists(st.booleans(), min_size=32, max_size=32)),
    st.sampled_from([1, 2, 4, 8, 12, 16, 48]),
    st.booleans(),
    st.booleans(),
)
def test_equals_the_slow_model(places, active, width, aligned, ordered):
    """Any width and alignment, ordered or not, masked or not."""
    address = [place * (width if aligned else 1) for place in places]
    address = sorted(address) if ordered else address
    how = {"width": width, "active": active}
    assert int(sector.sectors(address, **how)) == slow_blocks(address, active, width, 32)
    assert int(sector.lines(address, **how)) == slow_blocks(address, active, width, 128)
    assert int(sector.ideal(address, **how)) == slow_ideal(address, active, width)


@pytest.mark.parametrize(
    "stride_elems, sectors, lines",
    [
        *((0, 1, 1), (1, 4, 1), (2, 8, 2), (3, 12, 3), (4, 16, 4)),
        *((8, 32, 8), (32, 32, 32), (1024, 32, 32)),
    ],
)
def test_stride_of_float32(stride_elems, sectors, lines):
    address = LANE * stride_elems * 4
    assert int(sector.sectors(address, width=4)) == sectors
    assert int(sector.lines(address, width=4)) == lines
    assert int(sector.ideal(address, width=4)) == (1 if stride_elems == 0 else 4)


@pytest.mark.parametrize("width, sectors", [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_consecutive(width, sectors):
    """A coalesced request moves just its bytes."""
    assert int(sector.sectors(LANE * width, width=width)) == sectors
    assert int(sector.ideal(LANE * width, width=width)) == sectors


@pytest.mark.parametrize("off_bytes, sectors", [(0, 4), (4, 5), (28, 5), (32, 4), (64, 4)])
def test_start_off_a_sector(off_bytes, sectors):
    """Only a start off the 32-byte grid costs a sector; off the 128-byte grid is free."""
    assert int(sector.sectors(LANE * 4 + off_bytes, width=4)) == sectors


def test_order_of_lanes():
    """Backwards or shuffled, a warp moves the same sectors."""
    shuffled = np.random.default_rng(0).permutation(32)
    assert sector.sectors(np.array([LANE, LANE[::-1], shuffled]) * 4, width=4).tolist() == [4] * 3


def test_complex64_in_two_loads():
    """Each half of a complex64 is a 4-byte load at stride 8: 8 sectors for 4."""
    assert int(sector.sectors(LANE * 8, width=4)) == 8
    assert int(sector.ideal(LANE * 8, width=4)) == 4


def test_lane_across_two_sectors():
    assert int(sector.sectors(LANE * 0 + 30, width=4)) == 2
    assert int(sector.ideal(LANE * 0 + 30, width=4)) == 1


def test_masks():
    """Rows with all, some and no lanes."""
    active = LANE < np.array([[32], [9], [0]])
    address = np.broadcast_to(LANE * 4, (3, 32))
    assert sector.sectors(address, width=4, active=active).tolist() == [4, 2, 0]
    assert sector.ideal(address, width=4, active=active).tolist() == [4, 2, 0]
    assert sector.lines(address, width=4, active=active).tolist() == [1, 1, 0]


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 1025])
def test_many_requests(rows):
    """Chunks are joined in order; shape and type are kept."""
    stride = np.arange(rows)[:, None] % 9
    got = sector.measure((LANE * stride * 4).reshape(rows, 1, 32), width=4)
    want = [max(1, 4 * (row % 9)) if row % 9 < 8 else 32 for row in range(rows)]
    assert got.sectors.tolist() == [[count] for count in want]
    assert got.ideal.tolist() == [[4 if row % 9 else 1] for row in range(rows)]
    assert got.sectors.dtype == got.ideal.dtype == np.int64


@pytest.mark.parametrize("width", [1, 2, 4, 12, 16, 48])
@pytest.mark.parametrize("order", ["rising", "any", "far apart"])
def test_few_lanes(width, order):
    """Requests of a divergent loop: few lanes of each row, none of some rows."""
    random = np.random.default_rng(width)
    address = random.integers(0, 400, (300, 32)) * random.choice([1, width])
    if order == "rising":
        address.sort(axis=1)
    elif order == "far apart":
        address[::7] += 2**61
    active = random.random((300, 32)) < random.choice([0, 0.05, 0.3], (300, 1))
    assert active.mean() < 0.25 and not active.any(axis=1).all()
    got = sector.measure(address, width=width, active=active)
    rows = list(zip(address.tolist(), active.tolist(), strict=True))
    assert got.sectors.tolist() == [slow_blocks(*row, width, 32) for row in rows]
    assert got.ideal.tolist() == [slow_ideal(*row, width) for row in rows]


@pytest.mark.parametrize(
    "error, message, address, how",
    [
        (ValueError, "32 addresses on the last axis", LANE[:8], {"width": 4}),
        (ValueError, "1 byte or more", LANE, {"width": 0}),
        (TypeError, "float64", LANE / 2, {"width": 4}),
        (ValueError, "-3 is negative", LANE - 3, {"width": 1}),
        (TypeError, "one bool per lane", LANE, {"width": 1, "active": LANE}),
    ],
)
@pytest.mark.parametrize("function", [sector.sectors, sector.lines, sector.ideal])
def test_refused(function, error, message, address, how):
    with pytest.raises(error, match=message):
        function(address, **how)


@pytest.mark.slow
def test_speed():
    """At least a million coalesced float32 requests a second."""
    address = np.arange(100_000)[:, None] * 128 + LANE * 4
    seconds = []
    for _ in range(5):
        start = process_time()
        sector.measure(address, width=4)
        seconds.append(process_time() - start)
    assert len(address) / min(seconds) >= 1_000_000
