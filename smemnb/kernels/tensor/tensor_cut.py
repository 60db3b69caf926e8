"""How a tensor product is cut: tiles, warps and stages, and what a block of them needs.

A block makes `rows` x `cols` of the result by warps of `warp_rows` x `warp_cols`, `depth` words of
4 bytes of the depth at a time: 16 words are 32 numbers of 16 bits or 16 of 32. `stages` such steps
are in shared memory at once, one that is multiplied and the others under way.

The words do not depend on the type, so one cut serves float16, bfloat16 and tf32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...hardware import LIMITS
from ..choices import Problem, refuse, wrong_number

__all__ = ["CHUNK", "KINDS", "Kind", "TensorCut"]

WARP = 32
CHUNK = 4
"""Words of 16 bytes, which move at once; 8 of them are a line of a tile at most."""
LINE = 8
STEP = 8
"""Words of the depth that one mma takes, of every type: 32 bytes."""
MMA_ROWS, MMA_COLS = 16, 8
PAD = 8
"""Words beside a row of results on their way through shared memory."""
REGISTERS = 255
OTHERS = 20
"""Registers for addresses and counters, at least."""


@dataclass(frozen=True)
class Kind:
    """A type of operands.

    Attributes:
        name: as PTX has it.
        per_word: numbers in 4 bytes.
        dtype: by NumPy's name.
    """

    name: str
    per_word: int
    dtype: str


KINDS = {
    "f16": Kind("f16", 2, "float16"),
    "bf16": Kind("bf16", 2, "bfloat16"),
    "tf32": Kind("tf32", 1, "float32"),
}


@dataclass(frozen=True)
class TensorCut:
    """The choices of a tensor product.

    Attributes:
        rows: of the result per block.
        cols: of the result per block.
        depth: words of the depth per step, 16 or 32.
        warp_rows: of the result per warp.
        warp_cols: likewise.
        stages: steps that are in shared memory at once.
        resident: blocks that a multiprocessor must hold at once.
        band: rows of tiles that are walked together.
        lasting: 1 for blocks that stay and take tile after tile (`variants.lasting`), else 0.

    Raises:
        ValueError: choices that do not come out even, or that no GPU has room for.
    """

    rows: int = 128
    cols: int = 128
    depth: int = 16
    warp_rows: int = 64
    warp_cols: int = 64
    stages: int = 4
    resident: int = 1
    band: int = 8
    lasting: int = 0

    def __post_init__(self) -> None:
        usual = {field.name: field.default for field in fields(self)}
        refuse("TensorCut", asdict(self), _problem, usual)

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.rows // self.warp_rows * (self.cols // self.warp_cols)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * self.warps

    @property
    def stage_words(self) -> int:
        """Words of both tiles of a step."""
        return (self.rows + self.cols) * self.depth

    @property
    def ending_words(self) -> int:
        """Words in which the warps put 16 rows of results each, as float32."""
        return self.warps * MMA_ROWS * (self.warp_cols + PAD)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a launch brings; results come where the tiles were."""
        return 4 * max(self.stages * self.stage_words, self.ending_words)

    @property
    def registers(self) -> int:
        """Registers of a thread in any case: sums, two steps of fragments, addresses."""
        sums = self.warp_rows * self.warp_cols // WARP
        fragments = 2 * (self.warp_rows + self.warp_cols) // 4
        return sums + fragments + OTHERS

    @property
    def steps(self) -> int:
        """Steps of an mma along the depth of a stage."""
        return self.depth // STEP


_LEAST = {"rows": 32, "cols": 32, "depth": 16, "warp_rows": 32, "warp_cols": 32}
_LEAST |= {"stages": 2, "resident": 1, "band": 1, "lasting": 0}


def _problem(values: Mapping[str, Any]) -> Problem | None:
    """The first choice that does not go with the others."""
    wrong = wrong_number(values, _LEAST)
    if wrong:
        return wrong
    if values["depth"] not in (16, 32):
        return Problem("depth", "16 or 32 words are wanted: lines of 64 or 128 bytes")
    if values["lasting"] > 1:
        return Problem("lasting", "0 or 1 is wanted")
    if values["lasting"] and values["stages"] < 4:
        return Problem("stages", "blocks that stay need 4: one of them holds what is stored")
    for field in ("warp_rows", "warp_cols"):
        if values[field] % 32:
            return Problem(field, "a multiple of 32 is wanted")
    for field in ("rows", "cols"):
        if values[field] % values[f"warp_{field}"]:
            return Problem(field, f"a multiple of warp_{field} is wanted")
    made = object.__new__(TensorCut)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    if made.threads > 1024:
        return Problem("rows", f"that makes {made.threads} threads in a block, which has 1024")
    for field in ("rows", "cols"):
        if values[field] * made.depth % (CHUNK * made.threads):
            return Problem(
                field,
                f"{made.threads} threads copy {values[field] * made.depth // CHUNK} chunks of a"
                " tile: as many for each are wanted",
            )
    most = max(limits.registers_per_sm for limits in LIMITS.values())
    allowed = min(REGISTERS, most // (made.resident * made.threads))
    if made.registers > allowed:
        return Problem(
            "resident",
            f"a thread needs {made.registers} registers, and with {made.resident} blocks of"
            f" {made.threads} threads it has {allowed}",
        )
    if made.lasting and made.ending_words > made.stage_words:
        return Problem("lasting", "a stage is too small to hold the results on their way")
    shared = max(limits.shared_per_sm for limits in LIMITS.values())
    if made.resident * (made.shared_bytes + 1024) > shared:
        return Problem(
            "stages",
            f"{made.resident} blocks with {made.shared_bytes:,} bytes of shared memory are more"
            f" than a multiprocessor has, {shared:,}",
        )
    return None
