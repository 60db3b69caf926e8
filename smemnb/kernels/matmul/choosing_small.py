"""Which kernel makes a small, shallow or narrow product, by a model of what each would cost.

Beside the tiles of `choosing` there are four families here, and each has its own price:

    direct    every element by a few lanes: the way from memory, once per turn of loads, and the
              lines that loads of neighbouring lanes touch
    shallow   the result is written once; rows per turn, and what each turn waits for
    small     tiles whose warps part the depth: multiply-adds, copies, the sum of slices
    vectors   a few rows or columns: the large operand is read once

`offers` lists candidates with their prices in cycles of a multiprocessor, `cheapest` takes the
least.

**Limits**: the constants are those of an H200 (cc 9.0), fitted to seeded products there
(`kernels/TUNING.md`); the order of candidates is what they are for. No time is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from ...rules.occupancy import occupancy
from . import unguarded
from .choosing import Estimate
from .variants import direct, shallow
from .variants.small import SmallTiling
from .variants.vector_tiling import VectorPlan, vector_plan

GFLOP = 1_000_000_000
FEW = 16
"""Rows or columns up to which `variants.vectors` takes a product."""


@dataclass(frozen=True)
class Laid:
    """A product and where its operands lie.

    Attributes:
        rows, cols, depth: of the result, and the columns of a.
        a_columns, b_columns: whether an operand lies by columns.
        wide_a, wide_b, wide_out: whether rows in memory begin at multiples of 16 bytes, and hold
            whole quads.
    """

    rows: int
    cols: int
    depth: int
    a_columns: bool = False
    b_columns: bool = False
    wide_a: bool = False
    wide_b: bool = False
    wide_out: bool = False

    @property
    def bytes(self) -> int:
        """Of both operands and the result, each counted once."""
        return 4 * (self.rows * self.depth + self.depth * self.cols + self.rows * self.cols)


@dataclass(frozen=True)
class Offer:
    """A candidate.

    Attributes:
        kind: "direct", "shallow", "small" or "vectors".
        choice: (group, lanes, order), the steps, the tiling, or the plan of vectors.
        grid: of the launch.
        threads: of a block.
        parts: of the depth over blocks.
        cycles: its price.
        limit: what sets most of it.
    """

    kind: str
    choice: Any
    grid: tuple[int, ...]
    threads: int
    parts: int
    cycles: float
    limit: str


SMALL_TILINGS = (
    SmallTiling(4, 64, 64, slices=16, stages=2),
    SmallTiling(64, 4, 64, slices=16, stages=2),
    SmallTiling(8, 32, 64, slices=16),
    SmallTiling(32, 8, 64, slices=16),
    SmallTiling(16, 16, 64, slices=16),
    SmallTiling(32, 16, 64, slices=8),
    SmallTiling(16, 32, 64, slices=8),
    SmallTiling(32, 32, 32, slices=4, stages=4),
    SmallTiling(64, 16, 32, 8, 4, 8, 3, 2),
    SmallTiling(16, 64, 32, 4, 8, 8, 3, 2),
    SmallTiling(64, 32, 32, 4, 4, 2, 3, 3),
    SmallTiling(32, 64, 32, 4, 4, 2, 3, 3),
    SmallTiling(64, 64, 16, 4, 4, 1, 3, 3),
    SmallTiling(64, 32, 32, 8, 4, 4, 3, 2),
    SmallTiling(32, 64, 32, 4, 8, 4, 3, 2),
    SmallTiling(128, 32, 16, 8, 4, 2, 3, 2),
    SmallTiling(32, 128, 16, 4, 8, 2, 3, 2),
    SmallTiling(64, 64, 16, 8, 4, 2, 4, 2),
    SmallTiling(64, 64, 16, 8, 8, 2, 3, 3),
    SmallTiling(128, 64, 16, 8, 8, 1, 3, 2),
    SmallTiling(64, 128, 16, 8, 8, 1, 3, 2),
    SmallTiling(64, 64, 32, 8, 4, 2, 2, 2),
    SmallTiling(64, 64, 32, 4, 4, 1, 1, 4),
    SmallTiling(32, 64, 32, 4, 4, 2, 1, 4),
)
"""From which `cheapest` takes."""

FFMA_PER_CYCLE, THREADS_HELD, WARP = 128, 2048, 32
BEGIN = 800.0
"""Cycles from one launch to the next of kernels that do nothing."""
ARRIVAL = 970.0
"""Cycles from a load to its first use, memory or L2."""
DRAM_BYTES_PER_CYCLE = 18.0
"""Of one multiprocessor's share of the memory rate."""
DIRECT_MEMORY, SMALL_MEMORY = 0.73, 0.78
"""Of that rate, what the kernels without a stream of wide loads reach."""
LINE = 0.51
"""Cycles for a line of 128 bytes that a warp's load touches."""
INSTRUCTIONS = 0.36
"""Cycles of a multiprocessor for an instruction of a warp."""
MEET = 88.0
"""Cycles for a barrier."""
HAND_OVER = 3500.0
"""Cycles for the fence, the counter and the sums of the other parts."""
GUARDED, UNGUARDED = 1.05, 0.9
"""Prices of `choosing` and of `unguarded` in cycles as here, of 1.755 GHz."""
TRUSTED_DEPTH, TRUSTED_TILES = 128, 4
"""Where a price of `unguarded` holds for tiles that have a block each: steps of the depth at most,
and tiles of a multiprocessor at least."""
STEP_SHARE_16, STEP_SHARE_32, STEP_SHARE_64 = 0.70, 0.54, 0.58
"""Of the cycles of a chunk, those that issue an FFMA where nothing else limits, by the elements of
a thread."""
REGISTERS = {16: 80, 32: 128, 64: 224}
"""Elements of a thread -> registers that its kernel takes."""
COPY_CYCLES = 0.2
"""Cycles of a multiprocessor for an element that is copied alone."""


