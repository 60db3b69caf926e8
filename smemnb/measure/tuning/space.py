"""The choices of a kernel as they are tuned: where a search begins, and what each step tries.

A step changes one thing, or a few that only go together (a tile with its warps). Steps stand in the
order in which they are tried: first what decides most and what the later ones depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...errors import SmemnbError
from ...kernels.matmul import ladder as products
from ...kernels.matmul.tiling import QUAD, Tiling
from ...kernels.matmul.variants.sliced import matmul_sliced_of
from ...kernels.matmul.variants.whole import matmul_of
from ...kernels.rung import UNSIGNED, Rung
from ...kernels.transpose.ladder import TYPES
from ...kernels.transpose.variants import wide

__all__ = ["Choices", "Chunks", "Step", "changed", "differences", "rung_of", "start", "steps"]
__all__ += ["steps_named"]


@dataclass(frozen=True)
class Chunks:
    """The choices of `transpose_fastest_of`: tile, threads of a block, resident blocks.

    Raises:
        ValueError: choices that do not come out even.
    """

    itemsize: int = 4
    rows: int = 64
    cols: int = 64
    threads: int = wide.THREADS
    blocks: int = wide.RESIDENT

    def __post_init__(self) -> None:
        self.kernel()

    def kernel(self) -> Any:
        """The kernel `(out, inp)`."""
        tile = self.rows, self.cols
        return wide.transpose_fastest_of(self.dtype, tile, self.threads, self.blocks)

    @property
    def dtype(self) -> Any:
        """The type under which elements are moved."""
        if self.itemsize not in TYPES:
            raise ValueError(f"itemsize={self.itemsize}, but 1, 2, 4 or 8 bytes are moved")
        return TYPES[self.itemsize]

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a block."""
        return self.rows * self.cols * self.itemsize


Choices = Tiling | Chunks


@dataclass(frozen=True)
class Step:
    """One thing that is tried: `others(best)` are the changes against the present best."""

    name: str
    why: str
    others: Callable[[Any], Sequence[Mapping[str, Any]]]


def start(operation: str, itemsize: int = 4) -> Choices:
    """The choices that the package ships, where a search begins.

    Raises:
        SmemnbError: elements of a size that the kernels do not move by chunks.
    """
    if operation == "matmul":
        return products.VARIED
    if itemsize not in wide.TILES:
        raise SmemnbError(f"--itemsize {itemsize}: transposes of 1, 2, 4 or 8 bytes are tuned")
    rows, cols = wide.TILES[itemsize]
    return Chunks(itemsize, rows, cols, *wide.BLOCKS[itemsize])


def changed(choices: Choices, changes: Mapping[str, Any]) -> Choices:
    """The choices with some of them changed.

    Raises:
        ValueError: they do not come out even, or no GPU has room for them.
    """
    return replace(choices, **changes)


def differences(choices: Choices, base: Choices) -> dict[str, Any]:
    """The choices that differ from those of `base`.

    >>> differences(Chunks(threads=256), Chunks())
    {'threads': 256}
    """
    before = asdict(base)
    return {name: value for name, value in asdict(choices).items() if value != before[name]}


def rung_of(choices: Choices) -> Rung:
    """The kernel of some choices, its launch, and what it needs; whole tiles of a product."""
    if isinstance(choices, Chunks):
        per_chunk = wide.CHUNK_BYTES // choices.itemsize
        tile = choices.rows, choices.cols
        return Rung(choices.kernel(), "tuned", (choices.threads, 1), tile, per_chunk, span=UNSIGNED)
    kernel = matmul_sliced_of(choices) if choices.slices > 1 else matmul_of(choices)
    return Rung(
        kernel,
        "tuned",
        (choices.threads, 1),
        (choices.rows, choices.cols),
        QUAD,
        scaled=True,
        span=UNSIGNED,
        depth=choices.depth * choices.slices,
    )


def steps(choices: Choices) -> tuple[Step, ...]:
    """The steps for a kernel, in the order in which they are tried."""
    return MATMUL if isinstance(choices, Tiling) else TRANSPOSE


