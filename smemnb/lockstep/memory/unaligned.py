"""Elements put together from bytes, where a dtype does not lie on the grid of its own size.

Fields of packed records, strides that are no whole elements, texts. Offsets count bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import KernelStopped
from ..lanes import LaneValue, Mask
from ..watch import pieces_of
from .stores import UINT8, DType, Flat, Store

if TYPE_CHECKING:
    from ..batch import Batch


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
