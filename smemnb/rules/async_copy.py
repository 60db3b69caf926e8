"""What an asynchronous copy from global to shared memory (LDGSTS) asks of both memories.

A request is one warp-wide `cp.async`: of each lane that copies the place in shared memory, and of
each lane that reads the place in global memory; lanes that copy and do not read put zeros. It is
neither a load nor a store, and goes one of two ways.

*Past L1* (`.cg`, in machine code `LDGSTS.BYPASS`, 16 bytes):

- Lanes that read take no wavefront of shared memory's pipe, whatever banks they store to.
- Sectors are the distinct pairs of a 128-byte line of the source and a 32-byte sector of shared
  memory: what arrives is sorted by where it goes. So an exchange of 16-byte chunks within rows of
  128 bytes, as swizzles make it, moves as many sectors as none; one element that all lanes read is
  moved once for each sector that it goes to.

*Through L1* (`.ca`: 4, 8 and 16 bytes):

- Sectors are those that the lanes that read touch, each once, as of a load.
- Wavefronts: the lines of the source (128 bytes), in the order of the first lanes that read them,
  are served four at a time. Of each four the lanes go by phases: the warp of 4 bytes per lane, its
  halves of 8, its quarters of 16. In a phase a lane waits for each lane before it with the same
  banks of shared memory; and lanes whose turns come together take one wavefront for each of them
  that reads in the same banks of L1. Lanes that want one word do not share it.

Either way lanes that put zeros are served apart, as a plain store (`rules.bank`).

Source: `l1tex__data_pipe_lsu_wavefronts_mem_shared.sum` and
`l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` of 404 launches of one warp with one copy each,
read with Nsight Compute on an NVIDIA H200 (cc 9.0) on 2026-11-28: `laboratory.copies_probe`, which
has the command, and `measure/recorded/h200_copies.json`. Sectors are equal in all but one;
wavefronts in all 95 past L1, and in 280 of 309 through it.

**Limits**: through L1 the 29 others are off by up to 5 wavefronts. `settled` says of a request
whether it is of the kind of which all 248 readings are equal: at most four lines of the source, or
lines in the order of the lanes, and no phase in which both sides have lanes in the same banks. The
sectors that differ are those of lanes past L1 that store to one place, which is a race. A copy that
reads fewer bytes than it stores (`copy16_first`) is taken for one that reads them all: its sectors
were read, its wavefronts not. One chip; one copy per launch, so nothing is known of what copies of
several warps share.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..hardware import BANKS, LINE_BYTES, SECTOR_BYTES, WARP_LANES, WAVEFRONT_BYTES, WORD_BYTES
from . import bank, request, sector
from .request import Bools, Ints

__all__ = ["LINES_AT_ONCE", "WIDTHS", "Counts", "measure", "sectors", "settled", "wavefronts"]

WIDTHS: Final = (4, 8, 16)

LINES_AT_ONCE: Final = 4
"""Lines of the source that a copy through L1 is served with at once."""

_CHUNK_ROWS = 256  # requests at a time: each is compared lane by lane, 32 x 32


class Counts(NamedTuple):
    """Counts of each request, as int64 arrays of one shape.

    `ways` is the most wavefronts that a phase of it took. `ideal_sectors` are the fewest that hold
    what is read.
    """

    wavefronts: Ints
    ideal: Ints
    ways: Ints
    sectors: Ints
    ideal_sectors: Ints


def wavefronts(
    to: npt.ArrayLike,
    source: npt.ArrayLike,
    *,
    width: int,
    past_l1: bool = False,
    copying: npt.ArrayLike | None = None,
    reading: npt.ArrayLike | None = None,
) -> Ints:
    """Wavefronts of shared memory's pipe for each request.

    >>> lane = np.arange(32)
    >>> int(wavefronts(lane * 32, lane * 16, width=16, past_l1=True))
    0
    >>> int(wavefronts(lane * 4, lane * 4, width=4)), int(wavefronts(lane * 8, lane * 4, width=4))
    (1, 2)

    Args:
        to: byte addresses in shared memory, integers of shape (..., 32), one per lane.
        source: byte addresses in global memory, of the same shape.
        width: bytes per lane, one of 4, 8, 16; both addresses are multiples of it.
        past_l1: whether the copy is `.cg`, of 16 bytes.
        copying: bools, the lanes that take part; None means all.
        reading: bools, those of them that read; None means all that copy. The others put zeros.

    Raises:
        TypeError: addresses that are not integers, or a mask that is not bool.
        ValueError: a shape, width or address that no copy has.
    """
    rows = _checked((to, source), width, (copying, reading), past_l1=past_l1)
    return measure(*rows, width=width, past_l1=past_l1).wavefronts


def sectors(
    to: npt.ArrayLike,
    source: npt.ArrayLike,
    *,
    width: int,
    past_l1: bool = False,
    copying: npt.ArrayLike | None = None,
    reading: npt.ArrayLike | None = None,
) -> Ints:
    """Sectors of global memory that each request moves; arguments as of `wavefronts`.

    >>> lane = np.arange(32)
    >>> int(sectors(lane * 16, lane * 0, width=16)), int(sectors(lane * 4, lane * 32, width=4))
    (1, 32)
    >>> int(sectors(lane * 16, lane * 0, width=16, past_l1=True))    # to 16 sectors of the tile
    16
    """
    rows = _checked((to, source), width, (copying, reading), past_l1=past_l1)
    return measure(*rows, width=width, past_l1=past_l1).sectors


def settled(
    to: npt.ArrayLike,
    source: npt.ArrayLike,
    *,
    width: int,
    past_l1: bool = False,
    copying: npt.ArrayLike | None = None,
    reading: npt.ArrayLike | None = None,
) -> Bools:
    """Whether each request is of the kind of which all readings are equal; arguments as above.

    >>> lane = np.arange(32)
    >>> bool(settled(lane * 4, lane * 256, width=4))    # 32 lines, one after the other
    True
    >>> bool(settled(lane * 8, lane * 8, width=4))      # two lanes to a bank, on both sides
    False
    """
    to_rows, rows, _, reads = _checked((to, source), width, (copying, reading), past_l1=past_l1)
    shape = rows.shape[:-1]
    if past_l1:
        return np.ones(shape, np.bool_)
    to_rows, rows = to_rows.reshape(-1, WARP_LANES), rows.reshape(-1, WARP_LANES)
    reads = reads.reshape(-1, WARP_LANES)
    line, lane = rows // LINE_BYTES, np.arange(WARP_LANES)
    first = _first(line, reads)
    new = reads & (first == lane)
    following = np.maximum.accumulate(np.where(reads, line, -1), axis=1)
    ordered = (~reads | (line == following)).all(axis=1)
    part = _group(first, new) * WARP_LANES + lane // (WAVEFRONT_BYTES // width)
    meets_to, meets_source = (
        reads & (_before(part * BANKS + _column(address, width), reads) > 0)
        for address in (to_rows, rows)
    )
    together = part[:, :, None] == part[:, None, :]
    both = (together & meets_to[:, :, None] & meets_source[:, None, :]).any(axis=(1, 2))
    found: Bools = ~both & (ordered | (new.sum(axis=1) <= LINES_AT_ONCE))
    return found.reshape(shape)


def measure(
    to: Ints, source: Ints, copying: Bools, reading: Bools, *, width: int, past_l1: bool
) -> Counts:
    """All counts of each request, with no check of the input.

    For callers that made the addresses themselves, such as the trace. Addresses are int64 (..., 32)
    and aligned to `width`, the masks bool of the same shape, and who reads also copies.
    """
    shape = to.shape[:-1]
    to, source = to.reshape(-1, WARP_LANES), source.reshape(-1, WARP_LANES)
    copying, reading = copying.reshape(-1, WARP_LANES), reading.reshape(-1, WARP_LANES)
    zeros = copying & ~reading
    counts = np.zeros((3, len(to)), np.int64)
    if zeros.any():
        filled = bank.measure(to, width=width, active=zeros, kind="store")
        counts += np.stack([filled.wavefronts, filled.ideal, filled.ways])
    touched = sector.measure(source, width=width, active=reading)
    moved, least = touched.sectors, touched.ideal
    if past_l1:
        moved = _pairs(to, source, reading)
        least = np.minimum(least, moved)
    elif reading.any():
        read = _through_l1(to, source, width, reading)
        counts[:2] += read[:2]
        counts[2] = np.maximum(counts[2], read[2])
    return Counts(*(one.reshape(shape) for one in (*counts, moved, least)))


def _pairs(to: Ints, source: Ints, reading: Bools) -> Ints:
    """Distinct pairs of a line that is read and a sector that is stored to, of each row."""
    key = (source // LINE_BYTES << 24) + to // SECTOR_BYTES
    key = np.sort(np.where(reading, key, -1), axis=1)
    new: Ints = (key[:, 1:] != key[:, :-1]).sum(axis=1) + (key[:, 0] >= 0)
    return new


def _through_l1(to: Ints, source: Ints, width: int, reading: Bools) -> Ints:
    """Wavefronts, phases and the most wavefronts in a phase of the lanes that read, of each row."""
    # rows are alike whose lines and banks are; lines count from the first of the row
    least = np.where(reading, source, np.iinfo(np.int64).max).min(axis=1) // LINE_BYTES * LINE_BYTES
    alike = np.where(reading, ((source - least[:, None]) << 7) + to % WAVEFRONT_BYTES, -1)
    if len(alike) == 1:
        return _served(to, source, width, reading)
    rows = np.ascontiguousarray(alike).view(np.dtype((np.void, 8 * WARP_LANES))).ravel()
    _, chosen, which = np.unique(rows, return_index=True, return_inverse=True)
    parts = [chosen[at : at + _CHUNK_ROWS] for at in range(0, len(chosen), _CHUNK_ROWS)]
    each = [_served(to[here], source[here], width, reading[here]) for here in parts]
    found: Ints = np.concatenate(each, axis=1)[:, which.ravel()]
    return found


def _served(to: Ints, source: Ints, width: int, reading: Bools) -> Ints:
    """The same of rows that are all looked at."""
    lane, per_phase = np.arange(WARP_LANES), WAVEFRONT_BYTES // width
    phase = np.broadcast_to(lane // per_phase, to.shape)
    first = _first(source // LINE_BYTES, reading)
    group = _group(first, reading & (first == lane))
    part = group * (WARP_LANES // per_phase) + phase
    turn = part * WARP_LANES + _before(part * BANKS + _column(to, width), reading)
    at_source = _before(turn * BANKS + _column(source, width), reading) + 1
    same = (turn[:, :, None] == turn[:, None, :]) & reading[:, None, :]
    longest = np.where(same, at_source[:, None, :], 0).max(axis=2)
    taken = np.where(reading & (_before(turn, reading) == 0), longest, 0)
    each = [np.where(phase == one, taken, 0).sum(axis=1) for one in range(WARP_LANES // per_phase)]
    some = [(reading & (phase == one)).any(axis=1) for one in range(WARP_LANES // per_phase)]
    return np.stack([np.sum(each, axis=0), np.sum(some, axis=0), np.max(each, axis=0)])


def _column(address: Ints, width: int) -> Ints:
    """Which of the widths that fit side by side into all banks a lane's bytes fill."""
    found: Ints = address // width % (BANKS * WORD_BYTES // width)
    return found


