"""What a watched launch leaves behind, as small frozen records of ints.

Watchers produce `SiteCounts` and `Observation`; the report turns them into rows and findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..lockstep.watch import ArrayInfo, Site

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class WorstRequest:
    """One request of a site: the one with the most n-way (shared) or the most sectors (global).

    `address` holds 32 byte addresses (0 where the lane is inactive).
    """

    address: tuple[int, ...]
    active: tuple[bool, ...]
    block: Dim3
    warp: int


@dataclass(frozen=True)
class SiteCounts:
    """Totals of one access expression on one array, over the whole launch.

    Shared memory fills `wavefronts` to `multicast`, global memory `sectors` and `ideal_sectors`;
    the other group is 0. `multicast` counts requests in which some word serves several lanes.
    """

    site: Site
    array: ArrayInfo
    kind: str
    width: int
    requests: int
    lanes: int
    wavefronts: int = 0
    ideal: int = 0
    extra: int = 0
    ways: int = 0
    multicast: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    worst: WorstRequest | None = None


@dataclass(frozen=True)
class Observation:
    """Something a watcher saw go wrong, before it is put into words.

    `kind` is one of "race", "race_in_warp", "race_same_value", "divergent_barrier",
    "exited_before_barrier", "uninitialised", "stale", "out_of_range". `count` is how many
    threads (barriers, bounds) or cells (races, initialisation) it concerns; block, threads,
    index name the first of them.
    """

    kind: str
    site: Site
    block: Dim3
    thread: Dim3
    count: int
    warp: int
    other: Site | None = None
    other_thread: Dim3 | None = None
    other_warp: int | None = None
    array: ArrayInfo | None = None
    index: tuple[int, ...] | None = None
    axis: int | None = None
    detail: Mapping[str, int | str] = field(default_factory=dict)
