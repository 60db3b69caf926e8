"""The rungs in order, and how each is launched: float16 in and out, sums in float32.

    LADDER                                  the rungs
    prepared(rung, out, a, b, blocks)       a launch of one, and the maps that it needs

out (m x n) = a (m x k) @ b (k x n), all row-major on the device, with rows of whole 16 bytes.

**Limits**: compute capability 9.0 alone. A GPU's driver has to allow so much dynamic shared memory
before a launch (`smemnb.operations` does).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ...errors import SmemnbError
from ..ptx.tensor_maps import TensorMap
from ..step import Launch
from .rungs import (
    wgmma_persistent,
    wgmma_specialised,
    wgmma_staged,
    wgmma_stored,
    wgmma_tiled,
    wgmma_wide,
)

__all__ = ["LADDER", "HopperRung", "Prepared", "prepared"]

EIGHT = 8
"""Elements of 16 bytes, of which rows have whole ones."""

SWIZZLE = 128


@dataclass(frozen=True)
class HopperRung:
    """A rung and how to launch it.

    Attributes:
        module: of the rung, which has its numbers; the kernel has its name.
        changed: what changed against the rung before.
        threads: of a block.
        persistent: whether each block goes over several tiles.
        stores: whether results go out by a map, which then comes behind `out`.
    """

    module: ModuleType
    changed: str
    threads: int = 384
    persistent: bool = False
    stores: bool = False

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def kernel(self) -> Any:
        """The kernel: `(out, a_map, b_map, depth)`, or `(out, out_map, a_map, b_map, depth)`."""
        return getattr(self.module, self.name)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of out that a block makes at a time."""
        return self.module.ROWS, self.module.COLS

    @property
    def shared_bytes(self) -> int:
        """Of dynamic shared memory."""
        return int(self.module.SHARED_BYTES)

    def grid(self, rows: int, cols: int, blocks: int) -> tuple[int, int]:
        """Blocks (x, y) for a result of this shape, at most `blocks` of them if persistent.

        >>> LADDER[0].grid(129, 128, 132), LADDER[-1].grid(4096, 4096, 132)
        ((1, 2), (132, 1))
        """
        high, wide = self.tile
        down, across = -(-rows // high), -(-cols // wide)
        return (min(down * across, blocks), 1) if self.persistent else (across, down)


LADDER = (
    HopperRung(wgmma_tiled, "tiles by bulk copies, products by warpgroups", threads=256),
    HopperRung(wgmma_staged, "three more stages are under way", threads=256),
    HopperRung(wgmma_specialised, "a warpgroup of its own sends"),
    HopperRung(wgmma_wide, "128x256 for a block"),
    HopperRung(wgmma_persistent, "blocks go over several tiles", persistent=True),
    HopperRung(wgmma_stored, "results go out by bulk copies", persistent=True, stores=True),
)
"""Each kernel is the flat text of its file."""


@dataclass(frozen=True)
class Prepared:
    """A launch, and the maps whose words its kernel reads: keep them until it is done."""

    launch: Launch
    maps: tuple[TensorMap, ...]


def prepared(rung: HopperRung, out: Any, a: Any, b: Any, blocks: int) -> Prepared:
    """The launch of out = a @ b.

    Args:
        rung: of `LADDER`.
        out: float16 on the device, (m, n).
        a: the same, (m, k).
        b: the same, (k, n).
        blocks: how many the device holds at once, one for each multiprocessor.

    Raises:
        SmemnbError: shapes that do not fit, another type, rows that are no whole 16 bytes.
    """
    rows, cols, depth = _shape(out, a, b)
    numbers = rung.module
    maps: tuple[TensorMap, ...] = (
        TensorMap(a, (numbers.ROWS, numbers.DEPTH), swizzle=SWIZZLE),
        TensorMap(b, (numbers.DEPTH, numbers.PIECE), swizzle=SWIZZLE),
    )
    if rung.stores:
        maps = (TensorMap(out, numbers.OUT_BOX, swizzle=SWIZZLE), *maps)
    args = (out, *(one.words for one in maps), depth)
    grid = rung.grid(rows, cols, blocks)
    return Prepared(Launch(rung.kernel, grid, rung.threads, args, rung.shared_bytes), maps)


def _shape(out: Any, a: Any, b: Any) -> tuple[int, int, int]:
    """Rows, columns and depth of a product.

    Raises:
        SmemnbError: as `prepared`.
    """
    for name, one in (("out", out), ("a", a), ("b", b)):
        if len(one.shape) != 2 or str(one.dtype) != "float16":
            raise SmemnbError(
                f"{name} is {one.dtype} of shape {one.shape}: these kernels multiply matrices of"
                " float16"
            )
        if one.shape[1] % EIGHT or not all(one.shape):
            raise SmemnbError(
                f"{name} has the shape {one.shape}: rows are a multiple of {EIGHT} elements, 16"
                " bytes, and none is empty"
            )
    (rows, cols), depth = out.shape, a.shape[1]
    if a.shape[0] != rows or b.shape != (depth, cols):
        raise SmemnbError(
            f"out {out.shape} = a {a.shape} @ b {b.shape} does not fit: out has a's rows and b's"
            " columns, and a as many columns as b rows"
        )
    return rows, cols, depth
