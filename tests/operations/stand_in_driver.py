"""A driver without a GPU: it reads arguments as a kernel would, and the engine runs the kernel.

What `cuLaunchKernel` gets is an array of pointers. `StandIn` follows each by the kernel's
signature, makes arrays over the addresses that it finds there, and runs the kernel in the lockstep
engine. The memory of the engine's devices is the host's, so addresses are real.
"""

import ctypes
import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
from numba.cuda import types
from numba.cuda.np.numpy_support import as_dtype

from smemnb.operations import launching, patterns, prepared, repeated, workspace
from smemnb.operations.backends import numba_arrays
from smemnb.simulator import run

CONTEXT = 77


def at(pointers, index, kind):
    """The value of this ctypes type behind a pointer."""
    pointer = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))[index]
    return kind.from_address(pointer).value


def array_at(address, shape, strides, reach, dtype):
    """An array over memory of the host; a device array if it has gaps, as the engine wants it."""
    memory = (ctypes.c_uint8 * reach).from_address(address)
    found = np.ndarray(shape, dtype, memory, 0, strides)
    if found.flags.c_contiguous:
        return found
    return numba_arrays._described(address, shape, strides, reach, dtype, 0)


def read(pointers, signature):
    """(arguments, bytes of each parameter) behind an array of pointers, by Numba's types."""
    values, raw, index = [], [], 0
    for kind in signature:
        if isinstance(kind, types.Array):
            words = [at(pointers, index + i, ctypes.c_int64) for i in range(5 + 2 * kind.ndim)]
            index += len(words)
            raw += [word.to_bytes(8, "little", signed=True) for word in words]
            shape, strides = tuple(words[5 : 5 + kind.ndim]), tuple(words[5 + kind.ndim :])
            dtype = as_dtype(kind.dtype)
            reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
            values.append(array_at(words[4], shape, strides, reach, dtype))
        else:
            value = at(pointers, index, getattr(ctypes, f"c_{NAMES.get(str(kind), str(kind))}"))
            values.append(as_dtype(kind).type(value))
            raw.append(values[-1].tobytes())
            index += 1
    return values, raw


NAMES = {"float32": "float", "float64": "double"}


class StandIn:
    """What `prepared` asks of cuda.bindings.driver.

    Attributes:
        launches: (kernel, signature, grid and block, stream) of each launch.
        captured: handles of streams that are being captured.
        current: handle of the current context.
        log: other calls of the driver.
        allowed: functions that may be launched with more than 48 KB, and with how much.
        computes: whether launches run.
    """

    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUdevice_attribute = SimpleNamespace(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED=115)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUkernel = type("CUkernel", (int,), {})
    CUstream = CUcontext = CUdeviceptr = CUdevice = staticmethod(int)

    def __init__(self):
        self.launches, self.captured, self.log = [], set(), []
        self.current, self.computes, self.pools, self.memory = CONTEXT, True, True, {}
        self.allowed = {}

    def cuLaunchKernel(self, function, *more):
        *launch, shared, stream, pointers, extra = more
        assert (extra, self.current) == (0, CONTEXT)
        assert shared <= self.allowed.get(function, 48 * 1024)
        kernel, signature = function
        self.launches.append((kernel, signature, tuple(launch), stream))
        if self.computes:
            values, _ = read(pointers, signature)
            run(kernel, tuple(launch[:3]), tuple(launch[3:]), 0, shared, values)
        return (0,)

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8 and value <= 232_448
        self.allowed[function] = value
        return (0,)

    def cuCtxGetCurrent(self):
        return 0, self.current

    def cuCtxPushCurrent(self, context):
        self.log.append(("push", context))
        self.before, self.current = self.current, context
        return (0,)

    def cuCtxPopCurrent(self):
        self.log.append(("pop", self.current))
        self.current = self.before
        return 0, CONTEXT

    def cuStreamIsCapturing(self, stream):
        return 0, int(stream in self.captured)

    def cuDeviceGetAttribute(self, attribute, device):
        return 0, int(self.pools)

    def cuMemAllocAsync(self, size, stream):
        piece = np.full(size + 8, 0xFF, np.uint8)
        address = piece.__array_interface__["data"][0] + 7 & ~7
        self.memory[address] = piece
        self.log.append(("allocate", size, stream))
        return 0, address

    def cuMemsetD32Async(self, address, value, count, stream):
        ctypes.memset(address, value, 4 * count)
        return (0,)

    def cuMemFreeAsync(self, address, stream):
        self.log.append(("free", len(self.memory.pop(address)) - 8, stream))
        return (0,)


@contextmanager
def stand_in():
    """Operations on the engine's device arrays go the way of a GPU."""
    driver = StandIn()
    kept = prepared._driver, prepared.launches, prepared._load, launching.on_gpu
    processors, asked = launching.processors, os.environ.get(prepared.VARIABLE)

    def load(kernel, signature, place, handle):
        loaded = prepared._loaded.setdefault(kernel, {})
        if (signature, place) not in loaded:
            if prepared.capturing(handle):
                return kept[2](kernel, signature, place, handle)  # refuses
            loaded[signature, place] = prepared.Loaded((kernel, signature), CONTEXT, None)
        return loaded[signature, place]

    def forget():
        cached_all = prepared._launch, prepared.stream_object, prepared.has_pools
        for cached in (*cached_all, prepared.is_wanted):
            cached.cache_clear()
        prepared._loaded.clear()
        launching._own.clear()
        repeated.forget()
        patterns.forget()
        workspace.forget()

    os.environ.pop(prepared.VARIABLE, None)
    forget()
    prepared._driver, prepared.launches, prepared._load = lambda: driver, lambda: "gpu", load
    launching.on_gpu, launching.processors = lambda: True, lambda place: 132
    try:
        yield driver
    finally:
        prepared._driver, prepared.launches, prepared._load, launching.on_gpu = kept
        launching.processors = processors
        if asked is not None:
            os.environ[prepared.VARIABLE] = asked
        forget()
