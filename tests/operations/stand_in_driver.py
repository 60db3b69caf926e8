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


def read(pointers, signature, index=0):
    """(arguments, bytes of each parameter) behind an array of pointers, by Numba's types."""
    values, raw = [], []
    for kind in signature:
        if isinstance(kind, types.Array):
            words = [at(pointers, index + i, ctypes.c_int64) for i in range(5 + 2 * kind.ndim)]
            index += len(words)
            raw += [word.to_bytes(8, "little", signed=True) for word in words]
            shape, strides = tuple(words[5 : 5 + kind.ndim]), tuple(words[5 + kind.ndim :])
            dtype = as_dtype(kind.dtype)
            reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
            values.append(array_at(words[4], shape, strides, reach, dtype))
        elif isinstance(kind, types.BaseTuple):
            several, each = read(pointers, list(kind), index)
            values.append(tuple(several))
            raw += each
            index += len(each)
        else:
            value = at(pointers, index, getattr(ctypes, f"c_{NAMES.get(str(kind), str(kind))}"))
            values.append(as_dtype(kind).type(value))
            raw.append(values[-1].tobytes())
            index += 1
    return values, raw


def _is_array(kind):
    return isinstance(kind, types.Array)


NAMES = {"float32": "float", "float64": "double"}


class Function(tuple):
    """A function of the driver: kernel and signature, and its handle by `int`."""

    def __new__(cls, of, handle):
        made = super().__new__(cls, of)
        made.handle = handle
        return made

    def __int__(self):
        return self.handle


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
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED=115,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
    )
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
    CUkernel = type("CUkernel", (int,), {})
    CUstream = CUcontext = CUdeviceptr = CUdevice = staticmethod(int)

    def __init__(self):
        self.launches, self.captured, self.log = [], set(), []
        self.current, self.computes, self.pools, self.memory = CONTEXT, True, True, {}
        self.mode, self.lasting, self.major, self.functions = 0, [], 8, []
        self.allowed = {}

    def cuLaunchKernel(self, function, *more):
        *launch, shared, stream, pointers, extra = more
        assert (extra, self.current) == (0, CONTEXT)
        assert shared <= self.allowed.get(function, 48 * 1024)
        kernel, signature = function
        self.launches.append((kernel, signature, tuple(launch), stream))
        words = 0
        for kind in signature:  # of the last array, the address
            self.flags_at = at(pointers, words + 4, ctypes.c_int64) if _is_array(kind) else 0
            words += 5 + 2 * kind.ndim if _is_array(kind) else 1
        if self.computes:
            values, _ = read(pointers, signature)
            run(kernel, tuple(launch[:3]), tuple(launch[3:]), 0, shared, values)
        return (0,)

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8 and value <= 232_448
        self.allowed[function] = value
        return (0,)

    def cuLaunchKernelEx(self, config, function, pointers, extra):
        found = prepared._Config.from_address(config)
        attribute = found.attributes[0]
        assert (found.count, attribute.id, attribute.value[0]) == (1, 6, 1)
        self.log.append(("overlap", found.stream or 0))
        launch = *found.extents, found.shared, found.stream or 0
        return self.cuLaunchKernel(self.functions[function], *launch, pointers, extra)[0]

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
        return 0, self.major if attribute == 75 else int(self.pools)

    def cuMemAllocAsync(self, size, stream):
        piece = np.full(size + 8, 0xFF, np.uint8)
        address = piece.__array_interface__["data"][0] + 7 & ~7
        self.memory[address] = piece
        self.log.append(("allocate", size, stream))
        return 0, address

    def cuThreadExchangeStreamCaptureMode(self, mode):
        self.mode, before = mode, self.mode
        return 0, before

    def cuMemAlloc(self, size):
        assert self.mode == 2  # else it would end a capture
        self.lasting.append(np.full(size // 4, 0xFFFFFFFF, np.uint32))
        return 0, self.lasting[-1].__array_interface__["data"][0]

    def cuStreamCreate(self, flags):
        return 0, 1000 + flags

    def cuStreamSynchronize(self, stream):
        assert stream == 1001
        return (0,)

    def cuStreamDestroy(self, stream):
        return self.cuStreamSynchronize(stream)

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
    by_config = prepared._launch_by_config
    processors, asked = launching.processors, os.environ.get(prepared.VARIABLE)

    def load(kernel, signature, place, handle):
        loaded = prepared._loaded.setdefault(kernel, {})
        if (signature, place) not in loaded:
            if prepared.capturing(handle):
                return kept[2](kernel, signature, place, handle)  # refuses
            driver.functions.append((kernel, signature))
            number = Function((kernel, signature), len(driver.functions) - 1)
            loaded[signature, place] = prepared.Loaded(number, CONTEXT, None)
        return loaded[signature, place]

    def forget():
        for cached in ("_launch", "stream_object", "has_pools", "overlaps_on", "is_wanted"):
            getattr(prepared, cached).cache_clear()
        prepared._loaded.clear()
        launching._own.clear()
        launching._lasting.clear()
        repeated.forget()
        patterns.forget()
        workspace.forget()

    os.environ.pop(prepared.VARIABLE, None)
    forget()
    prepared._driver, prepared.launches, prepared._load = lambda: driver, lambda: "gpu", load
    prepared._launch_by_config = lambda: driver.cuLaunchKernelEx
    launching.on_gpu, launching.processors = lambda: True, lambda place: 132
    try:
        yield driver
    finally:
        prepared._driver, prepared.launches, prepared._load, launching.on_gpu = kept
        launching.processors, prepared._launch_by_config = processors, by_config
        if asked is not None:
            os.environ[prepared.VARIABLE] = asked
        forget()
