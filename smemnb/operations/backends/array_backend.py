"""What a library must answer for the operations to use its arrays."""

from __future__ import annotations

from typing import Any

from .matrix_view import MatrixView


class ArrayBackend:
    """What the operations ask of a library; one object per library.

    Attributes:
        label: how a refusal calls its arrays.
        contiguous: what to write for a copy with contiguous rows of `{name}`.
        single: what to write for a copy in float32.
        float32: the library's dtype of that name.
        borrowed: whether memory may be used anew as soon as the array is dropped, before work on
            it is done.
    """

    label = "an array"
    contiguous = "a copy of {name} with contiguous rows"
    single = "a copy of {name} in float32"
    float32: Any = None
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

    def before_write(self, out: MatrixView) -> None:
        """Called before the caller's `out` is written."""
