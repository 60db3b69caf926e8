"""Where the cells of arrays live: one flat array, a row per block, or a cell per thread.

A store holds elements of one dtype; `typed` gives the same bytes as elements of another. Where a
dtype cannot lie on the grid of its own size (fields of packed records, odd strides, texts), a
`ByteStore` puts its elements together from bytes.

Shared memory is poisoned when a batch of blocks begins, so that a kernel which reads what nobody
stored does not get a zero by luck.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import KernelStopped
from ..lanes import EVERY_LANE, NO_LANE, LaneValue, Mask, chosen, spread
from ..watch import pieces_of

if TYPE_CHECKING:
    from ..batch import Batch

Flat = np.ndarray[Any, np.dtype[Any]]
DType = np.dtype[Any]

ROW_BYTES = 16  # rows are whole multiples: every plain dtype then lies on a grid of its own size
UINT8 = np.dtype(np.uint8)


def poison(dtype: DType) -> Any:
    """What memory holds before anyone wrote it: NaN, or a number no index survives.

    >>> poison(np.dtype("int32"))
    np.int32(-1431655766)
    """
    if dtype.names is not None or dtype.subdtype is not None:
        return _poisoned_record(dtype)
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    if dtype.kind == "U":
        return np.str_("")
    return np.frombuffer(b"\xaa" * dtype.itemsize, dtype)[0] if dtype.kind != "b" else np.True_


def _poisoned_record(dtype: DType) -> Any:
    record = np.zeros((), dtype)
    for name in dtype.names or ():
        part = dtype[name]
        record[name] = poison(part.subdtype[0] if part.subdtype else part)
    return record[()]


class Store(Protocol):
    """Where the cells of an array live."""

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets."""

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """A flat array and the place in it of each lane's cell."""

    def typed(self, dtype: DType) -> Store:
        """The same bytes as elements of another dtype of 1, 2, 4, 8 or 16 bytes."""


def _scatter(flat: Flat, place: LaneValue, mask: Mask, value: LaneValue) -> None:
    """flat[place] = value in active lanes; the last lane wins where several write one cell."""
    shape = np.broadcast_shapes(np.shape(place), mask.shape, np.shape(value))
    if mask is EVERY_LANE:
        flat[spread(place, shape).ravel()] = spread(value, shape).ravel()
    else:
        active = spread(mask, shape)
        flat[spread(place, shape)[active]] = spread(value, shape)[active]


class GlobalStore:
    """One flat array for the whole launch."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self._typed: dict[DType, GlobalStore] = {}

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets."""
        return self.flat.take(offset)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        _scatter(self.flat, offset, mask, value)

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """The flat array and the offsets themselves."""
        return self.flat, offset

    def typed(self, dtype: DType) -> GlobalStore:
        """The same memory as elements of another dtype."""
        if dtype not in self._typed:
            whole = self.flat.nbytes // dtype.itemsize * dtype.itemsize
            self._typed[dtype] = GlobalStore(self.flat.view(UINT8)[:whole].view(dtype))
        return self._typed[dtype]


class SharedStore:
    """One row of cells per block of the batch."""

    def __init__(self, rows: Flat) -> None:
        self.rows = rows
        self._typed: dict[DType, SharedStore] = {}

    @classmethod
    def poisoned(cls, blocks: int, size: int, dtype: DType) -> SharedStore:
        """Fresh memory of this many blocks, `size` elements each."""
        return cls(_fresh_rows(blocks, size, dtype))

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """All rows as one flat array, and each lane's place in it."""
        return self.rows.reshape(-1), offset + batch.block_axis * self.rows.shape[1]

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets, each lane in its own block's row."""
        if not isinstance(offset, np.ndarray):
            return self.rows[:, int(offset)].reshape(-1, 1, 1).copy()
        if offset.shape[0] == 1:
            picked = self.rows.take(offset.reshape(-1), axis=1)
            return picked.reshape(-1, *offset.shape[1:])
        flat, place = self.cells(batch, offset)
        return flat.take(place)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        flat, place = self.cells(batch, offset)
        _scatter(flat, place, mask, value)

    def typed(self, dtype: DType) -> SharedStore:
        """The same rows as elements of another dtype."""
        if dtype not in self._typed:
            self._typed[dtype] = SharedStore(self.rows.view(UINT8).view(dtype))
        return self._typed[dtype]


