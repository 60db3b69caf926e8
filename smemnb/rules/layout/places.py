"""The layouts: row-major, padded, swizzled, each with its inverse. See the room's docstring."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ...hardware import BANKS, WARP_LANES
from .. import bank
from ..request import Bools, Ints

__all__ = ["CHUNK_BYTES", "Layout", "Padded", "Rotated", "RowMajor", "Swizzle", "Xor", "XorChunks"]

CHUNK_BYTES: Final = 16  # the widest access of one lane


@dataclass(frozen=True)
class Layout(ABC):
    """A tile of `rows` x `cols` elements of `itemsize` bytes, and where its cells are kept."""

    rows: int
    cols: int
    itemsize: int = 4

    def __post_init__(self) -> None:
        """Refuse what is not a tile."""
        if self.rows < 1 or self.cols < 1:
            raise ValueError(f"a tile of {self.rows} x {self.cols} has no cells")
        if self.itemsize not in bank.WIDTHS:
            raise ValueError(f"itemsize is {self.itemsize!r}; elements have 1, 2, 4, 8 or 16 bytes")

    @abstractmethod
    def _place(self, row: Ints, col: Ints) -> Ints:
        """Offset of cells that are known to be inside."""

    @abstractmethod
    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        """Row and column of offsets that are known to be inside."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.cols

    @property
    def elems(self) -> int:
        """Elements that the tile occupies, pad included."""
        return self.rows * self.cols

    @property
    def bytes(self) -> int:
        """Bytes that the tile occupies, pad included."""
        return self.elems * self.itemsize

    def offset(self, row: npt.ArrayLike, col: npt.ArrayLike) -> Ints:
        """Offset of each cell, in elements.

        Raises:
            ValueError: a cell outside the tile.
        """
        rows, cols = _within(row, self.rows, "row"), _within(col, self.cols, "column")
        return self._place(rows, cols)

    def cell(self, offset: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Row and column kept at each offset: the inverse of `offset`.

        Raises:
            ValueError: an offset outside the tile, or in its pad.
        """
        return self._find(_within(offset, self.elems, "offset"))

    def address(self, row: npt.ArrayLike, col: npt.ArrayLike) -> Ints:
        """Byte address of each cell, from the start of the tile."""
        return self.offset(row, col) * self.itemsize

    def vectors(self, row: npt.ArrayLike, col: npt.ArrayLike, vector_elems: int) -> Ints:
        """Byte address of each cell, from which on a lane moves `vector_elems` cells of a row.

        >>> XorChunks(32, 32).vectors(1, [0, 4], 4).tolist()      # chunks 0 and 1 of row 1
        [144, 128]

        Raises:
            ValueError: neighbours that are not side by side and aligned in this layout.
        """
        given, width = np.asarray(col), vector_elems * self.itemsize
        first = self.address(row, given)
        for i in range(1, vector_elems):
            if (self.address(row, given + i) != first + i * self.itemsize).any():
                raise ValueError(f"{self} does not keep {vector_elems} neighbours side by side")
        if (first % width).any():
            raise ValueError(f"{self} moves vectors of {width} bytes off their {width}-byte grid")
        return first

    def row_wavefronts(self, vector_elems: int = 1) -> Ints:
        """Wavefronts of each load request when warps read the tile row by row.

        Lane i of the first warp reads cell i in reading order; the next warp goes on from there.

        Args:
            vector_elems: neighbours in a row that a lane reads at once.

        Raises:
            ValueError: neighbours that are not side by side and aligned in this layout.
        """
        vectors = self.cols // vector_elems
        flat, active = _walk(self.rows * vectors)
        return self._wavefronts(flat // vectors, flat % vectors, vector_elems, active)

    def column_wavefronts(self, vector_elems: int = 1) -> Ints:
        """Wavefronts of each load request when warps read the tile column by column.

        >>> RowMajor(32, 32).column_wavefronts()[0], Padded(32, 32).column_wavefronts()[0]
        (np.int64(32), np.int64(1))
        """
        flat, active = _walk(self.rows * (self.cols // vector_elems))
        return self._wavefronts(flat % self.rows, flat // self.rows, vector_elems, active)

    def _wavefronts(self, row: Ints, vector: Ints, vector_elems: int, active: Bools) -> Ints:
        """Wavefronts of requests in which each lane reads one vector of a row."""
        if vector_elems < 1 or self.cols % vector_elems:
            raise ValueError(f"{self.cols} columns are not whole vectors of {vector_elems}")
        first = self.vectors(row, vector * vector_elems, vector_elems)
        return bank.wavefronts(first, width=vector_elems * self.itemsize, active=active)


@dataclass(frozen=True)
class RowMajor(Layout):
    """Rows one after the other.

    >>> int(RowMajor(32, 32).offset(2, 3))
    67
    """

    def _place(self, row: Ints, col: Ints) -> Ints:
        return row * self.cols + col

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        return offset // self.cols, offset % self.cols


@dataclass(frozen=True)
class Padded(Layout):
    """Rows one after the other, each with `pad_elems` unused elements behind it.

    >>> Padded(32, 32).bytes - RowMajor(32, 32).bytes
    128
    """

    pad_elems: int = 1

    def __post_init__(self) -> None:
        """Refuse what is not a tile with a pad."""
        super().__post_init__()
        if self.pad_elems < 0:
            raise ValueError(f"pad_elems is {self.pad_elems}; a pad has 0 elements or more")

    @property
    def pitch(self) -> int:
        """Elements from one row to the next."""
        return self.cols + self.pad_elems

    @property
    def elems(self) -> int:
        """Elements that the tile occupies, pad included."""
        return self.rows * self.pitch

    def _place(self, row: Ints, col: Ints) -> Ints:
        return row * self.pitch + col

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        row, col = offset // self.pitch, offset % self.pitch
        if (col >= self.cols).any():
            raise ValueError(f"offset {offset[col >= self.cols].flat[0]} is pad: it holds no cell")
        return row, col


@dataclass(frozen=True)
class Xor(Layout):
    """Columns exchanged within groups of 32 by xor with the row.

    Wide (32, 64, 96 ... columns): `col ^ (row % 32)`.
    Narrow (W = 1, 2, 4, 8, 16 columns): `col ^ ((row // (32 // W)) % W)`.

    >>> Xor(32, 32).offset([0, 1, 2, 3], 0).tolist()      # a column visits four banks
    [0, 33, 66, 99]
    >>> Xor(32, 32).bytes                                  # and costs nothing
    4096
    """

    def __post_init__(self) -> None:
        """Refuse widths in which the xor would leave the row."""
        super().__post_init__()
        _require_group(self.cols, BANKS, f"{self.cols} columns")

    def _place(self, row: Ints, col: Ints) -> Ints:
        return row * self.cols + (col ^ _turn(row, min(self.cols, BANKS), BANKS))

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        row = offset // self.cols
        return row, offset % self.cols ^ _turn(row, min(self.cols, BANKS), BANKS)


@dataclass(frozen=True)
class XorChunks(Layout):
    """16-byte chunks of a row exchanged by xor with the row: `chunk ^ (row % 8)`.

    Eight chunks are all 32 banks. Rows of fewer chunks, n = 1, 2 or 4, take
    `chunk ^ ((row // (8 // n)) % n)`. The elements of a chunk stay side by side and aligned, so
    a lane can move 16 bytes at once.

    >>> XorChunks(32, 32).column_wavefronts(vector_elems=4)[0]     # 512 bytes need 4
    np.int64(4)
    """

    def __post_init__(self) -> None:
        """Refuse rows in which the xor would leave the row."""
        super().__post_init__()
        if self.cols * self.itemsize % CHUNK_BYTES:
            raise ValueError(f"rows of {self.cols * self.itemsize} bytes are not 16-byte chunks")
        _require_group(self._chunks, self._all_banks, f"{self._chunks} chunks")

    @property
    def _chunks(self) -> int:
        """Chunks of a row."""
        return self.cols * self.itemsize // CHUNK_BYTES

    @property
    def _all_banks(self) -> int:
        """Chunks that fill all banks once."""
        return BANKS * 4 // CHUNK_BYTES

    def _moved(self, row: Ints, col: Ints) -> Ints:
        """Column after the exchange; doing it twice undoes it."""
        chunk_elems = CHUNK_BYTES // self.itemsize
        return col ^ _turn(row, min(self._chunks, self._all_banks), self._all_banks) * chunk_elems

    def _place(self, row: Ints, col: Ints) -> Ints:
        return row * self.cols + self._moved(row, col)

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        row = offset // self.cols
        return row, self._moved(row, offset % self.cols)


@dataclass(frozen=True)
class Rotated(Layout):
    """Columns rotated within groups of 32 by the row: `(col + row) % 32`.

    Rows of fewer than 32 columns rotate within themselves, by `row // (32 // cols)`. Any width up
    to 32 and every multiple of 32 will do, but only powers of two and multiples of 32 are clean.

    >>> Rotated(32, 32).offset([0, 1, 31], 1).tolist()
    [1, 34, 992]
    """

    def __post_init__(self) -> None:
        """Refuse widths that are not whole groups."""
        super().__post_init__()
        if self.cols > BANKS and self.cols % BANKS:
            raise ValueError(f"{self.cols} columns are not whole groups of {BANKS}; pad instead")

    def _rotated(self, row: Ints, col: Ints, direction: int) -> Ints:
        """Column after a rotation by the row, forth (1) or back (-1)."""
        group = min(self.cols, BANKS)
        by = row // (BANKS // group)
        return col - col % group + (col + direction * by) % group

    def _place(self, row: Ints, col: Ints) -> Ints:
        return row * self.cols + self._rotated(row, col, 1)

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        row = offset // self.cols
        return row, self._rotated(row, offset % self.cols, -1)


@dataclass(frozen=True)
class Swizzle(Layout):
    """Row-major offset o, some of its bits flipped by higher ones.

    `o ^ ((o >> shift) & ((2**bits - 1) << base))`, in elements: `bits` bits from bit `base` on
    are flipped by those `shift` places higher. Hardware swizzles count bytes: TMA's 128-byte
    mode is bits 3, base 4, shift 3 of the byte address.

    >>> flips = Swizzle(32, 32, bits=5, base=0, shift=5)
    >>> flips.offset([0, 1, 2, 3], 0).tolist()             # here the same as Xor(32, 32)
    [0, 33, 66, 99]
    """

    bits: int = 0
    base: int = 0
    shift: int = 0

    def __post_init__(self) -> None:
        """Refuse what is not one-to-one."""
        super().__post_init__()
        if min(self.bits, self.base) < 0 or self.shift < self.bits:
            raise ValueError(
                f"bits={self.bits}, base={self.base}, shift={self.shift}: one-to-one only if"
                " shift >= bits >= 0 and base >= 0"
            )
        if self.elems % (1 << (self.base + self.bits)):
            raise ValueError(
                f"{self.elems} elements are not whole groups of {1 << (self.base + self.bits)},"
                " within which this swizzle moves cells"
            )

    def _flipped(self, offset: Ints) -> Ints:
        """Offset after the flip; doing it twice undoes it."""
        return offset ^ ((offset >> self.shift) & (((1 << self.bits) - 1) << self.base))

    def _place(self, row: Ints, col: Ints) -> Ints:
        return self._flipped(row * self.cols + col)

    def _find(self, offset: Ints) -> tuple[Ints, Ints]:
        plain = self._flipped(offset)
        return plain // self.cols, plain % self.cols


def _turn(row: Ints, group: int, all_banks: int) -> Ints:
    """What a row xors its columns with: rows that share one pass over the banks share it."""
    turn: Ints = (row // (all_banks // group)) % group
    return turn


def _require_group(count: int, all_banks: int, what: str) -> None:
    """Refuse counts in which an xor could leave the row."""
    if count % all_banks and count & (count - 1):
        raise ValueError(
            f"{what}: an xor stays in the row only for a power of two or a multiple of"
            f" {all_banks}; pad instead, or widen the tile"
        )


def _within(index: npt.ArrayLike, end: int, what: str) -> Ints:
    """The index as int64, all of it in 0 ... end - 1."""
    given = np.asarray(index)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{what} holds {given.dtype}; give integers")
    if given.size and (given.min() < 0 or given.max() >= end):
        outside = given[(given < 0) | (given >= end)].flat[0]
        raise ValueError(f"{what} {outside} is outside this tile: 0 to {end - 1}")
    return given.astype(np.int64, copy=False)


def _walk(cells: int) -> tuple[Ints, Bools]:
    """Cell of each lane of the warps that walk over `cells`, and which lanes have one."""
    requests = -(-cells // WARP_LANES)
    flat = np.arange(requests * WARP_LANES).reshape(requests, WARP_LANES)
    return np.minimum(flat, cells - 1), flat < cells
