"""Wavefronts of a shared-memory request: the bank rule.

Shared memory is 32 banks of 4-byte words: `bank = (address // 4) % 32`. A request is one
warp-wide instruction: a byte address and `width` bytes for each active lane. It is served in
phases, and a phase takes as many wavefronts as its busiest bank has *distinct words*. Lanes that
want the same word share it, so a broadcast costs nothing.

    width     phases of a load                                          phases of a store
    1, 2, 4   the warp                                                  the warp
    8         the warp if lanes pair up, else its two halves            the two halves
    16        the two halves if lanes pair up, else the four quarters   the four quarters

Lanes *pair up* if every active lane i has a partner i ^ 1 (or every one i ^ 2) that is inactive
or has the same address. Atomics are 4 bytes and one phase: `atomic_increment` (add of the
constant 1) merges the lanes of one word, `atomic_add` takes one pass per *lane* of the busiest
bank, `atomic_cas` two. `ldmatrix` and `stmatrix` move matrices of 8 rows of 16 bytes, whose places
8 lanes give each: a phase per matrix, however rows repeat. An asynchronous copy (LDGSTS) is none
of these: `rules.async_copy`.

Source: counters of one-warp launches on an H200 (cc 9.0), `smemnb/measure/recorded`; the rule
equals all 138 load and store readings, all 18 integer atomics, and 69 launches with `ldmatrix` or
`stmatrix`. Taught in `14_banks` and `16_widths`.

**Limits**: not yet compared with chips of other compute capabilities. Counts, not time: arbitration
between warps adds up to 1.5 % to the counters of a full launch. Atomics were read with full warps.
Atomics on floats, and 8-byte ones other than exchange and compare-and-swap, are retry loops with no
fixed count (in SASS: `ATOMS.CAST.SPIN`). `ideal` of `atomic_cas` is 1 although none takes fewer
than 2.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..hardware import BANKS, WARP_LANES, WAVEFRONT_BYTES, WORD_BYTES
from . import request
from .request import Bools, Ints

__all__ = ["KINDS", "WIDTHS", "Counts", "bank_of", "extra", "ideal", "measure", "multicast"]
__all__ += ["request_kind", "wavefronts", "ways"]

WIDTHS: Final = (1, 2, 4, 8, 16)
KINDS: Final = (
    "load",
    "store",
    "atomic_add",
    "atomic_increment",
    "atomic_cas",
    "ldmatrix",
    "stmatrix",
)
_OF_MATRICES = ("ldmatrix", "stmatrix")

_CHUNK_ROWS = 512  # requests at a time: 128 KB of int64, which stays in the L2 cache
_FEW_ROWS = 32  # below this, looking for one pattern costs more than it saves


class Counts(NamedTuple):
    """Counts of each request, as int64 arrays of one shape. `multicast` is 0 or 1."""

    wavefronts: Ints
    ideal: Ints
    ways: Ints
    multicast: Ints


def wavefronts(
    address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None, kind: str = "load"
) -> Ints:
    """Wavefronts of each request: per phase, the most distinct words in one bank, summed.

    >>> lane = np.arange(32)
    >>> int(wavefronts(lane * 32 * 4, width=4)), int(wavefronts(lane * 33 * 4, width=4))
    (32, 1)
    >>> int(wavefronts(lane * 8, width=8))    # 256 bytes do not fit into one wavefront
    2

    Args:
        address: byte addresses, integers of shape (..., 32), one per lane; multiples of `width`.
        width: bytes per lane, one of 1, 2, 4, 8, 16.
        active: bools of shape (..., 32); None means all lanes. Other addresses are ignored.
        kind: one of `KINDS`. The kinds of `atomic_` are 4 bytes wide, matrices 16.

    Raises:
        TypeError: addresses that are not integers, or a mask that is not bool.
        ValueError: a shape, width, kind or address that no request has.
    """
    return _checked(address, width, active, kind).wavefronts


def ideal(
    address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None, kind: str = "load"
) -> Ints:
    """Fewest wavefronts for such a request: its phases with an active lane; 1 for an atomic.

    >>> lane = np.arange(32)
    >>> int(ideal(lane * 128, width=4)), int(ideal(lane * 16, width=16))
    (1, 4)
    """
    return _checked(address, width, active, kind).ideal


def extra(
    address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None, kind: str = "load"
) -> Ints:
    """Extra wavefronts, `wavefronts - ideal`: the only number called "conflicts".

    >>> int(extra(np.arange(32) * 32 * 4, width=4))
    31
    """
    counts = _checked(address, width, active, kind)
    return counts.wavefronts - counts.ideal


def ways(
    address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None, kind: str = "load"
) -> Ints:
    """The n of "n-way": the most distinct words in one bank within a phase (an atomic's passes).

    1 is conflict-free, 0 means that no lane is active.

    >>> int(ways(np.arange(32) * 2 * 4, width=4)), int(ways(np.arange(32) * 8, width=8))
    (2, 1)
    """
    return _checked(address, width, active, kind).ways


def multicast(address: npt.ArrayLike, *, width: int, active: npt.ArrayLike | None = None) -> Bools:
    """Whether some word is asked for by two or more active lanes.

    >>> bool(multicast(np.arange(32) // 2 * 4, width=4)), bool(multicast(np.arange(32), width=1))
    (True, True)
    """
    return _checked(address, width, active, "load").multicast.astype(np.bool_)


def bank_of(address: npt.ArrayLike) -> Ints:
    """Bank of the word that holds each byte address.

    >>> bank_of([0, 3, 4, 124, 128]).tolist()
    [0, 0, 1, 31, 0]
    """
    given = np.asarray(address)
    if given.dtype.kind not in "iu":
        raise TypeError(f"address holds {given.dtype}; byte addresses are integers")
    if given.size and given.min() < 0:
        raise ValueError(f"address {given.min()} is negative; bytes are counted from 0")
    bank: Ints = given.astype(np.int64) // WORD_BYTES % BANKS
    return bank


def request_kind(kind: str, matrices: int) -> str:
    """What an access is here: its kind, or the instruction that moves so many matrices.

    >>> request_kind("load", 0), request_kind("load", 4)
    ('load', 'ldmatrix')
    """
    return {"load": "ldmatrix", "store": "stmatrix"}[kind] if matrices else kind


def measure(
    address: Ints, *, width: int, active: Bools | None = None, kind: str = "load"
) -> Counts:
    """All counts of each request in one pass, with no check of the input.

    For callers that made the addresses themselves, such as the trace; everybody else wants
    `wavefronts` and its kin. `address` is int64 (..., 32), aligned to `width`; `active` is bool
    of the same shape. If all requests are one pattern, moved by whole words, one is counted.
    An atomic of 8 bytes is counted as if its bank pairs were banks, which nothing confirms.

    >>> base = np.array([[0], [4], [8]])
    >>> measure(base + np.arange(32) * 8, width=4).wavefronts.tolist()
    [2, 2, 2]
    """
    shape = address.shape[:-1]
    rows = address.reshape(-1, WARP_LANES)
    mask = None if active is None else active.reshape(-1, WARP_LANES)
    if len(rows) <= _CHUNK_ROWS:
        return Counts(*(count.reshape(shape) for count in _chunk(rows, width, mask, kind)))
    out = np.empty((4, len(rows)), np.int64)
    for start in range(0, len(rows), _CHUNK_ROWS):
        here = slice(start, start + _CHUNK_ROWS)
        part = _chunk(rows[here], width, None if mask is None else mask[here], kind)
        for into, count in zip(out, part, strict=True):
            into[here] = count
    return Counts(*out.reshape(4, *shape))


def _chunk(rows: Ints, width: int, mask: Bools | None, kind: str) -> tuple[Ints, ...]:
    """`_count`, or one count repeated if all rows are one pattern."""
    if mask is not None:
        if mask.all():
            mask = None
        else:
            rows = _filled(rows, mask)
    if len(rows) < _FEW_ROWS or not _one_pattern(rows, mask, max(width, WORD_BYTES)):
        return _count(rows, width, mask, kind)
    one = _count(rows[:1], width, None if mask is None else mask[:1], kind)
    return tuple(count.repeat(len(rows)) for count in one)


def _one_pattern(rows: Ints, mask: Bools | None, unit: int) -> bool:
    """Whether all rows are the first one, moved by whole units (which renames the banks)."""
    moved = rows[:, 0] - rows[0, 0]
    if (rows[-1] - moved[-1] != rows[0]).any() or (moved & (unit - 1)).any():
        return False
    if (rows - moved[:, None] != rows[0]).any():
        return False
    return mask is None or bool((mask == mask[0]).all())


def _filled(rows: Ints, mask: Bools) -> Ints:
    """Rows in which an inactive lane repeats the first active one, which adds no unit."""
    first = mask.argmax(axis=1)
    return np.where(mask, rows, rows[np.arange(len(rows)), first][:, None])


def _count(rows: Ints, width: int, mask: Bools | None, kind: str) -> tuple[Ints, ...]:
    """Wavefronts, ideal, ways and multicast of each row; a `Counts` without the name."""
    unit_bytes = max(int(width), WORD_BYTES)
    unit = rows >> (unit_bytes.bit_length() - 1)
    units_across = WAVEFRONT_BYTES // unit_bytes
    degree, distinct = _degree(unit, units_across, mask)
    if mask is None:
        lanes, any_lane = np.int64(WARP_LANES), np.ones(len(rows), np.int64)
    else:
        lanes = mask.sum(axis=1)
        any_lane = np.minimum(lanes, 1)
    shared = (distinct < lanes).astype(np.int64)
    if kind.startswith("atomic"):
        passes = degree if kind == "atomic_increment" else _most_lanes(unit, mask)
        passes = 2 * passes if kind == "atomic_cas" else passes
        return passes, any_lane, passes, shared
    if width <= WORD_BYTES:
        return degree, any_lane, degree, shared
    apart = _phases(unit, units_across, mask, lanes_per_phase=WAVEFRONT_BYTES // unit_bytes)
    if kind != "load":
        return *apart, shared
    paired = _pairs(unit, mask)
    if width == 8:
        together: tuple[Ints, ...] = (degree, any_lane, degree)
    else:
        together = _phases(unit, units_across, mask, lanes_per_phase=16)
    return *(np.where(paired, a, b) for a, b in zip(together, apart, strict=True)), shared


def _phases(
    unit: Ints, units_across: int, mask: Bools | None, lanes_per_phase: int
) -> tuple[Ints, ...]:
    """Wavefronts, ideal and ways of rows that are served some lanes at a time."""
    part = None if mask is None else mask.reshape(-1, lanes_per_phase)
    unit = unit.reshape(-1, lanes_per_phase)
    degree, _ = _degree(unit if part is None else _filled(unit, part), units_across, part)
    degree = degree.reshape(-1, WARP_LANES // lanes_per_phase)
    return degree.sum(axis=1), (degree > 0).sum(axis=1), degree.max(axis=1)


def _degree(unit: Ints, units_across: int, mask: Bools | None) -> tuple[Ints, Ints]:
    """Most distinct units in one column of banks, and distinct units (1 if no lane is active).

    A unit is what a lane asks for: a word, or an aligned 8 or 16 bytes, which fill 2 or 4 banks
    completely. Sorting by column, then by unit, puts equal units side by side.
    """
    key = (unit & (units_across - 1)) << 56
    key += unit >> (units_across.bit_length() - 1)
    key.sort(axis=1)
    column = key >> 56
    new = key[:, 1:] != key[:, :-1]
    rank = np.zeros(key.shape, np.int8)
    np.add.accumulate(new, axis=1, dtype=np.int8, out=rank[:, 1:])
    # rank of the first unit of the column in which a lane stands
    start = np.zeros(key.shape, np.int8)
    np.multiply(rank[:, 1:], column[:, 1:] != column[:, :-1], out=start[:, 1:])
    np.maximum.accumulate(start, axis=1, out=start)
    degree = (rank - start).max(axis=1).astype(np.int64) + 1
    distinct = rank[:, -1].astype(np.int64) + 1
    if mask is not None:
        degree = degree * np.logical_or.reduce(mask, axis=1)
    return degree, distinct


def _most_lanes(word: Ints, mask: Bools | None) -> Ints:
    """Most active lanes on one bank, of each row."""
    bank = word & (BANKS - 1) if mask is None else np.where(mask, word & (BANKS - 1), BANKS)
    row = np.arange(len(word))[:, None] * (BANKS + 1)
    counts = np.bincount((row + bank).ravel(), minlength=len(word) * (BANKS + 1))
    most: Ints = counts.reshape(-1, BANKS + 1)[:, :BANKS].max(axis=1)
    return most


def _pairs(unit: Ints, mask: Bools | None) -> Bools:
    """Whether lanes i and i ^ 1 agree in the whole warp, or lanes i and i ^ 2 do."""
    lane = np.arange(WARP_LANES)
    paired = np.zeros(len(unit), np.bool_)
    for x in (1, 2):
        same = unit == unit[:, lane ^ x]
        if mask is not None:
            same |= ~(mask & mask[:, lane ^ x])
        paired |= same.all(axis=1)
    return paired


def _checked(address: npt.ArrayLike, width: int, active: npt.ArrayLike | None, kind: str) -> Counts:
    """`measure`, once the input is known to be a request."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is not a shared-memory request; known: {', '.join(KINDS)}")
    if width not in WIDTHS:
        raise ValueError(f"width is {width!r}; a lane moves 1, 2, 4, 8 or 16 bytes per request")
    if kind.startswith("atomic") and width != WORD_BYTES:
        raise ValueError(f"{kind} of {width} bytes: the rule is known for 4-byte integers only")
    if kind in _OF_MATRICES and width != 16:
        raise ValueError(f"{kind} of {width} bytes: a row of a matrix has 16")
    mask = request.mask(active, np.shape(address))
    rows = request.addresses(address, mask)
    seen = rows if mask is None else rows[mask]
    if (seen % width).any():
        odd = seen[seen % width != 0].flat[0]
        raise ValueError(
            f"address {odd} is not a multiple of the width {width}; a GPU stops with a"
            " misaligned address here. Addresses are bytes: multiply an index by the item size"
        )
    return measure(rows, width=width, active=mask, kind=kind)
