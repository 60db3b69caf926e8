"""Fragments: the places that running the instructions gives are those of the rule."""

import numpy as np
import pytest

from smemnb.figures import fragment_map
from smemnb.figures.fragments import measure
from smemnb.kernels.ptx import tensor
from smemnb.rules import tensor_core
from tests.facts import facts

PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}
EVERY = sorted(tensor.PRODUCTS)


@pytest.mark.first(4)
@pytest.mark.parametrize("name", EVERY)
def test_products(name):
    """Each element has one place, and it is the one of `rules.tensor_core`."""
    k, sums, kind = tensor.shape_of(name)
    rules = (
        tensor_core.places_of_a(k, PER_WORD[kind]),
        tensor_core.places_of_b(k, PER_WORD[kind]),
        tensor_core.places_of_c(2 if sums == "f16" else 1),
    )
    found = measure(name, lane=9)
    assert [part.shape for part in found.parts] == [(16, k), (k, 8), (16, 8)]
    for part, (rows, cols) in zip(found.parts, rules, strict=True):
        assert len(part.owners) == part.shape[0] * part.shape[1]
        np.testing.assert_array_equal(np.array(part.rows), rows)
        np.testing.assert_array_equal(np.array(part.cols), cols)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("turned", [False, True])
def test_matrices(count, turned):
    """Lane i has two elements of row i // 4 of each matrix; turned, of column i // 4."""
    found = measure(f"ldmatrix_x{count}{'_trans' if turned else ''}")
    assert len(found.parts) == count
    for part in found.parts:
        for lane in range(32):
            pair, single = (2 * (lane % 4), 2 * (lane % 4) + 1), (lane // 4, lane // 4)
            rows, cols = (pair, single) if turned else (single, pair)
            assert (part.rows[0][lane], part.cols[0][lane]) == (rows, cols)
            assert part.owners[rows[0], cols[0]] == (lane, 0)


def test_text():
    """Words of one lane with their rows and columns; nothing is left out of the alt text."""
    drawing = fragment_map("mma_m16n8k8_f32_tf32", lane=31)
    (line,) = (line for line in drawing.text.splitlines() if "of b" in line)
    assert facts(line) == facts("lane 31 of b: b0 row 3, column 7; b1 row 7, column 7")
    assert "d3 row 15, column 7" in drawing.text
    assert "d3 row 15, column 7" in drawing.alt


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["mma_m16n8k32_s32_s8", "mma_m16n8k16_f16_f16", "ldmatrix_x1"])
def test_picture(name):
    """A PNG, as wide as the notebook shows it, twice as fine."""
    from io import BytesIO

    from PIL import Image

    drawing = fragment_map(name, lane=5)
    picture = Image.open(BytesIO(drawing.png))
    assert picture.size[0] == 2 * drawing.width


@pytest.mark.parametrize(
    ("name", "lane", "said"),
    [
        ("mma_m16n8k16", 0, "mma_m16n8k16_f32_bf16"),
        ("stmatrix_x4", 0, "ldmatrix_x4_trans"),
        ("ldmatrix_x4", 32, "lanes 0 to 31"),
    ],
)
def test_refused(name, lane, said):
    """With the names that there are."""
    with pytest.raises(ValueError, match=said):
        fragment_map(name, lane=lane)
