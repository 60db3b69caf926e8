"""Values that lanes of a warp pass each other: shuffles, votes, matches.

Only the lane axis moves, so every implementation works on the last axis of a lane value. As in PTX,
of a lane number or distance the low five bits count, and a lane that would read past its warp keeps
its own value. A shuffle from a lane that takes no part gives, on a GPU, an undefined value; here it
gives that lane's value, and the watchers are notified (`watch.Exchange`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import WARP, LaneValue, Mask, cast, spread
from ..watch import Exchange, Site
from .barriers import of_warp

if TYPE_CHECKING:
    from ..batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]
LANE = np.arange(WARP)
_NOBODY = np.zeros((1, 1, 1), dtype=bool)

_WIDE = {"b": "i4", "i": "i4", "f": "f4"}
"""What Numba's own numba.cuda casts smaller numbers to before it moves them."""


def _movable(value: LaneValue) -> LaneValue:
    """The value as a shuffle moves it: int32, int64, float32 or float64."""
    kind, size = value.dtype.kind, value.dtype.itemsize
    if kind == "u":
        return cast(value, np.dtype({4: "i8", 8: "f8"}.get(size, "i4")))
    return cast(value, np.dtype(_WIDE[kind])) if size < 4 else value


def _low_bits(value: LaneValue) -> Array:
    """The low five bits of a lane number, as an array."""
    return np.asarray(value).astype(np.int64) & (WARP - 1)


def _named(members: LaneValue) -> Array:
    """(.., 32) bools: the lanes that each lane's member mask names."""
    bits: Array = np.asarray(members).astype(np.int64)
    if bits.ndim == 0:
        bits = bits.reshape(1, 1, 1)
    elif bits.shape[2] > 1:
        bits = bits[..., None]  # lanes with masks of their own: one row each
    named: Array = (bits >> LANE) & 1 != 0
    return named


def _check(batch: Batch, mask: Mask, site: Site, members: LaneValue, source: Any = None) -> None:
    """Notify the watchers where lanes read or name a lane that takes no part."""
    if not batch.watched:
        return
    active, named = spread(mask, batch.shape), _named(members)
    if named.ndim == 3:
        own = spread(named, batch.shape)
        asked = own & active.any(axis=2, keepdims=True)
    else:
        rows = np.broadcast_to(named, (*batch.shape, WARP))
        own = rows[..., LANE, LANE]
        asked = (rows & active[..., None]).any(axis=2)
    part = active & own
    strays = _NOBODY
    if source is not None:
        from_lane = spread(
            source.reshape((1, 1, WARP) if source.ndim == 1 else source.shape), batch.shape
        )
        strays = active & ~np.take_along_axis(part, from_lane, axis=2)
    unnamed = active & ~own
    missing = asked & spread(batch.live, batch.shape) & ~active
    if strays.any() or unnamed.any() or missing.any():
        event = Exchange(site, strays, source, unnamed, missing)
        for watcher in batch.watchers:
            watcher.exchange(event)


def _taken(batch: Batch, value: LaneValue, source: Array) -> LaneValue:
    """The value of lane `source` (last axis 32) of each lane's own warp."""
    if not isinstance(value, np.ndarray) or value.shape[2] == 1:
        return value
    if source.ndim == 1:
        return value.take(source, axis=2)
    shape = np.broadcast_shapes(value.shape, source.shape)
    return np.take_along_axis(spread(value, shape), spread(source, shape), axis=2)


def _shuffle(
    batch: Batch, mask: Mask, site: Site, members: Any, value: LaneValue, source: Array
) -> LaneValue:
    """The value of lane `source`, or one's own where that is past the warp."""
    inside = np.where((source >= 0) & (source < WARP), source, LANE)
    _check(batch, mask, site, members, inside)
    return _taken(batch, _movable(value), inside)


def shfl_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, lane: Any) -> LaneValue:
    """cuda.shfl_sync(mask, value, lane): the value of that lane."""
    return _shuffle(batch, mask, site, m, value, _low_bits(lane) + 0 * LANE)


def shfl_up_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, delta: Any) -> LaneValue:
    """cuda.shfl_up_sync(mask, value, delta): the value `delta` lanes below, or one's own."""
    return _shuffle(batch, mask, site, m, value, LANE - _low_bits(delta))


def shfl_down_sync(
    batch: Batch, mask: Mask, site: Site, m: Any, value: Any, delta: Any
) -> LaneValue:
    """cuda.shfl_down_sync(mask, value, delta): the value `delta` lanes above, or one's own."""
    return _shuffle(batch, mask, site, m, value, LANE + _low_bits(delta))


def shfl_xor_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, bits: Any) -> LaneValue:
    """cuda.shfl_xor_sync(mask, value, bits): the value of lane ^ bits."""
    return _shuffle(batch, mask, site, m, value, LANE ^ _low_bits(bits))


def _voters(batch: Batch, mask: Mask, site: Site, members: LaneValue) -> Any:
    """Active lanes that the member mask names."""
    _check(batch, mask, site, members)
    named = _named(members)
    return mask & (named if named.ndim == 3 else named[..., LANE, LANE])


