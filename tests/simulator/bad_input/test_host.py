"""The host API used wrongly: refused by Numba's own code, or by the device that stands for a GPU."""

import numpy as np
import pytest
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError

from smemnb import simulator
from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.simulator.seam import OUT_OF_TREE
from tests.simulator.bad_input.rows import Table, refused

# ruff: noqa: E501, RUF012
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

NUMBAS, OURS = Table(), Table()
CODE = "[<CUresult.CUDA_ERROR_{}: {}>]" if OUT_OF_TREE else "[{1}]"


def numbas(name, act, kind, text):
    """A row that Numba's own code refuses."""
    NUMBAS.add(name, act, kind, text, numbas=True)


# fmt: off
numbas("copied into a short array", lambda w: w.dev.copy_to_host(np.zeros(39, np.float32)), ValueError, "incompatible shape: (40,) vs. (39,)")
numbas("copied into other axes", lambda w: w.dev.copy_to_host(np.zeros((8, 5), np.float32)), ValueError, "incompatible shape: (40,) vs. (8, 5)")
numbas("copied into a dtype", lambda w: w.dev.copy_to_host(np.zeros(40)), TypeError, "incompatible dtype: float32 vs. float64")
numbas("copied from a short array", lambda w: w.dev.copy_to_device(w.inp[:39].copy()), ValueError, "incompatible shape: (40,) vs. (39,)")
numbas("to an array of another size", lambda w: cuda.to_device(w.inp[:39].copy(), to=w.dev), ValueError, "incompatible shape: (40,) vs. (39,)")
numbas("stored with a wrong shape", lambda w: w.dev.__setitem__(slice(0, 4), w.inp[:3].copy()), ValueError, "Can't copy sequence with size 3 to array axis 0 with dimension 4")
numbas("reshaped", lambda w: w.dev.reshape(7, 7), ValueError, "reshape changes the size of the array")
if OUT_OF_TREE:  # the numba.cuda inside Numba takes it
    numbas("negative shape", lambda w: cuda.device_array(-3), CudaAPIError, CODE.format("INVALID_VALUE", 1) + " Call to cuMemAlloc results in CUDA_ERROR_INVALID_VALUE")
numbas("too much memory", lambda w: cuda.device_array(2**50, np.float64), CudaAPIError, CODE.format("OUT_OF_MEMORY", 2) + " Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
numbas("event never recorded", lambda w: cuda.event().elapsed_time(cuda.event()), CudaAPIError, CODE.format("INVALID_HANDLE", 400) + " Call to cuEventElapsedTime results in CUDA_ERROR_INVALID_HANDLE")
OURS.add("another device", lambda w: cuda.select_device(1), SmemnbError, "there is no device 1: the lockstep engine is device 0")
OURS.add("memory of a GPU", lambda w: cuda.as_cuda_array(Foreign()), LaunchRefused, "an array of type Foreign is not on a device here: kernels run in the lockstep engine, on host memory. Pass a NumPy array")
# fmt: on


class Foreign:
    """Like an array of another library, in the memory of a GPU that is not here."""

    __cuda_array_interface__ = {
        "shape": (3,),
        "typestr": "<f4",
        "data": (4096, False),
        "version": 3,
    }


@NUMBAS.each()
def test_numbas(row, monkeypatch):
    """What Numba refuses on a GPU, it refuses here: with its own words."""
    refused(row, monkeypatch)


@OURS.each()
def test_ours(row, monkeypatch):
    """What there is no device for."""
    refused(row, monkeypatch)