def steps_named(choices: Choices, names: Sequence[str]) -> tuple[Step, ...]:
    """The steps of these names, in this order; all of them if there are none.

    Raises:
        SmemnbError: a name that is no step.
    """
    known = {step.name: step for step in steps(choices)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SmemnbError(f"--steps {unknown[0]}: the steps are {', '.join(known)}")
    return tuple(known[name] for name in names) or tuple(known.values())


def _each(name: str, *values: Any) -> Callable[[Any], list[dict[str, Any]]]:
    """One choice, each of these values."""
    return lambda best: [{name: value} for value in values]


def _tiles(best: Tiling) -> list[dict[str, Any]]:
    """Tiles of the block with their warps and lanes, the blocks that are resident then."""
    names = ("rows", "cols", "warp_rows", "warp_cols", "lanes_down", "resident")
    return [dict(zip(names, values, strict=True)) for values in _TILES]


_TILES = (
    (128, 128, 64, 64, 4, 2),  # 16x8 per thread, 128 threads
    (128, 128, 64, 64, 8, 2),  # 8x16
    (128, 128, 64, 32, 8, 2),  # 8x8, 256 threads
    (128, 128, 32, 64, 4, 2),
    (256, 128, 64, 64, 4, 1),  # 16x8, 256 threads
    (128, 256, 64, 64, 4, 1),
    (128, 64, 64, 32, 8, 3),  # 8x8, 128 threads
    (64, 128, 64, 32, 8, 3),
    (64, 64, 64, 32, 8, 4),  # 8x8, 64 threads
)


def _depths(best: Tiling) -> list[dict[str, Any]]:
    """Depths with the store of the next tiles as many steps before the end."""
    left = None if best.stage_at is None else best.depth - best.stage_at
    return [
        {"depth": depth, "stage_at": None if left is None else max(0, depth - left)}
        for depth in (4, 8, 16)
    ]


def _stages(best: Tiling) -> list[dict[str, Any]]:
    """The step before which the next tiles are stored: the last ones, the middle, after all."""
    steps = best.depth - (best.fragments - 1)
    places = sorted({0, steps // 2, *range(max(0, steps - 4), steps)})
    return [{"stage_at": None}, *({"stage_at": place} for place in places)]


def _fragments(best: Tiling) -> list[dict[str, Any]]:
    """One set of registers for the fragments, or two: then the loop has a step less."""
    if best.fragments == 1:
        last = best.depth - 2
        place = None if best.stage_at is None else min(best.stage_at, last)
        return [{"fragments": 2, "stage_at": place}]
    return [{"fragments": 1}]


MATMUL = (
    Step("tile", "what each thread, warp and block makes: reads per product", _tiles),
    Step("resident", "blocks at once: warps that hide waits, against registers", _each(
        "resident", 1, 2, 3, 4
    )),
    Step("depth", "length of the loop: fewer barriers, more instructions in it", _depths),
    Step("buffers", "the next tiles during the product, or after it", lambda best: [
        {"buffers": 3 - best.buffers, "stage_at": None}
    ]),
    Step("fragments", "reads of the next step during this one", _fragments),
    Step("stage_at", "when the next tiles are stored", _stages),
    Step("pinned", "whether their loads stay at the top of the loop", lambda best: [
        {"pinned": not best.pinned}
    ]),
    Step("interleaved", "wavefronts of the reads of b", lambda best: [
        {"interleaved": not best.interleaved}
    ]),
    Step("turn", "registers that are read again from product to product", _each("turn", 0, 1, 2)),
    Step("band", "what neighbouring blocks share in L2", _each("band", 0, 2, 4, 8, 16)),
)  # fmt: skip
"""The steps of a product."""


def _chunk_tiles(best: Chunks) -> list[dict[str, Any]]:
    """Tiles of 8 to 32 KB around the shipped one."""
    rows, cols = wide.TILES[best.itemsize]
    by = [(1, 1), (1, 2), (2, 1), (2, 2)]
    sizes = {(rows * y // 2, cols * x // 2) for y, x in by} | {(rows * y, cols * x) for y, x in by}
    sizes |= {(rows // 2, cols), (rows, cols // 2), (rows // 2, cols * 2), (rows * 2, cols // 2)}
    return [{"rows": high, "cols": across} for high, across in sorted(sizes)]


def _block_sizes(best: Chunks) -> list[dict[str, Any]]:
    """Threads of a block, with as many blocks as keep the resident threads what they are."""
    resident = best.threads * best.blocks
    sizes = (128, 256, 512, 1024)
    return [{"threads": size, "blocks": max(1, resident // size)} for size in sizes]


TRANSPOSE = (
    Step("tile", "bytes per row of the tile, against blocks at once", _chunk_tiles),
    Step("threads", "loads that a thread has in flight", _block_sizes),
    Step("blocks", "blocks at once, against registers", _each("blocks", 1, 2, 3, 4, 6, 8)),
)
"""The steps of a transpose."""
