"""A matrix of any library: where it is, and how its elements lie there."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...errors import LaunchRefused

if TYPE_CHECKING:
    from .array_backend import ArrayBackend

HOST = -1
"""The place of arrays in the memory of the host; others are numbers of devices."""


class TypeRefused(LaunchRefused, TypeError):
    """An argument of a type that the operation does not take. Nothing was launched."""


class MatrixView:
    """A matrix: rows of neighbouring elements at an address.

    Attributes:
        name: of the argument, for refusals.
        backend: of its library.
        value: the caller's array; it keeps the memory alive.
        place: number of the device, or `HOST`.
        address: of the first element.
        rows: of the matrix.
        cols: elements of a row.
        pitch: bytes from row to row.
        itemsize: bytes of an element.
        dtype: of the library.
        readonly: whether nothing may be written to it.
        span: bytes from the first element to behind the last.
        stream: handle of the stream that the array says its work is on, None if it does not say.
    """

    __slots__ = (
        "address",
        "backend",
        "cols",
        "dtype",
        "itemsize",
        "name",
        "pitch",
        "place",
        "readonly",
        "rows",
        "span",
        "stream",
        "value",
    )

    def __init__(
        self,
        name: str,
        value: Any,
        backend: ArrayBackend,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        dtype: Any,
        itemsize: int,
        place: int = HOST,
        stream: int | None = None,
        *,
        readonly: bool = False,
    ) -> None:
        if len(shape) != 2:
            raise LaunchRefused(_not_a_matrix(name, tuple(shape)))
        rows, cols = shape
        self.name, self.value, self.backend, self.place = name, value, backend, place
        self.address, self.rows, self.cols = address, rows, cols
        self.dtype, self.itemsize = dtype, itemsize
        self.readonly, self.stream = readonly, stream
        self.pitch = width = cols * itemsize
        if strides is not None and rows and cols:
            if rows > 1:
                self.pitch = strides[0]
            if (cols > 1 and strides[1] != itemsize) or self.pitch < 0 or self.pitch % itemsize:
                self._refuse_strides(tuple(strides))
        self.span = (rows - 1) * self.pitch + width if rows and cols else 0
        if self.span and not address:
            raise TypeRefused(no_memory(name))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    def part(self, rows: slice, cols: slice) -> MatrixView:
        """Some of its rows and columns, `slice(first, behind)` of each."""
        address = self.address + rows.start * self.pitch + cols.start * self.itemsize
        shape = rows.stop - rows.start, cols.stop - cols.start
        strides = self.pitch, self.itemsize
        return MatrixView(
            self.name,
            self.value,
            self.backend,
            address,
            shape,
            strides,
            self.dtype,
            self.itemsize,
            self.place,
            self.stream,
            readonly=self.readonly,
        )

    def _refuse_strides(self, strides: tuple[int, ...]) -> None:
        name, size = self.name, self.itemsize
        if strides[0] < 0 or strides[1] < 0:
            why = "a negative one walks backwards (a slice with step -1)"
        elif strides[1] != size:
            why = f"elements of a row must be neighbours, {size} bytes apart"
            if strides[0] == size and strides[1] >= self.rows * size:
                why += f"; it lies column by column, so {name}.T is a matrix of rows"
        else:
            why = f"rows must begin whole elements of {size} bytes apart"
        cure = f"Pass {self.backend.contiguous.format(name=name)}"
        if name == "out":
            cure = "Leave `out` out and copy the result, or pass an array with contiguous rows"
        raise LaunchRefused(
            f"`{name}` has shape {self.shape} and strides {strides} bytes: {why}. {cure}"
        )


def no_memory(name: str) -> str:
    """The sentence for an array that stands for numbers that are not there."""
    return (
        f"`{name}` has no memory: a fake, traced or batched array. Call this operation outside of"
        " what makes it so, on the arrays themselves"
    )


def _not_a_matrix(name: str, shape: tuple[int, ...]) -> str:
    words = f"`{name}` has {len(shape)} dimensions, shape {shape}; a matrix has 2."
    if len(shape) == 1:
        return words.replace("dimensions", "dimension") + (
            f" Pass {name}.reshape(1, -1) for a row or {name}.reshape(-1, 1) for a column"
        )
    if not shape:
        return words + " It is a single number"
    rest = prod(shape[1:])
    return words + (
        f" Pass one matrix at a time ({name}[i]), or reshape it ({shape[0]} x {rest}, say)"
    )
