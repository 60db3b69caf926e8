"""Sectors of a global-memory request: the coalescing rule.

Global memory moves in sectors of 32 bytes, four to a line of 128. A request moves every sector
that some active lane touches, once: `sector = address // 32`, from the first to the last byte
of each lane. 32 lanes of consecutive float32 need 4 sectors; with a stride of 8 or more, 32.

Source: `l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}.sum` equals this count (4.0 per request
of a coalesced float32 kernel on an H200, cc 9.0). Taught in `10_threads`.

**Limits**: counts what L1 is asked for, not what hits there. The compiler may split an access:
a complex64 load becomes two 4-byte requests (in shared memory one of 8 bytes, where the array
begins on a multiple of 8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..hardware import LINE_BYTES, SECTOR_BYTES, WARP_LANES
from . import request
from .request import Bools, Ints

__all__ = ["Counts", "ideal", "lines", "measure", "sectors"]


_CHUNK_ROWS = 512  # requests at a time: 128 KB of int64, which stays in the L2 cache


class Counts(NamedTuple):
    """Counts of each request, as int64 arrays of one shape."""

    sectors: Ints
    ideal: Ints


def sectors(address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None) -> Ints:
    """Distinct 32-byte sectors that each request touches.

    >>> lane = np.arange(32)
    >>> int(sectors(lane * 4, width=4)), int(sectors(lane * 32, width=4))
    (4, 32)
    >>> int(sectors(lane * 4 + 4, width=4))      # one word off a sector's start
    5

    Args:
        address: byte addresses, integers of shape (..., 32), one per lane.
        width: bytes per lane, 1 or more.
        active: bools of shape (..., 32); None means all lanes. Other addresses are ignored.

    Raises:
        TypeError: addresses that are not integers, or a mask that is not bool.
        ValueError: a shape, width or address that no request has.
    """
    rows, mask = _checked(address, width, active)
    return measure(rows, width=width, active=mask).sectors


def lines(address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None) -> Ints:
    """Distinct 128-byte lines that each request touches.

    >>> int(lines(np.arange(32) * 4, width=4)), int(lines(np.arange(32) * 64, width=4))
    (1, 16)
    """
    rows, mask = _checked(address, width, active)
    flat = None if mask is None else mask.reshape(-1, WARP_LANES)
    ordered, some = _ordered(rows.reshape(-1, WARP_LANES), flat)
    touched = _blocks(ordered, width, LINE_BYTES)
    return (touched if some is None else touched * some).reshape(rows.shape[:-1])


def ideal(address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None) -> Ints:
    """Fewest sectors that could hold what is asked for: bytes of distinct addresses / 32.

    >>> int(ideal(np.arange(32) * 128, width=4)), int(ideal(np.zeros(32, int), width=4))
    (4, 1)
    """
    rows, mask = _checked(address, width, active)
    return measure(rows, width=width, active=mask).ideal


def measure(address: Ints, *, width: int, active: Bools | None = None) -> Counts:
    """Sectors and ideal of each request, with no check of the input.

    For callers that made the addresses themselves, such as the trace. `address` is int64
    (..., 32), `active` bool of the same shape.

    >>> measure(np.arange(64).reshape(2, 32) * 4, width=4).sectors.tolist()
    [4, 4]
    """
    shape = address.shape[:-1]
    rows = address.reshape(-1, WARP_LANES)
    mask = None if active is None else active.reshape(-1, WARP_LANES)
    if mask is not None and 4 * np.count_nonzero(mask) < mask.size:
        return Counts(*(count.reshape(shape) for count in _sparse(rows, width, mask)))
    if len(rows) <= _CHUNK_ROWS:
        return Counts(*(count.reshape(shape) for count in _chunk(rows, width, mask)))
    out = np.empty((2, len(rows)), np.int64)
    for start in range(0, len(rows), _CHUNK_ROWS):
        here = slice(start, start + _CHUNK_ROWS)
        part = _chunk(rows[here], width, None if mask is None else mask[here])
        out[0, here], out[1, here] = part
    return Counts(*out.reshape(2, *shape))


def _chunk(rows: Ints, width: int, mask: Bools | None) -> tuple[Ints, Ints]:
    """Sectors and ideal of each row."""
    rows, some = _ordered(rows, mask)
    distinct = (rows[:, 1:] != rows[:, :-1]).sum(axis=1) + 1
    touched = _blocks(rows, width, SECTOR_BYTES)
    needed = -(distinct * -width // SECTOR_BYTES)
    return (touched, needed) if some is None else (touched * some, needed * some)


def _sparse(rows: Ints, width: int, mask: Bools) -> tuple[Ints, Ints]:
    """Sectors and ideal of each row where few lanes are active: work for these alone."""
    counts = np.zeros((2, len(rows)), np.int64)
    lanes = np.flatnonzero(mask)
    if not len(lanes):
        return counts[0], counts[1]
    row, address = lanes // WARP_LANES, rows.reshape(-1)[lanes]
    new_row = np.diff(row, prepend=-1) > 0
    begins = np.flatnonzero(new_row)
    if (~new_row[1:] & (address[1:] < address[:-1])).any():
        address = _sorted_within(row, address)
    fresh = new_row.copy()
    fresh[1:] |= address[1:] != address[:-1]
    distinct = np.add.reduceat(fresh, begins, dtype=np.int64)
    first, last = address // SECTOR_BYTES, (address + (width - 1)) // SECTOR_BYTES
    before = first - 1  # a lane adds the sectors past `before`
    before[1:] = np.where(new_row[1:], before[1:], np.maximum(before[1:], last[:-1]))
    touched = np.add.reduceat(last - before, begins)
    counts[:, row[begins]] = touched, -(distinct * -width // SECTOR_BYTES)
    return counts[0], counts[1]


def _sorted_within(row: Ints, address: Ints) -> Ints:
    """The addresses sorted within each row; rows are in order already."""
    least = address.min()
    span = int(address.max() - least) + 1
    if span > 2**62 // (int(row[-1]) + 1):
        ordered: Ints = address[np.lexsort((address, row))]
    else:
        ordered = np.sort(row * span + (address - least)) - row * span + least
    return ordered


def _ordered(rows: Ints, mask: Bools | None) -> tuple[Ints, Bools | None]:
    """Rows sorted by address, and which of them have an active lane (None: all).

    An inactive lane repeats the first active one. Rows that are in order stay as they are.
    """
    some: Bools | None = None
    if mask is not None and not mask.all():
        first = mask.argmax(axis=1)
        rows = np.where(mask, rows, rows[np.arange(len(rows)), first][:, None])
        some = np.logical_or.reduce(mask, axis=1)
    if (rows[:, 1:] < rows[:, :-1]).any():
        rows = np.sort(rows, axis=1)
    return rows, some


def _blocks(ordered: Ints, width: int, block_bytes: int) -> Ints:
    """Distinct aligned blocks that each row of ordered addresses touches."""
    shift = block_bytes.bit_length() - 1
    first = ordered >> shift
    within = width <= block_bytes and width & (width - 1) == 0
    if within and not np.bitwise_or.reduce(ordered, axis=None) & (width - 1):
        alone: Ints = (first[:, 1:] != first[:, :-1]).sum(axis=1) + 1  # no lane spans two blocks
        return alone
    last = (ordered + (width - 1)) >> shift
    # `first` and `last` both rise along the lanes: a lane adds what lies past the lane before
    fresh = last[:, 1:] - np.maximum(first[:, 1:] - 1, last[:, :-1])
    blocks: Ints = fresh.sum(axis=1) + (last[:, 0] - first[:, 0] + 1)
    return blocks


def _checked(
    address: npt.ArrayLike, width: int, active: npt.ArrayLike | None
) -> tuple[Ints, Bools | None]:
    """Addresses and mask, once they are known to be a request."""
    if width < 1:
        raise ValueError(f"width is {width!r}; a lane moves 1 byte or more")
    mask = request.mask(active, np.shape(address))
    return request.addresses(address, mask), mask
