"""Transposes of elements of any size, and copies of runs: values, what lies around."""

import numpy as np
import pytest
from numba import cuda, float32, uint8, uint16, uint64

from smemnb.kernels.transpose.variants.runs import THREADS, copy_runs_of, grid
from smemnb.kernels.transpose.variants.units import FLAT, SQUARE, TALL, transpose_units_of
from smemnb.tracing import trace
from tests.tiers import sampled

TYPES = {1: uint8, 2: uint16, 4: float32, 8: uint64}
WORDS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64}
ELEMENTS = [(1, n) for n in range(1, 17)] + [(2, n) for n in (1, 3, 5, 7, 8)]
ELEMENTS += [(4, 1), (4, 3), (4, 4), (8, 1), (8, 2)]


def framed(rng, unit, shape, gap):
    """(host, device, part) of an array with spare units behind each row."""
    host = rng.integers(0, 250, (*shape[:-1], shape[-1] + gap)).astype(WORDS[unit])
    device = cuda.to_device(host)
    return host, device, device[:, :, : shape[-1]]


def turned(unit, parts, tile, rows, cols, count=1, gap=0):
    """Transposes that were checked; the trace."""
    rng = np.random.default_rng([unit, parts, rows, cols])
    inp, _, source = framed(rng, unit, (count, rows, cols * parts), gap)
    out, device, target = framed(rng, unit, (count, cols, rows * parts), gap)
    kernel = transpose_units_of(TYPES[unit], parts, tile, batched=count > 1)
    blocks = -(-cols // tile[1]) * count, -(-rows // tile[0])
    views = (target, source) if count > 1 else (target[0], source[0])
    found = trace(kernel)[blocks, 256](*views)
    values = inp[..., : cols * parts].reshape(count, rows, cols, parts).swapaxes(1, 2)
    out[..., : rows * parts] = values.reshape(count, cols, rows * parts)
    np.testing.assert_array_equal(device.copy_to_host(), out)
    assert all(one.price for one in found.findings)
    return found


@pytest.mark.first(2)
@pytest.mark.parametrize(("unit", "parts"), sampled(ELEMENTS, 8))
@pytest.mark.parametrize("tile", [SQUARE, TALL, FLAT], ids=str)
def test_values(unit, parts, tile):
    """A tile and a piece in both directions, with and without gaps; batches of two."""
    rows, cols = tile[0] + 3, tile[1] + 5
    turned(unit, parts, tile, rows, cols)
    turned(unit, parts, tile, rows, cols, count=2, gap=1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1)])
def test_small_values(shape):
    """Elements of 3 bytes of less than a tile."""
    turned(1, 3, SQUARE, *shape)


def test_counts():
    """12 bytes, whole tiles: the tile's rows one wavefront per request, and its columns too.

    A row of 32 elements is 96 words; a request of 32 lanes touches 4 sectors.
    """
    found = turned(4, 3, SQUARE, 64, 64)
    rows = {(row.space, row.kind): row for row in found.lines}
    requests = 4 * 32 * 3
    assert {key: (row.requests, row.wavefronts, row.sectors) for key, row in rows.items()} == {
        ("global", "load"): (requests, 0, 4 * requests),
        ("shared", "store"): (requests, requests, 0),
        ("shared", "load"): (requests, requests, 0),
        ("global", "store"): (requests, 0, 4 * requests),
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda: transpose_units_of(uint64, 3),
        lambda: transpose_units_of(uint8, 0),
        lambda: transpose_units_of(uint8, 3, (30, 34)),
        lambda: transpose_units_of(uint8, 3, (512, 2)),
    ],
)
def test_refused(make):
    """Elements above 16 bytes, and tiles that are not made for."""
    with pytest.raises(ValueError, match="wanted|elements have"):
        make()


def copied(unit, chunks, shape, gaps, begin=0):
    """The trace of a copy of runs that was checked; gaps in units behind each run."""
    rng = np.random.default_rng([unit, *shape])
    inp, _, source = framed(rng, unit, (*shape[:2], shape[2] + begin), gaps[0])
    out, device, target = framed(rng, unit, shape, gaps[1])
    source = source[:, :, begin:]
    kernel = copy_runs_of(TYPES[unit], chunks=chunks)
    found = trace(kernel)[grid(*shape, unit, chunks), THREADS](target, source)
    out[..., : shape[2]] = inp[..., begin : begin + shape[2]]
    np.testing.assert_array_equal(device.copy_to_host(), out)
    assert all(one.price for one in found.findings)
    return found


@pytest.mark.first(8)
@pytest.mark.parametrize("unit", TYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1, 5000), (3, 5, 37), (7, 100, 1), (2, 3, 64), (1, 1, 1), (1, 40, 3)]
)
def test_runs(unit, shape):
    """Long ones over several blocks, short ones, single elements, at any distance."""
    copied(unit, False, shape, (0, 0))
    copied(unit, False, shape, (3, 1), begin=1)


def test_runs_by_chunks():
    """16 bytes at a time: 16 sectors per request."""
    found = copied(4, True, (2, 3, 4096), (8, 8))
    rows = {row.kind: row for row in found.lines}
    requests = 2 * 3 * 4096 // 4 // 32
    assert {key: (row.requests, row.sectors) for key, row in rows.items()} == {
        "load": (requests, 16 * requests),
        "store": (requests, 16 * requests),
    }
