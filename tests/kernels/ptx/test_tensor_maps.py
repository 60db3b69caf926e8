"""Maps of arrays: what they hold, and what the hardware has no map for."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import SmemnbError
from smemnb.kernels.ptx.tensor_maps import MAP_WORDS, TensorMap, map_of
from tests.facts import facts


def held(shape=(64, 64), dtype=np.float16):
    return cuda.to_device(np.zeros(shape, dtype))


def test_fields():
    """Extents, strides in bytes, box and its bytes; the words name the map as long as it lives."""
    one = TensorMap(held((40, 24)), (16, 8), swizzle=0)
    assert (one.shape, one.strides, one.box, one.box_bytes) == ((40, 24), (48, 2), (16, 8), 256)
    words = one.words.copy_to_host()
    assert words.shape == (MAP_WORDS,)
    assert map_of(words) is one
    del one
    assert map_of(words) is None


@pytest.mark.parametrize(
    ("array", "box", "swizzle", "said"),
    [
        (lambda: np.zeros((8, 8), np.float16), (8, 8), 0, {"cuda.to_device"}),
        (lambda: held(dtype=np.complex64), (8, 8), 0, set()),
        (lambda: held((2,) * 5 + (8,)), (1,) * 5 + (8,), 0, {"6", "5"}),
        (held, (8,), 0, {"1", "2"}),
        (held, (257, 8), 0, {"256"}),
        (held, (0, 8), 0, {"256"}),
        (held, (8, 8), 48, {"48", "128"}),
        (held, (8, 4), 0, {"8", "16"}),
        (held, (8, 64), 64, {"128", "64", "32"}),
        (held, (8, 16), 64, {"32", "64"}),
        (lambda: held((8, 68))[:, 4:], (8, 8), 0, {"8", "16"}),
        (lambda: held((8, 36)), (8, 8), 0, {"72", "16"}),
        (lambda: held((64, 64))[:, ::8], (8, 8), 0, {"16", "2"}),
    ],
    ids=["host", "type", "axes", "box", "large", "none", "swizzle", "inner", "wide", "narrow",
         "begins", "stride", "apart"],
)  # fmt: skip
def test_refusals(array, box, swizzle, said):
    """Each names its rule and what came."""
    with pytest.raises(SmemnbError) as refused:
        TensorMap(array(), box, swizzle=swizzle)
    assert said <= set(facts(refused.value))
