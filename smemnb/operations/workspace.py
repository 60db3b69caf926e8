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
from typing import Any, NamedTuple

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


class _Kept(NamedTuple):
    """Blocks of a stream, where they are, and the context that they live and die with."""

    scratch: Any
    flags: Any
    scratch_at: int
    flags_at: int
    bytes: int
    words: int
    context: Any


_kept: dict[tuple[int, int], _Kept] = {}
"""Of each device and stream."""


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
        yield kept(size, words, place, handle)


def kept(size: int, words: int, place: int, handle: int) -> tuple[int, int]:
    """The same, of a stream that is not captured.

    Blocks only grow, so that two plans in turn settle on memory that holds either.
    """
    from numba import cuda

    context, had = cuda.gpus[place].get_primary_context(), _kept.get((place, handle))
    if had is None or had.context is not context:  # `cuda.close()` ends a context
        had = _Kept(None, None, 0, 0, 0, 0, context)
    if had.bytes < size or had.words < words:
        with on_device(place):
            had = _grown(had, size, words, stream_of(handle, place))
        _kept[place, handle] = had
    return had.scratch_at, had.flags_at


def _grown(had: _Kept, size: int, words: int, stream: Any) -> _Kept:
    from numba import cuda

    scratch, flags = had.scratch, had.flags
    if had.bytes < size:
        scratch = cuda.device_array(size, np.uint8, stream=stream)
    if had.words < words:
        flags = cuda.to_device(np.zeros(words, np.uint32), stream)
    return _Kept(
        scratch,
        flags,
        _address(scratch),
        _address(flags),
        max(size, had.bytes),
        max(words, had.words),
        had.context,
    )


def _address(block: Any) -> int:
    return 0 if block is None else int(block.device_ctypes_pointer.value)


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
