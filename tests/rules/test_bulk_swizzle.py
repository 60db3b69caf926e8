"""The hardware's swizzle of shared memory: chunks of 16 bytes, by their address."""

import numpy as np
import pytest

from smemnb.rules.bulk_swizzle import REPEATS, SPANS, swizzled


@pytest.mark.parametrize(
    ("span", "lines"),
    [
        (128, [[c ^ r for c in range(8)] for r in range(8)]),
        (64, [[c ^ r // 2 for c in range(4)] for r in range(8)]),
        (32, [[c ^ r // 4 for c in range(2)] for r in range(8)]),
    ],
)
def test_eight_rows(span, lines):
    """Of rows of `span` bytes, chunk c of row r goes to place c ^ r's line of 128 bytes."""
    row, chunk = np.mgrid[:8, : span // 16]
    place = swizzled(row * span + chunk * 16 + 5, span)
    np.testing.assert_array_equal(place % 16, 5)
    np.testing.assert_array_equal(place // span, row)
    np.testing.assert_array_equal(place % span // 16, lines)


@pytest.mark.parametrize("span", SPANS)
def test_inverse_and_period(span):
    """It undoes itself, and begins anew after `REPEATS` bytes and no fewer."""
    address = np.arange(4096)
    np.testing.assert_array_equal(swizzled(swizzled(address, span), span), address)
    shift = [n for n in range(16, 2048, 16) if np.array_equal(
        swizzled(address + n, span), swizzled(address, span) + n)]  # fmt: skip
    assert shift[0] == REPEATS[span]


def test_other_spans():
    """The hardware has no other."""
    with pytest.raises(ValueError, match="span=16"):
        swizzled(0, 16)
