"""What a machine without a CUDA toolkit needs comes with the package, not from this machine."""

import importlib.util
import subprocess
import sys

import pytest

LOADED = """\
from cuda.pathfinder import load_nvidia_dynamic_lib
print(load_nvidia_dynamic_lib("cudart").found_via)
"""


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba alone asks for no CUDA runtime"
)
def test_the_cuda_runtime_is_a_dependency():
    """numba-cuda loads libcudart while it is imported; here it is not that of a toolkit."""
    said = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert said.stdout.strip() == "site-packages", said.stderr
