"""What the warps of one block execute, instruction by instruction, with what each access moves.

    done = execution(launch, code, block=5)
    done.warps[0].place        which instructions of `code`, in order

An access has wavefronts by `rules.bank`, and the lines and sectors of global or local memory that
it touches, by address, so that a cache can be followed. L1 is the same memory as shared memory, and
a load that it has takes as many wavefronts as if its words stood there.

**Limits**: the block runs alone, on memory as it stood before the launch: what it would read of
other blocks' results it does not see. Lanes of a warp that have parted run one part after the
other. The clock reads 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hardware import LINE_BYTES, SECTOR_BYTES
from ...rules import bank
from ..image import Image, read_image
from ..listing import Located
from .operands import Array, Reader
from .run import MAX_STEPS, CodeLaunch, run_block
from .state import Group
from .tally import UNMODELLED, Site, Tally

__all__ = ["SPACES", "Execution", "Requests", "WarpRun", "execution"]

SPACES = ("shared", "global", "local")
_IDLE = -1
TAGS = 4
"""Lines that L1 looks for at a time: 32 lines, whose words lie in 32 banks, take 9.0 cycles
(`global_loads_4_lines_of_other_banks` of `laboratory.rates`)."""


@dataclass(frozen=True)
class WarpRun:
    """What a warp executed.

    Attributes:
        place: of each instruction, its place in the code; int32.
        active: whether a lane took part; bool.
        request: of an access with an active lane, its number in `Execution.requests`; else -1.
    """

    place: Array
    active: Array
    request: Array


@dataclass(frozen=True)
class Requests:
    """The accesses of a block, in the order in which they ran.

    Attributes:
        space: place in `SPACES`; int8.
        wavefronts: of shared memory, and of loads from global memory as if L1 has them, where at
            most `TAGS` lines are looked for at a time; of all other accesses the lines. int32.
        lines: of global memory that are touched; int32.
        first: where an access's sectors begin in `sectors`; int64, one longer.
        sectors: numbers of sectors (address // 32), access after access.
        store: whether it only writes.
        width: bytes per lane.
    """

    space: Array
    wavefronts: Array
    first: Array
    sectors: Array
    store: Array
    width: Array
    lines: Array


@dataclass(frozen=True)
class Execution:
    """A block that has run: its warps, and their accesses."""

    warps: tuple[WarpRun, ...]
    requests: Requests


def execution(
    launch: CodeLaunch,
    code: tuple[Located, ...],
    block: int,
    image: Image | None = None,
    most_steps: int = MAX_STEPS,
) -> Execution:
    """What the warps of a block execute.

    Raises:
        NotDetermined: an instruction, address or wait that cannot be run here.
    """
    seen = _Seen({one.address: place for place, one in enumerate(code)})
    tally = Tally(seen.access)
    run_block(launch, code, image or read_image(launch.elf), block, tally, seen.step, most_steps)
    return seen.execution()


class _Seen:
    """Every step and every access, put aside as they come."""

    def __init__(self, places: dict[int, int]) -> None:
        self._places = places
        self._steps: list[tuple[int, Array, Array]] = []
        self._accesses: list[tuple[int, Site, str, Array, Array, Array]] = []

    def step(self, address: int, group: Group, guard: Reader | None) -> None:
        mask = group.mask if guard is None else guard(group) & group.mask
        active: Array = np.logical_or.reduce(mask, axis=1)
        self._steps.append((self._places[address], group.rows, active))

    def access(self, site: Site, rows: Array, lanes: Array, space: str, address: Array) -> None:
        where = np.broadcast_to(address, lanes.shape).copy()
        at = len(self._steps) - 1
        self._accesses.append((at, site, space, rows, where, lanes.copy()))

    def execution(self) -> Execution:
        requests, numbers = self._requests()
        sizes = np.array([len(rows) for _, rows, _ in self._steps], np.int64)
        row = np.concatenate([rows for _, rows, _ in self._steps])
        active = np.concatenate([some for *_, some in self._steps])
        step = np.repeat(np.arange(len(sizes)), sizes)
        place = np.repeat(np.array([place for place, *_ in self._steps], np.int32), sizes)
        request = np.full(len(row), _IDLE, np.int32)
        if len(numbers):  # (step, row) of an access is found among all steps and rows
            warps = int(row.max()) + 1
            keys = step * warps + row
            wanted = numbers[:, 0] * warps + numbers[:, 1]
            order = np.argsort(keys, kind="stable")
            request[order[np.searchsorted(keys, wanted, sorter=order)]] = np.arange(len(wanted))
        found = []
        for warp in range(int(row.max()) + 1):
            own = np.flatnonzero(row == warp)
            found.append(WarpRun(place[own], active[own], request[own]))
        return Execution(tuple(found), requests)

    def _requests(self) -> tuple[Requests, Array]:
        """The accesses with an active lane, and (step, row) of each."""
        kept = []
        for at, site, space, rows, address, mask in self._accesses:
            some: Array = np.logical_or.reduce(mask, axis=1)
            if some.any():
                kept.append((at, site, space, rows[some], address[some], mask[some]))
        if not kept:
            none = np.zeros(0, np.int64)
            return Requests(none, none, np.zeros(1, np.int64), none, none, none, none), none
        sizes = [len(rows) for *_, rows, _, _ in kept]
        step = np.repeat([at for at, *_ in kept], sizes)
        row = np.concatenate([rows for *_, rows, _, _ in kept])
        address = np.concatenate([where for *_, where, _ in kept])
        mask = np.concatenate([lanes for *_, lanes in kept])
        memory = np.repeat([SPACES.index(name) for _, _, name, *_ in kept], sizes)
        width = np.repeat([site.width for _, site, *_ in kept], sizes)
        kinds = np.repeat([site.kind for _, site, *_ in kept], sizes)
        wavefronts = np.maximum(1, width // 4)  # of local memory: a line per word of the warp
        for kind in np.unique(kinds):
            for size in np.unique(width):
                those = (memory == 0) & (kinds == kind) & (width == size)
                if those.any():
                    wavefronts[those] = _passes(address[those], mask[those], int(size), str(kind))
        outside = memory == 1
        number = np.zeros(len(row), np.int64)
        lines = np.zeros(len(row), np.int64)
        lines[outside], number[outside], sectors = _touched(address[outside], mask[outside])
        wavefronts[outside] = lines[outside]
        for size in np.unique(width):
            those = outside & (kinds == "load") & (width == size)
            if those.any():
                words = _passes(address[those], mask[those], int(size), "load")
                wavefronts[those] = np.maximum(words, -(-lines[those] // TAGS))
        whole = Requests(
            memory.astype(np.int8),
            wavefronts.astype(np.int32),
            np.concatenate([[0], np.cumsum(number)]),
            sectors,
            np.isin(kinds, ("store", "reduction")),
            width.astype(np.int32),
            lines.astype(np.int32),
        )
        return whole, np.stack([step, row], axis=1)


def _passes(address: Array, mask: Array, width: int, kind: str) -> Array:
    """Wavefronts of requests of shared memory; of a loop that tries again, those of one try."""
    known: Any = "load" if kind in ("reduction", UNMODELLED) else kind
    return bank.measure(address, width=width, active=mask, kind=known).wavefronts


def _touched(address: Array, mask: Array) -> tuple[Array, Array, Array]:
    """Lines and sectors that each request touches, and the numbers of the sectors in one row.

    An access is aligned to its width, so no lane's bytes lie in two sectors.
    """
    none = np.iinfo(np.int64).max
    sector = np.sort(np.where(mask, address // SECTOR_BYTES, none), axis=1)
    fresh = sector != none
    fresh[:, 1:] &= sector[:, 1:] != sector[:, :-1]
    line = sector // (LINE_BYTES // SECTOR_BYTES)
    other = sector != none
    other[:, 1:] &= line[:, 1:] != line[:, :-1]
    return other.sum(axis=1), fresh.sum(axis=1), sector[fresh]
