"""Sectors and tag requests of a local-memory request: where a thread's own memory lies.

Every thread has a local memory of its own, and each begins at address 0. The memories of a warp's
32 threads are interleaved by words of 4 bytes: word 0 of all lanes, then word 1 of all lanes, and
so on. Byte `a` of a lane's memory lies at

    (a // 4) * 128 + lane * 4 + a % 4

among the bytes of its warp. A request moves every sector of 32 bytes that some active lane touches,
once. A sector holds one word of 8 neighbouring lanes, so 32 lanes that ask for the same 4 bytes of
their memories need 4 sectors; if each asks for another word they need 32. 8 bytes per lane are two
words: 8 sectors at one place, 64 at most. Elements of 1 or 2 bytes move as much as one of 4.

As the words of a lane lie 128 bytes apart, the L1 cache is asked for them one after the other: a
request of 8 bytes per lane is two requests to its tags, one of 16 bytes four.

Source: NVIDIA's CUDA C++ Programming Guide, "Local Memory": "consecutive 32-bit words are accessed
by consecutive thread IDs". On an H200 (cc 9.0) `l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}` and
`l1tex__t_requests_...` equal these counts in the 25 launches of `laboratory.corpus.local`.

**Limits**: counts what L1 is asked for, not what hits there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..hardware import SECTOR_BYTES, WARP_LANES, WORD_BYTES
from . import request, sector
from .request import Bools, Ints

__all__ = ["interleaved", "measure", "sectors", "tag_requests"]

_ROW = WARP_LANES * WORD_BYTES


def interleaved(address: npt.ArrayLike) -> Ints:
    """Where bytes of each lane's memory lie among those of the warp.

    >>> interleaved(np.full(32, 4))[:3].tolist()      # word 1 of lanes 0, 1, 2
    [128, 132, 136]

    Args:
        address: byte addresses in each lane's own memory, integers of shape (..., 32).
    """
    own = request.addresses(address)
    place: Ints = own // WORD_BYTES * _ROW + np.arange(WARP_LANES) * WORD_BYTES + own % WORD_BYTES
    return place


def sectors(address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None) -> Ints:
    """Distinct 32-byte sectors that each request touches.

    >>> lane = np.arange(32)
    >>> int(sectors(lane * 0, width=4)), int(sectors(lane * 4, width=4))
    (4, 32)
    >>> int(sectors(lane * 0, width=16)), int(sectors(lane // 8 * 4, width=4))
    (16, 4)

    Args:
        address: byte addresses in each lane's own memory, integers of shape (..., 32).
        width: bytes per lane: 1, 2, 4, 8 or 16; addresses are multiples of it.
        active: bools of shape (..., 32); None means all lanes. Other addresses are ignored.

    Raises:
        TypeError: addresses that are not integers, or a mask that is not bool.
        ValueError: a shape, width or address that no request has.
    """
    if width not in (1, 2, 4, 8, 16):
        raise ValueError(f"width is {width!r}; a lane moves 1, 2, 4, 8 or 16 bytes of local memory")
    mask = request.mask(active, np.shape(address))
    rows = request.addresses(address, mask)
    seen = rows if mask is None else rows[mask]
    if (seen % width).any():
        raise ValueError(f"an address is no multiple of {width}, the bytes that a lane moves")
    return measure(rows, width=width, active=mask).sectors


def tag_requests(width: int) -> int:
    """Requests to the tags of the L1 cache that a request of `width` bytes per lane makes.

    >>> [tag_requests(width) for width in (1, 4, 8, 16)]
    [1, 1, 2, 4]
    """
    return max(1, width // WORD_BYTES)


def measure(address: Ints, *, width: int, active: Bools | None = None) -> sector.Counts:
    """Sectors of each request, and the fewest: those of its lanes at one place; no checks."""
    mask = np.ones(address.shape, np.bool_) if active is None else active
    touched = _touched(address, width, mask)
    return sector.Counts(touched, _touched(np.zeros_like(address), width, mask))


def _touched(address: Ints, width: int, active: Bools) -> Ints:
    """Sectors of the active lanes: different words among each 8 neighbours, one after the other."""
    of_sector = SECTOR_BYTES // WORD_BYTES
    word = np.where(active, address // WORD_BYTES, -1)
    groups = np.sort(word.reshape(*word.shape[:-1], -1, of_sector), axis=-1)
    fresh = np.diff(groups, axis=-1, prepend=-1) > 0
    total: Ints = fresh.sum(axis=(-2, -1))
    return total * tag_requests(width)
