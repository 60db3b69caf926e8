"""Indices past the end of an axis, and negative ones that Numba wraps to the other end.

The engine has already dropped the former (a GPU would read or write foreign memory); the watcher
keeps, per expression and axis, the first thread and how many follow. A negative index that is a
constant, or is written with a leading minus as in `a[-1 - k]`, is meant and not kept.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import OutOfRange, Overflow, Watcher
from ..model import Observation
from ..subscript import counts_from_the_end, subscript

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch


class Bounds(Watcher):
    """Finds indices out of range; `observations()` lists them per expression and axis."""

    def __init__(self) -> None:
        self._found: dict[Any, Observation] = {}

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def out_of_range(self, event: OutOfRange) -> None:
        """Keep the first lane; count all."""
        shape = self._batch.shape
        lost = np.broadcast_to(event.lanes, shape)
        if event.wrapped and _meant(event):
            return
        key = (event.site, event.array.name, event.axis, event.wrapped)
        seen = self._found.get(key)
        furthest = int(np.broadcast_to(event.index, shape)[lost].max())
        if seen is not None:
            furthest = max(furthest, int(seen.detail["furthest"]))
            self._found[key] = replace(
                seen,
                count=seen.count + int(lost.sum()),
                detail={**seen.detail, "furthest": furthest},
            )
            return
        block, warp, lane = (int(n) for n in np.argwhere(lost)[0])

        def here(at: Any) -> int:
            return int(np.broadcast_to(at, shape)[block, warp, lane])

        self._found[key] = Observation(
            kind="wrapped_index" if event.wrapped else "out_of_range",
            site=event.site,
            array=event.array,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            index=tuple(here(at) for at in event.indices),
            axis=event.axis,
            count=int(lost.sum()),
            detail={"index": here(event.index), "size": event.size, "furthest": furthest},
        )

    def overflow(self, event: Overflow) -> None:
        """Keep the first lane in which a part of an index does not fit; count all."""
        shape = self._batch.shape
        lanes = np.broadcast_to(event.lanes & self._launch.live, shape)
        if not lanes.any():
            return
        seen = self._found.get(event.site)
        if seen is not None:
            self._found[event.site] = replace(seen, count=seen.count + int(lanes.sum()))
            return
        block, warp, lane = (int(n) for n in np.argwhere(lanes)[0])
        wide, result = (
            np.broadcast_to(value, shape)[block, warp, lane] for value in (event.wide, event.result)
        )
        cast = wide.dtype.kind in "iu"
        self._found[event.site] = Observation(
            kind="index_overflow",
            site=event.site,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            count=int(lanes.sum()),
            detail={
                "wide": int(wide) if cast else f"{float(wide):.3g}",
                "result": int(result),
                "cast": int(cast),
            },
        )

    def observations(self) -> list[Observation]:
        """One observation per expression and axis."""
        return list(self._found.values())


def _meant(event: OutOfRange) -> bool:
    """Whether a negative index is to count from the end: one constant for all, or -1 - k."""
    _, written = subscript(event.site.text)
    if not written:  # an atomic: the text says nothing about its index
        return not isinstance(event.index, np.ndarray)
    index = written[min(event.axis, len(written) - 1)]
    uniform = not isinstance(event.index, np.ndarray) and not isinstance(index, ast.BinOp)
    return uniform or counts_from_the_end(index)
