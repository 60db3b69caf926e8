"""Memory beside the arguments: partial sums, flags; kept for each stream, or a graph's own.

`Workspace` is the `new` that a `Step` is given (`smemnb.kernels.step`) while launches are planned.
It hands out parts of three blocks of memory:

    scratch    bytes that may hold anything; those of a plain `new(shape, dtype)` are set to 0 by a
               launch before those that asked for them
    flags      0 before the first launch, and left 0 by the last
    signals    0 before the first of all launches that ever use it, and left as it is: of scans
               alone, whose launches know the words of earlier ones from their own

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

SCRATCH, FLAGS, SIGNALS = "scratch", "flags", "signals"
"""Sources of arrays in the workspace; no argument of an operation has such a name."""
APART = 256
"""Bytes at whose multiples arrays of the workspace begin."""


class Needed(NamedTuple):
    """How much of each block launches need: bytes of scratch, words of 4 bytes of the others."""

    bytes: int
    words: int
    signal_words: int


NOTHING = Needed(0, 0, 0)


class Workspace:
    """Arrays that launches need beside their arguments, planned without memory.

    >>> new = Workspace()
    >>> new.scratch((300,), np.float32).at, new.scratch((2,), np.int64).at, new.bytes
    (0, 1280, 1536)
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.words = 0
        self.signal_words = 0
        self.zeroed: list[Laid] = []

    def __call__(self, shape: tuple[int, ...] | int, dtype: Any) -> Laid:
        """An array of zeros."""
        found = self.scratch(shape, dtype)
        words = -(-found.span // 4)
        self.zeroed.append(found.seen((words,), dtype=np.uint32))
        return found

    @property
    def needed(self) -> Needed:
        """How much of each block all arrays take."""
        return Needed(self.bytes, self.words, self.signal_words)

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

    def signals(self, shape: tuple[int, ...] | int, dtype: Any = np.uint64) -> Laid:
        """The signals of a scan's only launch: of one array for a plan."""
        found = _whole(SIGNALS, shape, dtype, 0)
        self.signal_words = max(self.signal_words, -(-found.span // APART) * APART // 4)
        return found


def _whole(source: str, shape: tuple[int, ...] | int, dtype: Any, at: int) -> Laid:
    extents = shape if isinstance(shape, tuple) else (shape,)
    kind = np.dtype(dtype)
    return Laid(source, (1,), (kind.itemsize,), kind, 0, 0).seen(extents, at=at)


# --- its memory ----------------------------------------------------------------------------------


class _Kept(NamedTuple):
    """Blocks of a stream, their addresses and sizes, and the context they live and die with."""

    blocks: tuple[Any, ...]
    addresses: tuple[int, int, int]
    sizes: Needed
    context: Any


_kept: dict[tuple[int, int], _Kept] = {}
"""Of each device and stream."""


def forget() -> None:
    """Drop all memory that is kept."""
    _kept.clear()


@contextmanager
def memory(needed: Needed, place: int, handle: int) -> Iterator[tuple[int, int, int]]:
    """Addresses of scratch, flags and signals on a stream; 0 of none.

    Raises:
        LaunchRefused: the stream is captured, and the device has no memory that a graph could own.
    """
    if needed == NOTHING:
        yield 0, 0, 0
    elif prepared.capturing(handle):
        yield from _captured(needed, place, handle)
    else:
        yield kept(needed, place, handle)


def kept(needed: Needed, place: int, handle: int) -> tuple[int, int, int]:
    """The same, of a stream that is not captured.

    Blocks only grow, so that two plans in turn settle on memory that holds either.
    """
    from numba import cuda

    context, had = cuda.gpus[place].get_primary_context(), _kept.get((place, handle))
    if had is None or had.context is not context:  # `cuda.close()` ends a context
        had = _Kept((None, None, None), (0, 0, 0), NOTHING, context)
    sizes = had.sizes
    if needed[0] > sizes[0] or needed[1] > sizes[1] or needed[2] > sizes[2]:
        with on_device(place):
            had = _grown(had, needed, stream_of(handle, place))
        _kept[place, handle] = had
    return had.addresses


def _grown(had: _Kept, needed: Needed, stream: Any) -> _Kept:
    from numba import cuda

    scratch, flags, signals = had.blocks
    if had.sizes.bytes < needed.bytes:
        scratch = cuda.device_array(needed.bytes, np.uint8, stream=stream)
    if had.sizes.words < needed.words:
        flags = cuda.to_device(np.zeros(needed.words, np.uint32), stream)
    if had.sizes.signal_words < needed.signal_words:
        signals = cuda.to_device(np.zeros(needed.signal_words, np.uint32), stream)
    addresses = _address(scratch), _address(flags), _address(signals)
    sizes = Needed(*(max(pair) for pair in zip(had.sizes, needed, strict=True)))
    return _Kept((scratch, flags, signals), addresses, sizes, had.context)


def _address(block: Any) -> int:
    return 0 if block is None else int(block.device_ctypes_pointer.value)


def _captured(needed: Needed, place: int, handle: int) -> Iterator[tuple[int, int, int]]:
    if not prepared.has_pools(place):
        raise LaunchRefused(
            "this operation needs memory of its own, which cannot be had while a stream is captured"
            f" into a CUDA graph: device {place} has no memory pools. Call it outside of the"
            " capture"
        )
    words = needed.words + needed.signal_words  # flags and signals, which begin as zeros
    block = prepared.graph_memory(handle, needed.bytes + 4 * words)  # one node of the graph
    flags = block + needed.bytes
    if words:
        prepared.clear(handle, flags, words)
    try:
        yield block, flags, flags + 4 * needed.words
    finally:
        prepared.graph_free(handle, [block])
