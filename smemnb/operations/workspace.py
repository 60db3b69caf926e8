"""Memory beside the arguments: partial sums, flags; kept for each stream, or a graph's own.

`Workspace` is the `new` that a `Step` is given (`smemnb.kernels.step`) while launches are planned.
It hands out parts of two blocks of memory:

    scratch    bytes that may hold anything; those of a plain `new(shape, dtype)` are set to 0 by a
               launch before those that asked for them
    flags      0 before the first launch, and left 0 by the last

The blocks are kept for each stream, whose launches come one after the other. While a stream is
captured into a CUDA graph they are taken from the graph's own memory: the graph may be replayed on
another stream, at the same time as calls on this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from . import prepared
from .backends.numba_arrays import on_device, stream_of
from .laid import Laid

SCRATCH, FLAGS = "scratch", "flags"
"""Sources of arrays in the workspace; no argument of an operation has such a name."""
APART = 256
"""Bytes at whose multiples arrays of the workspace begin."""


class Workspace:
    """Arrays that launches need beside their arguments, planned without memory.

    >>> new = Workspace()
    >>> new.scratch((300,), np.float32).at, new.scratch((2,), np.int64).at, new.bytes
    (0, 1280, 1536)
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.words = 0
        self.zeroed: list[Laid] = []

    def __call__(self, shape: tuple[int, ...] | int, dtype: Any) -> Laid:
        """An array of zeros."""
        found = self.scratch(shape, dtype)
        words = -(-found.span // 4)
        self.zeroed.append(found.seen((words,), dtype=np.uint32))
        return found

    def scratch(self, shape: tuple[int, ...] | int, dtype: Any) -> Laid:
        """An array that may hold anything."""
        found = _whole(SCRATCH, shape, dtype, self.bytes)
        self.bytes += -(-found.span // APART) * APART
        return found

    def flags(self, shape: tuple[int, ...] | int, dtype: Any = np.uint32) -> Laid:
        """An array of zeros that the launches leave so."""
        found = _whole(FLAGS, shape, dtype, 4 * self.words)
        self.words += -(-found.span // APART) * APART // 4
        return found


def _whole(source: str, shape: tuple[int, ...] | int, dtype: Any, at: int) -> Laid:
    extents = shape if isinstance(shape, tuple) else (shape,)
    kind = np.dtype(dtype)
    return Laid(source, (1,), (kind.itemsize,), kind, 0, 0).seen(extents, at=at)


# --- its memory ----------------------------------------------------------------------------------

_kept: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
"""Device and stream -> scratch, flags, and the context that they live and die with."""


def forget() -> None:
    """Drop all memory that is kept."""
    _kept.clear()


@contextmanager
def memory(size: int, words: int, place: int, handle: int) -> Iterator[tuple[int, int]]:
    """Addresses of so many bytes of scratch and words of flags on a stream; 0 of none.

    Raises:
        LaunchRefused: the stream is captured, and the device has no memory that a graph could own.
    """
    if not size and not words:
        yield 0, 0
    elif prepared.capturing(handle):
        yield from _captured(size, words, place, handle)
    else:
        yield _of_stream(size, words, place, handle)


def _of_stream(size: int, words: int, place: int, handle: int) -> tuple[int, int]:
    """Blocks only grow, so that two plans in turn settle on memory that holds either."""
    from numba import cuda

    context, kept = cuda.gpus[place].get_primary_context(), _kept.get((place, handle))
    if kept is not None and kept[2] is not context:  # `cuda.close()` ends a context
        kept = None
    had = (kept[0].size, kept[1].size) if kept is not None else (0, 0)
    if kept is None or had[0] < size or had[1] < words:
        with on_device(place):
            stream = stream_of(handle, place)
            scratch, flags = (kept[0], kept[1]) if kept is not None else (None, None)
            if scratch is None or had[0] < size:
                scratch = cuda.device_array(max(size, APART), np.uint8, stream=stream)
            if flags is None or had[1] < words:
                flags = cuda.to_device(np.zeros(max(words, APART), np.uint32), stream)
        kept = _kept[place, handle] = scratch, flags, context
    return kept[0].device_ctypes_pointer.value, kept[1].device_ctypes_pointer.value


def _captured(size: int, words: int, place: int, handle: int) -> Iterator[tuple[int, int]]:
    if not prepared.has_pools(place):
        raise LaunchRefused(
            "this operation needs memory of its own, which cannot be had while a stream is captured"
            f" into a CUDA graph: device {place} has no memory pools. Call it outside of the"
            " capture"
        )
    scratch = prepared.graph_memory(handle, size) if size else 0
    flags = prepared.graph_zeros(handle, words) if words else 0
    try:
        yield scratch, flags
    finally:
        prepared.graph_free(handle, [address for address in (scratch, flags) if address])
