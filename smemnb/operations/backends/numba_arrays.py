"""Numba's device arrays, and any device memory as one of them.

What Numba builds in `as_cuda_array` is built here from its parts, without a question to the driver
for each array and without waiting for a stream: the operations order their work themselves. These
and those of `prepared` are the only inner names of Numba that the operations use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...errors import LaunchRefused
from .. import prepared
from .array_backend import BEYOND, ArrayBackend, CloserLook
from .matrix_view import HOST, MatrixView, reach

DEFAULT_STREAMS = (0, 1)
"""Handles of the stream that all others wait for: CUDA's, and that of DLPack and the interface."""


@cache
def _parts() -> tuple[Any, Any, Any]:
    """(DeviceNDArray, MemoryPointer, the driver's class of pointers)."""
    from numba.cuda.cudadrv import devicearray, driver

    binding = getattr(driver, "binding", None)
    if binding is None or not getattr(driver, "USE_NV_BINDING", True):
        return devicearray.DeviceNDArray, driver.MemoryPointer, ctypes.c_void_p
    return devicearray.DeviceNDArray, driver.MemoryPointer, binding.CUdeviceptr


def array_over(matrix: MatrixView, dtype: np.dtype[Any]) -> Any:
    """A device array of this dtype over the memory of a matrix on a device."""
    shape, strides = matrix.lies_as(dtype)
    if matrix.backend is NUMBA and matrix.dtype == dtype:
        value = matrix.value
        if (value.shape, value.strides) == (shape, strides):
            return value
    return _described(matrix.address, shape, strides, matrix.span, dtype, matrix.place)


@lru_cache(maxsize=1024)
def _described(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    span: int,
    dtype: np.dtype[Any],
    place: int,
) -> Any:
    """A device array that says where a matrix is and owns nothing: its memory is the caller's.

    So it is true whenever a matrix lies there, and kept: making one takes longer than a launch.
    """
    from numba import cuda

    array, memory, pointer = _parts()
    context = cuda.gpus[place].get_primary_context()
    data = memory(context, pointer(address), span)
    return array(shape, strides, dtype, gpu_data=data)


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any], place: int, handle: int = 0) -> Any:
    """An empty device array on a device, its work on the stream of that handle.

    Raises:
        LaunchRefused: there is no memory for it, or the stream is captured into a CUDA graph.
    """
    from numba import cuda

    if prepared.capturing(handle):
        raise LaunchRefused(
            "the result would be a Numba device array, whose memory comes from the driver, and the"
            f" stream {handle:#x} is captured into a CUDA graph, which allows no such thing. Make"
            " an array before the capture and pass it as `out`"
        )
    with on_device(place):
        stream = stream_of(handle, place)
        try:
            return cuda.device_array(shape, dtype, stream=stream)
        except Exception as error:
            if "OUT_OF_MEMORY" in str(error):
                raise LaunchRefused(f"there is no memory for the result: {error}") from error
            raise


def on_device(place: int) -> AbstractContextManager[Any]:
    """Makes a device the current one, where it is not."""
    from numba import cuda

    if place == HOST or only_one() or cuda.current_context().device.id == place:
        return nullcontext()
    there: AbstractContextManager[Any] = cuda.gpus[place]
    return there


@cache
def only_one() -> bool:
    """Whether there is one device, so that nobody needs to ask which is meant."""
    from numba import cuda

    return len(cuda.gpus) == 1


@lru_cache(maxsize=256)
def stream_of(handle: int, device: int) -> Any:
    """Numba's object for a stream of a device; 0 for the default one."""
    from numba import cuda

    return 0 if handle in DEFAULT_STREAMS else cuda.external_stream(handle)


class NumbaArrays(ArrayBackend):
    """`numba.cuda` device arrays, of a GPU, of the lockstep engine, and of Numba's simulator."""

    label = "a Numba device array"
    contiguous = "cuda.to_device(np.ascontiguousarray({name}.copy_to_host()))"
    cast = "cuda.to_device({name}.copy_to_host().astype(np.{dtype}))"
    float32 = np.dtype(np.float32)

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix in a device array."""
        host = getattr(value, "_ary", None)
        if host is not None:  # of Numba's simulator: a NumPy array
            address, place, on = host.__array_interface__["data"][0], HOST, None
        else:
            address = value.device_ctypes_pointer.value or 0
            place = 0 if only_one() or not address else value.gpu_data.context.device.id
            on = int(value.stream) if value.stream else None
        dtype = value.dtype
        return MatrixView(
            name,
            value,
            self,
            address,
            value.shape,
            value.strides,
            dtype,
            dtype.itemsize,
            place,
            stream=on,
        )

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A new device array."""
        handle = self.stream(like) if stream is None else stream
        return self.view("result", new_array((rows, cols), like.dtype, like.place, handle))

    def glance(self, value: Any) -> tuple[int, int, Any]:
        """Of a device array, with the stream to which it is bound."""
        memory = value.gpu_data
        address = memory.device_ctypes_pointer.value
        if not address:
            raise CloserLook
        place = 0 if only_one() else memory.context.device.id
        named = value.stream
        on = int(named) if named else 0
        if named and on in DEFAULT_STREAMS:
            raise CloserLook  # bound to the default stream: work on another one waits for it
        return address, on, (value.shape, value.strides, value.dtype, place, address & BEYOND)

    def current(self, value: Any, named: Sequence[int]) -> int:
        """That to which the first array is bound; the default stream if it is to none."""
        return int(value.stream) if named and value.stream else 0

    def fresh(
        self, like: Any, shape: tuple[int, ...], place: int, handle: int, dtype: Any = None
    ) -> Any:
        """A new device array, bound to the stream."""
        return new_array(shape, like.dtype if dtype is None else dtype, place, handle)

    def address(self, value: Any) -> int:
        """Of the first element."""
        return int(value.device_ctypes_pointer.value or 0)

    def span(self, value: Any) -> int:
        """Bytes from the first element to behind the last."""
        return reach(value.shape, value.strides, value.dtype.itemsize)

    def is_contiguous(self, value: Any) -> bool:
        """Whether elements follow each other in the order of rows, without gaps."""
        return bool(value.flags["C_CONTIGUOUS"])


NUMBA = NumbaArrays()
