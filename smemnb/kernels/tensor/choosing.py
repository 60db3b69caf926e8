"""Which cut makes a tensor product of these shapes, by a model of what each would cost.

A price is in cycles of one multiprocessor. A step of a block costs the longest of

    product    its mma, `MMA_CYCLES` each for one of the four schedulers, by as many of them as have
               a warp
    shared     what goes through shared memory: each warp reads its rows and columns, and the copies
               store each tile once, 128 bytes a cycle
    arrival    the bytes of both tiles, over what L2 hands to a multiprocessor

and blocks come in rounds; the last round may be nearly empty. Where tiles are too few for all
multiprocessors, the depth is cut into parts, whose sums are added by a launch of their own.

**Limits**: `MMA_CYCLES` is measured, on one H200; the rates of L2 and of memory are those of
`matmul.choosing`. What a barrier costs is not modelled: that longer steps are faster for 16 bits,
and not for tf32, is a reading (`TUNING.md`). No time is promised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from ...hardware import Limits
from ..matmul.choosing import DRAM_BYTES_PER_CYCLE
from .tensor_cut import WARP, TensorCut

CUTS = (
    TensorCut(128, 256),
    TensorCut(256, 128),
    TensorCut(128, 128, resident=2),
    TensorCut(128, 64, warp_cols=32, resident=2),
    TensorCut(64, 128, warp_rows=32, resident=2),
    TensorCut(64, 64, warp_rows=32, warp_cols=32, resident=4),
    TensorCut(32, 64, warp_rows=32, warp_cols=32, stages=6, resident=4),
    TensorCut(64, 32, warp_rows=32, warp_cols=32, stages=6, resident=4),
)
"""From which `choose` takes: large tiles read less, small ones fill a GPU sooner."""

DEEP_CUTS = (
    TensorCut(128, 256, depth=32),
    TensorCut(256, 128, depth=32),
    TensorCut(128, 128, depth=32, stages=3, resident=2),
    *CUTS[3:],
)
"""Of 16-bit numbers: twice the depth in a step, so half as many barriers, for the large tiles."""


def cuts_of(kind: str) -> tuple[TensorCut, ...]:
    """The cuts for operands of a kind.

    >>> cuts_of("bf16")[0].depth, cuts_of("tf32")[0].depth
    (32, 16)
    """
    return CUTS if kind == "tf32" else DEEP_CUTS


ENGINE = TensorCut(32, 32, warp_rows=32, warp_cols=32, stages=2)
"""The cut without a GPU: the one with the fewest warps that have nothing to do."""

MMA_CYCLES = 6.16
"""Of a scheduler of cc 9.0 for an mma of 16 x 8 over 32 bytes: 391,700 cycles of an H200 for the
33,554,432 mma of 4096 cubed from registers, by Nsight Compute."""
SHARED_BYTES_PER_CYCLE = 128
L2_BYTES_PER_CYCLE = 40
BEGIN = 2500
"""Cycles of a launch and of the first tiles on their way."""
STORE_BYTES_PER_CYCLE = 25
PARTS_LAUNCH = 6000
"""Cycles of the launch that adds parts."""
PART_STEPS = 4
"""Steps of a part at least."""


@dataclass(frozen=True)
class Offer:
    """A cut and its price.

    Attributes:
        cut: of the blocks.
        tiles: of one result.
        parts: of the depth.
        cycles: of a multiprocessor.
        limit: what takes longest: product, shared, arrival or memory.
    """

    cut: TensorCut
    tiles: int
    parts: int
    cycles: float
    limit: str


def step_cycles(cut: TensorCut, blocks: int) -> dict[str, float]:
    """What a step of so many blocks on a multiprocessor costs, by what limits it.

    >>> {name: round(cycles) for name, cycles in step_cycles(TensorCut(128, 256), 1).items()}
    {'product': 788, 'shared': 704, 'arrival': 614}
    """
    warps = blocks * cut.warps
    mma = cut.warp_rows * cut.warp_cols // WARP // 4 * cut.steps
    read = warps * (cut.warp_rows + cut.warp_cols) * cut.depth * 4
    stored = blocks * cut.stage_words * 4
    return {
        "product": ceil(warps / 4) * mma * MMA_CYCLES,
        "shared": (read + stored) / SHARED_BYTES_PER_CYCLE,
        "arrival": stored / L2_BYTES_PER_CYCLE,
    }


def estimate(
    cut: TensorCut,
    shape: tuple[int, int, int],
    count: int,
    parts: int,
    processors: int,
    size: int,
) -> Offer:
    """The price of a cut for `count` products of rows x cols, over a depth in words.

    `size` is bytes of an element of the result.
    """
    rows, cols, words = shape
    tiles = -(-rows // cut.rows) * -(-cols // cut.cols)
    steps = ceil(ceil(words / cut.depth) / parts)
    each = ceil(tiles * count * parts / processors)
    rounds, rest = divmod(each, cut.resident)
    cycles, limit = 0.0, "product"
    for blocks, times in ((cut.resident, rounds), (rest, 1 if rest else 0)):
        if not times:
            continue
        costs = step_cycles(cut, blocks)
        limit = max(costs, key=lambda name: costs[name])
        ending = blocks * cut.rows * cut.cols * (4 if parts > 1 else size) / STORE_BYTES_PER_CYCLE
        cycles += times * (steps * costs[limit] + ending + BEGIN / 2)
    memory = 4 * words * (rows + cols) * count + size * rows * cols * count
    if parts > 1:
        sums = 8 * parts * rows * cols * count
        cycles += PARTS_LAUNCH + sums / (DRAM_BYTES_PER_CYCLE * processors)
    least = memory / (DRAM_BYTES_PER_CYCLE * processors)
    if least > cycles:
        cycles, limit = least, "memory"
    return Offer(cut, tiles, parts, cycles + BEGIN, limit)


def fitting(limits: Limits | None, cuts: tuple[TensorCut, ...] = CUTS) -> Iterator[TensorCut]:
    """The cuts for which a GPU has room."""
    for cut in cuts:
        if limits is None or (
            cut.shared_bytes <= limits.shared_per_block_optin
            and cut.resident * (cut.shared_bytes + 1024) <= limits.shared_per_sm
        ):
            yield cut


@lru_cache(maxsize=1024)
def choose(
    shape: tuple[int, int, int],
    count: int,
    processors: int,
    size: int,
    limits: Limits | None = None,
    cuts: tuple[TensorCut, ...] = CUTS,
) -> Offer:
    """The offer that costs least.

    >>> choose((8192, 8192, 4096), 1, 132, 2, cuts=cuts_of("bf16")).cut.shared_bytes
    196608
    >>> choose((64, 64, 65536), 1, 132, 2).parts > 1
    True

    Args:
        shape: rows, columns, and the depth in words of 4 bytes.
        count: products.
        processors: multiprocessors.
        size: bytes of an element of the result.
        limits: of the GPU; None for cuts of any size, as an H200 has room for.
        cuts: to choose from, those of the operands' kind.
    """
    found = []
    for cut in fitting(limits, cuts):
        tiles = -(-shape[0] // cut.rows) * -(-shape[1] // cut.cols)
        steps = ceil(shape[2] / cut.depth)
        found.append(estimate(cut, shape, count, 1, processors, size))
        room = processors * cut.resident // max(1, tiles)
        if count == 1 and room > 1:
            for parts in {2, 4, 8, 16, room}:
                most = min(parts, room, steps // PART_STEPS, 64)
                if most > 1:
                    found.append(estimate(cut, shape, count, most, processors, size))
    return min(found, key=lambda one: one.cycles)
