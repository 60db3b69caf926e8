"""How Numba calls the driver: through NVIDIA's bindings, or through ctypes with out-parameters.

numba-cuda calls `driver.cuMemAlloc(size)` and gets a `CUdeviceptr`; the numba.cuda inside Numba
calls `driver.cuMemAlloc(byref(pointer), size)`. Both get `HostDriver`'s functions here.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable
from typing import Any

from ...errors import SmemnbError
from .driver import DONE, HostDriver

_POINTERS = {
    "cuMemAlloc": "CUdeviceptr",
    "cuMemAllocManaged": "CUdeviceptr",
    "cuMemHostGetDevicePointer": "CUdeviceptr",
    "cuPointerGetAttribute": "CUdeviceptr",
    "cuCtxGetCurrent": "CUcontext",
    "cuCtxPopCurrent": "CUcontext",
    "cuStreamCreate": "CUstream",
    "cuEventCreate": "CUevent",
}
_OUT = {
    **dict.fromkeys(_POINTERS, 1),
    "cuMemHostAlloc": 1,
    "cuCtxGetDevice": 1,
    "cuDeviceGet": 1,
    "cuDeviceGetAttribute": 1,
    "cuDeviceGetCount": 1,
    "cuDeviceTotalMem": 1,
    "cuDriverGetVersion": 1,
    "cuDevicePrimaryCtxRetain": 1,
    "cuDeviceCanAccessPeer": 1,
    "cuEventElapsedTime": 1,
    "cuMemGetInfo": 2,
    "cuMemGetAddressRange": 2,
}


def install_driver(module: Any) -> None:
    """Put the host driver behind `numba.cuda.cudadrv.driver`, whichever Numba it is of."""
    binding = getattr(module, "binding", None)
    codes = binding.CUresult if binding is not None else module.enums

    def fail(function: str, name: str) -> Exception:
        error: Exception = module.CudaAPIError(
            getattr(codes, name), f"Call to {function} results in {name}"
        )
        return error

    host = HostDriver(fail)
    driver = module.driver
    for name in dir(HostDriver):
        if name.startswith("cu"):
            function = getattr(host, name)
            setattr(driver, name, _bound(name, function, binding))
    for name in DONE:
        setattr(driver, name, _nothing)
    type(driver).__getattr__ = _unknown
    type(driver).get_device_count = lambda self: 1
    driver.is_initialized, driver.initialization_error = True, None
    driver.pid = os.getpid()
    module._logger = module.make_logger()
    module.Stream.add_callback = _add_callback


def _nothing(*args: Any) -> None:
    """Done already."""


def _unknown(self: Any, name: str) -> Any:
    if not name.startswith("cu"):
        raise AttributeError(name)
    raise SmemnbError(
        f"{name} is a function of the CUDA driver, and kernels run in the lockstep engine here."
        " Modules, linked code and memory of other processes need a GPU"
    )


def _bound(name: str, function: Callable[..., Any], binding: Any) -> Callable[..., Any]:
    if binding is not None:
        kind = getattr(binding, _POINTERS.get(name, ""), lambda value: value)
        return lambda *args: kind(function(*map(_plain, args)))
    outs = _OUT.get(name, 0)

    def call(*args: Any) -> None:
        result = function(*map(_plain, args[outs:]))
        results = result if outs == 2 else (result,)
        for place, value in zip(args[:outs], results, strict=False):
            place._obj.value = value

    return call


def _plain(value: Any) -> int:
    """The integer in a pointer or handle of either kind."""
    if isinstance(value, ctypes._SimpleCData):
        return value.value or 0
    return int(value)


def _add_callback(self: Any, callback: Callable[..., Any], arg: Any = None) -> None:
    """Call `callback(stream, status, arg)` now: all work of the stream is done."""
    try:
        callback(self, 0, arg)
    except Exception as error:
        warnings.warn(f"Exception in stream callback: {error}", stacklevel=2)
