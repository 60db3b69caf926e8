"""How a product of any shape is cut: the choices of the kernels of `variants.guarded`.

A block makes `rows` x `cols` elements of the result, by warps of `lanes_down` x `lanes_across`
lanes, each lane `tall` x `wide` elements. The warps of a slice cover the tile once; every slice
takes its own steps of `depth` along the depth, and the block adds their sums at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..choices import Problem, no_block, no_residence, refuse, wrong_number

WARP = 32
QUAD = 4  # elements in 16 bytes
TURNED_PAD = QUAD
"""Pad words of a tile row that was turned on its way: lanes that hold several k of one row or
column store into banks of their own."""


@dataclass(frozen=True)
class Cut:
    """The choices of a product of any shape; all but `resident` and `band` are powers of two.

    Rows, columns, `tall` and `wide` may be three times a power of two in kernels without guards.

    Attributes:
        rows: of the result per block.
        cols: of the result per block.
        depth: columns of a, rows of b, per step.
        tall: rows of a lane, in quads 4 * lanes_down apart.
        wide: columns of a lane, likewise.
        lanes_down: lanes of a warp one below the other.
        slices: groups of warps that make the tile, each from its own steps of the depth.
        resident: blocks that a multiprocessor must hold at once.
        band: rows of tiles that are walked together.

    Raises:
        ValueError: choices that do not come out even, or that no GPU has room for.
    """

    rows: int
    cols: int
    depth: int = 8
    tall: int = 8
    wide: int = 8
    lanes_down: int = 4
    slices: int = 1
    resident: int = 1
    band: int = 8

    interleaved = True  # lanes in pairs: both fragment reads take 2 wavefronts
    turn = 1
    fragments = 2

    def __post_init__(self) -> None:
        usual = {field.name: field.default for field in fields(self)}
        refuse("Cut", asdict(self), _problem, usual)

    @property
    def lanes_across(self) -> int:
        """Lanes side by side in a warp's part of the tile."""
        return WARP // self.lanes_down

    @property
    def thread(self) -> tuple[int, int]:
        """Rows and columns of a thread."""
        return self.tall, self.wide

    @property
    def warp_rows(self) -> int:
        """Rows of a warp."""
        return self.tall * self.lanes_down

    @property
    def warp_cols(self) -> int:
        """Columns of a warp."""
        return self.wide * self.lanes_across

    @property
    def workers(self) -> int:
        """Threads of a slice."""
        return self.rows * self.cols // (self.tall * self.wide)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.workers * self.slices

    @property
    def tile_elems(self) -> int:
        """Elements of two buffers of both tiles, for all slices, pads counted."""
        return 2 * self.slices * self.depth * (self.rows + self.cols + 2 * TURNED_PAD)

    @property
    def sum_elems(self) -> int:
        """Elements that the slices put into shared memory to be added."""
        return self.slices * self.rows * self.cols if self.slices > 1 else 0

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block: the sums come where the tiles were."""
        return 4 * max(self.tile_elems, self.sum_elems)

    @property
    def registers(self) -> int:
        """Registers that a thread needs in any case."""
        return self.tall * self.wide + 2 * (self.tall + self.wide)


_POWERS = ("rows", "cols", "depth", "tall", "wide", "lanes_down", "slices")
_THREES = ("rows", "cols", "tall", "wide")
"""Of these also three times a power of two."""
_LEAST = dict.fromkeys(("rows", "cols", "depth", "tall", "wide"), QUAD)
_LEAST |= {"lanes_down": 2, "slices": 1, "resident": 1, "band": 1}


def _problem(values: Mapping[str, Any]) -> Problem | None:
    """The first choice that does not go with the others."""
    wrong = wrong_number(values, _LEAST)
    if wrong:
        return wrong
    for field in _POWERS:
        part, also = values[field], ""
        if field in _THREES:
            part, also = part if part % 3 else part // 3, ", or three times one,"
        if part & (part - 1):
            return Problem(field, f"a power of two{also} is wanted")
    if values["lanes_down"] > WARP:
        return Problem("lanes_down", f"a warp has {WARP} lanes: at most {WARP} is wanted")
    made = object.__new__(Cut)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    for field, part in (("rows", made.warp_rows), ("cols", made.warp_cols)):
        if values[field] < part:
            return Problem(field, f"a warp makes {part} of them: at least {part} is wanted")
    for field in ("rows", "cols"):
        if values[field] * made.depth < QUAD * made.workers:
            return Problem(
                field,
                f"{made.workers} threads load {values[field] * made.depth} elements of a tile by"
                " quads: a quad for each is wanted",
            )
    return no_block("slices", made.threads, "depth", made.shared_bytes) or no_residence(
        "resident", made.resident, made.threads, made.shared_bytes, made.registers
    )
