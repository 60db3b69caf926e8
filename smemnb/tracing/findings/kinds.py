"""Every kind of finding: severity, what its count counts, and its words. One entry each.

Severity "error" changes results or hangs a GPU; "warning" works until the hardware schedules the
lanes differently, or costs much; "note" is harmless today, or the price of something.

To add a kind: an entry here, a function with its words in the file of its family, and a watcher
that leaves observations of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from ...errors import SmemnbError
from . import barriers, bulk, copies, indices, memory, prices, races, signals, threads, waivers
from .words import Say

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the worst on."""


@dataclass(frozen=True)
class Kind:
    """What all findings of one kind have in common.

    Attributes:
        name: as it stands in reports, budgets and waivers.
        severity: "error", "warning" or "note".
        unit: the noun of `Finding.count`, in the singular.
        words: gives cause and cure of an observation.
        price: whether it only costs time or memory, so that results are right on any GPU.
        brings_others: whether it causes findings of other kinds, and is reported before them.
        of_copies: whether it is about an asynchronous copy that is under way, which is as a thread
            of its own.
        of_source: whether it is about the text of the source, so that no block or thread is named.
    """

    name: str
    severity: Severity
    unit: str
    words: Say
    price: bool = False
    brings_others: bool = False
    of_copies: bool = False
    of_source: bool = False

    @property
    def race(self) -> bool:
        """Whether it is about two threads and one element, one of which stores."""
        return self.of_copies or self.name.startswith("race") or self.name == "lost_update"

    @property
    def rank(self) -> int:
        """Its place among the severities, 0 for the worst."""
        return SEVERITIES.index(self.severity)


def _table(kinds: Iterable[Kind]) -> Mapping[str, Kind]:
    """The kinds by name.

    Raises:
        ValueError: two kinds of one name.
    """
    table: dict[str, Kind] = {}
    for kind in kinds:
        if kind.name in table:
            raise ValueError(f"two kinds of findings are named {kind.name!r}")
        table[kind.name] = kind
    return MappingProxyType(table)


KINDS = _table(
    [
        # two threads, one element
        Kind("race", "error", "element", races.race),
        Kind("race_in_warp", "warning", "element", races.race_in_warp),
        Kind("lost_update", "error", "update", races.lost_update),
        Kind("race_same_value", "note", "element", races.race_same_value),
        Kind("race_between_blocks", "error", "element", signals.race_between_blocks),
        Kind("race_atomic", "error", "element", signals.race_atomic),
        Kind("race_flag", "warning", "element", signals.race_flag),
        # asynchronous copies
        Kind(
            "read_before_arrival",
            "error",
            "element",
            copies.read_before_arrival,
            of_copies=True,
            brings_others=True,
        ),
        Kind(
            "missing_commit",
            "error",
            "element",
            copies.missing_commit,
            of_copies=True,
            brings_others=True,
        ),
        Kind("wrong_group", "error", "element", copies.wrong_group, of_copies=True),
        Kind("overwritten_stage", "error", "element", copies.overwritten_stage, of_copies=True),
        Kind("store_under_way", "error", "element", copies.store_under_way, of_copies=True),
        Kind("missing_async_fence", "error", "word", bulk.missing_async_fence, of_copies=True),
        Kind("wrong_swizzle", "error", "word", bulk.wrong_swizzle, of_copies=True),
        Kind("overwritten_source", "error", "element", copies.overwritten_source, of_copies=True),
        # threads that do not come
        # counted each time that a thread does not come, which a loop makes more than threads
        Kind("divergent_barrier", "error", "time", barriers.divergent_barrier, brings_others=True),
        Kind(
            "exited_before_grid_barrier",
            "error",
            "time",
            barriers.exited_before_grid_barrier,
            brings_others=True,
        ),
        Kind("exited_before_barrier", "note", "time", barriers.exited_before_barrier),
        Kind("divergent_syncwarp", "error", "time", barriers.divergent_syncwarp),
        Kind("stray_shuffle", "error", "time", barriers.stray_shuffle),
        Kind("unnamed_lane", "error", "time", barriers.unnamed_lane),
        Kind("missing_lane", "error", "time", barriers.missing_lane),
        # threads that end, and variables without a value
        Kind(
            "ended_by_exception", "error", "thread", threads.ended_by_exception, brings_others=True
        ),
        Kind("unassigned", "warning", "time", threads.unassigned, brings_others=True),
        # memory that nobody stored
        Kind("uninitialised", "error", "time", memory.uninitialised),
        Kind("stale", "error", "time", memory.stale),
        # indices
        Kind("out_of_range", "error", "time", indices.out_of_range),
        Kind("wrapped_index", "warning", "time", indices.wrapped_index),
        Kind("index_overflow", "error", "time", indices.index_overflow),
        # prices
        Kind("uncoalesced", "warning", "extra sector", prices.uncoalesced, price=True),
        Kind("interleaved", "note", "extra sector", prices.interleaved, price=True),
        Kind("scattered", "note", "extra sector", prices.scattered, price=True),
        Kind("misaligned", "note", "extra sector", prices.misaligned, price=True),
        Kind("phantom_padding", "warning", "extra wavefront", prices.phantom_padding, price=True),
        Kind("matrix_conflict", "note", "extra wavefront", prices.matrix_conflict, price=True),
        Kind("float64_arithmetic", "warning", "operation", prices.float64_arithmetic, price=True),
        Kind("float64_array", "note", "array", prices.float64_array, price=True),
        Kind("shared_occupancy", "note", "byte", prices.shared_occupancy, price=True),
        Kind("unused_shared", "note", "byte", prices.unused_shared, price=True),
        Kind("unused_barrier", "note", "time", prices.unused_barrier, price=True),
        Kind("local_array", "warning", "line", prices.local_array, price=True),
        Kind("open_local_array", "note", "line", prices.open_local_array, price=True),
        # waivers in the source
        Kind(
            "waiver_without_reason",
            "warning",
            "comment",
            waivers.waiver_without_reason,
            of_source=True,
        ),
        Kind("unknown_waiver", "warning", "comment", waivers.unknown_waiver, of_source=True),
        Kind("unused_waiver", "note", "comment", waivers.unused_waiver, of_source=True),
    ]
)
"""Every kind of finding by its name."""


def kind_of(name: str) -> Kind:
    """The kind of this name.

    Raises:
        SmemnbError: there is none.
    """
    if name not in KINDS:
        raise SmemnbError(f"no kind of finding is named {name!r}; there are: {', '.join(KINDS)}")
    return KINDS[name]
