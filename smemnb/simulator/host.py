"""The host side of numba.cuda without a GPU: arrays, streams, events, devices.

Numba's simulator has most of it (device arrays with their copies, streams, the device list);
this module takes that and mends what differs from the real thing: `pinned` takes any number of
arrays, events take `timing=`, mapped and managed arrays are seen by host and kernel at once, and
memory that nobody has written holds all-ones bits (NaN, -1) and not whatever was there before.

**Limits**: no time is measured: `elapsed_time` is NaN. Device arrays know NumPy's methods here;
on a GPU they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError
from ..hardware import WARP_LANES, limits
from . import devices as chosen
from .hook import catch_up, held

with held():
    from numba.cuda import simulator as numba_simulator
    from numba.cuda.simulator import reduction
    from numba.cuda.simulator.cudadrv import devicearray, devices

DeviceArray: Any = devicearray.FakeCUDAArray

_CHIPS = {
    (7, 0): ("V100", 80),
    (7, 5): ("T4", 40),
    (8, 0): ("A100", 108),
    (8, 6): ("RTX 3090", 82),
    (8, 9): ("RTX 4090", 128),
    (9, 0): ("H100 SXM", 132),
    (10, 0): ("B200", 148),
    (12, 0): ("RTX 5090", 170),
}
"""One product of each compute capability and its SMs (NVIDIA's data sheets)."""


class HostVisible(np.ndarray[Any, Any]):
    """A mapped or managed array: host and kernels work on the same memory."""

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """A copy as a plain NumPy array, into `ary` if given."""
        if ary is None:
            return np.array(self)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Fill from a host array."""
        self[...] = ary


class Event:
    """A CUDA event; nothing is timed, so `elapsed_time` is NaN."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing

    def record(self, stream: Any = 0) -> None:
        """Nothing: all work is done when a call returns."""

    def wait(self, stream: Any = 0) -> None:
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""

    def query(self) -> bool:
        """True: the work before it is done."""
        return True

    def elapsed_time(self, event: Event) -> float:
        """NaN: the engine has no clock that says anything about a GPU."""
        return float("nan")


class Device:
    """What `cuda.get_current_device()` gives: the limits that are enforced, by their CUDA names."""

    id = 0
    WARP_SIZE = WARP_LANES
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    supports_float16 = supports_bfloat16 = True

    @property
    def name(self) -> str:
        """The engine, and the chip whose limits it enforces."""
        return f"smemnb lockstep engine (limits of {_CHIPS[self.compute_capability][0]})"

    @property
    def compute_capability(self) -> tuple[int, int]:
        """The compute capability whose limits are enforced."""
        return chosen.cc()

    def __getattr__(self, name: str) -> int:
        cc = limits(self.compute_capability)
        values = {
            "MAX_THREADS_PER_BLOCK": cc.threads_per_block,
            "MAX_SHARED_MEMORY_PER_BLOCK": cc.shared_per_block,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": cc.shared_per_block_optin,
            "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": cc.shared_per_sm,
            "MAX_REGISTERS_PER_BLOCK": cc.registers_per_block,
            "MAX_THREADS_PER_MULTI_PROCESSOR": cc.threads_per_sm,
            "MAX_BLOCKS_PER_MULTIPROCESSOR": cc.blocks_per_sm,
            "MULTIPROCESSOR_COUNT": _CHIPS[cc.cc][1],
            "COMPUTE_CAPABILITY_MAJOR": cc.cc[0],
            "COMPUTE_CAPABILITY_MINOR": cc.cc[1],
        }
        for axis, block, grid in zip("XYZ", cc.block_dim, cc.grid_dim, strict=True):
            values[f"MAX_BLOCK_DIM_{axis}"], values[f"MAX_GRID_DIM_{axis}"] = block, grid
        if name not in values:
            raise AttributeError(f"the lockstep engine's device has no {name}")
        return values[name]

    def __repr__(self) -> str:
        return f"<CUDA device 0 '{self.name}'>"

    def reset(self) -> None:
        """Nothing."""


class _Context(devices.FakeCUDAContext):  # type: ignore[misc]
    """The one context, with a device that has the enforced limits."""

    def __init__(self) -> None:
        super().__init__(0)
        self._device = Device()

    @property
    def compute_capability(self) -> tuple[int, int]:
        return chosen.cc()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def synchronize(self) -> None:
        """Nothing."""


_context = _Context()
_gpus = devices.FakeDeviceList()
_gpus.lst = (_context,)


def _select_device(device_id: int = 0) -> Device:
    if device_id != 0:
        raise SmemnbError(f"there is no device {device_id}: the lockstep engine is device 0")
    return _context._device


def unwritten(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C") -> Any:
    """A NumPy array that nobody has written: all bits are ones.

    >>> unwritten(2, np.float32), unwritten(2, np.int32)
    (array([nan, nan], dtype=float32), array([-1, -1], dtype=int32))
    """
    array: Any = np.ndarray(shape, dtype, strides=strides, order=order)
    if not array.dtype.hasobject:
        array[...] = np.frombuffer(b"\xff" * array.itemsize, array.dtype)[0]
    return array


def _device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", stream: Any = 0
) -> Any:
    return DeviceArray(unwritten(shape, dtype, strides, order), stream=stream)


def _device_array_like(ary: Any, stream: Any = 0) -> Any:
    made = numba_simulator.device_array_like(ary)
    return _device_array(made.shape, made.dtype, made.strides)


def _to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream=stream)
        return to
    if isinstance(obj, DeviceArray):
        return obj
    return numba_simulator.to_device(obj) if copy else _device_array_like(np.asarray(obj))


