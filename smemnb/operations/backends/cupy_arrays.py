"""CuPy arrays, by their address; CuPy is not imported here.

**Limits**: written after CuPy's documentation of `ndarray.data`, `Device` and `ExternalStream`.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .array_backend import ArrayBackend
from .matrix_view import MatrixView
from .numba_arrays import DEFAULT_STREAMS


class CupyArrays(ArrayBackend):
    """`cupy.ndarray` and what inherits from it."""

    label = "a CuPy array"
    contiguous = "cupy.ascontiguousarray({name})"
    single = "{name}.astype(cupy.float32)"
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
