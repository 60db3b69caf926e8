"""A matrix of any library: where it is, and how its elements lie there."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

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
        extents: elements along each axis of the array.
        steps: bytes from element to element along each axis.
        problem: why it is no matrix of rows, "" of one; `check` raises it.
    """

    __slots__ = (
        "address",
        "backend",
        "cols",
        "dtype",
        "extents",
        "itemsize",
        "name",
        "pitch",
        "place",
        "problem",
        "readonly",
        "rows",
        "span",
        "steps",
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
        self.extents, self.problem = tuple(shape), ""
        self.steps = _contiguous(shape, itemsize) if strides is None else tuple(strides)
        if len(shape) != 2:
            self.problem = _not_a_matrix(name, tuple(shape))
        rows, cols = shape if len(shape) == 2 else (0, 0)
        self.name, self.value, self.backend, self.place = name, value, backend, place
        self.address, self.rows, self.cols = address, rows, cols
        self.dtype, self.itemsize = dtype, itemsize
        self.readonly, self.stream = readonly, stream
        self.pitch = width = cols * itemsize
        if strides is not None and rows and cols:
            if rows > 1:
                self.pitch = strides[0]
            if (cols > 1 and strides[1] != itemsize) or self.pitch < 0 or self.pitch % itemsize:
                self.problem = self._why_not(tuple(strides))
        self.span = (rows - 1) * self.pitch + width if rows and cols else 0
        if self.problem:
            self.span = _reach(self.extents, self.steps, itemsize)
        if self.span and not address:
            raise TypeRefused(no_memory(name))

    def check(self) -> MatrixView:
        """This, if it is a matrix of rows.

        Raises:
            LaunchRefused: it is not.
        """
        if self.problem:
            raise LaunchRefused(self.problem)
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    def lies_as(self, dtype: np.dtype[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides in bytes for a kernel that moves its elements as `dtype`.

        Columns are counted in elements of `dtype`: twice as many where those are half as wide.
        """
        cols = self.cols * self.itemsize // dtype.itemsize
        return (self.rows, cols), (self.pitch, dtype.itemsize)

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

    def _why_not(self, strides: tuple[int, ...]) -> str:
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
        return f"`{name}` has shape {self.shape} and strides {strides} bytes: {why}. {cure}"


class BatchView(MatrixView):
    """Matrices of one shape, `step` bytes from one to the next: for a kernel, three dimensions."""

    __slots__ = ("count", "step")

    def __init__(self, of: MatrixView, count: int, step: int) -> None:
        for name in MatrixView.__slots__:
            setattr(self, name, getattr(of, name))
        self.count, self.step = count, step
        if self.span:
            self.span += (count - 1) * step

    def lies_as(self, dtype: np.dtype[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides in bytes, the matrices along the first axis."""
        shape, strides = super().lies_as(dtype)
        return (self.count, *shape), (self.step, *strides)


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    steps = [itemsize]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * extent)
    return tuple(reversed(steps[: len(shape)]))


def _reach(extents: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element to behind the last; 0 where there is none."""
    if 0 in extents:
        return 0
    return itemsize + sum((n - 1) * max(0, step) for n, step in zip(extents, steps, strict=True))


def reach(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element of an array to behind its last.

    >>> reach((2, 3), (20, 4), 4)
    32
    """
    if 0 in shape:
        return 0
    steps = zip(shape, strides, strict=True)
    return sum((extent - 1) * stride for extent, stride in steps) + itemsize


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
