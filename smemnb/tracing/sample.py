"""Which blocks of a large launch are watched, and how many blocks each of them stands for.

    trace(kernel, blocks="edges")[grid, block](...)     first, middle and last along each axis
    trace(kernel, blocks=16)[grid, block](...)          16 blocks, spread over the grid
    trace(kernel, blocks=[(0, 0), (3, 1)])[...](...)    these ones

Weights add up to the blocks of the grid, so totals are estimates of the whole launch: exact where
blocks of one place do the same (a transpose, a matrix multiply), a guess where data decides.

**Limits**: races between blocks are looked for among the watched ones only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal

from ..errors import LaunchRefused
from ..lockstep.batch import Segment
from .model import Dim3

Blocks = Literal["all", "first", "last", "edges"] | int | Sequence[int | tuple[int, ...]]
Others = Literal["run", "skip"]

MOST_BLOCKS = 1 << 53
"""The largest grid of a trace: with 1024 threads each, the numbers of threads fit in 64 bits."""

_NAMES = ("all", "first", "last", "edges")


def check_choice(blocks: Any, others: Any) -> None:
    """Raise LaunchRefused unless these can be what `trace` was given.

    Raises:
        LaunchRefused: an unknown word, a number below 1, or something that names no blocks.
    """
    if others not in ("run", "skip"):
        raise LaunchRefused(
            f"others={others!r}: blocks that are not watched may 'run' (results are whole) or be"
            " left out with 'skip'"
        )
    named = isinstance(blocks, str) and blocks in _NAMES
    counted = isinstance(blocks, int) and not isinstance(blocks, bool) and blocks >= 1
    listed = isinstance(blocks, Sequence) and not isinstance(blocks, str) and len(blocks) > 0
    if not (named or counted or listed):
        raise LaunchRefused(
            f"blocks={blocks!r}: write 'all', 'first', 'last', 'edges', how many blocks to watch"
            " (1 or more), or a list of blocks such as [(0, 0), (3, 1)]"
        )


def check_watching(counts: Any, checks: Any, waivers: Any, patience_s: Any) -> None:
    """Raise LaunchRefused unless these can be what `trace` was given.

    Raises:
        LaunchRefused: a flag that is neither True nor False, or no number of seconds.
    """
    for name, flag in (("counts", counts), ("checks", checks), ("waivers", waivers)):
        if not isinstance(flag, bool):
            raise LaunchRefused(f"{name}={flag!r}: write True or False")
    number = isinstance(patience_s, int | float) and not isinstance(patience_s, bool)
    if patience_s is not None and not (number and patience_s > 0):
        raise LaunchRefused(
            f"patience_s={patience_s!r}: write seconds, more than 0, or None to wait for ever"
        )


def segments(grid: Dim3, blocks: Blocks, others: Others = "run") -> list[Segment] | None:
    """The blocks that run, in order of their number; None for all of them, watched.

    >>> segments((8, 1, 1), "edges")
    [Segment(first=0, blocks=1, weight=1), Segment(first=1, blocks=3, weight=0), \
Segment(first=4, blocks=1, weight=6), Segment(first=5, blocks=2, weight=0), \
Segment(first=7, blocks=1, weight=1)]

    Raises:
        LaunchRefused: a block outside the grid, or a grid of more than `MOST_BLOCKS`.
    """
    total = math.prod(grid)
    if total > MOST_BLOCKS:
        raise LaunchRefused(
            f"the grid {grid} has {total:,} blocks; a trace tells the threads of at most"
            f" {MOST_BLOCKS:,} blocks apart, and no GPU would come to the end of so many. Launch"
            " fewer: let each thread do more"
        )
    if blocks == "all":
        return None
    chosen = _weights(grid, blocks)
    if len(chosen) == total:
        return None
    watched = [Segment(number, 1, weight) for number, weight in sorted(chosen.items())]
    return watched if others == "skip" else list(_with_the_rest(watched, total))


def _with_the_rest(watched: list[Segment], total: int) -> Iterator[Segment]:
    at = 0
    for segment in watched:
        if segment.first > at:
            yield Segment(at, segment.first - at, 0)
        yield segment
        at = segment.first + 1
    if at < total:
        yield Segment(at, total - at, 0)


def _weights(grid: Dim3, blocks: Blocks) -> dict[int, int]:
    """Linear number of each watched block, and how many blocks it stands for."""
    total = math.prod(grid)
    if blocks == "edges":
        return {_number(place, grid): count for place, count in _places(grid)}
    numbers: list[int]
    if blocks == "first":
        numbers = [0]
    elif blocks == "last":
        numbers = [total - 1]
    elif isinstance(blocks, int):
        many = min(blocks, total)
        numbers = sorted({(total - 1) * k // max(many - 1, 1) for k in range(many)})
    else:
        numbers = sorted({_listed(block, grid) for block in blocks})
    each, left = divmod(total, len(numbers))
    return {number: each + (at < left) for at, number in enumerate(numbers)}


def _places(grid: Dim3) -> Iterator[tuple[Dim3, int]]:
    """First, middle and last along each axis, and how many blocks have such a place."""
    axes = []
    for extent in grid:
        some = {0: 1, extent - 1: 1}
        if extent > 2:
            some[extent // 2] = extent - 2
        axes.append(some.items())
    for (x, i), (y, j), (z, k) in product(*axes):
        yield (x, y, z), i * j * k


def _number(block: Dim3, grid: Dim3) -> int:
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


def _listed(block: Any, grid: Dim3) -> int:
    """Linear number of a block that was named by number or by blockIdx."""
    axes = block if isinstance(block, tuple) else ()
    if isinstance(block, int) and not isinstance(block, bool) and 0 <= block < math.prod(grid):
        return block
    if 1 <= len(axes) <= 3 and all(isinstance(at, int) for at in axes):
        x, y, z = (*axes, 0, 0)[:3]
        if all(0 <= at < extent for at, extent in zip((x, y, z), grid, strict=True)):
            return _number((x, y, z), grid)
    raise LaunchRefused(f"blocks: {block!r} is no block of the grid {grid}")
