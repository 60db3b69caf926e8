"""Tensor maps: what the bulk engine (TMA) knows of an array before a kernel asks for its tiles.

    TensorMap(array, box, swizzle=128)    of a device array; box is rows, columns of a tile
    map.words                             its 128 bytes on the device

A map is an argument of kernels, which see an array of its words. It has the array's address, its
extents and strides, the box that one instruction moves, and the swizzle of shared memory. What lies
outside of the array reads as 0, and is not stored. With the axes of the array in NumPy's order, so
are `box` and the coordinates of `ptx.bulk`: last the one whose elements are neighbours.

On a GPU the driver encodes a map (`cuTensorMapEncodeTiled`). In the engine the words name the map,
and the copies look up its fields. What the hardware refuses is refused here, by name, before the
driver is asked. Keep the map as long as its words are in use: it keeps the array's memory.

Source: CUDA driver API, `cuTensorMapEncodeTiled`; CUDA C++ Programming Guide, "Tensor Memory
Access".

**Limits**: rows of a swizzled box are as wide as the swizzle (the hardware takes narrower ones, of
which this project has not read where they lie); tiled mode without interleave, element strides of
1, zeros outside. `swizzle` is `rules.bulk_swizzle`'s. Where a GPU has the array, a trace copies all
of it for each box.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numba import cuda

from ...errors import SmemnbError
from ...rules.bulk_swizzle import SPANS

__all__ = ["MAP_WORDS", "TensorMap", "map_of"]

MAP_WORDS = 16  # of 8 bytes
_ALIGNMENT, _MOST_BOX, _MOST_RANK = 16, 256, 5
_TYPES = {
    "uint8": "UINT8",
    "int8": "UINT8",
    "uint16": "UINT16",
    "int16": "UINT16",
    "uint32": "UINT32",
    "int32": "INT32",
    "uint64": "UINT64",
    "int64": "INT64",
    "float16": "FLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}
_MARK = 0x736D656D6E62  # of words that no driver has encoded
_numbers = count(1)
_known: WeakValueDictionary[tuple[int, ...], TensorMap] = WeakValueDictionary()


class TensorMap:
    """What the bulk engine knows of an array.

    Attributes:
        array: the device array.
        shape: extents in elements, last the axis of neighbours.
        strides: the same in bytes.
        box: extents of a tile, in elements.
        swizzle: 0, 32, 64 or 128 bytes.
        dtype: of NumPy; bfloat16 is held as uint16.
        words: the map on the device, 16 uint64.
    """

    def __init__(self, array: Any, box: Sequence[int], *, swizzle: int = 0) -> None:
        """Make the map of a device array.

        Args:
            array: on the device, of 1 to 5 axes, the last of neighbouring elements.
            box: elements of a tile along each axis, 1 to 256 each.
            swizzle: 0, 32, 64 or 128 bytes.

        Raises:
            SmemnbError: what the hardware has no map for; the text says which rule and what came.
        """
        said = getattr(array, "__cuda_array_interface__", None)
        if said is None:
            raise SmemnbError(
                f"TensorMap takes an array on the device; this is a {type(array).__name__}. A map"
                " holds its address: copy it there with cuda.to_device, and keep it there"
            )
        self.array, self.swizzle = array, swizzle
        self.dtype = np.dtype(said["typestr"])
        self.shape = tuple(int(extent) for extent in said["shape"])
        self.box = tuple(int(extent) for extent in box)
        self.address = int(said["data"][0] or 0)
        self.strides = _strides(self.shape, said.get("strides"), self.dtype.itemsize)
        _check(self)
        self._on_gpu = _encodes()
        words = self._encoded()
        self.words = cuda.to_device(words)
        _known[tuple(words.tolist())] = self

    def __repr__(self) -> str:
        """What it is a map of."""
        swizzle = f", swizzle={self.swizzle}" if self.swizzle else ""
        return f"TensorMap({self.dtype} {self.shape}, box={self.box}{swizzle})"

    @property
    def __cuda_array_interface__(self) -> Any:
        """The words, so that a map is an argument of a kernel as it is."""
        return self.words.__cuda_array_interface__

    @property
    def box_bytes(self) -> int:
        """Bytes that one load brings, also where some lie outside of the array."""
        return math.prod(self.box) * int(self.dtype.itemsize)

    def read(self, where: tuple[slice, ...]) -> np.ndarray[Any, np.dtype[Any]]:
        """A part of the array, as the engine reads it."""
        found: np.ndarray[Any, np.dtype[Any]] = self._held()[where]
        return found

    def write(self, where: tuple[slice, ...], values: np.ndarray[Any, np.dtype[Any]]) -> None:
        """Put values into a part of the array, as the engine stores them."""
        held = self._held()
        held[where] = values
        if self._on_gpu:
            cuda.as_cuda_array(self.array).copy_to_device(held)

    def _held(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The array as NumPy sees it: its memory, or what a GPU has of it at the moment."""
        if self._on_gpu:
            copied: np.ndarray[Any, np.dtype[Any]] = cuda.as_cuda_array(self.array).copy_to_host()
            return copied
        reach = 1 + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        octets: Any = (ctypes.c_uint8 * (reach - 1 + self.dtype.itemsize)).from_address(
            self.address
        )
        return np.ndarray(self.shape, self.dtype, buffer=octets, strides=self.strides)

    def _encoded(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        words = np.zeros(MAP_WORDS, np.uint64)
        if not self._on_gpu:
            words[:3] = _MARK, next(_numbers), self.address
            return words
        return _from_driver(self)


def map_of(words: Sequence[int]) -> TensorMap | None:
    """The map that has these words, None if there is none (any more).

    >>> map_of([0] * 16) is None
    True
    """
    return _known.get(tuple(int(word) for word in words))


def _strides(shape: tuple[int, ...], given: Any, itemsize: int) -> tuple[int, ...]:
    if given is not None:
        return tuple(int(step) for step in given)
    found, step = [], itemsize
    for extent in reversed(shape):
        found.append(step)
        step *= extent
    return tuple(reversed(found))


def _check(one: TensorMap) -> None:
    """Raise SmemnbError for what the hardware has no map for."""
    size, rank = one.dtype.itemsize, len(one.shape)
    if one.dtype.name not in _TYPES:
        raise SmemnbError(
            f"TensorMap of {one.dtype}: the bulk engine moves {', '.join(_TYPES)}; view the array"
            " as unsigned integers of the same size"
        )
    if not 1 <= rank <= _MOST_RANK:
        raise SmemnbError(f"TensorMap of {rank} axes: there are maps of 1 to {_MOST_RANK} axes")
    if len(one.box) != rank:
        raise SmemnbError(
            f"box={one.box} has {len(one.box)} extents; the array has {rank} axes: give one for"
            " each"
        )
    if any(extent < 1 for extent in one.shape):
        raise SmemnbError(f"the array has the shape {one.shape}: an axis of a map has an element")
    if any(not 1 <= extent <= _MOST_BOX for extent in one.box):
        raise SmemnbError(f"box={one.box}: each extent of a box is 1 to {_MOST_BOX}")
    if one.swizzle not in SPANS:
        raise SmemnbError(
            f"swizzle={one.swizzle!r}: the hardware swizzles 32, 64 or 128 bytes, or 0 for none"
        )
    inner = one.box[-1] * size
    if inner % _ALIGNMENT:
        raise SmemnbError(
            f"box={one.box} has rows of {inner} bytes; a row of a box is a multiple of"
            f" {_ALIGNMENT} bytes, here of {_ALIGNMENT // size} elements"
        )
    if one.swizzle and inner != one.swizzle:
        rule = "a row has at most" if inner > one.swizzle else "a row here has exactly"
        raise SmemnbError(
            f"box={one.box} has rows of {inner} bytes; with swizzle={one.swizzle} {rule}"
            f" {one.swizzle} bytes, {one.swizzle // size} elements"
        )
    if one.address % _ALIGNMENT:
        raise SmemnbError(
            f"the array begins {one.address % _ALIGNMENT} bytes behind a multiple of {_ALIGNMENT};"
            f" a map's array begins at a multiple of {_ALIGNMENT} bytes"
        )
    if one.strides[-1] != size:
        raise SmemnbError(
            f"the last axis has a stride of {one.strides[-1]} bytes; its elements have to be"
            f" neighbours, {size} bytes apart"
        )
    for axis, step in enumerate(one.strides[:-1]):
        if step <= 0 or step % _ALIGNMENT or step >= 1 << 40:
            raise SmemnbError(
                f"axis {axis} has a stride of {step} bytes; a map's strides are multiples of"
                f" {_ALIGNMENT} bytes, above 0 and below 2**40: pad the rows"
            )


def _encodes() -> bool:
    """Whether a driver encodes maps here; else the engine looks them up."""
    return str(cuda.get_current_device().__class__.__module__).startswith("numba.")


def _from_driver(one: TensorMap) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The words of a map as the driver encodes it.

    Raises:
        SmemnbError: the driver refused it.
    """
    driver: Any = importlib.import_module("cuda.bindings.driver")
    kinds, spans = driver.CUtensorMapDataType, driver.CUtensorMapSwizzle
    kind = getattr(kinds, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPES[one.dtype.name]}")
    span = f"{one.swizzle}B" if one.swizzle else "NONE"
    error, found = driver.cuTensorMapEncodeTiled(
        kind,
        len(one.shape),
        one.address,
        [driver.cuuint64_t(extent) for extent in reversed(one.shape)],
        [driver.cuuint64_t(step) for step in reversed(one.strides[:-1])],
        [driver.cuuint32_t(extent) for extent in reversed(one.box)],
        [driver.cuuint32_t(1)] * len(one.shape),
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(spans, f"CU_TENSOR_MAP_SWIZZLE_{span}"),
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    if int(error):
        raise SmemnbError(f"cuTensorMapEncodeTiled refused {one!r}: {error}")
    octets = ctypes.string_at(found.getPtr(), 8 * MAP_WORDS)
    return np.frombuffer(octets, np.uint64).copy()
