"""Registers, predicates and memories of the warps that run, and groups of them.

All warps of a batch of blocks stand in one array, block after block: registers are (number, warps,
32) uint32, uniform ones (number, warps, 1). A `Group` is a set of warps at one instruction, each
with the lanes that are there together.
"""

from __future__ import annotations

import numpy as np

from .operands import Array, Operand, Reader, Unknown, constantly

LANES = 32
LAUNCH_CONSTANTS = (range(0x18), range(0x20, 0x30), range(0x118, 0x120), range(0x208, 0x210))
"""Bytes of constant bank 0, before the parameters, whose contents are known: extents of block and
grid, window of local memory, stack, dynamic shared bytes, descriptor of global memory."""

BITS = (np.uint32(1) << np.arange(LANES, dtype=np.uint32)).astype(np.uint32)


class State:
    """Everything that the warps of a batch hold.

    Args:
        warps: warps of the batch.
        registers: registers of a thread.
        alive: lanes that are threads, bool (warps, 32).
        banks: constant banks, by number, as bytes.
        parameters_at: where in bank 0 the kernel's parameters begin.
    """

    def __init__(
        self,
        warps: int,
        registers: int,
        alive: Array,
        banks: dict[int, bytes],
        parameters_at: int = 0x210,
    ) -> None:
        self.parameters_at = parameters_at
        self.warps = warps
        self.registers = np.zeros((max(registers, 8) + 8, warps, LANES), np.uint32)
        self.uniform = np.zeros((64, warps, 1), np.uint32)
        self.predicates = np.zeros((7, warps, LANES), np.bool_)
        self.uniform_predicates = np.zeros((7, warps, 1), np.bool_)
        self.joins = np.zeros((16, warps, LANES), np.uint32)
        self.alive = alive.copy()
        self.banks = banks

    def _known(self, offset: int) -> bool:
        """Whether a place of constant bank 0 is a parameter, or one of `LAUNCH_CONSTANTS`."""
        return offset >= self.parameters_at or any(offset in place for place in LAUNCH_CONSTANTS)

    def constant(self, one: Operand, width: int) -> Reader:
        """A reader of a constant of 1 to 8 bytes; an indexed one is looked up per lane."""
        bank = self.banks.get(one.bank)
        if bank is None:
            raise Unknown(f"constant bank {one.bank} in {one.text}")
        dtype = np.dtype(f"u{width}")
        octets = np.frombuffer(bank, np.uint8)
        offset = int(one.number)
        if one.bank == 0 and not one.index.strip("URZ") and not self._known(offset):
            raise Unknown(f"constant {one.text}, which the launch sets to nobody knows what")
        if one.index in ("", "RZ", "URZ"):
            if offset + width > len(bank):
                raise Unknown(f"constant {one.text} past the end of its bank")
            return constantly(np.frombuffer(bank, dtype, 1, offset).reshape(1, 1).copy())
        uniform = one.index.startswith("U")
        held = (self.uniform if uniform else self.registers)[int(one.index.lstrip("UR"))]

        def indexed(group: Group) -> Array:
            at = group.of(held).astype(np.int64).astype(np.int32).astype(np.int64) + offset
            at = np.where(group.lanes_of(at), at, 0)
            if at.min() < 0 or at.max() + width > len(bank):
                raise Unknown(f"constant {one.text} past the end of its bank")
            parts = octets[at[..., None] + np.arange(width)]
            return np.ascontiguousarray(parts).view(dtype)[..., 0]

        return indexed


class Group:
    """Warps at one instruction.

    Attributes:
        warps: their numbers, rising; None for all warps of the batch.
        mask: their active lanes, bool (rows, 32).
        full: whether every lane of every row is active.
    """

    __slots__ = ("full", "mask", "state", "warps")

    def __init__(self, state: State, warps: Array | None, mask: Array) -> None:
        self.state, self.warps, self.mask = state, warps, mask
        self.full = bool(mask.all())

    @property
    def rows(self) -> Array:
        """The numbers of the warps."""
        return np.arange(self.state.warps) if self.warps is None else self.warps

    def of(self, held: Array) -> Array:
        """These warps' rows of an array that has a row per warp."""
        return held if self.warps is None else held.take(self.warps, axis=0)

    def lanes_of(self, value: Array) -> Array:
        """The mask as it fits a value that may be the same for all lanes or rows."""
        mask: Array = self.mask
        if value.shape[-1] == 1:
            mask = np.logical_or.reduce(mask, axis=1, keepdims=True)
        if value.shape[0] != len(mask):
            mask = np.logical_or.reduce(mask, axis=0, keepdims=True)
        return mask

    def narrowed(self, condition: Array) -> Group:
        """The same rows with the lanes for which the condition holds."""
        return Group(self.state, self.warps, self.mask & condition)

    def picked(self, rows: Array) -> Group:
        """Some of the rows, by a bool for each."""
        if rows.all():
            return self
        return Group(self.state, self.rows[rows], self.mask[rows])

    @property
    def bits(self) -> Array:
        """The active lanes of each row as 32 bits, uint32 (rows,)."""
        return packed(self.mask)

    def put(self, held: Array, value: Array) -> None:
        """Store a value into the active lanes of these warps' rows."""
        if self.warps is None:
            if self.full:
                held[...] = value
            else:
                np.copyto(held, value, where=self.mask, casting="same_kind")
        elif self.full:
            held[self.warps] = value
        else:
            rows = held[self.warps]
            np.copyto(rows, value, where=self.mask, casting="same_kind")
            held[self.warps] = rows

    def put_uniform(self, held: Array, value: Array) -> None:
        """Store one value per warp, in the warps that have an active lane."""
        rows = np.broadcast_to(value, (len(self.mask), 1))
        some: Array = np.logical_or.reduce(self.mask, axis=1)
        if some.all():
            held[self.rows] = rows
        else:
            held[self.rows[some]] = rows[some]


def packed(mask: Array) -> Array:
    """Rows of 32 bools as 32 bits each, lane 0 lowest.

    >>> packed(np.arange(32)[None] < 3).tolist()
    [7]
    """
    octets = np.packbits(mask, axis=1, bitorder="little")
    bits: Array = octets.view(np.dtype("<u4"))[:, 0].astype(np.uint32)
    return bits


def unpacked(bits: Array) -> Array:
    """The lanes of 32 bits each, bool (rows, 32)."""
    lanes: Array = (bits[:, None] & BITS) != 0
    return lanes