def all_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.all_sync(mask, p): p is true in all named lanes of the warp."""
    return (np.not_equal(predicate, 0) | ~_voters(batch, mask, site, m)).all(axis=2, keepdims=True)


def any_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.any_sync(mask, p): p is true in some named lane of the warp."""
    return (np.not_equal(predicate, 0) & _voters(batch, mask, site, m)).any(axis=2, keepdims=True)


def eq_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.eq_sync(mask, p): p is the same in all named lanes of the warp."""
    true, voters = np.not_equal(predicate, 0), _voters(batch, mask, site, m)
    everyone = (true | ~voters).all(axis=2, keepdims=True)
    return everyone | ~(true & voters).any(axis=2, keepdims=True)


def _word(lanes: np.ndarray[Any, Any]) -> Any:
    """32 bools along the last axis as one int32."""
    bits = (lanes.astype(np.int64) << LANE).sum(axis=2, keepdims=True)
    return bits.astype(np.int32)


def ballot_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.ballot_sync(mask, p): bit i is set if p is true in lane i."""
    lanes = np.not_equal(predicate, 0) & _voters(batch, mask, site, m)
    return _word(spread(lanes, batch.shape))


def _bits(value: LaneValue) -> LaneValue:
    """A float as the integer of its bits: matches compare those, so NaN equals itself."""
    return value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "f" else value


def match_any_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any) -> LaneValue:
    """cuda.match_any_sync(mask, value): the lanes that hold the same value."""
    values, voters = (
        spread(_bits(value), batch.shape),
        spread(_voters(batch, mask, site, m), batch.shape),
    )
    result = np.zeros(batch.shape, np.int32)
    for lane in range(WARP):
        same = (values == values[:, :, lane : lane + 1]) & voters
        result[:, :, lane] = _word(same)[:, :, 0]
    return result


def match_all_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any) -> Any:
    """cuda.match_all_sync(mask, value): (mask, True) if all lanes agree, else (0, False)."""
    values, voters = (
        spread(_bits(value), batch.shape),
        spread(_voters(batch, mask, site, m), batch.shape),
    )
    first = voters.argmax(axis=2)[..., None]
    same = ((values == np.take_along_axis(values, first, axis=2)) | ~voters).all(
        axis=2, keepdims=True
    )
    return np.where(same, _word(voters), np.int32(0)), same


def activemask(batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """cuda.activemask(): the lanes that run this statement together."""
    return _word(spread(mask, batch.shape)).view(np.uint32)


def vote_sync_intrinsic(
    batch: Batch, mask: Mask, site: Site, m: Any, mode: Any, predicate: Any
) -> Any:
    """What the votes of Numba's own numba.cuda are made of: (ballot, vote)."""
    ballot = ballot_sync(batch, mask, site, m, predicate)
    votes = (all_sync, any_sync, eq_sync)
    mode = int(mode)
    return ballot, np.False_ if mode > 2 else votes[mode](batch, mask, site, m, predicate)


def shfl_sync_intrinsic(
    batch: Batch, mask: Mask, site: Site, m: Any, mode: Any, value: Any, by: Any, clamp: Any
) -> Any:
    """What the shuffles of Numba's own numba.cuda are made of: (value, whether it came from there).

    Bits 8 to 12 of `clamp` cut the warp into parts, bits 0 to 4 bound the lane, as in PTX.
    """
    bound, part = _low_bits(clamp), _low_bits(np.asarray(clamp).astype(np.int64) >> 8)
    first, last = LANE & part, (LANE & part) | (bound & ~part)
    by, mode = _low_bits(by), int(mode)
    source = (first | (by & ~part), LANE - by, LANE + by, LANE ^ by)[mode]
    inside = source >= last if mode == 1 else source <= last
    source = np.where(inside, source, LANE)
    _check(batch, mask, site, m, source)
    inside = inside if inside.ndim == 3 else inside.reshape(1, 1, WARP)
    return _taken(batch, _movable(value), source), inside


def lanemask_lt(batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """cuda.lanemask_lt(): a bit for each lane below one's own."""
    return (
        ((np.uint64(1) << LANE.astype(np.uint64)) - np.uint64(1))
        .astype(np.uint32)
        .reshape(1, 1, WARP)
    )


_ALL: dict[str, Callable[..., Any]] = {
    "shfl_sync": shfl_sync,
    "shfl_up_sync": shfl_up_sync,
    "shfl_down_sync": shfl_down_sync,
    "shfl_xor_sync": shfl_xor_sync,
    "all_sync": all_sync,
    "any_sync": any_sync,
    "eq_sync": eq_sync,
    "ballot_sync": ballot_sync,
    "match_any_sync": match_any_sync,
    "match_all_sync": match_all_sync,
    "vote_sync_intrinsic": vote_sync_intrinsic,
    "shfl_sync_intrinsic": shfl_sync_intrinsic,
    "activemask": activemask,
    "lanemask_lt": lanemask_lt,
}

IMPLEMENTATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    name: (of_warp(implementation) if name.endswith("_sync") else implementation, "shuffle")
    for name, implementation in _ALL.items()
}
