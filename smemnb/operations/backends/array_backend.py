"""What a library must answer for the operations to use its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .matrix_view import MatrixView

BEYOND = 127
"""Bits of an address that a key holds: no choice depends on more than lines of 128 bytes."""


class CloserLook(Exception):
    """An array that the short way for a call like one before does not take."""


class ArrayBackend:
    """What the operations ask of a library; one object per library.

    Attributes:
        label: how a refusal calls its arrays.
        contiguous: what to write for a copy with contiguous rows of `{name}`.
        cast: what to write for a copy in `{dtype}`, by NumPy's name.
        parts: what to write for the real and the imaginary part.
        float32: the library's dtype of that name.
        unsigned_sums: whether sums of unsigned integers are unsigned.
        borrowed: whether memory may be used anew as soon as the array is dropped, before work on
            it is done.
    """

    label = "an array"
    contiguous = "a copy of {name} with contiguous rows"
    cast = "a copy of {name} in {dtype}"
    parts = "its real part and its imaginary part"
    float32: Any = None
    unsigned_sums = True
    borrowed = False

    def view(self, name: str, value: Any, stream: int | None) -> MatrixView:
        """The matrix in `value`; `stream` is the handle that was asked for, or None.

        Raises:
            LaunchRefused: no matrix that the operations take.
        """
        raise NotImplementedError

    def family(self, place: int) -> ArrayBackend:
        """The backend whose arrays may be used together with those of this one at a place."""
        return self

    def stream(self, matrix: MatrixView) -> int:
        """Handle of the stream that the caller's work on this array is on."""
        return matrix.stream or 0

    def empty(self, like: MatrixView, rows: int, cols: int, stream: int | None) -> MatrixView:
        """A new matrix of the dtype and in the place of `like`; `stream` as the caller said."""
        raise NotImplementedError

    def native(self, result: MatrixView, like: MatrixView, stream: Any) -> Any:
        """A matrix that `empty` made as an array of the caller's library; `stream` is Numba's."""
        return result.value

    def number_type(self, dtype: Any) -> np.dtype[Any] | None:
        """NumPy's dtype for one of the library's; None where NumPy has none."""
        try:
            found: np.dtype[Any] = np.dtype(dtype)
            return found
        except TypeError:
            return None

    def own_type(self, dtype: np.dtype[Any]) -> Any:
        """The library's dtype for one of NumPy's.

        Raises:
            TypeRefused: it has none.
        """
        return dtype

    # --- of the exact class that `find.exact` names, for a call like one before ---

    has_current = False
    """Whether the library has a current stream, for which it makes its arrays."""

    def glance(self, value: Any) -> tuple[int, int, Any]:
        """Address, stream that it names or 0, and all that a choice may depend on, hashable.

        Raises:
            CloserLook: nothing is wrong yet, but the array has to be looked at closely.
        """
        raise CloserLook

    def current(self, value: Any, named: Sequence[int]) -> int:
        """Handle of the stream on which a call puts its work; `named` are those of its arrays."""
        raise NotImplementedError

    def fresh(
        self, like: Any, shape: tuple[int, ...], place: int, handle: int, dtype: Any = None
    ) -> Any:
        """A new contiguous array on the device of `like`, for a stream.

        `dtype` is one of the library; None means that of `like`.
        """
        raise NotImplementedError

    def address(self, value: Any) -> int:
        """Of the first element."""
        raise NotImplementedError

    def span(self, value: Any) -> int:
        """Bytes from the first element to behind the last."""
        raise NotImplementedError

    def is_contiguous(self, value: Any) -> bool:
        """Whether elements follow each other in the order of rows, without gaps."""
        raise NotImplementedError

    def wrote(self, value: Any) -> None:
        """Called before an array of the caller's is written."""

    def used_on(self, matrix: MatrixView, handle: int) -> None:
        """Called after work on a matrix was put on a stream of its device."""

    def before_write(self, out: MatrixView) -> None:
        """Called before the caller's `out` is written."""