def _fresh_rows(rows: int, size: int, dtype: DType) -> Flat:
    """Poisoned rows of `size` elements, each a whole number of ROW_BYTES; records as bytes."""
    row_bytes = -(-max(size * dtype.itemsize, 1) // ROW_BYTES) * ROW_BYTES
    if row_bytes % dtype.itemsize == 0 and dtype.names is None:
        return np.full((rows, row_bytes // dtype.itemsize), poison(dtype), dtype)
    one = np.full(size, poison(dtype), dtype).view(UINT8)
    whole = np.zeros((rows, row_bytes), UINT8)
    whole[:, : one.size] = one
    return whole


class LocalStore:
    """One cell per element and thread: a list of lane values while indices are uniform.

    Once it is seen as another dtype, and for records from the start, it is a row of bytes per
    thread. As long as it is not, `written` knows which lanes have stored which cell, if `followed`.
    """

    def __init__(self, size: int, dtype: DType, *, followed: bool = False) -> None:
        self.size, self.dtype = size, dtype
        self.items: list[LaneValue] = [] if dtype.names else [poison(dtype)] * size
        self.dense: Flat | None = None
        self.rows: Flat | None = None
        self.written = WrittenCells(size) if followed and not dtype.names else None

    def _as_dense(self, batch: Batch) -> Flat:
        if self.dense is None:
            # np.stack would keep the order of spread arrays, and a flat view of that is a copy
            self.dense = np.empty((self.size, *batch.shape), self.dtype)
            for at, item in enumerate(self.items):
                self.dense[at] = item
        return self.dense

    def as_rows(self, batch: Batch) -> Flat:
        """A row of bytes for each lane of the batch."""
        if self.rows is None:
            lanes = math.prod(batch.shape)
            fresh = _fresh_rows(1, self.size, self.dtype)
            rows = np.repeat(fresh.view(UINT8), lanes, axis=0)
            if self.items:
                cells = np.ascontiguousarray(self._as_dense(batch).reshape(self.size, lanes).T)
                rows[:, : cells.itemsize * self.size] = cells.view(UINT8)
            self.rows, self.dense, self.items = rows, None, []
        return self.rows

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cell of each lane."""
        if not isinstance(offset, np.ndarray) and self.rows is None:
            at = int(offset)
            return self.items[at] if self.dense is None else self.dense[at].copy()
        flat, place = self._cells(batch, offset)
        return flat.take(place)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        if self.written is not None:
            self.written.mark(batch, offset, mask)
        if self.dense is None and not isinstance(offset, np.ndarray) and self.rows is None:
            at = int(offset)
            self.items[at] = value if mask is batch.live else chosen(mask, value, self.items[at])
        else:
            flat, place = self._cells(batch, offset)
            _scatter(flat, place, mask, value)

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """All threads' cells as one flat array, and each lane's place in it."""
        self.written = None  # who has these may store anything
        return self._cells(batch, offset)

    def _cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        if self.rows is not None:
            return _cell_of_row(batch, self.rows, self.dtype, offset)
        dense = self._as_dense(batch)
        return dense.reshape(-1), offset * math.prod(batch.shape) + batch.lane_number

    def typed(self, dtype: DType) -> LocalPart:
        """The same memory as elements of another dtype."""
        self.written = None
        return LocalPart(self, dtype)


class WrittenCells:
    """Which lanes have stored which cell of a local array: a mask per cell.

    Once an index differs between lanes it is a table, (cells, blocks, warps, 32).
    """

    def __init__(self, size: int) -> None:
        self.masks: list[Mask] = [NO_LANE] * size
        self.table: Flat | None = None
        self.looks = 0

    def mark(self, batch: Batch, offset: LaneValue, mask: Mask) -> None:
        """Note a store; one of all live lanes is one of all, as the others never read again."""
        if self.table is None and not isinstance(offset, np.ndarray):
            at = int(offset)
            old = self.masks[at]
            if mask is batch.live or old is EVERY_LANE:
                self.masks[at] = EVERY_LANE
            else:
                self.masks[at] = mask if old is NO_LANE else old | mask
            return
        flat = self._as_table(batch).reshape(-1)
        _scatter(flat, self._place(batch, offset), mask, np.True_)

    def missing(self, batch: Batch, offset: LaneValue, active: Mask) -> Mask:
        """The active lanes that have not stored the cell they read; NO_LANE if there are none."""
        if self.table is None and not isinstance(offset, np.ndarray):
            known = self.masks[int(offset)]
            if known is EVERY_LANE:
                return NO_LANE
            early = active if known is NO_LANE else active & ~known
        else:
            table = self._as_table(batch)
            early = active & ~table.reshape(-1).take(self._place(batch, offset))
        return early if early.any() else NO_LANE

    def complete(self, batch: Batch) -> bool:
        """Whether every live lane has stored every cell; looked at ever more seldom."""
        self.looks += 1
        if self.table is None or self.looks & (self.looks - 1):
            return False
        return bool((self.table | ~spread(batch.live, batch.shape)).all())

    def _as_table(self, batch: Batch) -> Flat:
        if self.table is None:
            self.table = np.zeros((len(self.masks), *batch.shape), bool)
            for at, mask in enumerate(self.masks):
                self.table[at] = mask
        return self.table

    def _place(self, batch: Batch, offset: LaneValue) -> LaneValue:
        return offset * math.prod(batch.shape) + batch.lane_number


def _cell_of_row(
    batch: Batch, rows: Flat, dtype: DType, offset: LaneValue
) -> tuple[Flat, LaneValue]:
    flat = rows.reshape(-1).view(dtype)
    return flat, offset + batch.lane_number * (rows.shape[1] // dtype.itemsize)


class LocalPart:
    """The bytes of a local array as elements of another dtype."""

    def __init__(self, owner: LocalStore, dtype: DType) -> None:
        self.owner, self.dtype = owner, dtype

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """All threads' cells as one flat array, and each lane's place in it."""
        return _cell_of_row(batch, self.owner.as_rows(batch), self.dtype, offset)

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cell of each lane."""
        flat, place = self.cells(batch, offset)
        return flat.take(place)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        flat, place = self.cells(batch, offset)
        _scatter(flat, place, mask, value)

    def typed(self, dtype: DType) -> LocalPart:
        """The same memory as elements of another dtype."""
        return LocalPart(self.owner, dtype)


class ByteStore:
    """Elements of any dtype at any byte offset of another store."""

    def __init__(self, store: Store, dtype: DType) -> None:
        self.octets = store.typed(UINT8)
        self.dtype = dtype

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The elements at these byte offsets."""
        octets = [self.octets.read(batch, offset + at) for at in range(self.dtype.itemsize)]
        joined = np.ascontiguousarray(np.stack(np.broadcast_arrays(*octets), axis=-1))
        if self.dtype.kind == "b":
            return (joined[..., 0] != 0)[()]
        return joined.view(self.dtype)[..., 0][()]

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values at these byte offsets, in active lanes."""
        for at, octet in enumerate(pieces_of(np.asarray(value, self.dtype), 1)):
            self.octets.write(batch, offset + at, mask, octet)

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """Refused: an atomic needs an aligned cell.

        Raises:
            KernelStopped: always.
        """
        raise KernelStopped(
            f"an atomic operation on a {self.dtype} that is not aligned to {self.dtype.itemsize} "
            "bytes: a GPU refuses the address. Give the record aligned fields: "
            "np.dtype(..., align=True)."
        )

    def typed(self, dtype: DType) -> Store:
        """The same memory as elements of another dtype."""
        return self.octets.typed(dtype)
