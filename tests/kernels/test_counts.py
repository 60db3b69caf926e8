"""The counts in the comments of the finished kernels, and their values on awkward shapes."""

import numpy as np
import pytest

from smemnb.kernels import matmul, transpose
from smemnb.tracing import trace

SHAPES = [(64, 64), (1, 70), (70, 1), (40, 35), (97, 3), (0, 5)]


def scattered(shape, seed):
    return np.random.default_rng(seed).integers(-50, 50, shape).astype(np.float32)


def per_request(kernel, grid, block, *args):
    """{(text, kind): (wavefronts, sectors) per request} of a launch whose counts divide evenly."""
    found = {}
    for row in trace(kernel)[grid, block](*args).lines:
        found.setdefault((row.text, row.kind), []).append(
            (row.wavefronts / row.requests, row.sectors / row.requests)
        )
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


TRANSPOSES = {
    "transpose_naive": {
        ("inp[row, col]", "load"): (0, 4),
        ("out[col, row]", "store"): (0, 32),
    },
    "transpose_tiled": {
        ("inp[row, col]", "load"): (0, 4),
        ("tile[ty, tx]", "store"): (1, 0),
        ("tile[tx, ty]", "load"): (32, 0),
        ("out[out_row, out_col]", "store"): (0, 4),
    },
    "transpose_padded": {
        ("inp[row, col]", "load"): (0, 4),
        ("tile[ty, tx]", "store"): (1, 0),
        ("tile[tx, ty]", "load"): (1, 0),
        ("out[out_row, out_col]", "store"): (0, 4),
    },
    "transpose_swizzled": {
        ("inp[row, col]", "load"): (0, 4),
        ("tile[ty, tx ^ ty]", "store"): (1, 0),
        ("tile[tx, ty ^ tx]", "load"): (1, 0),
        ("out[out_row, out_col]", "store"): (0, 4),
    },
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transpose_counts(name):
    """Each comment of a transpose holds for a matrix of whole tiles."""
    inp = scattered((128, 96), 1)
    out = np.zeros((96, 128), np.float32)
    found = per_request(getattr(transpose, name), (3, 4), (32, 32), out, inp)
    assert found == TRANSPOSES[name]


def test_unpadded_transpose_of_1024():
    """The reading of facts: 32 x 32,768 wavefronts for the tile's read, 32,768 with a pad."""
    inp = scattered((1024, 1024), 2)
    out = np.zeros_like(inp)
    for name, wavefronts in (("transpose_tiled", 1_048_576), ("transpose_padded", 32_768)):
        found = trace(getattr(transpose, name))[(32, 32), (32, 32)](out, inp)
        (read,) = [row for row in found.lines if (row.space, row.kind) == ("shared", "load")]
        assert (read.requests, read.wavefronts) == (32_768, wavefronts)
        assert (found.global_.requests, found.global_.sectors) == (65_536, 262_144)


def test_matmul_tiled_counts():
    """16 steps of two conflict-free reads per tile; staging moves 4 sectors per request."""
    a, b = scattered((64, 48), 3), scattered((48, 80), 4)
    out = np.zeros((64, 80), np.float32)
    found = trace(matmul.matmul_tiled)[(5, 4), (16, 16)](out, a, b)
    rows = {(row.text, row.kind): row for row in found.lines}
    warps, tiles = 5 * 4 * 8, 3
    for text in ("a_tile[ty, k]", "b_tile[k, tx]"):
        read = rows[text, "load"]
        assert (read.requests, read.wavefronts, read.ways) == (
            warps * tiles * 16,
            warps * tiles * 16,
            1,
        )
    assert rows["a[row, k0 + tx]", "load"].sectors == warps * tiles * 4
    assert rows["out[row, col]", "store"].sectors == warps * 4


def test_matmul_naive_counts():
    """Two rows of 16 threads: both loads touch 2 sectors when a's rows are apart."""
    a, b = scattered((32, 64), 5), scattered((64, 32), 6)
    out = np.zeros((32, 32), np.float32)
    found = per_request(matmul.matmul_naive, (2, 2), (16, 16), out, a, b)
    assert found == {
        ("a[row, k]", "load"): (0, 2),
        ("b[k, col]", "load"): (0, 2),
        ("out[row, col]", "store"): (0, 4),
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spare", [0, 1])
@pytest.mark.parametrize("name", TRANSPOSES)
def test_transpose_values(name, shape, spare):
    """Any rectangle, any grid that covers it; clean of findings but for the naive one's price."""
    inp = scattered(shape, 7)
    out = np.full(shape[::-1], np.nan, np.float32)
    grid = (max(1, -(-shape[1] // 32)) + spare, max(1, -(-shape[0] // 32)))
    found = trace(getattr(transpose, name))[grid, (32, 32)](out, inp).findings
    dear = name == "transpose_naive" and min(shape) > 32
    assert [one.kind for one in found] == ["uncoalesced"] * dear
    np.testing.assert_array_equal(out, inp.T)


@pytest.mark.parametrize(
    "m, k, n", [(64, 64, 64), (1, 70, 33), (33, 70, 1), (40, 1, 35), (97, 3, 50), (5, 0, 6)]
)
@pytest.mark.parametrize("name", ["matmul_naive", "matmul_tiled"])
def test_matmul_values(name, m, k, n):
    """Any shapes that fit each other, K of 0 and 1 included; clean of findings."""
    a, b = scattered((m, k), 8), scattered((k, n), 9)
    out = np.full((m, n), np.nan, np.float32)
    grid = (-(-n // 16) + 1, -(-m // 16))
    assert trace(getattr(matmul, name))[grid, (16, 16)](out, a, b).findings == ()
    np.testing.assert_array_equal(out, a @ b)
