"""Products whose blocks share tiles: who does what, values, flags, races."""

from dataclasses import replace

import numpy as np
import pytest

from smemnb.kernels.matmul.ladder import SHARED, SMALL, sharing_pays
from smemnb.kernels.matmul.variants.streamed import matmul_streamed_of
from smemnb.tracing import trace

TILES = replace(SMALL, turn=0)  # 64x64 and 2 warps: many tiles are quickly run


def shared(tiling, shape, blocks, exact=True, beta=0.0, launches=1):
    """The trace of the last of some launches on the same flags; results are checked."""
    m, k, n = shape
    rng = np.random.default_rng([*shape, blocks])
    a, b, before = (
        rng.integers(-9, 10, one).astype(np.float32) for one in ((m, k), (k, n), (m, n))
    )
    sums = np.full(blocks * tiling.rows * tiling.cols, np.nan, np.float32)
    flags = np.zeros(blocks + 1, np.uint32)
    kernel = matmul_streamed_of(tiling, exact, exact, exact)
    for _ in range(launches):
        out = before.copy() if beta else np.full((m, n), np.nan, np.float32)
        found = trace(kernel)[blocks, tiling.threads](out, a, b, 2.0, beta, sums, flags)
        expected = 2 * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
        np.testing.assert_array_equal(out, expected)
        assert not flags.any()
    assert all(one.price for one in found.findings)
    return found


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("blocks", "what"),
    [
        (4, "6 tiles: 2 left, 2 helpers with one owner each, and a whole tile for everyone"),
        pytest.param(5, "1 left, cut in 5", marks=pytest.mark.exhaustive),
        (8, "all 6 shared, 2 helpers with 3 owners each"),
        pytest.param(3, "two rounds, nothing shared", marks=pytest.mark.exhaustive),
        pytest.param(
            20,
            "14 helpers: two parts of each tile, two blocks without any",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_shares(blocks, what):
    """Whole tiles of 64x64, 8 steps of the depth."""
    shared(TILES, (128, 64, 192), blocks)


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [
        pytest.param((130, 61, 195), 7, marks=pytest.mark.exhaustive),
        ((130, 9, 130), 4),
        pytest.param((65, 200, 70), 3, marks=pytest.mark.exhaustive),
        pytest.param((130, 7, 130), 5, marks=pytest.mark.exhaustive),  # one step: no tile is shared
        pytest.param((192, 250, 197), 11, marks=pytest.mark.exhaustive),
    ],
)
def test_any_shape(shape, blocks):
    """Tiles moved back inside, a first step of the depth that is left over, beta."""
    shared(TILES, shape, blocks, exact=False, beta=0.5)


def test_flags_are_used_again():
    """They are 0 again, and blocks are numbered from 0 again."""
    shared(TILES, (128, 64, 128), 3, launches=2)


@pytest.mark.exhaustive
def test_the_tiling_of_the_choice():
    """128x128 and 16x8 per thread: 3 tiles for 4 blocks; a helper's sums are 16 KB times 4."""
    found = shared(SHARED, (128, 64, 384), 4)
    handed = [row for row in found.lines if row.array == "sums"]
    per_tile = 4 * 128  # warps, elements of a thread
    assert {(row.kind, row.requests, row.sectors) for row in handed} == {
        ("store", 3 * per_tile, 3 * per_tile * 4),
        ("load", 3 * per_tile, 3 * per_tile * 4),
    }


@pytest.mark.parametrize(
    ("tiles", "at_once", "steps", "pays"),
    [
        (1024, 264, 512, True),  # 3.88 rounds, 232 owners and 32 helpers: 455 steps for 512
        (1056, 264, 512, False),  # 4 rounds
        (256, 264, 256, False),  # 8 helpers: 248 steps for 256, less than handing over costs
        (1089, 264, 512, True),  # 4.1 rounds, 8 blocks for each of 33 tiles
        (4, 0, 100, False),
    ],
)
def test_when_sharing_pays(tiles, at_once, steps, pays):
    """Rounds of whole tiles against the steps of a shared one."""
    assert sharing_pays(tiles, at_once, steps) is pays
