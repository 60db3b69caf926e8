"""What a product would cost by the kernels without guards: every cut, shared or not.

A tile must lie inside the result, or be short: no wider than the result, and less than twice as
high, or the other way round. A price is in cycles of one multiprocessor, as those of `choosing`:

    product     FFMA at the share of instructions that they are in the main loop (`ffma_share`),
                times `RATE`, what of its issue slots a kernel uses; with few warps at most `ALONE`
                of a scheduler's slots for each warp
    rounds      shared: the tiles that are left over from whole rounds are cut into pieces of equal
                length, so the last round takes only as long as there is work; else it may be nearly
                empty
    ends        the first tiles of a piece, the store by rows, and where pieces share a tile, their
                sums on the way through L2, as a tree
    memory      every byte once, over what a copy reaches; of an operand that L2 does not hold, as
                often as tiles read it at different times (`_arriving`)

**Limits**: the constants are those of an H200 (cc 9.0), fitted to seeded products there
(`kernels/TUNING.md`). No time is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, log2

from .choosing import DRAM_BYTES_PER_CYCLE, FFMA_PER_CYCLE, Problem
from .cut import QUAD, WARP, Cut
from .variants.even import CHUNK, SNAP, blocks_used

CUTS = (
    Cut(128, 128, tall=16, resident=2, band=16),
    Cut(128, 64, tall=16, resident=4, band=16),
    Cut(64, 128, tall=16, resident=4, band=16),
    Cut(64, 64, tall=16, resident=8, band=16),
    Cut(64, 64, resident=6, band=16),
    Cut(32, 128, resident=6, band=16),
    Cut(128, 32, lanes_down=8, resident=6, band=16),
    Cut(16, 128, lanes_down=2, resident=11, band=16),
    Cut(128, 16, lanes_down=16, resident=11, band=16),
    Cut(48, 128, tall=12, resident=4, band=16),
    Cut(128, 48, wide=12, lanes_down=8, resident=4, band=16),
    Cut(24, 128, tall=12, lanes_down=2, resident=8, band=16),
    Cut(128, 24, wide=12, lanes_down=16, resident=8, band=16),
    Cut(96, 64, tall=12, resident=4, band=16),
    Cut(64, 96, wide=12, resident=4, band=16),
)
"""From which `offers` takes. `resident` is what their registers allow, and no fewer."""

RATE = (
    *(0.86, 0.83, 0.87, 0.82, 0.81, 0.775, 0.71, 0.50, 0.42),
    *(0.785, 0.74, 0.62, 0.52, 0.79, 0.83),
)
"""Of each cut: the share of issue slots that are used where it has all its warps."""
ALONE = {16: 0.40, 12: 0.37, 8: 0.29}
"""Rows of a thread -> the share of a scheduler's slots that one warp uses at most."""
BEGIN = 5000
"""Cycles of a launch and of first tiles on their way, where 256 threads wait for theirs."""
STORE_BYTES_PER_CYCLE = 25
"""Of a result, on its way through shared memory."""
SUMS_BYTES_PER_CYCLE = 16.4
"""Of sums that go through L2, by all multiprocessors at once."""
HAND_OVER, ASIDE = 1900, 2000
"""Cycles beside the bytes of sums: to wait for others; to begin anew after sums were put aside."""
SHARING = 13_500
"""Cycles that blocks which stay cost: they are numbered, know their pieces, and fewer fit. The fit
was 17,400, with about 3,600 for flags that a graph set to 0 in each launch; it no longer does."""
TOGETHER = 1.7
"""Multiply-adds and bytes from memory take the sum of their times, each to this power, less it."""
L2_HOLDS = 32 << 20
"""Bytes of operands that stay in L2 while tiles read them at different times."""
GUARDED = 1.3
"""Time of guarded products over the price of `choosing`, where that price was the least."""


@dataclass(frozen=True)
class Side:
    """How an operand lies: whether neighbours are along the depth, and move by 16 bytes."""

    along_k: bool
    wide: bool


