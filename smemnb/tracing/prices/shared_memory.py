"""Shared memory that a launch pays for: too much of it for the SM, or arrays that nobody uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...hardware import WARP_LANES, Limits
from ...lockstep.watch import ArrayInfo, Site
from ..model import Observation, SiteCounts

if TYPE_CHECKING:
    from ...lockstep.batch import Launch

LEAST_SHARE = 2  # shared memory may cost up to 1 / LEAST_SHARE of an SM's warps without a word


def few_blocks(
    launch: Launch, declared: Mapping[Site, ArrayInfo], chip: Limits
) -> Iterator[Observation]:
    """Told where shared memory leaves an SM less than half of the warps that it could hold."""
    size = launch.static_shared_bytes + launch.shared_bytes
    if not size or not declared or launch.blocks == 1:
        return
    warps = -(-launch.threads // WARP_LANES)
    possible = min(chip.warps_per_sm // warps, chip.blocks_per_sm)
    allowed = chip.shared_per_sm // (size + chip.shared_reserved_per_block)
    if allowed >= possible or allowed * warps * LEAST_SHARE >= chip.warps_per_sm:
        return
    site, array = max(declared.items(), key=lambda one: _bytes(one[1]))
    yield Observation(
        kind="shared_occupancy",
        site=site,
        block=(0, 0, 0),
        thread=(0, 0, 0),
        warp=0,
        count=size,
        array=array,
        detail={
            "allowed": allowed,
            "possible": possible,
            "warps": allowed * warps,
            "most": chip.warps_per_sm,
            "per_sm": chip.shared_per_sm,
            "cc": ".".join(map(str, chip.cc)),
        },
    )


def unused_arrays(
    declared: Mapping[Site, ArrayInfo],
    counts: Iterable[SiteCounts],
    tiles: Collection[tuple[Any, ...]] = (),
) -> Iterator[Observation]:
    """Shared arrays that no thread loads or stores in a launch that does some work.

    `tiles` are those that bulk copies or products touch: name, base and shape.
    """
    counts = list(counts)
    if not any(one.array.space == "shared" or one.kind == "load" for one in counts):
        return  # a launch without work
    touched = set(tiles) | {(one.array.name, one.array.base, one.array.shape) for one in counts}
    for site, array in declared.items():
        if (array.name, array.base, array.shape) not in touched:
            yield Observation(
                kind="unused_shared",
                site=site,
                block=(0, 0, 0),
                thread=(0, 0, 0),
                warp=0,
                count=_bytes(array),
                array=array,
            )


def _bytes(array: ArrayInfo) -> int:
    size = array.itemsize
    for extent in array.shape:
        size *= extent
    return size
