"""NumPy arrays: in the memory of the host, so a GPU works on a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import LaunchRefused
from .array_backend import ArrayBackend
from .matrix_view import MatrixView, TypeRefused


class NumpyArrays(ArrayBackend):
    """`numpy.ndarray` and what inherits from it."""

    label = "a NumPy array"
    contiguous = "np.ascontiguousarray({name})"
    cast = "{name}.astype(np.{dtype})"
    parts = "{name}.real and {name}.imag"
    float32 = np.dtype(np.float32)

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix in a NumPy array."""
        if isinstance(value, np.ma.MaskedArray):
            raise TypeRefused(f"`{name}` is a masked array. Pass {name}.filled(0)")
        return MatrixView(
            name,
            value,
            self,
            value.__array_interface__["data"][0],
            value.shape,
            value.strides,
            value.dtype,
            value.itemsize,
            readonly=not value.flags.writeable,
        )

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A new NumPy array."""
        try:
            return self.view("result", np.empty((rows, cols), like.dtype))
        except MemoryError as error:
            raise LaunchRefused(f"there is no memory for the result: {error}") from None


NUMPY = NumpyArrays()
