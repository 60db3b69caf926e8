"""What a watcher of a launch sees: sites, arrays, and one event per executed access.

A watcher subclasses `Watcher` and overrides what it needs; a launch without watchers pays for
none. Events carry lane values: arrays that broadcast to (blocks, warps, 32). Events may be kept
(the engine never changes an array after it was handed out).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..rules.bank import request_kind

if TYPE_CHECKING:
    from .batch import Batch, Launch

Lanes = np.ndarray[Any, np.dtype[Any]]
"""An array of ndim 3 that broadcasts to (blocks, warps, 32)."""


@dataclass(frozen=True, eq=False)
class Site:
    """One access or barrier expression of the source. Its identity is the key.

    `line` is the line in `file` (in a notebook: in the cell); `text` the expression as written;
    `kind` is "load", "store", "atomic_add", "atomic_increment", "atomic_cas", "barrier",
    "syncwarp", "variable" or "raise". `loading` is of a store whose value may be a whole record or
    array: the site of the loads that it brings with it. `update` is of a store that changes
    what its own statement loads from the same element: "+" of `x[i] += v` and `x[i] = x[i] + v`,
    "max" of `x[i] = max(x[i], v)`; "" of others.
    """

    function: str
    file: str
    line: int
    column: int
    text: str
    kind: str
    loading: Site | None = None
    update: str = ""


class ArrayInfo(Protocol):
    """What is known of an array that a kernel touches.

    `space` is "shared", "global", "local" or "const". `strides` count `unit` bytes, which is
    `itemsize` but for records and for strides that are no whole elements. `base` is the virtual
    byte address of the lowest element (256-byte aligned allocations for global memory, the offset
    inside the block's shared memory otherwise). `memory` is the same for all arrays that share
    bytes by being the dynamic shared memory of a block, the array itself otherwise.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    itemsize: int
    unit: int
    base: int

    @property
    def memory(self) -> ArrayInfo:
        """What all arrays over the same bytes have in common."""


@dataclass(slots=True, eq=False)
class Access:
    """One access executed by all active lanes of a batch.

    `array` is the array that was declared or passed, whatever view of it the kernel used. `offset`
    counts pieces of `unit` bytes from its base; it means nothing in lanes that are not `active`.
    `unit` (0 stands for the array's itemsize) is the width of a view's element, of a field, of half
    a complex number, or 1 where a GPU moves single bytes. `value` is what was stored (lane value or
    NumPy scalar), None for loads. `elements` is how many neighbours each lane touches at once: 4
    for a float4 in a float32 array. `turn` is None where events come in the order in which they
    happened (lanes of one in order of number); otherwise it is the true order: a number per lane
    that grows from one access to the next. `rounds` above 1 are rounds of a loop that one block
    ran at once: axis 0 of the lane values then counts them, in their order. `relaxed` accesses go
    to memory themselves and are never half done, as atomics are: they race with none of that kind.
    `copy` marks both sides of an asynchronous copy to shared memory, when it is issued: what it
    reads, and what it will have stored when its group arrives (`CopyGroup`); the two come one after
    the other. `past_l1` is of one that L1 does not keep. `first` is None, or
    says of each lane that only so many of its `elements` are touched.
    Of a request for `matrices` of 8 rows, 1, 2 or 4 of them, the active lanes are those that name
    a row, and `offset` is where it begins; `touched` are the pieces that lanes get or give: offset,
    active lanes and, of a store, the value of each.
    """

    site: Site
    array: ArrayInfo
    kind: str
    offset: Lanes
    active: Lanes
    value: Any = None
    elements: int = 1
    turn: Lanes | None = None
    unit: int = 0
    rounds: int = 1
    relaxed: bool = False
    copy: bool = False
    matrices: int = 0
    touched: tuple[tuple[Any, ...], ...] = ()
    first: Any = None
    past_l1: bool = False

    def __post_init__(self) -> None:
        """Fill in the usual unit."""
        if not self.unit:
            self.unit = self.array.itemsize

    @property
    def width(self) -> int:
        """Bytes per lane."""
        return self.elements * self.unit

    @property
    def rule(self) -> str:
        """The kind of request, by which `rules.bank` counts wavefronts."""
        return request_kind(self.kind, self.matrices)

    @property
    def address(self) -> Lanes:
        """The virtual byte address of each lane's first byte."""
        return self.offset * self.unit + self.array.base

    def each_round(self) -> Iterator[Access]:
        """The access round by round."""
        if self.rounds == 1:
            yield self
            return

        def of(values: Any, at: int) -> Any:
            several = isinstance(values, np.ndarray) and values.ndim == 3 and len(values) > 1
            return values[at : at + 1] if several else values

        for at in range(self.rounds):
            active = of(self.active, at)
            if active.any():
                offset, value = of(self.offset, at), of(self.value, at)
                first = of(self.first, at)
                yield replace(
                    self, offset=offset, active=active, value=value, first=first, rounds=1
                )

    def by_receiver(self) -> Access:
        """The access by the lanes that get or give elements, not by those that name rows."""
        if not self.touched:
            return self
        active = self.touched[0][1]
        for _, more, *_ in self.touched[1:]:
            active = active | more
        return replace(
            self, offset=self.touched[0][0], active=active, elements=len(self.touched), matrices=0
        )

    def cells(self, granule: int = 0) -> Iterator[Access]:
        """The access piece by piece, for watchers that look at single cells.

        A piece has `unit` bytes, or `granule` if that is given; it must divide `unit`.
        """
        granule = granule or self.unit
        if self.touched:
            for offset, active, *value in self.touched:
                whole = replace(
                    self,
                    offset=offset,
                    active=active,
                    value=value[0] if value else None,
                    elements=1,
                    matrices=0,
                    touched=(),
                )
                yield from whole.cells(granule)
            return
        if self.elements == 1 and granule == self.unit:
            yield self
            return
        per_element = self.unit // granule
        for at in range(self.elements):
            value = self.value[at] if isinstance(self.value, tuple) else self.value
            active = self.active if self.first is None else self.active & (self.first > at)
            if active is not self.active and not active.any():
                continue
            parts = [value] * per_element
            if value is not None and per_element > 1:
                parts = pieces_of(value, granule)
            for number, part in enumerate(parts):
                yield replace(
                    self,
                    offset=self.offset * per_element + at * per_element + number,
                    active=active,
                    value=part,
                    elements=1,
                    unit=granule,
                    first=None,
                )


def pieces_of(value: Any, width: int) -> list[Any]:
    """A lane value cut into unsigned integers of `width` bytes each, lowest address first.

    >>> pieces_of(np.float32(1.0), 2)
    [np.uint16(0), np.uint16(16256)]
    """
    whole = np.ascontiguousarray(np.asarray(value)[..., None])
    count = whole.itemsize // width
    cut = whole.view(f"u{width}").reshape(*np.shape(value), count)
    return [cut[..., at][()] for at in range(count)]


@dataclass(slots=True, eq=False)
class OutOfRange:
    """Lanes that index past an axis of an array; the engine drops their access.

    With `wrapped` the index is negative and counts from the end: the access takes place there.
    `axis` counts on the whole array, `index` is the lane value used there and `size` the axis'
    extent; `indices` are all the lane values of the subscript, which may be the last ones of
    several (`tile[ty][tx]`).
    """

    site: Site
    array: ArrayInfo
    axis: int
    index: Any
    size: int
    indices: tuple[Any, ...]
    lanes: Lanes
    wrapped: bool = False


@dataclass(slots=True, eq=False)
class Overflow:
    """Lanes in which a part of an index does not fit its type: `wide` became `result`.

    `wide` is the true value (of a product only its float64), both are lane values.
    """

    site: Site
    wide: Any
    result: Any
    lanes: Lanes


@dataclass(slots=True, eq=False)
class Barrier:
    """A barrier reached by the lanes of `arrived`; `live` lanes have not returned yet.

    `scope` is "block" (syncthreads), "warp" (syncwarp; `members` are then the lanes named) or
    "grid" (a cooperative grid's barrier, for the blocks of the batch).
    """

    site: Site
    scope: str
    arrived: Lanes
    live: Lanes
    members: Lanes | None = None


@dataclass(slots=True, eq=False)
class Fence:
    """A fence executed by the active lanes: what they did before is seen before what follows.

    `scope` is "block" (threadfence_block), "grid" (threadfence) or "system"; `turn` as for
    `Access`.
    """

    site: Site
    scope: str
    active: Lanes
    turn: Lanes | None = None


@dataclass(slots=True, eq=False)
class CopyGroup:
    """A step in the life of the asynchronous copies that the active lanes have issued.

    `step` is "commit": what a lane has issued since its last one is a group; or "wait": all its
    groups but the last `pending` have arrived. Where an mbarrier says that copies are there, it is
    "attach" (what the lane has issued arrives before the mbarrier at the shared address `barrier`
    ends its phase of this number) and "passed" (the lane knows that so many phases have ended).
    `turn` as for `Access`.
    """

    site: Site
    step: str
    active: Lanes
    pending: int = 0
    turn: Lanes | None = None
    barrier: Any = None
    phase: Any = None


class Region:
    """Bytes of one block's shared memory, by their offsets.

    These count from the first byte of the memory of `Bulk.array`. `span` is the swizzle by which
    the bytes are placed (`rules.bulk_swizzle`), None where none is meant.
    """

    def __init__(self, octets: Any, span: int | None = None) -> None:
        self.octets, self.span = octets, span


@dataclass(slots=True, eq=False)
class Bulk:
    """An access of a whole region of shared memory that is no request of lanes.

    The bulk engine and the tensor cores touch memory on their own: `kind` "store" is a bulk copy
    to shared memory, which arrives before the mbarrier at the shared address `barrier` ends its
    phase of the number `phase`; "load" is one from there, or a matrix that tensor cores read, under
    way until a `BulkGroup` of this `unit` ("bulk" or "wgmma") says that it is done. `active` are
    the lanes that asked for it, of one warp of one block. `turn` as for `Access`.
    """

    site: Site
    kind: str
    unit: str
    array: ArrayInfo
    active: Lanes
    region: Region
    barrier: Any = None
    phase: Any = None
    turn: Lanes | None = None


@dataclass(slots=True, eq=False)
class BulkGroup:
    """A step in the life of what the active lanes have asked for of a `unit`.

    `step` is "commit" (what was asked for since the last one is a group), "wait" (all groups but
    the last `pending` are done) or "fence" (what the lanes
    have stored in shared memory is seen by the unit).
    """

    site: Site
    unit: str
    step: str
    active: Lanes
    pending: int = 0
    turn: Lanes | None = None


@dataclass(slots=True, eq=False)
class Arrival:
    """Lanes that arrive at the mbarrier at a shared address, in its phase of this number."""

    site: Site
    active: Lanes
    barrier: Any
    phase: Any
    turn: Lanes | None = None


@dataclass(slots=True, eq=False)
class Exchange:
    """A shuffle, vote or match of a warp in which the lanes do not fit together.

    `strays` read a lane (`source`) that takes no part: it is not active here, or its own mask does
    not name it. `unnamed` are active lanes that their own mask leaves out; `missing` are living
    lanes that a mask names and that are somewhere else. Told only where one of them is not empty.
    """

    site: Site
    strays: Lanes
    source: Any
    unnamed: Lanes
    missing: Lanes


@dataclass(slots=True, eq=False)
class Unassigned:
    """Lanes that read a variable to which they have assigned nothing.

    On a GPU they go on with whatever the register holds, here with `memory.poison`. `site` is the
    read, of kind "variable".
    """

    site: Site
    name: str
    lanes: Lanes


@dataclass(slots=True, eq=False)
class Unwritten:
    """Lanes that load an element of a local array to which their thread has stored nothing.

    `offset` is a lane value or the same for all lanes.
    """

    site: Site
    array: ArrayInfo
    offset: Any
    lanes: Lanes


@dataclass(slots=True, eq=False)
class Ended:
    """Lanes that an exception ends: those of a `raise`, or of an `assert` that fails.

    `exception` is the name of its class and `said` its text, "" if it has none. `site` is the
    statement, of kind "raise", or the expression that raises by itself.
    """

    site: Site
    exception: str
    said: str
    lanes: Lanes


class Watcher:
    """Base of all watchers: every method is a no-op.

    `takes_rounds` says that `access` knows events of several rounds of a loop (`Access.rounds`);
    a loop that anybody else listens to goes round by round.
    """

    takes_rounds = False

    def start(self, launch: Launch) -> None:
        """Before the first batch."""

    def begin_batch(self, batch: Batch) -> None:
        """Before the blocks of a batch run; shared memory is fresh."""

    def access(self, event: Access) -> None:
        """After index and mask are known, before a store takes effect."""

    def barrier(self, event: Barrier) -> None:
        """At each syncthreads and syncwarp."""

    def fence(self, event: Fence) -> None:
        """At each threadfence."""

    def copy_group(self, event: CopyGroup) -> None:
        """When copies to shared memory become a group, or a thread waits for groups."""

    def bulk(self, event: Bulk) -> None:
        """At each access of a whole region by the bulk engine or the tensor cores."""

    def bulk_group(self, event: BulkGroup) -> None:
        """When such accesses become a group, or a thread waits for groups or sets a fence."""

    def arrival(self, event: Arrival) -> None:
        """At each arrival at an mbarrier."""

    def out_of_range(self, event: OutOfRange) -> None:
        """At lanes whose index leaves the array, or is wrapped back into it."""

    def overflow(self, event: Overflow) -> None:
        """At lanes in which a part of an index wraps or is cut off."""

    def exchange(self, event: Exchange) -> None:
        """At a shuffle, vote or match whose lanes do not fit together."""

    def unassigned(self, event: Unassigned) -> None:
        """At lanes that read a variable to which they have assigned nothing."""

    def unwritten(self, event: Unwritten) -> None:
        """At lanes that load what they have not stored in a local array."""

    def ended(self, event: Ended) -> None:
        """At lanes that an exception ends."""

    def end_batch(self) -> None:
        """After the blocks of a batch have run."""

    def finish(self) -> None:
        """After the last batch."""
