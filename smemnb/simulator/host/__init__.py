"""The host side of numba.cuda without a GPU: Numba's own, over a driver of host memory.

`install` puts `driver.HostDriver` behind Numba's host API and gives it one device. Device arrays,
records, streams, events, contexts, memory managers and their refusals are then Numba's own code.
What asks for more than the driver (whether a GPU is there, arrays of other libraries, the element
copy that Numba compiles a kernel for) is replaced here.

**Limits**: no time is measured: `elapsed_time` is NaN. Streams order nothing: a call's work is
done when it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import LaunchRefused
from .. import devices as chosen
from ..hook import catch_up, held
from .memory import array_at, memory

with held():
    from numba.cuda.cudadrv import devicearray
    from numba.cuda.cudadrv import driver as driver_module
    from numba.cuda.cudadrv import runtime as runtime_module

    from .calls import install_driver
    from .device import device_class, no_device

__all__ = ["array_at", "install"]


def install(cuda: Any) -> None:
    """Replace, in `numba.cuda`, what needs a GPU."""
    from numba.cuda import api

    install_driver(driver_module)
    driver_module.driver.devices.clear()
    driver_module.driver.devices[0] = device_class(driver_module)()
    devicearray._assign_kernel = _Assign
    _answer_for_the_toolkit(runtime_module.Runtime)
    for name, value in _own(api).items():
        for module in (cuda, api):
            if hasattr(module, name):
                setattr(module, name, value)


class _Assign:
    """Stands for the kernel that copies `rhs` into `lhs`, element by element."""

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def forall(self, tasks: int, **options: Any) -> Any:
        """The launch of that kernel."""

        def assign(lhs: Any, rhs: Any) -> None:
            np.copyto(array_at(lhs), array_at(rhs), casting="unsafe")  # type: ignore[arg-type]

        return assign


def _own(api: Any) -> dict[str, Any]:
    """Name in `numba.cuda` -> what stands for it."""
    select, as_cuda_array = api.select_device, api.as_cuda_array

    def select_device(device_id: int = 0) -> Any:
        if device_id != 0:
            raise no_device(device_id)
        return select(device_id)

    def from_interface(obj: Any, sync: bool = True) -> Any:  # noqa: FBT001, FBT002
        interface = getattr(obj, "__cuda_array_interface__", None)
        if interface is not None and 0 not in interface["shape"]:
            if memory.find(interface["data"][0]) is None:
                raise LaunchRefused(
                    f"an array of type {type(obj).__name__} is not on a device here: kernels run in"
                    " the lockstep engine, on host memory. Pass a NumPy array"
                )
        return as_cuda_array(obj, sync=sync)

    return {
        "select_device": select_device,
        "as_cuda_array": from_interface,
        "detect": _detect,
        "is_available": lambda: True,
        "is_supported_version": lambda: True,
        "cuda_error": lambda: None,
    }


def _answer_for_the_toolkit(runtime: Any) -> None:
    """Where no toolkit is, `cuda.runtime` has the version of the driver: programs print it."""
    installed, supported = runtime.get_version, runtime.is_supported_version

    def get_version(self: Any) -> tuple[int, int]:
        try:
            found: tuple[int, int] = installed(self)
        except Exception:  # whatever a missing library raises
            found = driver_module.driver.get_version()
        return found

    def is_supported_version(self: Any) -> bool:
        # nothing is compiled with it, so what the driver would bring does
        here = self.get_version() == driver_module.driver.get_version()
        return here or bool(supported(self))

    runtime.get_version, runtime.is_supported_version = get_version, is_supported_version


def _detect() -> bool:
    major, minor = chosen.cc()
    print("Found 1 CUDA devices")
    print(f"id 0    {driver_module.driver.devices[0].name}    [SUPPORTED]")
    print(f"    compute capability: {major}.{minor}")
    print("Summary:\n\t1/1 devices are supported")
    return True


catch_up()
