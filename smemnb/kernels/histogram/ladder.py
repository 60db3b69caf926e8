"""The rungs of the histogram in order, with their launches."""

from __future__ import annotations

from typing import Any

from ..fill import filling
from ..step import Launch, New, Step
from .rungs.histogram_block import histogram_block
from .rungs.histogram_global import histogram_global
from .rungs.histogram_joined import histogram_joined
from .rungs.histogram_lanes import histogram_lanes
from .rungs.histogram_paired import histogram_paired
from .rungs.histogram_warps import histogram_warps
from .rungs.histogram_wide import histogram_wide

PROCESSORS = 132
"""Multiprocessors that the launches fill: those of an H200. Any number is right."""


def _counted(kernel: Any, block: int, per_thread: int, resident: int) -> Any:
    """Launches of a rung: out is set to 0, then as many blocks as a GPU holds add to it."""

    def launches(new: New, out: Any, x: Any) -> list[Launch]:
        blocks = -(-x.size // (block * per_thread))
        grid = max(1, min(blocks, PROCESSORS * resident))
        return [filling(out, 0), Launch(kernel, grid, block, (out, x))]

    return launches


def _step(kernel: Any, changed: str, block: int, per_thread: int, resident: int) -> Step:
    name = kernel.py_func.__name__
    return Step(name, changed, (kernel,), _counted(kernel, block, per_thread, resident))


LADDER = (
    _step(histogram_global, "an atomic in global memory per element", 256, 1, 8),
    _step(histogram_block, "a block counts in shared memory first", 256, 1, 8),
    _step(histogram_warps, "a warp has counters of its own", 256, 1, 8),
    _step(histogram_wide, "as histogram_block, 16 bytes per load", 256, 16, 8),
    _step(histogram_lanes, "a lane has counters of its own, in its bank", 1024, 16, 2),
    _step(histogram_joined, "value and lane joined by |: 4 instructions", 1024, 16, 2),
    _step(histogram_paired, "two loads of a thread at a time", 1024, 16, 2),
)
"""Of uint8, 256 bins: `out` has 256 integers. x begins at a multiple of 16 bytes."""