def offers(laid: Laid, multiprocessors: int) -> Iterator[Offer]:
    """All candidates for a product, priced."""
    yield from direct_offers(laid, multiprocessors)
    yield from shallow_offers(laid, multiprocessors)
    yield from small_offers(laid, multiprocessors)
    yield from vector_offers(laid, multiprocessors)


def cheapest(laid: Laid, multiprocessors: int) -> Offer:
    """The candidate of the least price."""
    return min(offers(laid, multiprocessors), key=lambda one: one.cycles)


def suits(laid: Laid) -> bool:
    """Whether a product is one of those that are chosen from here."""
    flop = 2 * laid.rows * laid.cols * laid.depth
    return flop <= GFLOP or min(laid.rows, laid.cols) <= FEW or laid.depth <= shallow.STEPS[-1]


def elsewhere(
    guarded: Estimate, tiles: unguarded.Offer | None, depth: int, multiprocessors: int
) -> float:
    """What a product costs by the kernels of `choosing` and `unguarded`, in cycles as here.

    Where each tile has a block, and a multiprocessor has few, a product without guards takes up to
    1.5 times its price, so that is not asked for.
    """
    cycles = GUARDED * guarded.cycles
    many = tiles is not None and tiles.tiles >= TRUSTED_TILES * multiprocessors
    if tiles is not None and (tiles.shared or (many and depth <= TRUSTED_DEPTH)):
        cycles = min(cycles, UNGUARDED * tiles.cycles)
    return cycles


def _memory(laid: Laid, multiprocessors: int, share: float = 1.0) -> float:
    return laid.bytes / (DRAM_BYTES_PER_CYCLE * share * multiprocessors)


# --- an element by a few lanes -------------------------------------------------------------------


