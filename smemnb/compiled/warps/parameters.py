"""The arguments of a launch as a kernel's machine code finds them: bytes in constant bank 0.

Numba hands an array to a kernel as seven or more parameters: two pointers that are not used, the
number of elements, bytes of one, the address, then extents and strides. Numbers are one parameter
each, tuples those of their parts. Arrays lie where the lockstep engine puts them: every allocation
at a multiple of 256 bytes, views at their distance in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..image import Image
from .memory import GLOBAL, POISON
from .operands import Array, Unknown

ALIGNMENT = 256
GUARD = 4096
"""Bytes between allocations that belong to nobody."""


@dataclass(frozen=True)
class _Placed:
    """An array in global memory: where its first element lies."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int
    before: int
    span: int

    @property
    def words(self) -> list[int]:
        """What Numba passes for it."""
        size, item = math.prod(self.shape), self.dtype.itemsize
        return [0, 0, size, item, GLOBAL + self.start, *self.shape, *self.strides]


class Snapshot:
    """The arguments of a launch as they are now: a copy of all bytes, laid out in global memory.

    Raises:
        Unknown: an argument that is no array, number or tuple of them.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._top = ALIGNMENT
        self._owners: dict[int, tuple[int, Array]] = {}
        self._arrays: list[_Placed] = []
        self._values = [self._kept(value) for value in values]
        self.memory = np.full(self._top, POISON, np.uint8)
        for start, octets in self._owners.values():
            self.memory[start : start + octets.size] = octets
        self._owners.clear()

    def parameters(self, image: Image, types: Sequence[Any]) -> bytes:
        """The bytes of the kernel's parameters, for the types that it was compiled for.

        Raises:
            Unknown: they are not as Numba hands arguments of these types over.
        """
        pairs = zip(self._values, types, strict=True)
        parts = [part for value, kind in pairs for part in _parts(value, kind)]
        sizes = [one.size for one in image.parameters]
        if [len(part) for part in parts] != sizes:
            raise Unknown(
                f"parameters of {sizes} bytes for arguments of {[len(part) for part in parts]}"
            )
        end = max((one.offset + one.size for one in image.parameters), default=0)
        whole = bytearray(end)
        for part, one in zip(parts, image.parameters, strict=True):
            whole[one.offset : one.offset + one.size] = part
        return bytes(whole)

    def values(self) -> list[Any]:
        """The arguments as they were: new arrays with the same numbers and strides.

        >>> Snapshot([np.arange(3), 2]).values()
        [array([0, 1, 2]), 2]
        """
        return [self._again(value) for value in self._values]

    def extents(self) -> list[tuple[int, int]]:
        """First byte and bytes of each array, in order, as addresses of global memory."""
        return [(GLOBAL + one.start - one.before, one.span) for one in self._arrays]

    def arrays(self, memory: Array) -> list[Array]:
        """The arrays as they stand in a memory that began as this one, in order."""
        found = []
        for one in self._arrays:
            here = memory[one.start - one.before : one.start - one.before + one.span].tobytes()
            view: Array = np.ndarray(one.shape, one.dtype, here, one.before, one.strides)
            found.append(view.copy())
        return found

    def _again(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._again(part) for part in value)
        if not isinstance(value, _Placed):
            return value
        start = value.start - value.before
        octets = bytearray(self.memory[start : start + value.span].tobytes())
        return np.ndarray(value.shape, value.dtype, octets, value.before, value.strides)

    def _kept(self, value: Any) -> Any:
        value = getattr(value, "_ary", value)  # a device array where there is no GPU
        if isinstance(value, tuple):
            return tuple(self._kept(part) for part in value)
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.hasobject:
            raise Unknown(f"an array of {value.dtype}")
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        begins, octets = _octets(owner)
        lowest = owner.__array_interface__["data"][0] - begins
        if lowest not in self._owners:
            self._owners[lowest] = (self._top, octets)
            grown = self._top + octets.size + GUARD
            self._top = -(-grown // ALIGNMENT) * ALIGNMENT
        start = self._owners[lowest][0] + value.__array_interface__["data"][0] - lowest
        before, span = _reach(value)
        placed = _Placed(value.shape, value.strides, value.dtype, start, before, span)
        self._arrays.append(placed)
        return placed


def _parts(value: Any, kind: Any) -> list[bytes]:
    """The parameters of one argument."""
    if isinstance(value, _Placed):
        return [int(word).to_bytes(8, "little", signed=True) for word in value.words]
    if isinstance(value, tuple):
        kinds = getattr(kind, "types", None) or [None] * len(value)
        return [part for v, t in zip(value, kinds, strict=True) for part in _parts(v, t)]
    if str(kind).startswith("complex"):
        part = np.dtype("f4" if str(kind) == "complex64" else "f8").type
        return [part(value.real).tobytes(), part(value.imag).tobytes()]
    return [_number(value, kind)]


def _reach(array: Array) -> tuple[int, int]:
    """Bytes before an array's first element, and bytes that it spans."""
    if array.size == 0:
        return 0, 0
    reach = [(extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True)]
    before = -sum(min(0, step) for step in reach)
    return before, before + sum(max(0, step) for step in reach) + array.itemsize


def _octets(array: Array) -> tuple[int, Array]:
    """Bytes before an array's first element, and a copy of all bytes that it spans."""
    before, span = _reach(array)
    if not span:
        return 0, np.zeros(0, np.uint8)
    first = (slice(-1, None) if step < 0 else slice(0, 1) for step in array.strides)
    lowest = array[(..., *first)]
    one = np.lib.stride_tricks.as_strided(lowest, (1,), (array.itemsize,))
    whole = np.lib.stride_tricks.as_strided(one.view(np.uint8), (span,), (1,))
    return before, whole.copy()


def _number(value: Any, kind: Any) -> bytes:
    """A number as Numba passes it: of the inferred type."""
    name = str(kind)
    if name == "none":
        return bytes(8)
    if name in ("bool", "boolean"):
        return bytes([int(value)])
    return bytes(_dtype(name).type(value).tobytes())


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        raise Unknown(f"an argument of type {name}") from None
