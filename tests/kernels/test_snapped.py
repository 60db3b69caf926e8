"""Transposes whose stores begin at sectors: values of any rows, whole sectors, what they load."""

import numpy as np
import pytest
from numba import float32, uint8, uint16, uint64

from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose.shaped import transpose_turned_of
from smemnb.kernels.transpose.snapped import TILES, transpose_snapped_of
from smemnb.tracing import trace
from smemnb.tracing.findings.finding import PRICES

WORDS = {uint8: np.uint8, uint16: np.uint16, float32: np.float32, uint64: np.uint64}


def traced(dtype, rows, cols, kernel=None):
    """The trace of a transpose whose result was checked."""
    itemsize = dtype.bitwidth // 8
    tile = TILES[itemsize] if kernel is None else (64, 64)
    rung = Rung(kernel or transpose_snapped_of(dtype), "", (32, 16), tile)
    inp = np.random.default_rng([rows, cols]).integers(1, 250, (rows, cols)).astype(WORDS[dtype])
    out = np.zeros((cols, rows), WORDS[dtype])
    found = trace(rung.kernel)[rung.grid(rows, cols), rung.block](out, inp)
    np.testing.assert_array_equal(out, inp.T)
    assert {one.kind for one in found.findings} <= PRICES
    return found


SHAPES = [(1, 1), (131, 67), (63, 65), (64, 64), (65, 63), (200, 33), (7, 3), (129, 1), (1, 129)]


@pytest.mark.parametrize("shape", [(131, 67), (63, 65)])
@pytest.mark.parametrize("dtype", WORDS, ids=str)
def test_values(dtype, shape):
    """Odd rows, of more than a tile and of less than a sector."""
    traced(dtype, *shape)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", WORDS, ids=str)
def test_values_of_more_shapes(dtype, shape):
    """Around the edges of tiles and sectors; nothing is read or written outside, no races."""
    traced(dtype, *shape)


@pytest.mark.slow
def test_random_values():
    """60 shapes of up to three tiles."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        dtype = list(WORDS)[rng.integers(4)]
        traced(dtype, *(int(extent) for extent in rng.integers(1, 200, 2)))


def sectors(found):
    """{kind: sectors of global memory}."""
    kinds = {"load": 0, "store": 0}
    for row in found.lines:
        kinds[row.kind] += row.sectors
    return kinds


def test_sectors():
    """257 x 65 float32: 65 rows of 33 sectors are stored, none twice; turned, 448 more.

    Rows of 257 begin at every place of a sector in turn. The 4 upper edges of tiles are loaded
    twice: 8 rows of 65 elements more each.
    """
    snapped, turned = (
        traced(float32, 257, 65),
        traced(float32, 257, 65, transpose_turned_of(float32)),
    )
    rows = [(line * 257, line * 257 + 256) for line in range(65)]
    touched = sum(last // 8 - first // 8 + 1 for first, last in rows)
    cuts = sum((first + 32 * piece) % 8 != 0 for first, _ in rows for piece in range(1, 9))
    assert sectors(snapped)["store"] == touched == 2145
    assert sectors(turned)["store"] == touched + cuts == 2145 + 448
    requests = {
        (row.space, row.kind): row.requests for row in snapped.lines if row.space == "shared"
    }
    before = {(row.space, row.kind): row.requests for row in turned.lines if row.space == "shared"}
    assert requests["shared", "load"] == before["shared", "load"]
    assert requests["shared", "store"] == before["shared", "store"] + 4 * 8 * 3


def test_no_extra_wavefronts():
    """Columns are read from where a row's stores begin, still 32 neighbours: 1 wavefront."""
    found = traced(float32, 257, 65)
    shared = [row for row in found.lines if row.space == "shared"]
    assert [row.wavefronts - row.requests for row in shared] == [0, 0]
