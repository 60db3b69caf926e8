"""The functions of the CUDA driver that Numba's host API calls, over host memory.

Numba's own device arrays, streams, events, contexts and memory managers run on top of these, so a
program meets the host API of a GPU, with its refusals. Everything is done when a call returns:
streams order nothing, and an event has always happened. What no host can do (loading modules,
linking, handles for other processes) is refused by name in `calls`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from itertools import count

from .attributes import numbered
from .memory import UNWRITTEN, memory

Fail = Callable[[str, str], Exception]
"""(function, name of the error) -> the exception of this Numba."""

CONTEXT = 0xC0
"""Handle of the one context."""


class HostDriver:
    """One device, one context; integers in, integers out, named as the driver's functions."""

    def __init__(self, fail: Fail) -> None:
        self._fail = fail
        self._handles = count(0x1000, 0x10)
        self._current = threading.local()
        self._recorded: set[int] = set()

    # --- contexts ------------------------------------------------------------------------------

    def _stack(self) -> list[int]:
        return self._current.__dict__.setdefault("stack", [])  # type: ignore[no-any-return]

    def cuCtxGetCurrent(self) -> int:
        """The thread's context, 0 for none."""
        return self._stack()[-1] if self._stack() else 0

    def cuCtxPushCurrent(self, context: int) -> None:
        """Make it the thread's context."""
        self._stack().append(context)

    def cuCtxPopCurrent(self) -> int:
        """Take the thread's context away."""
        if not self._stack():
            raise self._fail("cuCtxPopCurrent", "CUDA_ERROR_INVALID_CONTEXT")
        return self._stack().pop()

    def cuCtxGetDevice(self) -> int:
        """The one device."""
        return 0

    def cuDeviceGetCount(self) -> int:
        """One."""
        return 1

    def cuDeviceGet(self, number: int) -> int:
        """The one device."""
        if number != 0:
            raise self._fail("cuDeviceGet", "CUDA_ERROR_INVALID_DEVICE")
        return 0

    def cuDeviceGetAttribute(self, code: int, device: int) -> int:
        """What the device answers for the enumerator of this number."""
        return numbered(code)

    def cuDeviceTotalMem(self, device: int) -> int:
        """Bytes of its memory."""
        return memory.total

    def cuDriverGetVersion(self) -> int:
        """13.0, as the driver writes it."""
        return 13000

    def cuDevicePrimaryCtxRetain(self, device: int) -> int:
        """The one context."""
        return CONTEXT

    def cuDeviceCanAccessPeer(self, device: int, peer: int) -> int:
        """No: there is one device."""
        return 0

    # --- memory --------------------------------------------------------------------------------

    def cuMemGetInfo(self) -> tuple[int, int]:
        """(free, total) bytes."""
        return memory.total - memory.used, memory.total

    def _allocate(self, name: str, size: int, fill: int) -> int:
        if size < 0:  # of a shape with a negative axis
            raise self._fail(name, "CUDA_ERROR_INVALID_VALUE")
        try:
            return memory.allocate(size, fill)
        except MemoryError:
            raise self._fail(name, "CUDA_ERROR_OUT_OF_MEMORY") from None

    def cuMemAlloc(self, size: int) -> int:
        """Device memory that nobody has written."""
        return self._allocate("cuMemAlloc", size, UNWRITTEN)

    def cuMemAllocManaged(self, size: int, flags: int) -> int:
        """Memory that host and device share."""
        return self._allocate("cuMemAllocManaged", size, 0)

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        """Host memory that the device sees."""
        return self._allocate("cuMemHostAlloc", size, 0)

    def cuMemFree(self, address: int) -> None:
        """Give memory back."""
        if not memory.free(address):
            raise self._fail("cuMemFree", "CUDA_ERROR_INVALID_VALUE")

    cuMemFreeHost = cuMemFree

    def cuMemHostRegister(self, address: int, size: int, flags: int) -> None:
        """Let the device see host memory."""
        memory.lend(address, size)

    def cuMemHostUnregister(self, address: int) -> None:
        """Hide it again."""
        memory.take_back(address)

    def cuMemHostGetDevicePointer(self, address: int, flags: int) -> int:
        """The address as the device sees it: the same."""
        return address

    def cuPointerGetAttribute(self, attribute: int, address: int) -> int:
        """The address as the device sees it: the same."""
        if memory.find(address) is None:
            raise self._fail("cuPointerGetAttribute", "CUDA_ERROR_INVALID_VALUE")
        return address

    def cuMemGetAddressRange(self, address: int) -> tuple[int, int]:
        """(first address, bytes) of the allocation."""
        found = memory.find(address)
        if found is None:
            raise self._fail("cuMemGetAddressRange", "CUDA_ERROR_NOT_FOUND")
        return found[0], found[1].nbytes

    def _inside(self, name: str, address: int, size: int) -> None:
        if size and not memory.holds(address, size):
            raise self._fail(name, "CUDA_ERROR_INVALID_VALUE")

    def cuMemcpyHtoD(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy from host to device."""
        self._inside("cuMemcpyHtoD", to, size)
        memory.written(to)
        ctypes.memmove(to, source, size)

    def cuMemcpyDtoH(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy from device to host."""
        self._inside("cuMemcpyDtoH", source, size)
        ctypes.memmove(to, source, size)

    def cuMemcpyDtoD(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy on the device."""
        self._inside("cuMemcpyDtoD", to, size)
        memory.written(to)
        self._inside("cuMemcpyDtoD", source, size)
        ctypes.memmove(to, source, size)

    def cuMemsetD8(self, to: int, byte: int, size: int, stream: int = 0) -> None:
        """Set bytes."""
        self._inside("cuMemsetD8", to, size)
        memory.written(to)
        ctypes.memset(to, byte, size)

    cuMemcpyHtoDAsync, cuMemcpyDtoHAsync = cuMemcpyHtoD, cuMemcpyDtoH
    cuMemcpyDtoDAsync, cuMemsetD8Async = cuMemcpyDtoD, cuMemsetD8

    # --- streams and events --------------------------------------------------------------------

    def cuStreamCreate(self, flags: int) -> int:
        """A new handle."""
        return next(self._handles)

    def cuEventCreate(self, flags: int) -> int:
        """A new handle."""
        return next(self._handles)

    def cuEventRecord(self, event: int, stream: int) -> None:
        """Note that the event has happened."""
        self._recorded.add(event)

    def cuEventDestroy(self, event: int) -> None:
        """Forget it."""
        self._recorded.discard(event)

    def cuEventElapsedTime(self, start: int, end: int) -> float:
        """NaN: the engine has no clock that says anything about a GPU."""
        if not {start, end} <= self._recorded:
            raise self._fail("cuEventElapsedTime", "CUDA_ERROR_INVALID_HANDLE")
        return float("nan")


DONE = """cuInit cuCtxSynchronize cuDevicePrimaryCtxRelease cuDevicePrimaryCtxReset
cuStreamDestroy cuStreamSynchronize cuStreamWaitEvent cuEventQuery
cuEventSynchronize cuProfilerStart cuProfilerStop cuCtxEnablePeerAccess""".split()
"""Functions that have nothing to do here."""
