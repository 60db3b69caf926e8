"""Barriers of a block and of a warp: lockstep order has their effect, watchers are notified.

Each implementation follows the protocol of `protocol.py`: `(batch, mask, site, *arguments)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask
from ..watch import Barrier, Fence, Site

if TYPE_CHECKING:
    from ..batch import Batch


def syncthreads(batch: Batch, mask: Mask, site: Site) -> None:
    """cuda.syncthreads(): lockstep order needs nothing; fibers wait for each other."""
    launch = batch.launch
    if launch.unheeded == site.line and site.file == launch.function.__code__.co_filename:
        _fence("block", batch, mask, site)
        return
    batch.meet(mask, site)


def _per_block(batch: Batch, mask: Mask, site: Site, predicate: LaneValue) -> Any:
    """(predicate, active), each as (blocks, threads)."""
    return batch.meet(mask, site, predicate)


def syncthreads_count(batch: Batch, mask: Mask, site: Site, predicate: LaneValue) -> LaneValue:
    """cuda.syncthreads_count(p): how many threads of the block have p true."""
    true, active = _per_block(batch, mask, site, predicate)
    return (true & active).sum(axis=1, dtype=np.int32).reshape(-1, 1, 1)


def syncthreads_and(batch: Batch, mask: Mask, site: Site, predicate: LaneValue) -> LaneValue:
    """cuda.syncthreads_and(p): 1 if p is true in all threads of the block."""
    true, active = _per_block(batch, mask, site, predicate)
    return (true | ~active).all(axis=1).astype(np.int32).reshape(-1, 1, 1)


def syncthreads_or(batch: Batch, mask: Mask, site: Site, predicate: LaneValue) -> LaneValue:
    """cuda.syncthreads_or(p): 1 if p is true in any thread of the block."""
    true, active = _per_block(batch, mask, site, predicate)
    return (true & active).any(axis=1).astype(np.int32).reshape(-1, 1, 1)


def of_warp(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Gather the lanes of a warp for an implementation, also where each runs for itself."""

    def run(batch: Batch, mask: Mask, site: Site, *arguments: LaneValue) -> LaneValue:
        if batch.apart:
            return batch.gather(implementation, mask, site, arguments)
        return implementation(batch, mask, site, *arguments)

    return run


def syncwarp(batch: Batch, mask: Mask, site: Site, members: LaneValue = None) -> None:
    """cuda.syncwarp(mask): a barrier of the lanes named in the mask."""
    if not batch.watched:
        return
    if members is None:
        batch.report_barrier(Barrier(site, "warp", mask, batch.live))
        return
    bits = np.asarray(members).astype(np.int64)
    for word in np.unique(bits).tolist():  # lanes that name different lanes meet apart
        named = ((word >> np.arange(32)) & 1 != 0).reshape(1, 1, 32)
        arrived = mask if bits.ndim == 0 else mask & (bits == word)
        if bits.ndim == 0 or arrived.any():
            batch.report_barrier(Barrier(site, "warp", arrived, batch.live, named))


def _fence(scope: str, batch: Batch, mask: Mask, site: Site) -> None:
    """cuda.threadfence() and its kind: lockstep order has its effect, watchers are notified."""
    if batch.watched:
        batch.report_fence(Fence(site, scope, mask))


IMPLEMENTATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "syncthreads": (syncthreads, "barrier"),
    "syncthreads_count": (syncthreads_count, "barrier"),
    "syncthreads_and": (syncthreads_and, "barrier"),
    "syncthreads_or": (syncthreads_or, "barrier"),
    "syncwarp": (of_warp(syncwarp), "syncwarp"),
    "threadfence_block": (partial(_fence, "block"), "fence"),
    "threadfence": (partial(_fence, "grid"), "fence"),
    "threadfence_system": (partial(_fence, "system"), "fence"),
}
