"""A rung of a ladder: a kernel, the launch that covers a result, and what the rung needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Block = tuple[int, int]


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
        scaled: a product that takes alpha and beta as well.
    """

    kernel: Any
    changed: str
    block: Block
    tile: tuple[int, int]
    aligned: int = 1
    scaled: bool = False

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
            if row % (size * self.aligned) or _address(array) % (size * self.aligned):
                return False
        return True


def described(rung: Rung, result: str) -> Rung:
    """The rung, its kernel with a docstring where a factory made it: the result, what changed."""
    for shown in (rung.kernel, rung.kernel.py_func):
        shown.__doc__ = shown.__doc__ or f"{result}  {rung.changed}."
    return rung


def _address(array: Any) -> int:
    shown = getattr(array, "__cuda_array_interface__", None)
    return int(shown["data"][0]) if shown else 0
