import numpy as np
import pytest

from smemnb.rules import request


@pytest.mark.parametrize("given", [range(32), list(range(32)), np.arange(32, dtype=np.uint16)])
def test_addresses_become_int64(given):
    got = request.addresses(given)
    assert got.dtype == np.int64
    assert got.tolist() == list(range(32))


def test_int64_is_not_copied():
    """The engine's own arrays pass through."""
    given = np.zeros((4, 32), np.int64)
    assert request.addresses(given) is given


def test_negative_where_inactive():
    """Only an active lane's address must make sense."""
    given = np.arange(32) - 5
    assert request.addresses(given, np.arange(32) >= 5).tolist() == given.tolist()
    with pytest.raises(ValueError, match="-1 is negative"):
        request.addresses(given, np.arange(32) == 4)


def test_mask():
    assert request.mask(None, (2, 32)) is None
    got = request.mask(np.arange(32) < 5, (2, 32))
    assert got.shape == (2, 32)
    assert got.sum(axis=1).tolist() == [5, 5]


@pytest.mark.parametrize("bits", [0xFFFFFFFF, [1] * 32])
def test_bit_mask_is_refused(bits):
    """A mask of ints could mean two things."""
    with pytest.raises(TypeError, match="For a bit mask write"):
        request.mask(bits, (32,))
