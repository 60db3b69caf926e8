"""With a GPU nothing of Numba is replaced, and a trace still runs in the engine. In processes of
their own, because the device is chosen when numba.cuda is imported."""

import os
import subprocess
import sys

import pytest

from tests.house.notebook_form import ROOT

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
HEAD = """
import numpy as np, smemnb
from numba import cuda
from smemnb import check, solution, trace
from smemnb.kernels.transpose import transpose_padded
inp = np.arange(96 * 64, dtype=np.float32).reshape(96, 64)
out = np.zeros((64, 96), np.float32)
"""


def said(code, device=""):
    """What a program prints, with the GPU (or the device asked for)."""
    environment = {k: v for k, v in os.environ.items() if k != "SMEMNB_DEVICE"}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(ROOT), environment.get("PYTHONPATH")))
    )
    if device:
        environment["SMEMNB_DEVICE"] = device
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split("\n")[:-1]


def test_nothing_is_replaced():
    """The launch class and the device arrays are Numba's own, and the result is right."""
    code = """
transpose_padded[(2, 3), (32, 32)](out, inp)
print((out == inp.T).all(), type(cuda.to_device(inp)).__module__.startswith("numba.cuda.cudadrv"))
print(smemnb.simulator.device() == cuda.get_current_device().name)
"""
    assert said(code) == ["True True", "True"]


def test_trace_of_device_arrays():
    """A trace takes device arrays, runs in the engine and writes the result back."""
    code = """
given, result = cuda.to_device(inp), cuda.to_device(out)
found = trace(transpose_padded)[(2, 3), (32, 32)](result, given)
print((result.copy_to_host() == inp.T).all(), found.shared.wavefronts, found.findings)
"""
    assert said(code) == ["True 384 ()"]


def test_check_runs_in_the_engine():
    """Exercises are graded as without a GPU."""
    code = """
print(bool(check("ex00_scale", solution("ex00_scale").kernel)))
"""
    assert said(code) == ["True"]


def test_forced_engine():
    """SMEMNB_DEVICE=lockstep leaves the GPU alone."""
    code = """
transpose_padded[(2, 3), (32, 32)](out, inp)
print((out == inp.T).all(), smemnb.simulator.device())
"""
    assert said(code, "lockstep") == ["True lockstep"]
