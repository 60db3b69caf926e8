"""A rung of a ladder: a kernel, the launch that covers a result, and what the rung needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Block = tuple[int, int]

UNSIGNED = 2**32
"""Offsets that 32 bits without a sign can count; the sums on the way wrap around, and back."""

SIGNED = 2**63
GRID = (65_535, 2**31 - 1)
"""Blocks of a grid at most, down and across: CUDA C++ Programming Guide, compute capabilities."""


@dataclass(frozen=True)
class Rung:
    """A kernel and how to launch it.

    Attributes:
        kernel: launched as `kernel[rung.grid(...), rung.block](out, ...)`.
        changed: what changed against the rung before.
        block: threads of a block, (x, y).
        tile: rows and columns that a block covers, of the input of a transpose, of the result of a
            product.
        aligned: elements to which rows must be aligned; 1 for any stride.
        depth: of a product that makes whole tiles only, what its depth must be a multiple of; 0 for
            any shape.
        begins: elements to which the first one must be aligned, whatever the rows.
        scaled: a product that takes alpha and beta as well.
        span: elements that its offsets can count, from an array's first to its last one, gaps
            between rows included.
        prepares: of a rung that is not faster than the one before, the name of the rung that needs
            what it changes; "" of every other.
        shared_bytes: of dynamic shared memory that its launch asks for.
    """

    kernel: Any
    changed: str
    block: Block
    tile: tuple[int, int]
    aligned: int = 1
    scaled: bool = False
    span: int = SIGNED
    begins: int = 1
    depth: int = 0
    prepares: str = ""
    shared_bytes: int = 0

    @property
    def largest(self) -> tuple[int, int]:
        """Rows and columns that a grid can cover at most.

        >>> Rung(None, "", (32, 8), (32, 64)).largest
        (2097120, 137438953408)
        """
        return GRID[0] * self.tile[0], GRID[1] * self.tile[1]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)

    def grid(self, rows: int, cols: int) -> tuple[int, int]:
        """Blocks that cover rows x cols elements, (x, y), at least one.

        >>> Rung(None, "", (32, 8), (32, 64)).grid(33, 64)
        (1, 2)
        """
        high, wide = self.tile
        return max(1, -(-cols // wide)), max(1, -(-rows // high))

    def fits(self, *arrays: Any) -> bool:
        """Whether the rows of all these arrays begin where the rung needs them to.

        Rows must hold neighbouring elements; `aligned` above 1 asks that their bytes from row to
        row, and the first one's address where it is known, are multiples of that many elements.
        """
        for array in arrays:
            size = array.dtype.itemsize
            row = array.strides[0] if array.shape[0] > 1 else 0
            begins = max(self.aligned, self.begins)
            if row % (size * self.aligned) or _address(array) % (size * begins):
                return False
        return True

    def whole(self, rows: int, cols: int, depth: int) -> bool:
        """Whether a product of this shape is one that the rung makes: whole tiles, or any shape.

        >>> rung = Rung(None, "", (128, 1), (128, 128), depth=8)
        >>> rung.whole(256, 128, 24), rung.whole(256, 128, 20), rung.whole(256, 128, 0)
        (True, False, False)
        """
        if not self.depth:
            return True
        high, wide = self.tile
        return depth > 0 and not (rows % high or cols % wide or depth % self.depth)

    def reaches(self, *arrays: Any) -> bool:
        """Whether the last element of each of these arrays lies within the rung's `span`.

        A transpose by pairs of uint64 is asked with the arrays of uint64.
        """
        return all(last_offset(array) < self.span for array in arrays)


def last_offset(array: Any) -> int:
    """Elements from the first element of an array to its last one; 0 of an empty one.

    >>> import numpy as np
    >>> last_offset(np.zeros((3, 8), np.float32)[:, :5])
    20
    """
    if 0 in array.shape:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum((extent - 1) * stride for extent, stride in steps) // array.dtype.itemsize)


def described(rung: Rung, result: str) -> Rung:
    """The rung, its kernel with a docstring where a factory made it: the result, what changed."""
    for shown in (rung.kernel, rung.kernel.py_func):
        shown.__doc__ = shown.__doc__ or f"{result}  {rung.changed}."
    return rung


def _address(array: Any) -> int:
    shown = getattr(array, "__cuda_array_interface__", None)
    return int(shown["data"][0]) if shown else 0
