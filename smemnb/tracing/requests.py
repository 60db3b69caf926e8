"""Every shared-memory request of a traced launch, access by access.

A trace sums requests up and keeps the worst one of each access. To step through all of them the
launch runs once more in the engine, with the arguments as they were before it. Each distinct
request (addresses and active lanes) is kept once, in the order in which they first came, with how
often it was made; the sums over them are those of the trace, or they are not given.

**Limits**: asynchronous copies are left out, as banks alone do not decide what they take
(`rules.async_copy`). Of an access `MOST` distinct requests are kept, the worst among them; of the
others only the sums are. A trace that was read from JSON, that watched some blocks only, or whose
launch takes another course now, has its worst requests and nothing else; `why` then says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SmemnbError
from ..lockstep.lanes import spread
from ..lockstep.watch import Access, Watcher
from ..rules import bank
from .again import AccessKey, run_again
from .model import AccessRow, Dim3, WorstRequest

if TYPE_CHECKING:
    from ..lockstep.batch import Batch
    from .trace import Trace

__all__ = ["MOST", "AccessRequests", "Request", "requests_of", "worst_of"]

MOST = 256

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Request:
    """One distinct request: 32 byte addresses (0 where the lane is inactive), the active lanes.

    `times` says how often it was made, `block` and `warp` who made it first.
    """

    address: tuple[int, ...]
    active: tuple[bool, ...]
    times: int
    block: Dim3
    warp: int


@dataclass(frozen=True)
class AccessRequests:
    """The requests of one row of a trace.

    `shape`, `itemsize` and `base` (the address of its first byte) are those of the array; without a
    second run `shape` is empty. `others` and `others_wavefronts` sum up what is not `kept`; without
    a second run they are all that the trace counted but the worst request, and `why` is not "".
    """

    row: AccessRow
    kept: tuple[Request, ...]
    shape: tuple[int, ...] = ()
    itemsize: int = 4
    base: int = 0
    others: int = 0
    others_wavefronts: int = 0
    why: str = ""


def requests_of(trace: Trace, rows: Sequence[AccessRow] | None = None) -> list[AccessRequests]:
    """The shared-memory requests of a trace's rows, in their order.

    Args:
        trace: a watched launch.
        rows: some of `trace.lines`; None for all.

    Raises:
        SmemnbError: none of them makes shared-memory requests that the model counts.
    """
    asked = [row for row in (trace.lines if rows is None else rows) if _counted(row)]
    if not asked:
        raise SmemnbError(
            f"{trace.launch.kernel} has no counted shared-memory request here; trace.lines shows"
            " which lines have some, of space 'shared'. Asynchronous copies are left out"
        )
    recorder = _Recorder(trace, asked)
    why = recorder.run(trace)
    return [worst_of(row, why) if why else recorder.found(row) for row in asked]


def _counted(row: AccessRow) -> bool:
    return row.space == "shared" and row.modelled and row.requests > 0 and not row.copy


class _Tally:
    """The distinct requests of one access so far."""

    def __init__(self, worst: bytes) -> None:
        self.worst = worst
        self.kept: dict[bytes, list[Any]] = {}
        self.array: Any = None
        self.others = self.others_wavefronts = 0

    def add(self, asked: Array, times: int, origin: tuple[int, int], how: tuple[int, str]) -> None:
        """Count a request that was made so many times."""
        key = asked.tobytes()
        if key in self.kept:
            self.kept[key][1] += times
        elif len(self.kept) < MOST - 1 or key == self.worst:
            self.kept[key] = [asked, times, *origin]
        else:
            self.others += times
            self.others_wavefronts += times * _wavefronts(asked, *how)


class _Recorder(Watcher):
    """Listens to a launch and keeps the requests of some accesses."""

    def __init__(self, trace: Trace, rows: Sequence[AccessRow]) -> None:
        self._tallies = {AccessKey.of(row, trace): _Tally(_worst_key(row.worst)) for row in rows}
        self._rows = {AccessKey.of(row, trace): row for row in rows}
        self._blocks: dict[int, Dim3] = {}

    def run(self, trace: Trace) -> str:
        """Run the launch again; why its requests are not those of the trace, "" if they are."""
        why = run_again(trace, self)
        if why:
            return why
        if any(
            self._sums(key) != (row.requests, row.wavefronts) for key, row in self._rows.items()
        ):
            return "the launch takes another course when it runs again"
        self._trace = trace
        return ""

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def access(self, event: Access) -> None:
        """Add the requests of an event."""
        array = event.array
        tally = self._tallies.get(AccessKey.of_event(event))
        if tally is None or array.space != "shared":
            return
        batch, tally.array = self._batch, array
        count, warps, lanes = batch.shape
        blocks = max(event.offset.shape[0], event.active.shape[0])
        rows = max(event.offset.shape[1], event.active.shape[1])
        shape = (blocks, rows, lanes)
        active = spread(event.active, shape).reshape(-1, lanes)
        address = spread(event.address, shape).reshape(-1, lanes)
        asked = np.where(active, address, -1).astype(np.int64)
        weight = (count // blocks) * (warps // rows) * batch.weight
        for at, times in _distinct(asked):
            if active[at].any():
                origin = batch.first + at // rows, at % rows
                self._blocks.setdefault(origin[0], batch.launch.block_of(origin[0]))
                tally.add(asked[at], times * weight, origin, (event.width, event.rule))

    def found(self, row: AccessRow) -> AccessRequests:
        """The requests of a row, after the run."""
        tally = self._tallies[AccessKey.of(row, self._trace)]
        kept = tuple(
            Request(_address(asked), _active(asked), times, self._blocks[block], warp)
            for asked, times, block, warp in tally.kept.values()
        )
        array = tally.array
        return AccessRequests(
            row,
            kept,
            shape=tuple(int(extent) for extent in array.shape),
            itemsize=int(array.itemsize),
            base=int(array.base),
            others=tally.others,
            others_wavefronts=tally.others_wavefronts,
        )

    def _sums(self, key: AccessKey) -> tuple[int, int]:
        """Requests and wavefronts of an access in this run."""
        tally, row = self._tallies[key], self._rows[key]
        each = [
            (times, _wavefronts(asked, row.width, row.rule))
            for asked, times, *_ in tally.kept.values()
        ]
        requests = tally.others + sum(times for times, _ in each)
        return requests, tally.others_wavefronts + sum(times * waves for times, waves in each)


def _distinct(asked: Array) -> list[tuple[int, int]]:
    """First place of each distinct row, in order, and how often it stands there.

    >>> _distinct(np.array([[3] * 32, [1] * 32, [3] * 32]))
    [(0, 2), (1, 1)]
    """
    if len(asked) == 1:
        return [(0, 1)]
    rows = np.ascontiguousarray(asked).view(np.dtype((np.void, asked.strides[0]))).ravel()
    _, first, times = np.unique(rows, return_index=True, return_counts=True)
    order = np.argsort(first)
    return list(zip(first[order].tolist(), times[order].tolist(), strict=True))


def _wavefronts(asked: Array, width: int, kind: str) -> int:
    active = asked >= 0
    counts = bank.measure(np.where(active, asked, 0), width=width, active=active, kind=kind)
    return int(counts.wavefronts)


def _address(asked: Array) -> tuple[int, ...]:
    return tuple(np.where(asked >= 0, asked, 0).tolist())


def _active(asked: Array) -> tuple[bool, ...]:
    return tuple((asked >= 0).tolist())


def _worst_key(worst: WorstRequest | None) -> bytes:
    if worst is None:
        return b""
    asked = np.where(np.array(worst.active), np.array(worst.address, np.int64), -1)
    return asked.astype(np.int64).tobytes()


def worst_of(row: AccessRow, why: str) -> AccessRequests:
    """What the trace itself kept: one request, which stands for itself."""
    worst = row.worst
    assert worst is not None  # a row with requests has one
    one = Request(worst.address, worst.active, 1, worst.block, worst.warp)
    taken = _wavefronts(np.where(worst.active, worst.address, -1), row.width, row.rule)
    return AccessRequests(
        row, (one,), others=row.requests - 1, others_wavefronts=row.wavefronts - taken, why=why
    )
