"""PTX and machine code of kernels, where the compiler libraries are installed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, types

import smemnb
from smemnb import compiled
from smemnb.errors import SmemnbError
from smemnb.simulator.seam import OUT_OF_TREE

ROOT = Path(__file__).parents[2]
TILE, PITCH = 32, 33
A = np.zeros((64, 64), np.float32)


@cuda.jit(device=True)
def twice(x):
    return x * 2


@cuda.jit("float32(float32)", device=True)
def declared(x):
    return x + 1


@cuda.jit
def staged(out, inp):
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    out[row, col] = declared(twice(tile[ty, tx]))


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "signature",
    [
        (A, A),
        (types.float32[:, ::1], types.float32[:, ::1]),
        "void(float32[:, ::1], float32[:, ::1])",
    ],
    ids=["arrays", "types", "text"],
)
def test_ptx(signature):
    """The types may be given in three ways, and the PTX is the same in what matters."""
    code = compiled.ptx(staged, signature)
    assert ".target sm_90" in code
    assert (code.count("bar.sync"), code.count("ld.shared")) == (1, 1)


@pytest.mark.toolchain
def test_ptx_of_device_function():
    """A device function is compiled as one."""
    assert ".entry" not in compiled.ptx(twice, (1.5,))
    assert ".entry" in compiled.ptx(staged, (A, A))


@pytest.mark.toolchain
def test_plug_and_compiler():
    """In one process: launches in the engine, and Numba's own compile_ptx before and after."""
    before, _ = cuda.compile_ptx(staged.py_func, (types.float32[:, ::1],) * 2, cc=(8, 0))
    out = np.zeros((64, 64), np.float32)
    inp = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    staged[(2, 2), (32, 32)](out, inp)
    assert np.array_equal(out, inp * 2 + 1)
    after, _ = cuda.compile_ptx(staged.py_func, (types.float32[:, ::1],) * 2, cc=(8, 0))
    assert before.count("ld.shared") == after.count("ld.shared") == 1
    assert ".target sm_80" in after


WITHOUT = """
import smemnb
from numba import cuda
from smemnb import compiled
compiled.available.cache_clear()
cuda.compile_ptx = None
print(compiled.available())
for make in (compiled.ptx, compiled.resources):
    try:
        make(lambda out: None, (1,))
    except smemnb.errors.SmemnbError as error:
        print(error)
"""


def test_without_toolchain():
    """Without the libraries each request names the extra to install."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, env=environment
    )
    first, *said = done.stdout.splitlines()
    assert first == "False", done.stderr
    assert [line.count("smemnb[cu13]") for line in said] == [1, 1]


def test_error_is_ours():
    """The refusal is one of smemnb's."""
    assert issubclass(SmemnbError, Exception)
    assert smemnb.errors.SmemnbError is SmemnbError
    assert isinstance(OUT_OF_TREE, bool)