@dataclass(frozen=True)
class Offer:
    """A way to make a product.

    Attributes:
        cut: its tiles and threads.
        shared: whether blocks stay and share tiles; else each tile has a block.
        blocks: of the launch, for each matrix of a batch.
        tiles: of one result.
        left: of those, how many are shared evenly.
        sums: float32 of workspace.
        cycles: of all.
        short: "rows" or "cols", of which the result has fewer than a tile.
        teams: whether tiles that read the same part of an operand do so at the same time.
    """

    cut: Cut
    shared: bool
    blocks: int
    tiles: int
    left: int
    sums: int
    cycles: float
    short: str = ""
    teams: bool = False


def ffma_share(cut: Cut, a: Side, b: Side) -> float:
    """FFMA over all instructions of the main loop, within 0.05 of what is compiled for cc 9.0.

    >>> by_quads, turned = Side(False, True), Side(True, False)
    >>> round(ffma_share(CUTS[0], by_quads, by_quads), 2)
    0.93
    >>> round(ffma_share(CUTS[0], turned, turned), 2)
    0.89
    """
    products = cut.tall * cut.wide * cut.depth
    others = (cut.tall + cut.wide) // QUAD * cut.depth + 24.0
    for extent, side in ((cut.rows, a), (cut.cols, b)):
        each = extent * cut.depth / cut.workers
        if side.wide and extent % 3:  # tiles of three quads move by elements
            others += each / QUAD * 1.3 + (each if side.along_k else each / QUAD)
        else:
            others += 2 * each + (1.3 if side.along_k else 0.3) * each
    return products / (products + others)


def offers(problem: Problem, a: Side, b: Side, multiprocessors: int) -> Iterator[Offer]:
    """Every cut that fits, shared and not, priced."""
    for cut, rate in zip(CUTS, RATE, strict=True):
        short = short_of(problem, cut)
        if short is None or not problem.depth:
            continue
        share = ffma_share(cut, a, b) * rate
        if problem.batch > 1 or problem.depth <= CHUNK * cut.depth:  # else sums would be too long
            yield replace(_whole(problem, cut, share, multiprocessors), short=short)
        if problem.batch == 1 and cut.resident * multiprocessors * problem.depth < 2**32:
            yield replace(_shared(problem, cut, share, multiprocessors), short=short)


def short_of(problem: Problem, cut: Cut) -> str | None:
    """Of what the result has fewer than a tile: rows, cols or nothing; None of a tile too large.

    >>> short_of(Problem(40, 4000, 100), CUTS[2]), short_of(Problem(30, 4000, 100), CUTS[2])
    ('rows', None)
    """
    low, narrow = problem.rows < cut.rows, problem.cols < cut.cols
    if (low and narrow) or 2 * problem.rows < cut.rows or 2 * problem.cols < cut.cols:
        return None
    return "rows" if low else "cols" if narrow else ""


def best_offer(problem: Problem, a: Side, b: Side, multiprocessors: int) -> Offer | None:
    """The one that costs least; None where no tile lies inside the result.

    >>> found = best_offer(Problem(4096, 4000, 4096), Side(True, True), Side(True, True), 132)
    >>> found.cut.rows, found.cut.cols
    (64, 128)
    >>> best_offer(Problem(4000, 7, 4096), Side(True, True), Side(True, True), 132) is None
    True
    """
    found = list(offers(problem, a, b, multiprocessors))
    return min(found, key=lambda one: one.cycles) if found else None


def _product(cut: Cut, share: float, steps: float, blocks: int) -> float:
    """Cycles for so many steps by so many blocks on a multiprocessor at once."""
    warps = blocks * cut.threads / WARP
    rate = FFMA_PER_CYCLE * min(share, ALONE[cut.tall] * warps / 4)
    return steps * blocks * cut.rows * cut.cols * cut.depth / rate


def _ends(cut: Cut, blocks: int) -> float:
    """Cycles for first tiles and stores; with more threads than 256 to wait, less of it shows."""
    begin = BEGIN * (256 / (cut.threads * cut.resident)) ** 2
    return begin + blocks * cut.rows * cut.cols * 4 / STORE_BYTES_PER_CYCLE


