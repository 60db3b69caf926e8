"""Arrays of libraries that are not known by name, by what they say of themselves.

`__cuda_array_interface__`, version 3
(https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html), then `__dlpack__`
(https://dmlc.github.io/dlpack/latest/python_spec.html). How to make an array of such a library is
not known: results are Numba device arrays, or NumPy arrays where the memory is the host's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dlpack
from .array_backend import ArrayBackend
from .matrix_view import HOST, MatrixView, TypeRefused
from .numba_arrays import NUMBA, NumbaArrays, only_one
from .numpy_arrays import NUMPY


def current_device() -> int:
    """Number of the device that Numba works on."""
    from numba import cuda

    return 0 if only_one() else int(cuda.current_context().device.id)


class InterfaceArrays(NumbaArrays):
    """Objects with `__cuda_array_interface__`, of version 0 to 3."""

    label = "an object with __cuda_array_interface__"
    contiguous = "a copy of {name} with contiguous rows"
    cast = "a copy of {name} in {dtype}"

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix that the interface describes."""
        said = value.__cuda_array_interface__
        if said.get("mask") is not None:
            raise TypeRefused(f"`{name}` has a mask. Pass an array without one")
        dtype = np.dtype(said["typestr"])
        if dtype.hasobject:
            raise TypeRefused(f"`{name}` is an array of Python objects. Give it a number type")
        address, readonly = said["data"]
        return MatrixView(
            name,
            value,
            self,
            int(address or 0),
            tuple(said["shape"]),
            said.get("strides"),
            dtype,
            dtype.itemsize,
            current_device(),
            said.get("stream"),
            readonly=bool(readonly),
        )

    def family(self, place: int) -> ArrayBackend:
        """Numba's: what it gives may be passed as the next `out`."""
        return NUMBA

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A Numba device array."""
        return NUMBA.empty(like, rows, cols, stream)


class DlpackArrays(ArrayBackend):
    """Objects with `__dlpack__` and no other interface."""

    label = "an object with __dlpack__"
    borrowed = True
    contiguous = "a copy of {name} with contiguous rows"
    cast = "a copy of {name} in {dtype}"
    float32 = np.dtype(np.float32)

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix that its capsule describes."""
        kind, number = value.__dlpack_device__()
        on_host = kind in (dlpack.CPU, dlpack.CUDA_HOST)
        if not on_host and kind not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
            raise TypeRefused(
                f"`{name}` is on a device of DLPack's type {int(kind)}, which is neither the host"
                " (1) nor a CUDA device (2). Pass a copy on one of them"
            )
        found = dlpack.read(value, None if on_host else stream or 0)
        return MatrixView(
            name,
            (value, found.capsule),
            self,
            found.address,
            found.shape,
            found.strides,
            found.dtype,
            found.dtype.itemsize,
            HOST if on_host else int(number),
            readonly=found.readonly,
        )

    def family(self, place: int) -> ArrayBackend:
        """NumPy's on the host, Numba's on a device."""
        return NUMPY if place == HOST else NUMBA

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """A NumPy array on the host, a Numba device array on a device."""
        return self.family(like.place).empty(like, rows, cols, stream)


INTERFACE, DLPACK = InterfaceArrays(), DlpackArrays()
