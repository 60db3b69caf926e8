"""Products of random fragments: what is drawn, how it is compared, and what was recorded."""

import json

import numpy as np
import pytest

from smemnb.errors import SmemnbError
from smemnb.kernels.ptx import tensor
from smemnb.laboratory import tensor_values
from smemnb.laboratory.tensor_values import (
    Recorded,
    compared,
    converted,
    drawn,
    load,
    record,
    ruled,
    words_of_first,
)
from smemnb.rules.tensor_core import AMPERE, HOPPER

NAMES = list(tensor.PRODUCTS)


@pytest.mark.parametrize("name", NAMES)
def test_drawn_from_a_seed(name):
    """The same words each time, other ones in each draw; `bits` has NaNs where there are any."""
    for draw in tensor_values.DRAWS:
        one, two = drawn(name, draw, 4), drawn(name, draw, 4)
        assert all(
            np.array_equal(a.view(np.uint32), b.view(np.uint32))
            for a, b in zip(one, two, strict=True)
        )
        assert [len(part) for part in one] == list(tensor.words_of(name))
    near, apart = (drawn(name, draw, 4)[0] for draw in ("near", "apart"))
    assert not np.array_equal(near, apart)


@pytest.mark.first(3)
@pytest.mark.parametrize("draw", tensor_values.DRAWS)
@pytest.mark.parametrize("name", ["mma_m16n8k16_f32_bf16", "mma_m16n8k16_f16_f16",
                                  "mma_m16n8k32_s32_u8"])  # fmt: skip
def test_the_engine_is_the_rule(name, draw):
    """Kernel and rule give the same bits, and `first` keeps them."""
    row = compared(name, draw, 8)
    assert (row.elements, row.equal, row.nans, row.largest[0]) == (8 * 128, 8 * 128, 0, 0.0)
    np.testing.assert_array_equal(
        words_of_first(row).view(np.uint32), ruled(name, drawn(name, draw, 8)).view(np.uint32)
    )


def test_another_rounding_is_told_apart():
    """Were the GPU an Ampere, its own numbers would give the most equal elements."""

    def run(name, words):
        return ruled(name, words, AMPERE)

    row = compared("mma_m16n8k16_f32_bf16", "apart", 16, run)
    assert row.equal < row.elements
    best = max(row.variants, key=row.variants.get)
    assert best == f"{AMPERE.bytes_at_once}, {AMPERE.fraction_bits}"
    assert row.variants[best] == row.elements
    assert f"{HOPPER.bytes_at_once}, {HOPPER.fraction_bits}" in row.variants
    assert row.largest[0] > 0
    assert "elements differ, by" in tensor_values.said(row)


def test_one_bit_is_seen():
    """A last bit changed in one element of 1,024."""

    def run(name, words):
        found = ruled(name, words)
        found.view(np.uint32)[2, 77] ^= 1
        return found

    row = compared("mma_m16n8k8_f32_tf32", "near", 8, run)
    assert (row.elements - row.equal, row.nans) == (1, 0)
    assert 0 < row.largest[0] < 2.0**-20


def test_bits_are_compared():
    """Zeros of unlike sign differ; NaNs are counted apart."""
    one = np.array([0.0, np.nan, 1.0], np.float32)
    two = np.array([-0.0, -np.nan, 1.0], np.float32)
    same, both_nan = tensor_values._equal(one, two)
    assert (same.tolist(), both_nan.tolist()) == ([False, True, True], [False, True, False])


def test_conversions():
    """All words of the engine are those of the rule."""
    assert [(one.name, one.equal, one.first) for one in converted(320)] == [
        (name, 320, ()) for name in tensor_values.CONVERSIONS
    ]


def test_no_gpu_no_file(tmp_path):
    """Without a GPU nothing is recorded and nothing written."""
    file = tmp_path / "values.json"
    with pytest.raises(SmemnbError, match="this machine has none"):
        record(file)
    assert not file.exists()


def recorded() -> Recorded:
    """What is shipped; skips where nothing was read yet."""
    try:
        return load()
    except SmemnbError as error:
        pytest.skip(str(error))


def test_recorded_products_are_the_rule():
    """d of the first products of each row, bit by bit; 10,000 products of each type agree."""
    for row in recorded().rows:
        wanted = ruled(row.name, drawn(row.name, row.draw, row.products))
        kept = words_of_first(row)
        np.testing.assert_array_equal(
            kept.view(np.uint32), wanted[:, : kept.shape[1]].view(np.uint32)
        )
        assert (row.name, row.draw, row.equal) == (row.name, row.draw, row.elements)


def test_recorded_conversions_are_the_rule():
    """Every word is equal."""
    found = [(one.name, one.numbers - one.equal) for one in recorded().conversions]
    assert found == [(name, 0) for name in tensor_values.CONVERSIONS]


@pytest.mark.gpu
def test_record(tmp_path):
    """A small recording, and what is read from it."""
    found = record(tmp_path / "values.json", count=80)
    assert len(found.rows) == len(NAMES) * len(tensor_values.DRAWS)
    assert len(json.loads((tmp_path / "values.json").read_text())["rows"]) == len(found.rows)
