"""print in a kernel: the text that Numba's printf gives."""

import numpy as np
import pytest
from numba import cuda, float32, uint64

from tests.lockstep.intrinsics.typed import run, run_alone


def one(out):
    i = cuda.threadIdx.x
    if i < 2:
        print("lane", i, out[i], i == 1, float32(0.1))


def tuples():
    if cuda.threadIdx.x == 3:
        print((1, 2.5), (cuda.threadIdx.x,), (True, (0.25, 7)))


def coordinates():
    if cuda.threadIdx.x == 33:
        print(cuda.threadIdx, cuda.blockDim, uint64(2**63))


def nothing():
    if cuda.threadIdx.x < 3:
        print()


def wide(x):
    i = cuda.threadIdx.x
    if i == 1:
        print(x[0], x[1], x[2], x[3])


@pytest.mark.parametrize(
    ("kernel", "args", "block", "text"),
    [
        (
            one,
            (np.array([1.5, -2.0]),),
            32,
            "lane 0 1.500000 False 0.100000\nlane 1 -2.000000 True 0.100000\n",
        ),
        (tuples, (), 32, "(1, 2.500000) (3,) (True, (0.250000, 7))\n"),
        (coordinates, (), 64, "(33, 0, 0) (64, 1, 1) 9223372036854775808\n"),
        (nothing, (), 32, "\n\n\n"),
        (
            wide,
            (np.array([1e20, np.inf, -np.inf, np.nan]),),
            32,
            "100000000000000000000.000000 inf -inf nan\n",
        ),
    ],
)
def test_print(capfd, kernel, args, block, text):
    """Floats with six decimals, tuples in brackets, one line per thread in order."""
    run_alone(kernel, *args, block=block)
    assert capfd.readouterr().out == text


def too_many(x):
    i = cuda.threadIdx.x
    if i == 0:
        print(x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0],
              x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0], x[0],
              x[0], x[0], x[0], i, 1.5)  # fmt: skip


def test_more_than_printf_takes(capfd):
    """33 things print their formats, as on the device, and Numba's warning says so."""
    with pytest.warns(UserWarning, match="cannot print more than 32 items"):
        run(too_many, np.array([1], np.uint8))
    assert capfd.readouterr().out == "%llu " * 31 + "%lld %f\n"
