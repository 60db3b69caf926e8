"""Host arrays as a kernel sees them: arguments in global memory, globals in constant memory.

Addresses are virtual: every allocation handed in begins on a multiple of 256 bytes, so counts of
sectors never depend on the host's allocator. Views of one array keep their distance in it.

A global or closure array is copied when the kernel is compiled; what the host does to it later
the kernel does not see, and stores to it are refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..lanes import constant
from .arrays import GRID, KernelArray, c_strides
from .stores import UINT8, ByteStore, GlobalStore

ALIGNMENT = 256  # bytes, of every global allocation (cudaMalloc's)


class Arguments:
    """The arguments of a launch: `values` for the kernel; `finish` brings records back.

    A record argument is copied to memory of its own; `records` are these copies.
    """

    def __init__(self, names: Sequence[str], arguments: Sequence[object]) -> None:
        self._bases: dict[int, int] = {}
        self._top = ALIGNMENT
        self.records: list[np.ndarray[Any, Any]] = []
        self._scalars: list[Any] = []
        self.values = [self._seen(n, v) for n, v in zip(names, arguments, strict=False)]

    def finish(self) -> None:
        """Copy record arguments back."""
        for record, memory in zip(self._scalars, self.records, strict=True):
            for name in record.dtype.names:
                record[name] = memory[name]

    def _seen(self, name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [self._seen(f"{name}[{at}]", part) for at, part in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, np.void) and value.dtype.names:
            memory = np.array(value)
            self._scalars.append(value)
            self.records.append(memory)
            value = memory
        if not isinstance(value, np.ndarray):
            return constant(value)
        owner = _owner(value)
        address = _address(owner)
        if address not in self._bases:
            self._bases[address] = self._top
            self._top += -(-max(owner.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return _kernel_array(name, "global", value, self._bases[address] - address)


def global_arrays(names: Sequence[str], arguments: Sequence[object]) -> list[KernelArray | Any]:
    """The arguments of a launch as a kernel sees them, arrays at virtual addresses."""
    return Arguments(names, arguments).values


def frozen(name: str, value: Any) -> Any:
    """A global or closure value: arrays as constant memory, those of the device as they are."""
    if isinstance(value, tuple):
        parts = [frozen(f"{name}[{at}]", part) for at, part in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, np.void) and value.dtype.names:
        value = np.array(value)
    if hasattr(value, "__cuda_array_interface__"):
        shown = _shown(value)
        return _kernel_array(name, "global", shown, -(_address(shown) % ALIGNMENT))
    if not isinstance(value, np.ndarray):
        return constant(value)
    copy = np.array(value, order="K")
    return _kernel_array(name, "const", copy, -_address(copy))


def _shown(device: Any) -> np.ndarray[Any, Any]:
    """A device array of this process as NumPy sees it: the same memory."""
    said = device.__cuda_array_interface__
    dtype = np.dtype(getattr(device, "dtype", said["typestr"]))
    shape, address = tuple(said["shape"]), said["data"][0]
    steps: Any = c_strides(shape)
    strides = said.get("strides") or tuple(step * dtype.itemsize for step in steps)
    if 0 in shape:
        return np.empty(shape, dtype)
    reach = sum(
        (extent - 1) * step for extent, step in zip(shape, strides, strict=True) if step > 0
    )
    octets: Any = (ctypes.c_uint8 * (reach + dtype.itemsize)).from_address(address)
    return np.ndarray(shape, dtype, buffer=octets, strides=strides)


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: np.ndarray[Any, Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _kernel_array(name: str, space: str, value: np.ndarray[Any, Any], shift: int) -> KernelArray:
    """One array; `shift` turns its host address into its virtual one."""
    item, dtype = value.itemsize, value.dtype
    whole = item in GRID and dtype.names is None and not any(s % item for s in value.strides)
    unit = item if whole else 1
    strides = tuple(stride // unit for stride in value.strides)
    octets, before = _octets(value)
    store: Any = GlobalStore(octets)
    if whole:
        store = store.typed(dtype)
    elif dtype.names is None:
        store = ByteStore(store, dtype)
    return KernelArray(
        name,
        space,
        store,
        value.shape,
        dtype,
        strides=strides,
        base=_address(value) + shift - before,
        start=before // unit or None,
        unit=unit,
    )


def _octets(value: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """All bytes that an array reaches, and how many of them lie before its first element."""
    if value.size == 0:
        return np.zeros(max(value.itemsize, 1), UINT8), 0
    reach = [(extent - 1) * step for extent, step in zip(value.shape, value.strides, strict=True)]
    before = -sum(min(0, step) for step in reach)
    span = before + sum(max(0, step) for step in reach) + value.itemsize
    first = (slice(-1, None) if step < 0 else slice(0, 1) for step in reach)
    lowest = value[(..., *first)]  # the Ellipsis: a view, of an array without axes too
    one = np.lib.stride_tricks.as_strided(lowest, (1,), (value.itemsize,))
    return np.lib.stride_tricks.as_strided(one.view(UINT8), (span,), (1,)), before
