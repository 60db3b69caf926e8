"""The rungs of the sum in order, each with the launches that it takes for an array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..step import Launch, New, Step, flags, scratch
from .rungs.sum_conflicting import sum_conflicting
from .rungs.sum_divergent import sum_divergent
from .rungs.sum_first_add import sum_first_add
from .rungs.sum_one_launch import sum_one_launch
from .rungs.sum_sequential import sum_sequential
from .rungs.sum_shuffled import sum_shuffled
from .rungs.sum_wide import CHUNK, QUAD, THREADS, sum_wide

BLOCKS = 132 * 8
"""Of a grid that walks over an array: as many as are resident on an H200."""


def _by_blocks(kernel: Any, each: int, new: New, out: Any, inp: Any) -> Sequence[Launch]:
    """Launches until one sum is left: a block makes one of `each` elements."""
    found: list[Launch] = []
    source = inp
    while not found or source.size > 1:
        blocks = max(1, -(-source.size // each))
        target = out if blocks == 1 else scratch(new, (blocks,), np.float32)
        found.append(Launch(kernel, blocks, THREADS, (target, source)))
        source = target
    return found


def _walking(new: New, out: Any, inp: Any) -> Sequence[Launch]:
    """One launch for the sums of a grid, and one for the sum of those."""
    blocks = _blocks(inp)
    if blocks == 1:
        return [Launch(sum_wide, 1, THREADS, (out, inp))]
    parts = scratch(new, (blocks,), np.float32)
    return [
        Launch(sum_wide, blocks, THREADS, (parts, inp)),
        Launch(sum_wide, 1, THREADS, (out, parts)),
    ]


def _at_once(new: New, out: Any, inp: Any) -> Sequence[Launch]:
    blocks = _blocks(inp)
    parts, tickets = scratch(new, (blocks,), np.float32), flags(new, (1,), np.uint32)
    return [Launch(sum_one_launch, blocks, THREADS, (out, inp, parts, tickets))]


def _blocks(inp: Any) -> int:
    chunks = -(-int(inp.size) // (CHUNK * QUAD))
    return max(1, min(BLOCKS, chunks))


def _step(kernel: Any, changed: str, launches: Any, *more: Any) -> Step:
    return Step(kernel.__name__, changed, (kernel, *more), launches, _fits)


def _fits(out: Any, inp: Any) -> bool:
    """Elements of float32, one behind the other."""
    return bool(inp.dtype == np.float32 and len(inp.shape) == 1)


LADDER = (
    _step(sum_divergent, "pairs of neighbours", partial(_by_blocks, sum_divergent, THREADS)),
    _step(
        sum_conflicting,
        "neighbouring threads take the pairs",
        partial(_by_blocks, sum_conflicting, THREADS),
    ),
    _step(
        sum_sequential,
        "the halves of the tile are added",
        partial(_by_blocks, sum_sequential, THREADS),
    ),
    _step(
        sum_first_add,
        "two elements are added as they are loaded",
        partial(_by_blocks, sum_first_add, 2 * THREADS),
    ),
    _step(
        sum_shuffled,
        "lanes of a warp add by shuffles",
        partial(_by_blocks, sum_shuffled, 2 * THREADS),
    ),
    _step(sum_wide, "16 bytes per load, a grid that walks", _walking),
    _step(sum_one_launch, "one launch: the last block adds the parts", _at_once),
)
