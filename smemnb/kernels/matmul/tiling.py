"""How a product is cut: tiles of blocks, warps and threads, and in which order things are done.

A block makes `rows` x `cols` elements of the result, `depth` columns of a at a time. Each of its
warps makes `warp_rows` x `warp_cols` of them, by `lanes_down` x `lanes_across` lanes. A lane's
rows are groups of 4 neighbours, `4 * lanes_down` apart, so that it reads them by 16 bytes; its
columns likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..choices import Problem, no_block, no_residence, refuse, wrong_number

WARP = 32
QUAD = 4  # elements in 16 bytes


@dataclass(frozen=True)
class Tiling:
    """The choices of a register-tiled product.

    Attributes:
        interleaved: neighbouring lanes in pairs share rows or columns, so that both fragment reads
            are broadcasts in lane pairs and take two wavefronts where they could take four.
        buffers: shared tiles of each matrix; with 2 the next ones are loaded during the product.
        pinned: loads of the next tiles stay where they are written, at the top of the main loop;
            the compiler would move them down, close to where their values are stored.
        fragments: registers for rows and columns; with 2 those of step k + 1 are read during k.
        turn: rows after which the outer product goes back along the columns; 0: never.
        stage_at: the step before which the next tiles are stored; None: after the last.
        band: rows of tiles that are walked together, 0 for row after row.
        resident: blocks that a multiprocessor must hold at once.
        slices: groups of warps that make the same tile, each from its own part of the depth; their
            results are added at the end. Whole tiles only, a depth of whole tiles in each slice.

    Raises:
        ValueError: choices that do not come out even, or that no GPU has room for. The message
            names the choice, what is wanted of it, and the nearest values that would do.
    """

    rows: int = 128
    cols: int = 128
    depth: int = 8
    warp_rows: int = 16
    warp_cols: int = 128
    lanes_down: int = 2
    interleaved: bool = False
    buffers: int = 1
    pinned: bool = False
    fragments: int = 1
    turn: int = 0
    stage_at: int | None = None
    band: int = 0
    resident: int = 2
    slices: int = 1

    def __post_init__(self) -> None:
        usual = {field.name: field.default for field in fields(self)}
        refuse("Tiling", asdict(self), _problem, usual)

    @property
    def lanes_across(self) -> int:
        """Lanes side by side in a warp's tile."""
        return WARP // self.lanes_down

    @property
    def thread(self) -> tuple[int, int]:
        """Rows and columns of a thread."""
        return self.warp_rows // self.lanes_down, self.warp_cols // self.lanes_across

    @property
    def workers(self) -> int:
        """Threads of a slice: those that make a tile's product together."""
        return WARP * (self.rows // self.warp_rows) * (self.cols // self.warp_cols)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.workers * self.slices

    @property
    def quads(self) -> tuple[int, int]:
        """16-byte loads per thread for a tile of a, and for one of b."""
        per_pass = QUAD * self.workers
        return self.rows * self.depth // per_pass, self.cols * self.depth // per_pass

    @property
    def a_pitch(self) -> int:
        """Elements from one column to the next in the turned tile of a.

        The 4 pad words keep apart the stores of lanes that hold different k of the same rows.
        """
        return self.rows + QUAD

    @property
    def sizes(self) -> tuple[int, int]:
        """Elements of one shared tile of a, and of b."""
        return self.depth * self.a_pitch, self.depth * self.cols

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block."""
        return 4 * self.buffers * self.slices * sum(self.sizes)

    @property
    def registers(self) -> int:
        """Registers that a thread needs in any case: its results, and a fragment of each matrix."""
        tall, wide = self.thread
        return tall * wide + tall + wide


LEAST = {
    "rows": QUAD,
    "cols": QUAD,
    "depth": QUAD,
    "warp_rows": QUAD,
    "warp_cols": QUAD,
    "lanes_down": 1,
    "buffers": 1,
    "fragments": 1,
    "turn": 0,
    "band": 0,
    "resident": 1,
    "slices": 1,
}
"""The choices that are numbers, and the smallest value of each."""


def _problem(values: Mapping[str, Any]) -> Problem | None:
    """The first choice that does not go with the others, in the order in which they build up."""
    return (
        wrong_number(values, LEAST)
        or _few(values)
        or _lanes(values)
        or _warps(values)
        or _loads(_unchecked(values))
        or _staging(_unchecked(values))
        or _room(_unchecked(values))
    )


def _unchecked(values: Mapping[str, Any]) -> Tiling:
    """A tiling of these values, for what its properties work out."""
    made = object.__new__(Tiling)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _few(values: Mapping[str, Any]) -> Problem | None:
    """Choices of which only some values have a kernel."""
    for field, wanted in (("buffers", (1, 2)), ("fragments", (1, 2)), ("slices", (1, 4))):
        if values[field] not in wanted:
            return Problem(field, f"{wanted[0]} or {wanted[1]} is wanted")
    for field in ("interleaved", "pinned"):
        if type(values[field]) is not bool:
            return Problem(field, "True or False is wanted")
    return None


def _lanes(values: Mapping[str, Any]) -> Problem | None:
    """How 32 lanes share the tile of a warp, in quads."""
    down = values["lanes_down"]
    if WARP % down:
        return Problem(
            "lanes_down",
            f"a warp's {WARP} lanes stand in whole rows: 1, 2, 4, 8, 16 or 32 is wanted",
        )
    if values["interleaved"] and down < 2:
        return Problem(
            "lanes_down",
            "interleaved lanes share columns in pairs: 2 or more rows of lanes are wanted",
        )
    across = WARP // down
    if values["warp_rows"] % (QUAD * down):
        return Problem(
            "warp_rows",
            f"each of {down} lanes down takes quads of rows: a multiple of {QUAD * down} is wanted",
        )
    if values["warp_cols"] % (QUAD * across):
        return Problem(
            "warp_cols",
            f"each of {across} lanes across takes quads of columns: a multiple of {QUAD * across}"
            " is wanted",
        )
    return None


def _warps(values: Mapping[str, Any]) -> Problem | None:
    """How the tiles of warps make up that of the block."""
    for field, part in (("rows", "warp_rows"), ("cols", "warp_cols")):
        if values[field] % values[part]:
            return Problem(
                field, f"whole warp tiles make it up: a multiple of {part}={values[part]} is wanted"
            )
    return None


def _loads(tiling: Tiling) -> Problem | None:
    """How the threads of a slice load a tile of each matrix, by quads and element by element."""
    workers, depth = tiling.workers, tiling.depth
    if depth % QUAD:
        return Problem(
            "depth", f"a row of the tile of a is loaded by quads: a multiple of {QUAD} is wanted"
        )
    if workers % depth:
        return Problem(
            "depth",
            f"{workers} threads load whole rows of the tile of a, element by element: a divisor of"
            f" {workers} is wanted",
        )
    if workers % tiling.cols:
        return Problem(
            "cols",
            f"{workers} threads load whole rows of the tile of b, element by element: a divisor of"
            f" {workers} is wanted",
        )
    for field, name in (("rows", "a"), ("cols", "b")):
        elements = getattr(tiling, field) * depth
        if elements % (QUAD * workers):
            return Problem(
                field,
                f"{workers} threads load the {elements} elements of a tile of {name} by quads,"
                f" equally many each: a multiple of {QUAD * workers} elements is wanted",
            )
    return None


def _staging(tiling: Tiling) -> Problem | None:
    """When the next tiles are stored, and where the slices put their results."""
    if tiling.stage_at is not None:
        steps = tiling.depth - (tiling.fragments - 1)
        if type(tiling.stage_at) is not int or not 0 <= tiling.stage_at < steps:
            return Problem(
                "stage_at", f"the loop lays out {steps} steps: one of 0 to {steps - 1}, or None"
            )
        if tiling.buffers != 2:
            return Problem(
                "stage_at",
                "with one buffer the next tiles would overwrite those that are being read:"
                " None, or buffers=2",
            )
    room = tiling.buffers * tiling.slices * min(tiling.sizes)
    if tiling.slices > 1 and room < tiling.rows * tiling.cols:
        return Problem(
            "slices",
            f"a slice puts {tiling.rows * tiling.cols} sums where the tiles of a or b were, which"
            f" have {room} elements",
        )
    return None


def _room(tiling: Tiling) -> Problem | None:
    """What a block and a multiprocessor hold."""
    threads, shared_bytes = tiling.threads, tiling.shared_bytes
    return no_block("rows", threads, "depth", shared_bytes) or no_residence(
        "resident", tiling.resident, threads, shared_bytes, tiling.registers
    )
