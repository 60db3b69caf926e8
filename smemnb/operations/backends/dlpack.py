"""Capsules of DLPack: read for an address, and made for memory that another library shall use.

The structures are those of dlpack.h (https://dmlc.github.io/dlpack/latest/c_api.html), with and
without a version. Whoever reads a capsule here keeps it as it is: its own destructor gives the
memory back when it is dropped.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_READ_ONLY = 1


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


class _Versioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


class Read(NamedTuple):
    """What a capsule says; strides in bytes, None for contiguous rows."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    readonly: bool
    capsule: Any


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_name_of = _function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer_in = _function("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, c_void_p, ctypes.c_char_p)
_taken = _function("PyCapsule_GetPointer", c_void_p, c_void_p, ctypes.c_char_p)
_new = _function("PyCapsule_New", ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)


def read(value: Any, stream: int | None) -> Read:
    """Ask an array for its capsule; on a device, work on `stream` then waits for the array's.

    Raises:
        BufferError: the array's own refusal.
    """
    handle = 1 if stream == 0 else stream  # 0 says nothing clear, so DLPack has no such number
    try:
        capsule = value.__dlpack__(stream=handle, max_version=(1, 0))
    except TypeError:  # from before versions
        capsule = value.__dlpack__(stream=handle)
    name = _name_of(capsule)
    at = _pointer_in(capsule, name)
    if name == b"dltensor_versioned":
        whole = _Versioned.from_address(at)
        tensor, readonly = whole.tensor, bool(whole.flags & _READ_ONLY)
    else:
        tensor, readonly = _Managed.from_address(at).tensor, False
    size = tensor.bits * tensor.lanes // 8
    shape = tuple(tensor.shape[:ndim]) if (ndim := tensor.ndim) else ()
    strides = tuple(s * size for s in tensor.strides[:ndim]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    return Read(address, shape, strides, _dtype(tensor), readonly, capsule)


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    """NumPy's dtype of that kind, or raw bytes where NumPy has none."""
    size = tensor.bits * tensor.lanes // 8
    letter = _CODES.get(tensor.code, "V") if tensor.lanes == 1 else "V"
    return np.dtype("bool") if letter == "b" else np.dtype(f"{letter}{size}")


class Exported:
    """Memory that another library takes by `from_dlpack`; it lives until that one drops it.

    Args:
        owner: what keeps the memory alive.
        address: of the first element.
        shape: of the matrix, its rows contiguous.
        dtype: a kind of number that DLPack knows; `code` says another one, as 4 for bfloat16.
        device: (type, number).
        ready: called with the handle of a stream that shall wait until the memory is written.
    """

    def __init__(
        self,
        owner: Any,
        address: int,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        device: tuple[int, int],
        ready: Callable[[int], None],
    ) -> None:
        self.owner, self.address, self.shape = owner, address, shape
        self.dtype, self.device, self.ready = dtype, device, ready

    def __dlpack_device__(self) -> tuple[int, int]:
        """(type, number) of the device."""
        return self.device

    def __dlpack__(self, *, stream: int | None = None, **wishes: Any) -> Any:
        """A capsule, without a version."""
        if stream != -1:
            self.ready(1 if stream is None else stream)
        shape = (c_int64 * 2)(*self.shape)
        strides = (c_int64 * 2)(self.shape[1], 1)
        code = 4 if self.dtype.name == "bfloat16" else _code(self.dtype)
        tensor = _Tensor(
            self.address, *self.device, 2, code, self.dtype.itemsize * 8, 1, shape, strides, 0
        )
        managed = _Managed(tensor, None, ctypes.cast(_give_back, c_void_p))
        at = ctypes.addressof(managed)
        _lent[at] = (managed, shape, strides, self.owner)
        return _new(at, b"dltensor", ctypes.cast(_drop, c_void_p))


def _code(dtype: np.dtype[Any]) -> int:
    return next(code for code, letter in _CODES.items() if letter == dtype.kind)


_lent: dict[int, Any] = {}


def _given_back(at: int) -> None:
    """The deleter: the other library is done with the memory."""
    _lent.pop(at, None)


def _dropped(capsule: int) -> None:
    """The destructor: a capsule that nobody has taken over gives its memory back."""
    if _is_valid(capsule, b"dltensor"):
        _given_back(_taken(capsule, b"dltensor"))


_give_back = ctypes.CFUNCTYPE(None, c_void_p)(_given_back)
_drop = ctypes.PYFUNCTYPE(None, c_void_p)(_dropped)
