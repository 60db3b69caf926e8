"""The choice among kernels of small, shallow, narrow products: launches cover the result."""

import math

import numpy as np
import pytest

from smemnb.kernels.matmul.choosing_small import (
    SMALL_TILINGS,
    Laid,
    cheapest,
    offers,
    small_resident,
    suits,
)
from smemnb.kernels.matmul.variants import direct, shallow

SHARED_BYTES = 48 * 1024


def drawn(rng):
    """A product of those that are chosen here, at random."""
    while True:
        shape = (int(math.exp(rng.uniform(0, math.log(16384)))) for _ in range(3))
        laid = Laid(*shape, *(bool(one) for one in rng.integers(0, 2, 5)))
        if suits(laid):
            return laid


@pytest.mark.parametrize("multiprocessors", [1, 40, 132])
def test_offers_cover_the_result(multiprocessors):
    """Blocks, parts and threads of every offer, over seeded products."""
    rng = np.random.default_rng(multiprocessors)
    for _ in range(60):
        laid = drawn(rng)
        found = list(offers(laid, multiprocessors))
        assert cheapest(laid, multiprocessors) == min(found, key=lambda one: one.cycles)
        for offer in found:
            assert offer.cycles > 0 and offer.threads <= 1024
            assert offer.grid[1] <= 65535 and offer.parts <= laid.depth
            if offer.kind == "direct":
                group = offer.choice[0]
                assert offer.grid[0] * (direct.threads_of(group) // group) >= laid.rows * laid.cols
            if offer.kind == "shallow":
                assert offer.choice >= laid.depth
                assert offer.grid[0] * shallow.COLUMNS >= laid.cols
            if offer.kind == "small":
                tiling, across = offer.choice, -(-laid.cols // offer.choice.cols)
                assert offer.grid[0] == across * -(-laid.rows // tiling.rows)
                assert (offer.grid[1], offer.threads) == (offer.parts, tiling.threads)


@pytest.mark.parametrize("tiling", SMALL_TILINGS, ids=str)
def test_tilings(tiling):
    """Slices take whole quads of a chunk; tiles have room for the sums; blocks fit."""
    assert tiling.depth % (4 * tiling.slices) == 0
    assert tiling.threads in (128, 256)
    for deep in ((False, False), (True, False), (False, True), (True, True)):
        assert 4 * tiling.shared_elems(*deep) + 16 <= SHARED_BYTES
        assert small_resident(tiling, *deep) >= tiling.resident


@pytest.mark.parametrize(
    ("laid", "kind"),
    [
        (Laid(3, 5, 7), "direct"),
        (Laid(2, 2, 15208), "direct"),
        (Laid(1158, 1904, 3), "shallow"),
        (Laid(1075, 11618, 2, True, True), "shallow"),
        (Laid(300, 300, 300, False, False, True, True, True), "small"),
        (Laid(737, 46, 246, True, True), "small"),
        (Laid(1, 9863, 2383), "vectors"),
        (Laid(9888, 1, 15429), "vectors"),
    ],
)
def test_kinds(laid, kind):
    """One family for each corner."""
    assert cheapest(laid, 132).kind == kind


def test_large_products_are_chosen_elsewhere():
    assert suits(Laid(16, 16384, 16384)) and suits(Laid(700, 900, 700))
    assert suits(Laid(10012, 15389, 16))
    assert not suits(Laid(1000, 1000, 1000))
