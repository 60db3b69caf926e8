"""How a product of a few vectors and a large matrix is cut, and the rules that choose the cut.

Such a product takes as long as the matrix takes to come from memory, once. What matters is that
enough bytes are on their way at any time: bandwidth times latency, about 40 KB per multiprocessor
of an H200. So every thread has several loads of 16 bytes under way, every multiprocessor all the
threads that it has registers for, and where the columns alone are too few for that, the depth is
cut into parts.

A block has 8 warps. `groups` of them stand side by side along the columns of the matrix, the others
are slices that part the depth; within a warp, `across` lanes stand side by side, and the rest part
the depth again. A thread makes 4 columns of the result for every vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...choices import SHARED_BYTES, Problem, refuse

WARP, WARPS = 32, 8
THREADS = WARP * WARPS
QUAD = 4  # elements in 16 bytes, and columns of a thread
COUNTS = (1, 2, 4, 8, 16)
"""Vectors that a block can take at once."""

REGISTERS, OTHERS = 65_536, 24
"""Registers of a multiprocessor, and those of a thread beside its results and its loads."""

CHUNK = {1: 2048, 2: 2048, 4: 1024, 8: 512, 16: 512}
"""Elements of each vector that lie in shared memory at a time: 8 to 32 KB in all."""

PART = 32
"""Parts of the depth are multiples of this, so that each begins at a line of 128 bytes."""

CHAIN = 256
"""Sums of a few products that a thread adds one after the other at most; what is deeper is cut, as
the error of a serial sum grows with the square root of its length."""

PART_BYTES = 16 * 1024
"""Bytes of the matrix that a block reads at least: below, starting and adding up cost more."""

AT_ONCE = 66
"""Parts of one piece of the result up to which cutting the depth is always worth their sums; more
are made only where a block then still reads `MANY_PART_BYTES`."""

MANY_PART_BYTES = 4 * PART_BYTES


@dataclass(frozen=True)
class VectorTiling:
    """The choices of a product of vectors and a matrix.

    Attributes:
        along: where neighbours of the large matrix lie in memory: "columns" or "depth".
        count: vectors that a block takes at once, of `COUNTS`.
        wide: loads of 16 bytes. The matrix then begins at 16 bytes, as does each of its rows, and
            they are of whole quads. Otherwise loads of 4 bytes, of any matrix.
        across: lanes of a warp side by side along the columns; the other lanes part the depth.
        groups: warps of a block side by side along the columns; the other warps part the depth.
        loads: loads of 16 bytes that a thread has under way (or four times as many of 4 bytes).

    Raises:
        ValueError: choices that do not come out even, or that no GPU has room for. The message
            names the choice, what is wanted of it, and the nearest values that would do.
    """

    along: str
    count: int
    wide: bool = True
    across: int = 32
    groups: int = 1
    loads: int = 8

    def __post_init__(self) -> None:
        usual = {field.name: field.default for field in fields(self)}
        refuse("VectorTiling", asdict(self), _problem, usual)

    @property
    def lanes_deep(self) -> int:
        """Lanes of a warp that part the depth."""
        return WARP // self.across

    @property
    def slices(self) -> int:
        """Warps of a block that part the depth."""
        return WARPS // self.groups

    @property
    def columns(self) -> int:
        """Columns that a block makes."""
        return QUAD * self.across * self.groups

    @property
    def span(self) -> int:
        """Steps of the depth that a warp loads at once."""
        return self.lanes_deep * self.loads

    @property
    def step(self) -> int:
        """Steps of the depth that a block loads at once."""
        return self.slices * self.span

    @property
    def chunk(self) -> int:
        """Elements of each vector in shared memory."""
        return max(CHUNK[self.count], self.step)

    @property
    def pad(self) -> int:
        """Elements between vectors in shared memory, where lanes of a warp store several of them.

        With 16 vectors two lanes still meet in a bank, as each vector begins at 16 bytes.
        """
        return max(QUAD, WARP // self.count) if self.count > 1 else 0

    @property
    def values(self) -> int:
        """Results that a lane holds once the lanes of its warp have added up."""
        return max(1, QUAD * self.count // self.lanes_deep)

    @property
    def slot(self) -> int:
        """Elements of `sums` that a block's results take."""
        return self.groups * self.values * WARP

    @property
    def shared_elems(self) -> int:
        """Elements of shared memory: for the vectors, and later for the sums of half the slices."""
        return max(self.count * (self.chunk + self.pad), self.slices // 2 * self.slot)

    @property
    def resident(self) -> int:
        """Blocks that a multiprocessor holds at once."""
        return resident_blocks(self.count, self.loads)


def resident_blocks(count: int, loads: int) -> int:
    """Blocks on a multiprocessor: what the registers of a thread leave room for.

    >>> [resident_blocks(count, 8) for count in COUNTS]
    [4, 4, 3, 2, 2]
    """
    return REGISTERS // (THREADS * (QUAD * count + QUAD * loads + OTHERS))


def _problem(values: Mapping[str, Any]) -> Problem | None:
    """What is wrong with the values of the choices, if anything."""
    if values["along"] not in ("columns", "depth"):
        return Problem("along", 'neighbours lie along the "columns" or along the "depth"')
    if type(values["wide"]) is not bool:
        return Problem("wide", "it is True or False")
    allowed = {
        "count": COUNTS,
        "across": (1, 2, 4, 8, 16, 32),
        "groups": (1, 2, 4, 8),
        "loads": (4, 8, 16),
    }
    for name, some in allowed.items():
        if type(values[name]) is not int or values[name] not in some:
            *most, last = some
            return Problem(name, f"it is {', '.join(map(str, most))} or {last}")
    count, slices = values["count"], WARPS // values["groups"]
    step = slices * WARP // values["across"] * values["loads"]
    chunk = max(CHUNK[count], step)
    held = 4 * count * (chunk + max(QUAD, WARP // count))
    if held > SHARED_BYTES - 16:
        return Problem(
            "loads" if values["loads"] > 4 else "groups",
            f"a block loads {step} steps of the depth at once, and {count} vectors of so many"
            f" elements take {held} bytes of {SHARED_BYTES} of shared memory",
        )
    return None


@dataclass(frozen=True)
class VectorPlan:
    """How a product of vectors and a matrix is launched.

    Attributes:
        tiling: for `vector_product_of`.
        grid: blocks along the columns, over the vectors, and over the parts of the depth.
        block: threads of a block, (x, y).
        sums: float32 of the workspace; 0 where the depth is not cut.
        flags: uint32 of the workspace, all 0 before the launch and after it.
    """

    tiling: VectorTiling
    grid: tuple[int, int, int]
    block: tuple[int, int]
    sums: int
    flags: int

    @property
    def parts(self) -> int:
        """Parts of the depth."""
        return self.grid[2]


def vector_plan(
    count: int, length: int, depth: int, along: str, wide: bool, multiprocessors: int = 132
) -> VectorPlan:
    """The launch for `count` vectors of length `depth` and a matrix of `depth` x `length`.

    One vector and a square matrix of 64 MB, whose neighbours lie along the columns: 32 pieces of
    the result of 128 columns each, and the depth in parts, so that there is a block for each place
    on 132 multiprocessors.

    >>> plan = vector_plan(1, 4096, 4096, "columns", True)
    >>> plan.grid, plan.tiling.across, plan.tiling.slices, plan.sums
    ((32, 1, 16), 32, 8, 65536)

    The same matrix the other way round: a warp takes 4 columns, its lanes walk along the depth.

    >>> plan = vector_plan(1, 4096, 4096, "depth", True)
    >>> plan.grid, plan.tiling.across, plan.tiling.slices
    ((512, 1, 1), 1, 4)

    A long result needs no parts; a short one, from a deep matrix, many.

    >>> vector_plan(4, 100_000, 64, "depth", True).grid
    (1563, 1, 1)
    >>> vector_plan(16, 16, 100_000, "depth", True).grid
    (1, 1, 95)

    Args:
        count: vectors, at least 1; above 16, blocks take 16 at a time.
        length: columns of the matrix, at least 1.
        depth: length of the vectors.
        along: where neighbours of the matrix lie: "columns" or "depth".
        wide: the matrix and its rows begin at 16 bytes, and they are of whole quads.
        multiprocessors: of the GPU.

    Raises:
        ValueError: a count, a length or multiprocessors below 1, or a depth below 0.
    """
    for name, value, least in (
        ("count", count, 1),
        ("length", length, 1),
        ("depth", depth, 0),
        ("multiprocessors", multiprocessors, 1),
    ):
        if value < least:
            raise ValueError(f"{name}={value}, but it is at least {least}")
    tiling = _tiling(count, length, depth, along, wide, multiprocessors)
    pieces = -(-length // tiling.columns)
    sets = -(-count // tiling.count)
    parts = _parts(tiling, pieces * sets, depth, multiprocessors)
    return launched(tiling, count, length, parts)


def launched(tiling: VectorTiling, count: int, length: int, parts: int) -> VectorPlan:
    """The launch of a tiling with so many parts of the depth.

    >>> launched(VectorTiling("columns", 2), 3, 200, 5).grid
    (2, 2, 5)
    """
    pieces, sets = -(-length // tiling.columns), -(-count // tiling.count)
    cut = parts > 1
    return VectorPlan(
        tiling,
        (pieces, sets, parts),
        (THREADS, 1),
        pieces * sets * parts * tiling.slot if cut else 0,
        pieces * sets if cut else 0,
    )


def _tiling(
    count: int, length: int, depth: int, along: str, wide: bool, multiprocessors: int
) -> VectorTiling:
    """The tiling for a shape."""
    taken = next((some for some in COUNTS if some >= count), COUNTS[-1])
    loads = 8  # more leave fewer blocks on a multiprocessor, fewer more instructions per load
    if along == "depth":
        # as many lanes along the depth as it has quads; the others take columns
        across = next((some for some in (1, 2, 4) if WARP // some * QUAD <= depth), 8)
    else:
        # whole lines of 128 bytes, unless the rows of the matrix are shorter
        across = 32 if length > 256 else 8 if length > 16 else 4
    # every block stages the vectors that it needs, so few columns would cost many loads of them
    least = 32 if along == "depth" and taken > 2 else 8
    groups, columns, span = 1, QUAD * across, WARP // across * loads
    places = multiprocessors * resident_blocks(taken, loads)
    while groups < WARPS:
        step = WARPS // groups * span
        shallow = 2 * step > depth  # slices would have one turn, and nothing to hide
        narrow = columns * groups < min(least, length)
        enough = along == "depth" and length >= 2 * columns * groups * places
        if not (shallow or narrow or enough or step > CHUNK[taken]):
            break
        groups *= 2
    return VectorTiling(along, taken, wide, across, groups, loads)


def _parts(tiling: VectorTiling, blocks: int, depth: int, multiprocessors: int) -> int:
    """Parts of the depth: a block for each place on the GPU, none with too little to do."""
    places = multiprocessors * tiling.resident
    line = 4 * tiling.columns  # bytes of a step of the depth
    most = depth * line // PART_BYTES
    if most > AT_ONCE:
        most = max(AT_ONCE, depth * line // MANY_PART_BYTES)
    wanted = places // blocks
    if blocks > places:  # rounds of blocks, of which the last one may be nearly empty
        most = min(4, depth * line // MANY_PART_BYTES)
        wanted = max(range(1, 5), key=lambda some: (_filled(some * blocks, places), -some))
    chained = tiling.step * CHAIN  # steps of the depth whose sums make the longest chain
    parts = max(1, min(wanted, most), -(-depth // chained))
    part = -(-max(depth, 1) // parts)
    part = -(-part // PART) * PART
    return max(1, -(-depth // part))


def _filled(blocks: int, places: int) -> float:
    """The share of the places that rounds of blocks fill, in steps of a tenth.

    >>> _filled(600, 528), _filled(1200, 528)
    (0.6, 0.8)
    """
    return round(blocks / (-(-blocks // places) * places), 1)