def _first(line: Ints, reading: Bools) -> Ints:
    """The first lane that reads the line of each lane."""
    same = (line[:, :, None] == line[:, None, :]) & reading[:, None, :]
    found: Ints = same.argmax(axis=2)
    return found


def _group(first: Ints, new: Bools) -> Ints:
    """Which group of lines each lane's line is in."""
    rank = np.take_along_axis(np.cumsum(new, axis=1), first, axis=1) - 1
    found: Ints = np.maximum(rank, 0) // LINES_AT_ONCE
    return found


def _before(key: Ints, reading: Bools) -> Ints:
    """Lanes before each one that read and have its key."""
    earlier = np.tri(WARP_LANES, k=-1, dtype=np.bool_)
    same = (key[:, :, None] == key[:, None, :]) & reading[:, None, :] & earlier
    found: Ints = same.sum(axis=2)
    return found


def _checked(
    addresses: tuple[npt.ArrayLike, npt.ArrayLike],
    width: int,
    masks: tuple[npt.ArrayLike | None, npt.ArrayLike | None],
    *,
    past_l1: bool,
) -> tuple[Ints, Ints, Bools, Bools]:
    """The rows that `measure` takes, once they are known to be copies."""
    if width not in WIDTHS:
        raise ValueError(f"width is {width!r}; a lane copies 4, 8 or 16 bytes")
    if past_l1 and width != 16:
        raise ValueError(f"a copy of {width} bytes goes through L1; past it go 16 bytes per lane")
    shape = np.broadcast_shapes(np.shape(addresses[0]), np.shape(addresses[1]))
    takes, reads = (request.mask(one, shape) for one in masks)
    takes = np.ones(shape, np.bool_) if takes is None else takes
    reads = takes if reads is None else takes & reads
    rows: list[Ints] = []
    for name, given, lanes in zip(("to", "source"), addresses, (takes, reads), strict=True):
        address = request.addresses(np.broadcast_to(np.asarray(given), shape), lanes)
        if (address[lanes] % width).any():
            odd = address[lanes][address[lanes] % width != 0].flat[0]
            raise ValueError(f"{name} has address {odd}, which is no multiple of the width {width}")
        rows.append(np.where(lanes, address, 0))
    return rows[0], rows[1], takes, reads
