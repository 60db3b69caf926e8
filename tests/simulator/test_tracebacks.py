"""Where an error leaves the package, its traceback ends: the caller's line and the message."""

import traceback

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused, SmemnbError, TypingRefused
from smemnb.exercises.check import check
from smemnb.simulator import device
from smemnb.tracing import trace
from tests.button import stop_button

# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")


@cuda.jit
def misspelt(out, inp):
    i = cuda.grid(1)
    out[i] = 2 * imp[i]  # noqa: F821


@cuda.jit
def endless(out, inp):
    k = 0
    while k >= 0:
        k += 1
        out[0] = k


OUT = np.zeros(32, np.float32)
CALLS = {
    "launch": (lambda: misspelt[1, 32](OUT, OUT), TypingRefused),
    "trace": (lambda: trace(misspelt)[1, 32](OUT, OUT), TypingRefused),
    "list": (lambda: misspelt[1, 32](OUT, [1, 2]), LaunchRefused),
    "block": (lambda: trace(misspelt)[1, 4096](OUT, OUT), LaunchRefused),
    "grid": (lambda: misspelt[0, 32], LaunchRefused),
    "no kernel": (lambda: trace(3), LaunchRefused),
}


@pytest.mark.parametrize("name", CALLS)
def test_short(name):
    """One frame of smemnb, the public entry, and no error behind the error."""
    call, kind = CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    assert len(traceback.extract_tb(caught.tb)) == 3  # this test, the lambda, the entry
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_full(monkeypatch):
    """SMEMNB_TRACEBACK=full keeps every frame."""
    monkeypatch.setenv("SMEMNB_TRACEBACK", "full")
    with pytest.raises(SmemnbError) as caught:
        misspelt[1, 32](OUT, OUT)
    assert len(traceback.extract_tb(caught.tb)) > 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: endless[1, 32](OUT, OUT),
        lambda: trace(endless)[1, 32](OUT, OUT),
        lambda: check("ex00_scale", endless),
    ],
    ids=["launch", "trace", "check"],
)
def test_interrupted(call):
    """The stop button names the loop of the kernel, in as few frames."""
    with (
        stop_button(),
        pytest.raises(KeyboardInterrupt, match=r"endless was interrupted; last seen") as caught,
    ):
        call()
    line = endless.py_func.__code__.co_firstlineno + 3
    assert f"the loop in line {line} of endless (`k >= 0`)" in str(caught.value)
    assert len(traceback.extract_tb(caught.tb)) <= 4
