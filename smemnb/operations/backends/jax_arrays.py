"""JAX arrays: immutable, on a GPU by DLPack, on the host by NumPy; JAX is not imported here.

JAX has no stream that a caller could name. DLPack orders the work on both sides without waiting on
the host: the operation's stream waits until an argument is there, and JAX's stream until the
result is.

**Limits**: the way over a GPU follows DLPack's and JAX's documentation.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...errors import LaunchRefused
from . import dlpack
from .array_backend import ArrayBackend
from .matrix_view import HOST, MatrixView, TypeRefused, no_memory
from .numba_arrays import new_array, on_device, stream_of
from .numpy_arrays import NUMPY


class JaxArrays(ArrayBackend):
    """`jax.Array` outside of `jax.jit`."""

    label = "a JAX array"
    contiguous = "jax.numpy.array({name})"
    cast = "{name}.astype(jax.numpy.{dtype})"
    parts = "{name}.real and {name}.imag"
    float32 = np.dtype(np.float32)
    borrowed = True

    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def view(self, name: str, value: Any, stream: int | None = None) -> MatrixView:
        """The matrix in an array."""
        if name == "out":
            raise TypeRefused(
                "`out` is a JAX array, and those are immutable: nothing may be written to it. Leave"
                " `out` out and take the result"
            )
        if isinstance(value, self.jax.core.Tracer):
            raise TypeRefused(no_memory(name))
        if self.jax.dtypes.issubdtype(value.dtype, self.jax.dtypes.extended):
            raise TypeRefused(f"`{name}` is {value.dtype}, which is no dtype of numbers")
        if value.is_deleted():
            raise LaunchRefused(f"`{name}` was donated or deleted: it has no memory any more")
        devices = value.devices()
        if len(devices) != 1:
            raise LaunchRefused(
                f"`{name}` lies on {len(devices)} devices. Pass the part of one of them"
                f" ({name}.addressable_shards[0].data)"
            )
        if next(iter(devices)).platform == "cpu":
            host = np.asarray(value)
            matrix = NUMPY.view(name, host)
            return self._view(name, (value, host), matrix.address, host.shape, host.strides, host)
        kind, number = value.__dlpack_device__()
        if kind != dlpack.CUDA:
            raise TypeRefused(f"`{name}` is not on a CUDA device. Pass np.asarray({name})")
        found = dlpack.read(value, stream or 0)
        keep = value, found.capsule
        return self._view(name, keep, found.address, found.shape, found.strides, value, number)

    def _view(
        self, name: str, keep: Any, address: int, shape: Any, strides: Any, of: Any, at: int = HOST
    ) -> MatrixView:
        return MatrixView(
            name,
            keep,
            self,
            address,
            shape,
            strides,
            of.dtype,
            of.dtype.itemsize,
            at,
            readonly=True,
        )

    def empty(
        self, like: MatrixView, rows: int, cols: int, stream: int | None = None
    ) -> MatrixView:
        """Memory for a new array: of NumPy on the host, of Numba on a GPU."""
        if like.place == HOST:
            host = NUMPY.empty(like, rows, cols)
            return self._view("result", host.value, host.address, (rows, cols), None, like)
        raw = new_array((rows, cols * like.itemsize), np.dtype(np.uint8), like.place)
        address = raw.device_ctypes_pointer.value or 0
        return self._view("result", raw, address, (rows, cols), None, like, like.place)

    def native(self, result: MatrixView, like: MatrixView, stream: Any) -> Any:
        """A JAX array over the result, on the device of the argument."""
        jax, source = self.jax, like.value[0]
        if like.place == HOST:
            if source.committed:
                return jax.device_put(result.value, source.sharding)
            with jax.default_device(next(iter(source.devices()))):
                return jax.numpy.asarray(result.value)
        from numba import cuda

        with on_device(like.place):
            event = cuda.event(timing=False)
            event.record(stream)
        device = dlpack.CUDA, like.place

        def ready(handle: int) -> None:
            with on_device(like.place):
                event.wait(stream_of(handle, like.place))

        kind = np.dtype(result.dtype)
        shared = dlpack.Exported(result.value, result.address, result.shape, kind, device, ready)
        made = jax.dlpack.from_dlpack(shared)
        allowed = jax.dtypes.canonicalize_dtype(kind)  # int64 is int32 unless JAX is told otherwise
        return made if made.dtype == allowed else made.astype(allowed)


def jax_arrays() -> JaxArrays:
    """The backend, for a JAX that the caller has imported."""
    return JaxArrays(sys.modules["jax"])