def _aside(cut: Cut, blocks: int) -> float:
    """Cycles to put sums aside, take them up again, and fill the first tiles in between."""
    return ASIDE + blocks * 2 * cut.rows * cut.cols * 4 / SUMS_BYTES_PER_CYCLE


def _tiles(problem: Problem, cut: Cut) -> int:
    return -(-problem.rows // cut.rows) * -(-problem.cols // cut.cols)


def _memory(problem: Problem, multiprocessors: int) -> float:
    return BEGIN + problem.bytes / (DRAM_BYTES_PER_CYCLE * multiprocessors)


def _whole(problem: Problem, cut: Cut, share: float, multiprocessors: int) -> Offer:
    tiles, steps = _tiles(problem, cut), ceil(problem.depth / cut.depth)
    each = ceil(tiles * problem.batch / multiprocessors)
    rounds, rest = divmod(each, cut.resident)
    cycles = rounds * (_product(cut, share, steps, cut.resident) + _ends(cut, cut.resident))
    if rest:
        cycles += _product(cut, share, steps, rest) + _ends(cut, rest)
    cycles = max(cycles, _memory(problem, multiprocessors))
    return Offer(cut, False, tiles, tiles, 0, 0, cycles)


def _teams(problem: Problem, cut: Cut, blocks: int) -> int:
    """Blocks of a team; 1 where L2 holds the operands, or the result has too many tiles."""
    high, across = -(-problem.rows // cut.rows), -(-problem.cols // cut.cols)
    team = min(high, across)
    operands = 4 * problem.depth * (problem.rows + problem.cols)
    fits = high * across < blocks and team <= cut.band
    return team if fits and operands > L2_HOLDS else 1


def _arriving(problem: Problem, cut: Cut, team: int, rounds: int) -> int:
    """Bytes of operands that come from memory: several times what tiles read at different times."""
    high, across = -(-problem.rows // cut.rows), -(-problem.cols // cut.cols)
    a, b = 4 * problem.rows * problem.depth, 4 * problem.cols * problem.depth
    if rounds or a + b <= L2_HOLDS:
        return a + b
    in_step = team > 1
    a_times = across if a > L2_HOLDS and not (in_step and across < high) else 1
    b_times = high if b > L2_HOLDS and not (in_step and high <= across) else 1
    return a * a_times + b * b_times


def _shared(problem: Problem, cut: Cut, share: float, multiprocessors: int) -> Offer:
    tiles, steps = _tiles(problem, cut), ceil(problem.depth / cut.depth)
    blocks = cut.resident * multiprocessors
    team = _teams(problem, cut, blocks)
    rounds, left = (0, tiles) if team > 1 else divmod(tiles, blocks)
    cycles = rounds * (_product(cut, share, steps, cut.resident) + _ends(cut, cut.resident))
    longest, size = (steps if rounds else 0), cut.rows * cut.cols
    if left:
        used = team * blocks_used(left // team, steps, blocks // team)
        at_once, piece = ceil(used / multiprocessors), left * steps / used
        cycles += _product(cut, share, piece, at_once) + _ends(cut, at_once)
        if used > left:
            turns = log2(used / left) + 1
            cycles += turns * (HAND_OVER + size * 4 / SUMS_BYTES_PER_CYCLE)
        longest = max(longest, min(steps, ceil(piece) + 2 * SNAP))
        cycles += (ceil(piece / CHUNK) - 1) * _aside(cut, at_once)
    cycles += rounds * (ceil(steps / CHUNK) - 1) * _aside(cut, cut.resident)
    memory = _arriving(problem, cut, team, rounds) / (DRAM_BYTES_PER_CYCLE * multiprocessors)
    cycles = ((cycles + SHARING) ** TOGETHER + memory**TOGETHER) ** (1 / TOGETHER)
    cycles = max(cycles, _memory(problem, multiprocessors))
    sums = blocks * size * (2 if longest > CHUNK else 1)
    return Offer(cut, True, blocks, tiles, left, sums, cycles, teams=team > 1)