def _pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C"
) -> Any:
    array: Any = np.ndarray(shape, dtype, strides=strides, order=order)
    array[...] = 0
    return array


def _visible_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: Any = "C",
    stream: Any = 0,
    **options: Any,
) -> Any:
    return _pinned_array(shape, dtype, strides, order).view(HostVisible)


def _like(make: Any) -> Any:
    def array_like(ary: Any, stream: Any = 0, **options: Any) -> Any:
        made = numba_simulator.device_array_like(ary)  # it knows the order of axes of a view
        return make(tuple(made.shape), made.dtype, made.strides)

    return array_like


@contextmanager
def _pinned(*arrays: Any) -> Iterator[None]:
    yield


@contextmanager
def _mapped(*arrays: Any, stream: Any = 0) -> Iterator[Any]:
    views = [DeviceArray(array) for array in arrays]
    yield views[0] if len(views) == 1 else views


def _as_cuda_array(obj: Any, sync: bool = True) -> Any:
    if isinstance(obj, DeviceArray):
        return obj
    raise LaunchRefused(
        f"an array of type {type(obj).__name__} is not on a device here: kernels run in the"
        " lockstep engine, on host memory. Pass a NumPy array"
    )


def _detect() -> bool:
    major, minor = chosen.cc()
    print("Found 1 CUDA devices")
    print(f"id 0    {_context._device.name}    [SUPPORTED]")
    print(f"    compute capability: {major}.{minor}")
    print("Summary:\n\t1/1 devices are supported")
    return True


_TAKEN = ("stream", "synchronize", "require_context", "defer_cleanup")

_OWN: dict[str, Any] = {
    "to_device": _to_device,
    "device_array": _device_array,
    "device_array_like": _device_array_like,
    "pinned": _pinned,
    "mapped": _mapped,
    "pinned_array": _pinned_array,
    "pinned_array_like": _like(_pinned_array),
    "mapped_array": _visible_array,
    "mapped_array_like": _like(_visible_array),
    "managed_array": _visible_array,
    "default_stream": numba_simulator.stream,
    "legacy_default_stream": numba_simulator.stream,
    "per_thread_default_stream": numba_simulator.stream,
    "external_stream": lambda ptr: numba_simulator.stream(),
    "event": Event,
    "event_elapsed_time": lambda start, end: start.elapsed_time(end),
    "gpus": _gpus,
    "list_devices": lambda: _gpus,
    "current_context": lambda devnum=None: _context,
    "get_current_device": lambda: _context._device,
    "select_device": _select_device,
    "close": lambda: None,
    "reset": lambda: None,
    "detect": _detect,
    "is_available": lambda: True,
    "is_supported_version": lambda: True,
    "cuda_error": lambda: None,
    "is_float16_supported": lambda: True,
    "is_bfloat16_supported": lambda: True,
    "is_cuda_array": lambda obj: isinstance(obj, DeviceArray),
    "as_cuda_array": _as_cuda_array,
    "_auto_device": lambda ary, stream=0, copy=True: (_to_device(ary, stream, copy), True),
    "profile_start": lambda: None,
    "profile_stop": lambda: None,
    "profiling": _pinned,
    "reduce": reduction.Reduce,
    "Reduce": reduction.Reduce,
}


def host_api() -> dict[str, Any]:
    """Name in `numba.cuda` -> what stands for it without a GPU."""
    return {**{name: getattr(numba_simulator, name) for name in _TAKEN}, **_OWN}


catch_up()
