"""CuPy arrays, by their address; CuPy is not imported here.

**Limits**: written after CuPy's documentation of `ndarray.data`, `Device` and `ExternalStream`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .array_backend import BEYOND, ArrayBackend, CloserLook
from .matrix_view import MatrixView, reach
from .numba_arrays import DEFAULT_STREAMS, only_one


class CupyArrays(ArrayBackend):
    """`cupy.ndarray` and what inherits from it."""

    label = "a CuPy array"
    contiguous = "cupy.ascontiguousarray({name})"
    cast = "{name}.astype(cupy.{dtype})"
    parts = "{name}.real and {name}.imag"
    float32 = np.dtype(np.float32)

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix in an array."""
        return MatrixView(
            name,
            value,
            self,
            value.data.ptr,
            value.shape,
            value.strides,
            value.dtype,
            value.itemsize,
            place=value.device.id,
        )

    def stream(self, matrix: MatrixView) -> int:
        """CuPy's current stream of the array's device."""
        with self.cupy.cuda.Device(matrix.place):
            return int(self.cupy.cuda.get_current_stream().ptr)

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A new array, of CuPy's memory for the stream."""
        with self.cupy.cuda.Device(like.place), self._on(like.place, stream):
            value = self.cupy.empty((rows, cols), like.dtype)
        return self.view("result", value)

    has_current = True

    def glance(self, value: Any) -> tuple[int, int, Any]:
        """Of an array on the current device."""
        memory = value.data
        address = memory.ptr
        if not address or (not only_one() and memory.device_id != self._device()):
            raise CloserLook
        return (
            address,
            0,
            (value.shape, value.strides, value.dtype, memory.device_id, address & BEYOND),
        )

    def _device(self) -> int:
        return int(self.cupy.cuda.runtime.getDevice())

    def current(self, value: Any, named: Sequence[int]) -> int:
        """CuPy's current stream of the current device, which is the array's."""
        return int(self.cupy.cuda.get_current_stream().ptr)

    def fresh(
        self, like: Any, shape: tuple[int, ...], place: int, handle: int, dtype: Any = None
    ) -> Any:
        """A new array for the current stream, which `handle` is."""
        return self.cupy.empty(shape, like.dtype if dtype is None else dtype)

    def address(self, value: Any) -> int:
        """Of the first element."""
        return int(value.data.ptr)

    def span(self, value: Any) -> int:
        """Bytes from the first element to behind the last."""
        return reach(value.shape, value.strides, value.itemsize)

    def is_contiguous(self, value: Any) -> bool:
        """Whether elements follow each other in the order of rows, without gaps."""
        return bool(value.flags.c_contiguous)

    def _on(self, place: int, stream: int | None) -> AbstractContextManager[Any]:
        if stream is None:
            return nullcontext()
        cuda = self.cupy.cuda
        on = cuda.Stream.null if stream in DEFAULT_STREAMS else cuda.ExternalStream(stream, place)
        found: AbstractContextManager[Any] = on
        return found


def cupy_arrays() -> CupyArrays:
    """The backend, for a CuPy that the caller has imported."""
    return CupyArrays(sys.modules["cupy"])
