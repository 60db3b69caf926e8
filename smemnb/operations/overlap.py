"""Whether two arrays share memory, exactly: gaps between rows are not theirs.

A matrix is rows of `width` bytes, `pitch` bytes apart. Ranges that do not meet need no more; else
each row of the one with fewer rows is compared with the rows of the other that could meet it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.exceptions import TooHardError

from .backends.matrix_view import MatrixView


def overlap(one: MatrixView, other: MatrixView) -> bool:
    """Whether a byte belongs to both."""
    if not (one.span and other.span):
        return False
    if one.address + one.span <= other.address or other.address + other.span <= one.address:
        return False
    few, many = sorted((one, other), key=lambda matrix: matrix.rows)
    if many.rows == 1 or (many.pitch <= _width(many) and few.rows == 1):
        return True
    first = np.arange(few.rows, dtype=np.int64) * few.pitch + (few.address - many.address)
    pitch = many.pitch
    if pitch == 0:
        return bool(((first < _width(many)) & (first + _width(few) > 0)).any())
    # row j of the other begins at j * pitch and ends at j * pitch + width
    lowest = np.maximum(0, (first - _width(many)) // pitch + 1)
    highest = np.minimum(many.rows - 1, (first + _width(few) - 1) // pitch)
    return bool((lowest <= highest).any())


def share(one: MatrixView, other: MatrixView) -> bool:
    """Whether a byte belongs to both arrays, of any number of axes; True where that is too hard."""
    if not (one.span and other.span):
        return False
    if one.address + one.span <= other.address or other.address + other.span <= one.address:
        return False
    try:
        return bool(np.shares_memory(_described(one), _described(other), _WORK))
    except TooHardError:
        return True


_WORK: Any = 100_000
"""Steps that NumPy may take; it solves an equation of the addresses and reads no memory."""


class _Interface:
    """An array's description, as NumPy reads it."""

    def __init__(self, array: MatrixView) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (array.address, True),
            "shape": array.extents,
            "strides": array.steps,
            "typestr": f"|V{array.itemsize}",
        }


def _described(array: MatrixView) -> np.ndarray[Any, Any]:
    return np.asarray(_Interface(array))


def rows_overlap(matrix: MatrixView) -> bool:
    """Whether rows of one matrix share memory."""
    return matrix.rows > 1 and matrix.cols > 0 and matrix.pitch < _width(matrix)


def _width(matrix: MatrixView) -> int:
    return matrix.cols * matrix.itemsize
