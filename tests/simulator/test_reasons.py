"""Why Numba took no implementation: its reason stands in the refusal, not only its first line."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import TypingRefused
from smemnb.simulator.refusals.reasons import call_of, reason


def takes_an_array(out, inp):
    out[0] = cuda.fma(inp[0], inp, 1)


def takes_a_bool(out, inp):
    out[0] = cuda.syncthreads_count(inp[0] > 0)


def takes_an_array_in_a_shuffle(out, inp):
    out[0] = cuda.shfl_sync(0xFFFFFFFF, inp, 0)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (takes_an_array, ["fma(float32, a 1-d array", "(float32, float32, float32)", "float64"]),
        (takes_a_bool, ["syncthreads_count(bool)", "int32(p)"]),
        (takes_an_array_in_a_shuffle, ["shfl_sync(int64, a 1-d array", "32- and 64-bit"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_reason(kernel, said):
    """The call with its types, then what it takes, or what an implementation objected to."""
    with pytest.raises(TypingRefused) as refused:
        cuda.jit(kernel)[1, 32](np.zeros(32, np.float32), np.ones(32, np.float32))
    text = str(refused.value)
    assert [part for part in said if part not in text] == []
    assert ":." not in text and f"line {kernel.__code__.co_firstlineno + 1}:" in text


REJECTED = """No implementation of function Function(<intrinsic f>) found for signature:

 >>> f(Literal[int](1))

There are 2 candidate implementations:
  - Of which 1 did not match due to:
    Rejected as the implementation raised a specific error:
      TypingError: too many positional arguments
  - Of which 1 did not match due to:
    Rejected as the implementation raised a specific error:
      TypingError: Failed in cuda mode pipeline (step: nopython frontend)
      only odd numbers
"""


def test_the_telling_reason():
    """Not that another form of the function takes fewer arguments, nor through which pipeline."""
    assert call_of(REJECTED) == "f(int64)"
    assert "only odd numbers" in reason(REJECTED) and "arguments" not in reason(REJECTED)
    assert "too many" in reason(REJECTED.split("  - Of which 1")[0] + REJECTED.split("  - ")[1])
    assert (call_of("no quotation"), reason("no quotation")) == ("", "")
