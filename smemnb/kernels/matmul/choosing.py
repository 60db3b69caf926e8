"""Which kernel makes a product of these shapes, by a model of what each would cost.

One kernel does not fit all: tiles of 128x128 need a result that gives every multiprocessor one, a
result of one tile has to cut its depth, a row times a matrix wants every byte read once. So each
candidate is priced in cycles of one multiprocessor, from rules, and the cheapest one is taken:

    product     FFMA issued at `SHARE` of the cycles, by all blocks that a multiprocessor holds,
                and `LOAD` for each element of the tiles on its way to shared memory
    arrival     bytes of the tiles over what L2 hands to a multiprocessor, and no step sooner than
                a load takes from memory to its tile (`LATENCY`)
    rounds      blocks over multiprocessors, each holding as many as registers, threads and shared
                memory allow (`smemnb.rules.occupancy`); the last round may be nearly empty
    ends        the first tiles, the store, and where parts share a tile, their sums
    memory      every byte once, over what a copy reaches

`estimates` says all of them, `choose` takes the least.

**Limits**: the constants are those of an H200 (cc 9.0), fitted to 44 seeded products there
(`kernels/TUNING.md`) or from data sheets; the order of candidates is what they are for. No time is
promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from ...rules.occupancy import occupancy
from .cut import Cut

CUTS = (
    Cut(128, 128, resident=2),
    Cut(128, 64),
    Cut(64, 128),
    Cut(64, 64),
    Cut(32, 128, depth=16, tall=4, lanes_down=8),
    Cut(128, 32, depth=16, wide=4),
    Cut(32, 64, depth=16, tall=4, lanes_down=8, slices=2),
    Cut(64, 32, depth=16, wide=4, lanes_down=8, slices=2),
    Cut(32, 32, depth=16, tall=4, wide=4, slices=4),
    Cut(16, 32, depth=16, tall=4, wide=4, slices=4),
)
"""From which `choose` takes: large tiles read less, small ones and slices fill a GPU sooner."""

FFMA_PER_CYCLE = 128
SHARE = {64: 0.79, 32: 0.75, 16: 0.57}
"""Elements of a thread -> the share of cycles that issue an FFMA where nothing else limits."""
LOAD = 0.083
"""Cycles of a multiprocessor for an element that is loaded, guarded and stored into a tile."""
STORE_BYTES_PER_CYCLE, SLICES_STORE_BYTES_PER_CYCLE = 7, 27
"""Of a result: from registers each lane stores its quads element by element, side by side lie only
those that slices have added up in shared memory."""
L2_BYTES_PER_CYCLE = 40
"""That one multiprocessor gets from L2 while all of them ask."""
DRAM_BYTES_PER_CYCLE = 16
"""Of one multiprocessor's share of the memory rate: 4.3 TB/s over 132 at 1.98 GHz."""
LATENCY = 900
"""Cycles from a load of the next tiles to the step that reads them."""
BEGIN = 2500
"""Cycles of a block before its first product, and behind its last one to the first store."""
HAND_OVER = 2500
"""Cycles for a fence, a counter and the wait for the last part."""
REGISTERS_BESIDE = 70
"""That a guarded kernel takes beside its results and fragments."""
PARTS_AT_MOST = 256
SUMS_AT_MOST = 1 << 26
"""float32 of workspace that parts may take."""
GUARDED_STEPS = 4
"""Steps that a part must have in each slice, so that its ends do not outweigh it."""


@dataclass(frozen=True)
class Problem:
    """A product as the choice sees it.

    Attributes:
        rows, cols, depth: of the result, and the columns of a.
        batch: matrices of a batch.
    """

    rows: int
    cols: int
    depth: int
    batch: int = 1

    @property
    def flop(self) -> int:
        """Operations, a multiply-add being two."""
        return 2 * self.batch * self.rows * self.cols * self.depth

    @property
    def bytes(self) -> int:
        """Of all operands and the result, each counted once."""
        each = self.rows * self.depth + self.depth * self.cols + self.rows * self.cols
        return 4 * self.batch * each


@dataclass(frozen=True)
class Estimate:
    """What a cut would cost: a candidate of `choose`.

    Attributes:
        cut: its tiles and threads.
        parts: blocks that share a tile's depth.
        tiles: of one result.
        rounds: of blocks on each multiprocessor.
        cycles: of all, the first launch to the last store.
        limit: what sets most of them: "product", "arrival", "latency" or "memory".
    """

    cut: Cut
    parts: int
    tiles: int
    rounds: int
    cycles: float
    limit: str


