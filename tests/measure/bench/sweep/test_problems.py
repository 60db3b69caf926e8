"""Seeded problems: the same for a seed, within their bounds, spread as they are said to be."""

import math
from collections import Counter
from itertools import pairwise

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.sweep.problems import (
    ITEMSIZES,
    LAYOUTS,
    Problem,
    _log_uniform,
    problems,
)
from tests.facts import facts

SEEDS = (0, 1, 7, 20261123)
FIXED_PRODUCTS = ["TT 13 x 47, depth 50", "TT 2182 x 801, depth 495"]
FIXED_TRANSPOSES = ["33972 x 959, 8 bytes", "8395 x 2327, 16 bytes"]


@pytest.mark.parametrize("operation", ["matmul", "transpose"])
def test_the_same_for_a_seed(operation):
    """Also with another count; another seed has others."""
    first = problems(operation, 40, seed=5)
    assert problems(operation, 60, seed=5)[:40] == first
    assert not set(problems(operation, 40, seed=6)) & set(first)
    assert len(set(first)) == 40


def test_on_every_machine():
    """What a seed means is fixed: recorded files are compared by their problems."""
    assert [str(one) for one in problems("matmul", 2, seed=20261123)] == FIXED_PRODUCTS
    assert [str(one) for one in problems("transpose", 2, seed=20261123)] == FIXED_TRANSPOSES


@pytest.mark.parametrize("seed", SEEDS)
def test_products_keep_their_bounds(seed):
    """1 to 16384, at most 2 TFLOP, half of them above 1 GFLOP, layouts alike on both sides."""
    found = problems("matmul", 304, seed)
    for one in found:
        assert len(one.shape) == 3 and 1 <= min(one.shape) and max(one.shape) <= 16384
        assert one.work == 2 * math.prod(one.shape) <= 2 * 10**12
        assert one.is_large == (one.work > 10**9)
        assert one.itemsize == 4
    sides = Counter((one.layout, one.is_large) for one in found)
    assert sides == {(layout, side): 38 for layout in LAYOUTS for side in (False, True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_transposes_keep_their_bounds(seed):
    """More than 1 MB, at most 2 GB, all sizes of elements alike; narrow and flat ones."""
    found = problems("transpose", 200, seed)
    for one in found:
        rows, cols = one.shape
        assert 10**6 < rows * cols * one.itemsize <= 2 * 10**9
        assert one.work == 2 * rows * cols * one.itemsize and one.layout == ""
    assert Counter(one.itemsize for one in found) == dict.fromkeys(ITEMSIZES, 40)
    assert sum(one.shape[0] < 32 for one in found) >= 15
    assert sum(one.shape[1] < 32 for one in found) >= 15


def test_log_uniform():
    """A quarter of the draws of 1 to 16384 in each quarter of the logarithm."""
    drawn = [_log_uniform((at + 0.5) / 1000, 1, 16384) for at in range(1000)]
    bounds = (1, 11.3, 128, 1448, 16385)
    quarters = [sum(low <= one < high for one in drawn) for low, high in pairwise(bounds)]
    assert all(abs(quarter - 250) <= 12 for quarter in quarters), quarters
    assert (_log_uniform(0.0, 5, 9), _log_uniform(math.nextafter(1.0, 0.0), 5, 9)) == (5, 9)


def test_large_and_small():
    """1 GFLOP is small, as is a matrix of 100 MB."""
    assert not Problem("matmul", (1000, 1000, 500), "NN").is_large
    assert Problem("matmul", (1000, 1001, 500), "NN").is_large
    assert not Problem("transpose", (10_000, 10_000), itemsize=1).is_large
    assert Problem("transpose", (10_000, 10_001), itemsize=1).is_large


@pytest.mark.parametrize(
    ("operation", "count", "said"),
    [("matmul", 0, "--count 0"), ("matmul", -3, "--count -3"), ("sum", 3, "'sum' matmul")],
)
def test_refused(operation, count, said):
    with pytest.raises(SmemnbError) as refusal:
        problems(operation, count, 1)
    assert set(facts(said)) <= set(facts(str(refusal.value)))
