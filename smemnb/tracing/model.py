"""What a watched launch leaves behind, as small frozen records of ints.

Watchers produce `SiteCounts` and `Observation`; the report turns them into `AccessRow`, totals
and findings, which hold names instead of the engine's objects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..lockstep.watch import ArrayInfo, Site
from ..rules.bank import request_kind

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
    `in_turn` are the addresses of the first requests of one warp, in order; of global loads only.
    `copy` marks the two sides of an asynchronous copy.
    `matrices` is how many matrices of 8 rows a request of ldmatrix or stmatrix moves, else 0.
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
    in_turn: tuple[tuple[int, ...], ...] = ()
    copy: bool = False
    matrices: int = 0

    @property
    def rule(self) -> str:
        """The kind of request, by which `rules.bank` counts wavefronts."""
        return request_kind(self.kind, self.matrices)


@dataclass(frozen=True)
class HeardBy:
    """The thread of a block that knows what its other threads do not, and by which access."""

    site: Site
    block: Dim3
    thread: Dim3
    warp: int


@dataclass(frozen=True)
class Observation:
    """Something a watcher saw go wrong, before it is put into words.

    `kind` is one of `findings.kinds.KINDS`. `count` is how many elements (races), threads
    (barriers) or lanes (initialisation, bounds) it concerns; block, threads, index name the first
    of them. `other_block` is None where both are of one block. `heard` is of a race between blocks
    of which the later one's block knows that the earlier access is over, by another thread.
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
    other_block: Dim3 | None = None
    array: ArrayInfo | None = None
    index: tuple[int, ...] | None = None
    axis: int | None = None
    detail: Mapping[str, int | str] = field(default_factory=dict)
    heard: HeardBy | None = None


@dataclass(frozen=True)
class LaunchInfo:
    """What was launched: kernel, grid, block, bytes of shared memory per block.

    Static bytes are those of the shared arrays the launch came by, dynamic ones those it asked
    for. `counted` and `checked` say which watchers looked, `watched_blocks` at how many blocks.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    static_shared_bytes: int
    dynamic_shared_bytes: int
    counted: bool = True
    checked: bool = True
    watched_blocks: int | None = None

    @property
    def estimated(self) -> bool:
        """Whether some blocks were not watched, so that totals are estimates."""
        return self.watched_blocks not in (None, self.blocks)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.grid)

    @property
    def threads_per_block(self) -> int:
        """Threads of one block."""
        return math.prod(self.block)

    def __str__(self) -> str:
        """The launch as it is written: "kernel[(4, 4), (32, 8)]"."""
        parts = [place(self.grid, self.grid), place(self.block, self.block)]
        if self.dynamic_shared_bytes:
            parts += ["0", str(self.dynamic_shared_bytes)]
        return f"{self.kernel}[{', '.join(parts)}]"


@dataclass(frozen=True)
class AccessRow:
    """One access expression on one array, with its source line and its totals over the launch.

    `function` is the kernel, or the device function the line stands in; `source` the whole line
    and `text` the one expression. Shared and global memory fill different counts, as in
    `SiteCounts`.
    """

    line: int
    column: int
    function: str
    source: str
    text: str
    kind: str
    space: str
    array: str
    dtype: str
    width: int
    requests: int
    lanes: int
    wavefronts: int
    ideal: int
    extra: int
    ways: int
    multicast: int
    sectors: int
    ideal_sectors: int
    worst: WorstRequest | None = None
    copy: bool = False
    matrices: int = 0

    @property
    def rule(self) -> str:
        """The kind of request, by which `rules.bank` counts wavefronts."""
        return request_kind(self.kind, self.matrices)

    @property
    def access(self) -> str:
        """The access as a reader names it: "load tile[tx, ty]", or the call of an atomic.

        Calls of ldmatrix and stmatrix say their kind themselves.
        """
        kind = f"{self.rule} x{self.matrices}" if self.matrices else self.kind
        named = self.matrices and kind.replace(" ", "_") in self.text
        said = self.text if named or self.kind.startswith("atomic") else f"{kind} {self.text}"
        return said if self.names_its_array else f"{said} ({self.array})"

    @property
    def names_its_array(self) -> bool:
        """False where the text has another name for the array, as in a device function."""
        return re.search(rf"\b{re.escape(self.array)}\b", self.text) is not None

    @property
    def modelled(self) -> bool:
        """False for atomics that are retry loops: no fixed count of wavefronts, all stay 0."""
        return self.space != "shared" or self.kind != "atomic_retry"

    @property
    def extra_sectors(self) -> int:
        """Sectors above the fewest that hold the bytes asked for."""
        return self.sectors - self.ideal_sectors


@dataclass(frozen=True)
class LocalAccess:
    """An access expression to a local array, and how its index is known.

    `index` is "compile time", "run time", "open" (known only if the compiler unrolls a loop), or
    "whole" where something other than an index decides; `why` says in words what that is, or why an
    index is not known at compile time. `file` is no part of a report.
    """

    line: int
    column: int
    function: str
    source: str
    text: str
    kind: str
    index: str
    why: str = ""
    file: str = field(default="", compare=False)


@dataclass(frozen=True)
class LocalArray:
    """A `cuda.local.array` of a kernel, and where it lies.

    `lies` is "registers", "local memory" or "open" (up to the compiler; `as_compiled` tells), `why`
    the reason and `decided_by` the access that decides it. `bytes` are those of one thread.
    """

    name: str
    function: str
    line: int
    source: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    lies: str
    why: str = ""
    accesses: tuple[LocalAccess, ...] = ()
    decided_by: LocalAccess | None = None
    file: str = field(default="", compare=False)


@dataclass(frozen=True)
class LocalTotals:
    """The local arrays of a kernel, in bytes per thread by where they lie."""

    arrays: int
    bytes: int
    registers: int
    local_memory: int
    open: int


@dataclass(frozen=True)
class SharedTotals:
    """Shared memory over the whole launch; `ways` is the worst n-way of any request."""

    requests: int
    lanes: int
    wavefronts: int
    ideal: int
    extra: int
    ways: int
    multicast: int


@dataclass(frozen=True)
class GlobalTotals:
    """Global memory over the whole launch; `ideal_sectors` the fewest that hold the bytes."""

    requests: int
    lanes: int
    sectors: int
    ideal_sectors: int

    @property
    def extra_sectors(self) -> int:
        """Sectors above the fewest that hold the bytes asked for."""
        return self.sectors - self.ideal_sectors


def place(coordinates: Dim3, extent: Dim3) -> str:
    """A thread, block or extent as it is written: only as many coordinates as the extent has.

    >>> place((3, 0, 0), (64, 1, 1)), place((3, 1, 0), (32, 8, 1))
    ('3', '(3, 1)')
    """
    axes = max((axis + 1 for axis in range(3) if extent[axis] > 1), default=1)
    return str(coordinates[0]) if axes == 1 else str(coordinates[:axes])