@lru_cache(maxsize=256)
def resident_blocks(cut: Cut) -> int:
    """Blocks of a cut that a multiprocessor of cc 9.0 holds at once.

    >>> resident_blocks(Cut(64, 64))
    6
    """
    registers = min(255, -(-(cut.registers + REGISTERS_BESIDE) // 8) * 8)
    if cut.resident > 1:
        registers = min(registers, 65536 // (cut.resident * cut.threads) // 8 * 8)
    held = occupancy((9, 0), cut.threads, registers=registers, shared_bytes=cut.shared_bytes)
    return max(1, held.blocks)


def estimate(problem: Problem, cut: Cut, parts: int, multiprocessors: int) -> Estimate:
    """What a cut and a number of parts would cost."""
    tiles = -(-problem.rows // cut.rows) * -(-problem.cols // cut.cols)
    blocks = tiles * parts * problem.batch
    each = -(-blocks // multiprocessors)  # blocks of the busiest multiprocessor
    held = min(each, resident_blocks(cut))
    rounds = -(-each // held)
    in_last = each - (rounds - 1) * held

    steps = ceil(ceil(problem.depth / cut.depth) / parts)
    turns = max(1, -(-steps // cut.slices))
    depth = cut.depth * cut.slices
    issue = cut.rows * cut.cols * depth / (FFMA_PER_CYCLE * SHARE[cut.tall * cut.wide])
    issue += (cut.rows + cut.cols) * depth * LOAD
    arrive = (cut.rows + cut.cols) * depth * 4 / L2_BYTES_PER_CYCLE
    stored = SLICES_STORE_BYTES_PER_CYCLE if cut.slices > 1 else STORE_BYTES_PER_CYCLE
    per_turn = {"product": issue, "arrival": arrive, "latency": 0.0}

    def round_cycles(blocks_at_once: int) -> tuple[float, str]:
        costs = {name: cycles * blocks_at_once for name, cycles in per_turn.items()}
        costs["latency"] = LATENCY + issue
        limit = max(costs, key=lambda name: costs[name])
        store = blocks_at_once * cut.rows * cut.cols * 4 / stored
        return BEGIN + turns * costs[limit] + store, limit

    full, limit = round_cycles(held)
    cycles = (rounds - 1) * full + round_cycles(in_last)[0]
    if parts > 1:
        size = cut.rows * cut.cols * 4
        cycles += HAND_OVER + parts * size / L2_BYTES_PER_CYCLE
        cycles += 2 * blocks * size / (L2_BYTES_PER_CYCLE * multiprocessors)
    memory = BEGIN + problem.bytes / (DRAM_BYTES_PER_CYCLE * multiprocessors)
    if memory > cycles:
        cycles, limit = memory, "memory"
    return Estimate(cut, parts, tiles, rounds, cycles, limit)


def estimates(problem: Problem, multiprocessors: int) -> Iterator[Estimate]:
    """Every cut with every number of parts that it may have, priced."""
    for cut in CUTS:
        tiles = -(-problem.rows // cut.rows) * -(-problem.cols // cut.cols)
        for parts in _parts(problem, cut, tiles, multiprocessors):
            yield estimate(problem, cut, parts, multiprocessors)


def choose(problem: Problem, multiprocessors: int) -> Estimate:
    """The cut and the parts that cost least.

    >>> choose(Problem(16, 16, 100_000), 132).parts > 50
    True
    >>> choose(Problem(4096, 4096, 4096), 132).cut.rows
    128
    """
    return min(estimates(problem, multiprocessors), key=lambda one: one.cycles)


def _parts(problem: Problem, cut: Cut, tiles: int, multiprocessors: int) -> Iterator[int]:
    """1, and numbers that bring the blocks near whole rounds of the GPU."""
    yield 1
    steps = -(-problem.depth // cut.depth)
    most = min(PARTS_AT_MOST, steps // (GUARDED_STEPS * cut.slices))
    held = resident_blocks(cut) * multiprocessors
    blocks = tiles * problem.batch
    found = set()
    for wanted in (multiprocessors, 2 * multiprocessors, held // 2, held):
        found |= {wanted // blocks, -(-wanted // blocks)}
    found |= {2, 3, 4}
    for parts in sorted(found):
        if 1 < parts <= most and blocks * parts * cut.rows * cut.cols <= SUMS_AT_MOST:
            yield parts
