"""Values that lanes of a warp pass each other: shuffles, votes, matches.

Only the lane axis moves, so every meaning works on the last axis of a lane value. A shuffle from
a lane that is inactive gives, on a GPU, an undefined value; here it gives that lane's value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import WARP, LaneValue, Mask, spread
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch

LANE = np.arange(WARP)


def _taken(batch: Batch, value: LaneValue, source: np.ndarray[Any, Any]) -> LaneValue:
    """The value of lane `source` (last axis 32 or 1) of each lane's own warp."""
    if not isinstance(value, np.ndarray) or value.shape[2] == 1:
        return value
    if source.ndim == 1:
        return value.take(source, axis=2)
    shape = np.broadcast_shapes(value.shape, source.shape)
    return np.take_along_axis(spread(value, shape), spread(source, shape), axis=2)


def _lane_number(value: LaneValue) -> Any:
    return value.astype(np.int64) if isinstance(value, np.ndarray) else np.int64(value)


def shfl_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, lane: Any) -> LaneValue:
    """cuda.shfl_sync(mask, value, lane): the value of that lane."""
    return _taken(batch, value, np.asarray(_lane_number(lane) % WARP + 0 * LANE))


def shfl_up_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, delta: Any) -> LaneValue:
    """cuda.shfl_up_sync(mask, value, delta): the value `delta` lanes below, or one's own."""
    source = LANE - _lane_number(delta)
    return _taken(batch, value, np.where(source >= 0, source, LANE))


def shfl_down_sync(
    batch: Batch, mask: Mask, site: Site, m: Any, value: Any, delta: Any
) -> LaneValue:
    """cuda.shfl_down_sync(mask, value, delta): the value `delta` lanes above, or one's own."""
    source = LANE + _lane_number(delta)
    return _taken(batch, value, np.where(source < WARP, source, LANE))


def shfl_xor_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any, bits: Any) -> LaneValue:
    """cuda.shfl_xor_sync(mask, value, bits): the value of lane ^ bits."""
    source = LANE ^ _lane_number(bits)
    return _taken(batch, value, np.where(source < WARP, source, LANE))


def _voters(batch: Batch, mask: Mask, members: LaneValue) -> Any:
    """Active lanes that the member mask names."""
    named = (_lane_number(members) >> LANE) & 1 != 0
    return mask & named.reshape((1, 1, WARP) if named.ndim == 1 else named.shape)


def all_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.all_sync(mask, p): p is true in all named lanes of the warp."""
    return (np.not_equal(predicate, 0) | ~_voters(batch, mask, m)).all(axis=2, keepdims=True)


def any_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.any_sync(mask, p): p is true in some named lane of the warp."""
    return (np.not_equal(predicate, 0) & _voters(batch, mask, m)).any(axis=2, keepdims=True)


def eq_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.eq_sync(mask, p): p is the same in all named lanes of the warp."""
    true, voters = np.not_equal(predicate, 0), _voters(batch, mask, m)
    everyone = (true | ~voters).all(axis=2, keepdims=True)
    return everyone | ~(true & voters).any(axis=2, keepdims=True)


def _word(lanes: np.ndarray[Any, Any]) -> Any:
    """32 bools along the last axis as one int32."""
    bits = (lanes.astype(np.int64) << LANE).sum(axis=2, keepdims=True)
    return bits.astype(np.int32)


def ballot_sync(batch: Batch, mask: Mask, site: Site, m: Any, predicate: Any) -> LaneValue:
    """cuda.ballot_sync(mask, p): bit i is set if p is true in lane i."""
    lanes = np.not_equal(predicate, 0) & _voters(batch, mask, m)
    return _word(spread(lanes, batch.shape))


def match_any_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any) -> LaneValue:
    """cuda.match_any_sync(mask, value): the lanes that hold the same value."""
    values, voters = spread(value, batch.shape), spread(_voters(batch, mask, m), batch.shape)
    result = np.zeros(batch.shape, np.int32)
    for lane in range(WARP):
        same = (values == values[:, :, lane : lane + 1]) & voters
        result[:, :, lane] = _word(same)[:, :, 0]
    return result


def match_all_sync(batch: Batch, mask: Mask, site: Site, m: Any, value: Any) -> Any:
    """cuda.match_all_sync(mask, value): (mask, True) if all lanes agree, else (0, False)."""
    values, voters = spread(value, batch.shape), spread(_voters(batch, mask, m), batch.shape)
    first = voters.argmax(axis=2)[..., None]
    same = ((values == np.take_along_axis(values, first, axis=2)) | ~voters).all(
        axis=2, keepdims=True
    )
    return np.where(same, _word(voters), np.int32(0)), same


def activemask(batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """cuda.activemask(): the lanes that run this statement together."""
    return _word(spread(mask, batch.shape)).view(np.uint32)


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
    "activemask": activemask,
    "lanemask_lt": lanemask_lt,
}

MEANINGS: dict[str, tuple[Callable[..., Any], str]] = {
    name: (meaning, "shuffle") for name, meaning in _ALL.items()
}