def direct_offers(laid: Laid, multiprocessors: int) -> Iterator[Offer]:
    """Every group and order, as far as a launch holds them."""
    elements = laid.rows * laid.cols
    for group in direct.GROUPS:
        blocks = -(-elements // (direct.threads_of(group) // group))
        if blocks > 1 << 20 or group > 4 * laid.depth:
            continue
        for lanes, order in direct_orders(laid, group):
            cycles, limit = direct_price(laid, group, lanes, order, multiprocessors)
            choice = group, lanes, order
            yield Offer("direct", choice, (blocks, 1), direct.threads_of(group), 1, cycles, limit)


def direct_orders(laid: Laid, group: int) -> Iterator[tuple[str, str]]:
    """What neighbouring lanes may be."""
    if group > 1:
        yield "depth", "rows"
    if group <= 16:
        yield "elements", "rows"
        if laid.a_columns:
            yield "elements", "columns"


def direct_lines(laid: Laid, group: int, lanes: str, order: str) -> float:
    """Lines of 128 bytes that a load of a warp touches, of a and of b together."""
    elements = max(1, min(WARP, direct.threads_of(group) // group))
    if lanes == "depth":
        elements = max(1, WARP // group)
    steps = WARP // elements
    if order == "rows":
        down, across = max(1.0, elements / laid.cols), float(min(elements, laid.cols))
    else:
        down, across = float(min(elements, laid.rows)), max(1.0, elements / laid.rows)
    a = _lines(laid.a_columns, down, steps, laid.rows, laid.depth)
    return a + _lines(not laid.b_columns, across, steps, laid.cols, laid.depth)


def _lines(steps_apart: bool, lines: float, steps: int, extent: int, depth: int) -> float:
    """Of an operand: so many rows (or columns) at so many steps."""
    if steps_apart:  # a step's elements are neighbours
        each = max(1.0, lines / 32)
        return max(each, min(steps * each, steps * extent / 32))
    each = max(1.0, steps / 32)
    return max(each, min(lines * each, lines * depth / 32))


def direct_price(
    laid: Laid, group: int, lanes: str, order: str, multiprocessors: int
) -> tuple[float, str]:
    """Cycles, and what sets most of them."""
    blocks = -(-laid.rows * laid.cols // (direct.threads_of(group) // group))
    each = -(-blocks // multiprocessors)
    rounds = -(-each // (THREADS_HELD // direct.threads_of(group)))
    per_lane = -(-laid.depth // group)
    turns = -(-per_lane // direct.AT_ONCE)
    warps = each * direct.threads_of(group) // WARP
    touched = warps * per_lane * direct_lines(laid, group, lanes, order) * LINE
    issued = warps * (per_lane * 6 + 150) * INSTRUCTIONS
    meets = MEET * (group > (WARP if lanes == "depth" else 1)) + 30 * min(group, WARP).bit_length()
    waits = turns * ARRIVAL + rounds * meets
    costs = {"latency": waits, "lines": touched, "issue": issued}
    costs["memory"] = _memory(laid, multiprocessors, DIRECT_MEMORY)
    limit = max(costs, key=lambda name: costs[name])
    return BEGIN + costs[limit] + 0.3 * (sum(costs.values()) - costs[limit]), limit


# --- shallow depth -------------------------------------------------------------------------------


def shallow_offers(laid: Laid, multiprocessors: int) -> Iterator[Offer]:
    """The kernel for the depth, with few and with many pieces of the rows."""
    steps = next((some for some in shallow.STEPS if some >= laid.depth), None)
    if steps is None or laid.rows * laid.cols < 256:
        return
    pieces = -(-laid.cols // shallow.COLUMNS)
    full = min(65535, -(-laid.rows // shallow.TURN))
    for wanted in (1, 2, 4, 8):
        down = max(1, min(full, -(-wanted * 4 * multiprocessors // pieces)))
        cycles, limit = shallow_price(laid, steps, down, multiprocessors)
        yield Offer("shallow", steps, (pieces, down), shallow.THREADS, 1, cycles, limit)
        if down == full:
            break


def shallow_price(laid: Laid, steps: int, down: int, multiprocessors: int) -> tuple[float, str]:
    """Cycles, and what sets most of them."""
    pieces, turn = -(-laid.cols // shallow.COLUMNS), shallow.TURN
    blocks = pieces * down
    each = -(-blocks // multiprocessors)
    held = min(16, max(2, 65536 // (shallow.THREADS * (24 + 7 * steps))))
    rounds = -(-each // held)
    turns = -(-laid.rows // (turn * down))
    waits = rounds * (ARRIVAL + turns * ARRIVAL)
    rows = each * turns * turn / shallow.WARPS
    issued = rows * shallow.WARPS * (steps * 5 + 20) * INSTRUCTIONS / 2
    costs = {"latency": waits, "issue": issued, "memory": _memory(laid, multiprocessors)}
    limit = max(costs, key=lambda name: costs[name])
    return BEGIN + costs[limit] + 0.3 * (sum(costs.values()) - costs[limit]), limit


# --- tiles whose warps part the depth ------------------------------------------------------------


def small_offers(laid: Laid, multiprocessors: int) -> Iterator[Offer]:
    """Every tiling, with parts that fill the GPU once or twice."""
    for tiling in SMALL_TILINGS:
        tiles = -(-laid.rows // tiling.rows) * -(-laid.cols // tiling.cols)
        chunks = -(-laid.depth // tiling.depth)
        for parts in sorted(_parts(tiles, chunks, multiprocessors)):
            cycles, limit = small_price(laid, tiling, parts, multiprocessors)
            yield Offer("small", tiling, (tiles, parts), tiling.threads, parts, cycles, limit)


def _parts(tiles: int, chunks: int, multiprocessors: int) -> set[int]:
    found = {1}
    for wanted in (1, 2, 4):
        for parts in (wanted * multiprocessors // tiles, -(-wanted * multiprocessors // tiles)):
            if 1 < parts <= min(chunks, 64):
                found.add(parts)
    return found


def small_price(
    laid: Laid, tiling: SmallTiling, parts: int, multiprocessors: int
) -> tuple[float, str]:
    """Cycles, and what sets most of them."""
    tiles = -(-laid.rows // tiling.rows) * -(-laid.cols // tiling.cols)
    each = -(-tiles * parts // multiprocessors)
    held = min(each, small_resident(tiling, not laid.a_columns, laid.b_columns))
    rounds = -(-each // held)
    last = each - (rounds - 1) * held
    chunks = ceil(ceil(laid.depth / tiling.depth) / parts)
    share = {16: STEP_SHARE_16, 32: STEP_SHARE_32, 64: STEP_SHARE_64}[tiling.tall * tiling.wide]
    product = tiling.rows * tiling.cols * tiling.depth / (FFMA_PER_CYCLE * share)
    copies = tiling.rows * (0.25 if laid.wide_a else 1) + tiling.cols * (0.25 if laid.wide_b else 1)
    work = product + copies * tiling.depth * COPY_CYCLES
    ahead = max(1, tiling.stages - 1)

    def of_round(blocks: int) -> tuple[float, str]:
        turn, waiting = blocks * work, ARRIVAL / ahead
        if tiling.stages == 1:
            turn += ARRIVAL
        ends = ARRIVAL + 6 * MEET + blocks * tiling.rows * tiling.cols * tiling.slices / 32
        return ends + chunks * max(turn, waiting), "product" if turn > waiting else "latency"

    full, limit = of_round(held)
    cycles = BEGIN + (rounds - 1) * full + of_round(last)[0]
    if parts > 1:
        cycles += HAND_OVER + 20 * parts
    memory = BEGIN + _memory(laid, multiprocessors, SMALL_MEMORY)
    if memory > cycles:
        cycles, limit, memory = memory, "memory", cycles
    return cycles + 0.3 * (memory - BEGIN), limit


def small_resident(tiling: SmallTiling, a_deep: bool, b_deep: bool) -> int:
    """Blocks of a tiling that a multiprocessor of cc 9.0 holds at once."""
    registers = REGISTERS[tiling.tall * tiling.wide]
    if tiling.resident > 1:
        registers = min(registers, 65536 // (tiling.resident * tiling.threads) // 8 * 8)
    shared = 4 * tiling.shared_elems(a_deep, b_deep)
    found = occupancy((9, 0), tiling.threads, registers=-(-registers // 8) * 8, shared_bytes=shared)
    return max(1, found.blocks)


# --- a few vectors -------------------------------------------------------------------------------


def vector_offers(laid: Laid, multiprocessors: int) -> Iterator[Offer]:
    """The plan of `vector_plan`, where there are few rows or columns."""
    if min(laid.rows, laid.cols) > FEW:
        return
    made = vectors_plan(laid, multiprocessors)
    cycles, limit = vector_price(laid, made, multiprocessors)
    yield Offer("vectors", made, made.grid, made.block[0], made.parts, cycles, limit)


def vectors_plan(laid: Laid, multiprocessors: int) -> VectorPlan:
    """The operand that has few rows or columns is the small one."""
    swapped = laid.cols < laid.rows
    columns, wide = (laid.a_columns, laid.wide_a) if swapped else (laid.b_columns, laid.wide_b)
    count, length = (laid.cols, laid.rows) if swapped else (laid.rows, laid.cols)
    along = "columns" if columns == swapped else "depth"
    return vector_plan(count, length, laid.depth, along, wide, multiprocessors)


def vector_price(laid: Laid, made: VectorPlan, multiprocessors: int) -> tuple[float, str]:
    """Cycles, and what sets most of them."""
    tiling = made.tiling
    blocks = made.grid[0] * made.grid[1] * made.grid[2]
    each = -(-blocks // multiprocessors)
    rounds = -(-each // tiling.resident)
    turns = ceil(ceil(laid.depth / made.parts) / tiling.step)
    staged = tiling.count * min(tiling.chunk, -(-laid.depth // made.parts)) / 256
    waits = rounds * (2 * ARRIVAL + 4 * MEET + 20 * staged + turns * ARRIVAL)
    issued = each * turns * 8 * tiling.loads * (4 * tiling.count + 6) * INSTRUCTIONS
    costs = {
        "latency": waits,
        "issue": issued,
        "memory": _memory(laid, multiprocessors),
    }
    limit = max(costs, key=lambda name: costs[name])
    cycles = BEGIN + costs[limit] + 0.3 * (sum(costs.values()) - costs[limit])
    return cycles + (HAND_OVER + 20 * made.parts if made.parts > 1 else 0), limit
