"""A kernel run thread by thread, every access remembered, findings by brute force.

One Python thread per CUDA thread of a block; one runs at a time, until it waits at a barrier or
returns. The kernel's globals are copied with `cuda` and Numba's types replaced. What is ordered
with what is decided by vector clocks: a barrier joins the clocks of those that wait at it.

Slow, and written with nothing of the engine in it. Limits: values are NumPy's and Python's, not
Numba's; a shuffle needs all the lanes it names; a fence orders nothing here (see `releases`).
"""

from __future__ import annotations

import itertools
import linecache
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Dim3 = tuple[int, int, int]
Site = tuple[int, int, str]
"""Line, column, and "load", "store" or "atomic"; "barrier" for a barrier."""


@dataclass(frozen=True)
class Race:
    """Two threads, one cell, one writes, nothing orders them; `far` if in two blocks."""

    kind: str
    far: bool
    sites: frozenset[Site]
    array: str
    block: int
    interval: int
    cell: tuple[int, ...]


@dataclass
class OracleReport:
    """What the run showed.

    races: every racing pair of sites per cell. uninitialised: reads that no write can precede;
    maybe: reads that a write may precede or not (a race too). stale: those of `uninitialised`
    whose cell an earlier block wrote. out_of_range: (site, array, axis) -> lanes.
    barriers: (kind, line) -> threads missing. outputs: the arguments after the run.
    """

    races: set[Race] = field(default_factory=set)
    uninitialised: set[tuple[Site, str, int, tuple[int, ...]]] = field(default_factory=set)
    maybe: set[tuple[Site, str, int, tuple[int, ...]]] = field(default_factory=set)
    stale: set[Site] = field(default_factory=set)
    early_lanes: dict[Site, int] = field(default_factory=lambda: defaultdict(int))
    out_of_range: dict[tuple[Site, str, int], int] = field(default_factory=lambda: defaultdict(int))
    barriers: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    outputs: list[Any] = field(default_factory=list)
    syncwarps: int = 0

    def race_cells(self) -> dict[tuple[str, frozenset[Site]], int]:
        """(kind, sites) -> cells, of the worst kind of each pair of sites only."""
        return worst_only(self.races)


def worst_only(races: set[Race]) -> dict[tuple[str, frozenset[Site]], int]:
    """(kind, sites) -> cells: a race of one block does not count beside one between blocks."""
    cells: dict[tuple[str, bool, frozenset[Site]], set[Any]] = defaultdict(set)
    for race in races:
        cells[race.kind, race.far, race.sites].add(
            (race.array, race.block, race.interval, race.cell)
        )
    told = {}
    for (kind, far, sites), found in cells.items():
        if far or (kind, True, sites) not in cells:
            told[kind, sites] = len(found)
    for worst in ("race_between_blocks", "race"):
        for sites in [s for kind, s in told if kind == worst]:
            told = {key: n for key, n in told.items() if key[1] != sites or key[0] == worst}
    return told


@dataclass(eq=False)
class _Access:
    block: int
    thread: int
    site: Site
    write: bool
    atomic: bool
    bits: bytes
    clock: np.ndarray[Any, Any]
    interval: int
    turn: int  # how often the thread has been at this site before


@dataclass
class _Wait:
    scope: str
    site: Site
    members: int = 0xFFFFFFFF
    value: Any = None
    answer: Callable[[dict[int, Any], int], Any] = lambda values, lane: None
    orders: bool = True


class _Thread:
    def __init__(self, number: int, block: Dim3, threads: int) -> None:
        x, y, _ = block
        self.number, self.warp, self.lane = number, number // 32, number % 32
        self.index = (number % x, number // x % y, number // (x * y))
        self.clock = np.zeros(threads, np.int64)
        self.waiting: _Wait | None = None
        self.answer: Any = None
        self.done = False
        self.exit_line = 0
        self.turns: dict[Site, int] = defaultdict(int)
        self.error: BaseException | None = None
        self.go = threading.Semaphore(0)
        self.tick()

    def tick(self) -> None:
        self.clock = self.clock.copy()
        self.clock[self.number] += 1


def run(
    function: Any, grid: Any, block: Any, args: Sequence[Any], shared_bytes: int = 0
) -> OracleReport:
    """Run a kernel over all blocks, one after another; arrays among `args` are copied."""
    report = OracleReport()
    machine = _Machine(_three(grid), _three(block), report)
    kernel = _patched(getattr(function, "py_func", function), machine, {})
    names = kernel.__code__.co_varnames
    machine.dynamic_bytes = shared_bytes
    data = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
    given = [
        _Array(machine, name, "global", value) if isinstance(value, np.ndarray) else value
        for name, value in zip(names, data, strict=False)
    ]
    for number in range(int(np.prod(machine.grid))):
        machine.run_block(number, kernel, given)
    for (name, cell), accesses in machine.global_log.items():
        for first, second in itertools.combinations(accesses, 2):
            machine.judge_pair(name, cell, accesses, first, second)
    report.outputs = data
    return report


def _three(extent: Any) -> Dim3:
    numbers = tuple(extent) if isinstance(extent, (tuple, list)) else (extent,)
    x, y, z = (*numbers, 1, 1)[:3]
    return int(x), int(y), int(z)


class _Machine:
    """The block that is running."""

    def __init__(self, grid: Dim3, block: Dim3, report: OracleReport) -> None:
        self.grid, self.block, self.report = grid, block, report
        self.count = int(np.prod(block))
        self.back = threading.Semaphore(0)
        self.global_log: dict[tuple[str, tuple[int, ...]], list[_Access]] = defaultdict(list)
        self.written_before: set[tuple[str, tuple[int, ...]]] = set()
        self.dynamic_bytes = 0

    def run_block(self, number: int, kernel: Any, args: list[Any]) -> None:
        x, y, _ = self.grid
        self.block_number = number
        self.block_index = (number % x, number // x % y, number // (x * y))
        self.shared: dict[Any, _Array] = {}
        self.log: dict[tuple[str, tuple[int, ...]], list[_Access]] = defaultdict(list)
        self.interval = 0
        self.threads = [_Thread(n, self.block, self.count) for n in range(self.count)]
        for thread in self.threads:
            threading.Thread(target=self._body, args=(thread, kernel, args), daemon=True).start()
        while any(not thread.done for thread in self.threads):
            for thread in self.threads:
                if not thread.done and thread.waiting is None:
                    self._step(thread)
            if any(not thread.done for thread in self.threads):
                self._release()
        self._judge()

    def _body(self, thread: _Thread, kernel: Any, args: list[Any]) -> None:
        def watch(frame: Any, event: str, _: Any) -> None:
            if event == "return" and frame.f_code is kernel.__code__:
                thread.exit_line = frame.f_lineno

        thread.go.acquire()
        sys.setprofile(watch)
        try:
            kernel(*args)
        except BaseException as error:
            thread.error = error
        thread.done = True
        self.back.release()

    def _step(self, thread: _Thread) -> None:
        self.current = thread
        thread.go.release()
        self.back.acquire()
        if thread.error is not None:
            raise thread.error

    def wait(self, wait: _Wait) -> Any:
        thread = self.current
        thread.waiting = wait
        self.back.release()
        thread.go.acquire()
        return thread.answer

    def _release(self) -> None:
        """Let go whoever waits for nobody any more; if none, the first barrier of the source."""
        live = [thread for thread in self.threads if not thread.done]
        groups: dict[Any, list[_Thread]] = defaultdict(list)
        for thread in live:
            wait = thread.waiting
            assert wait is not None
            groups[thread.warp if wait.scope == "warp" else -1, wait.site].append(thread)
        complete = [
            group
            for group in groups.values()
            if len(group) == sum(self._is_member(other, group[0]) for other in self.threads)
        ]
        if complete:
            for group in complete:
                self._open(group, True)
        else:
            self._open(groups[min(groups, key=lambda key: key[1])], False)

    def _is_member(self, other: _Thread, one: _Thread) -> bool:
        """Whether `one` waits for the other. Who returned above the barrier is not waited for."""
        wait = one.waiting
        assert wait is not None
        if other.done and (wait.scope == "warp" or other.exit_line < wait.site[0]):
            return False
        if wait.scope == "block":
            return True
        return other.warp == one.warp and bool(wait.members >> other.lane & 1)

    def _open(self, group: list[_Thread], complete: bool) -> None:
        wait = group[0].waiting
        assert wait is not None
        joining = group
        if wait.scope == "block":
            exited = [t for t in self.threads if t.done and t.exit_line < wait.site[0]]
            self._note_missing(wait.site[0], len(group), len(exited))
            joining = group + exited
        self.report.syncwarps += wait.scope == "warp" and wait.orders
        if wait.orders and (complete or wait.scope == "warp"):
            joined = np.maximum.reduce([thread.clock for thread in joining])
            for thread in group:
                thread.clock = joined
                thread.tick()
            self.interval += wait.scope == "block"
        values = {
            thread.number if wait.scope == "block" else thread.lane: thread.waiting.value
            for thread in group
            if thread.waiting is not None
        }
        for thread in group:
            assert thread.waiting is not None
            thread.answer = thread.waiting.answer(values, thread.lane)
            thread.waiting = None

    def _note_missing(self, line: int, arrived: int, exited: int) -> None:
        elsewhere = self.count - arrived - exited
        if elsewhere:
            self.report.barriers["divergent_barrier", line] += elsewhere
        if exited:
            self.report.barriers["exited_before_barrier", line] += exited

    def record(self, array: _Array, cell: tuple[int, ...], site: Site, bits: bytes) -> None:
        thread, kind = self.current, site[2]
        turn = thread.turns[site]
        thread.turns[site] += 1
        log = self.log if array.space == "shared" else self.global_log
        log[array.name, cell].append(
            _Access(
                self.block_number, thread.number, site, kind != "load", kind == "atomic", bits,
                thread.clock, self.interval, turn,
            )
        )  # fmt: skip

    def _judge(self) -> None:
        """All pairs of accesses to every cell."""
        for (name, cell), accesses in self.log.items():
            for first, second in itertools.combinations(accesses, 2):
                self.judge_pair(name, cell, accesses, first, second)
            for read in accesses:
                if read.site[2] != "store":
                    self._judge_read(name, cell, accesses, read)
        self.written_before |= {
            key for key, accesses in self.log.items() if any(a.write for a in accesses)
        }

    def judge_pair(self, name: str, cell: Any, accesses: Any, a: _Access, b: _Access) -> None:
        """A race, if these two accesses are one."""
        far = a.block != b.block
        if (a.thread == b.thread and not far) or not (a.write or b.write):
            return
        if (a.atomic and b.atomic) or (not far and (_before(a, b) or _before(b, a))):
            return
        kind = "race" if a.thread // 32 != b.thread // 32 else "race_in_warp"
        kind = "race_between_blocks" if far else kind
        near = [c for c in accesses if far or (c.interval, c.block) == (a.interval, a.block)]
        if a.write and b.write:
            stores = [c for c in near if c.write]
            if not any(c.atomic for c in stores) and len({c.bits for c in stores}) == 1:
                kind = "race_same_value"
        if a.atomic or b.atomic:
            kind = "race_atomic"
        where = (-1, -1) if far else (a.block, a.interval)
        self.report.races.add(Race(kind, far, frozenset((a.site, b.site)), name, *where, cell))

    def _judge_read(self, name: str, cell: Any, accesses: Any, read: _Access) -> None:
        place = accesses.index(read)
        preceding = [
            other
            for other in accesses
            if other.write
            and other is not read
            and not (other.atomic and (other.site, other.turn) == (read.site, read.turn))
            and not _before(read, other)
            and not (other.thread == read.thread and accesses.index(other) > place)
        ]
        if any(_before(other, read) or other.thread == read.thread for other in preceding):
            return
        early = (read.site, name, self.block_number, cell)
        if preceding:
            self.report.maybe.add(early)
            return
        self.report.uninitialised.add(early)
        self.report.early_lanes[read.site] += 1
        if (name, cell) in self.written_before:
            self.report.stale.add(read.site)


def _before(a: _Access, b: _Access) -> bool:
    """True if a barrier orders `a` before `b`."""
    return bool(b.clock[a.thread] >= a.clock[a.thread]) and a.thread != b.thread


class _Array:
    """An array that remembers who touches it. Cells are index tuples."""

    def __init__(
        self, machine: _Machine, name: str, space: str, data: Any, before: tuple[int, ...] = ()
    ) -> None:
        self.machine, self.name, self.space = machine, name, space
        self.data, self.before = data, before

    shape = property(lambda self: self.data.shape[len(self.before) :])
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    dtype = property(lambda self: self.data.dtype)

    def __len__(self) -> int:
        return int(self.shape[0])

    def _cell(self, index: Any, site: Site) -> tuple[int, ...] | None:
        """The index counted from the front, None if it is outside on some axis."""
        at = index if isinstance(index, tuple) else (index,)
        cell, inside = list(self.before), True
        for position, (number, size) in enumerate(zip(at, self.shape, strict=False)):
            number = int(number)
            number += size if number < 0 else 0
            if not 0 <= number < size:
                axis = position + len(self.before)
                self.machine.report.out_of_range[site, self.name, axis] += 1
                inside = False
            cell.append(number)
        return tuple(cell) if inside else None

    def __getitem__(self, index: Any) -> Any:
        site = _site("load")
        cell = self._cell(index, site)
        if cell is None:
            return self.dtype.type(0)
        if len(cell) < self.data.ndim:
            return _Array(self.machine, self.name, self.space, self.data, cell)
        self.machine.record(self, cell, site, b"")
        return self.data[cell]

    def __setitem__(self, index: Any, value: Any) -> None:
        site = _site("store")
        cell = self._cell(index, site)
        if cell is not None:
            with np.errstate(all="ignore"):
                self.data[cell] = np.asarray(value).astype(self.dtype)
            self.machine.record(self, cell, site, self.data[cell].tobytes())

    def update(self, index: Any, combine: Callable[[Any], Any]) -> Any:
        """An atomic: the old value comes back."""
        site = _site("atomic")
        cell = self._cell(index, site)
        if cell is None:
            return self.dtype.type(0)
        old = self.data[cell]
        with np.errstate(all="ignore"):
            self.data[cell] = np.asarray(combine(old)).astype(self.dtype)
        self.machine.record(self, cell, site, b"")
        return old


def _site(kind: str) -> Site:
    """Line and column of the expression in the kernel that led here."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") == __name__:
        assert frame.f_back is not None
        frame = frame.f_back
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return positions[0] or 0, positions[2] or 0, kind


class _Xyz:
    def __init__(self, values: Callable[[], Dim3]) -> None:
        self._values = values

    x = property(lambda self: self._values()[0])
    y = property(lambda self: self._values()[1])
    z = property(lambda self: self._values()[2])


class _Cuda:
    """What a kernel finds under the name `cuda`."""

    warpsize = 32

    def __init__(self, machine: _Machine) -> None:
        self._machine = machine
        self.threadIdx = _Xyz(lambda: machine.current.index)
        self.blockIdx = _Xyz(lambda: machine.block_index)
        self.blockDim = _Xyz(lambda: machine.block)
        self.gridDim = _Xyz(lambda: machine.grid)
        self.shared = types.SimpleNamespace(array=self._shared_array)
        self.local = types.SimpleNamespace(array=self._local_array)
        self.atomic = _Atomic()

    laneid = property(lambda self: self._machine.current.lane)

    def grid(self, ndim: int) -> Any:
        machine = self._machine
        places = tuple(
            b * size + t
            for b, size, t in zip(
                machine.block_index, machine.block, machine.current.index, strict=True
            )
        )
        return places[0] if ndim == 1 else places[:ndim]

    def gridsize(self, ndim: int) -> Any:
        machine = self._machine
        sizes = tuple(a * b for a, b in zip(machine.grid, machine.block, strict=True))
        return sizes[0] if ndim == 1 else sizes[:ndim]

    def _shared_array(self, shape: Any, dtype: Any, alignment: Any = None) -> _Array:
        machine, site = self._machine, _site("array")
        if site not in machine.shared:
            kind = np.dtype(dtype)
            extent = shape if isinstance(shape, tuple) else (shape,)
            if extent == (0,):
                extent = (machine.dynamic_bytes // kind.itemsize,)
            machine.shared[site] = _Array(machine, _declared(), "shared", np.zeros(extent, kind))
        return machine.shared[site]

    def _local_array(self, shape: Any, dtype: Any, alignment: Any = None) -> Any:
        return np.zeros(shape, np.dtype(dtype))

    def _barrier(self, value: Any, answer: Any) -> Any:
        return self._machine.wait(_Wait("block", _site("barrier"), value=value, answer=answer))

    def syncthreads(self) -> None:
        self._barrier(None, lambda values, lane: None)

    def syncthreads_count(self, predicate: Any) -> int:
        return int(self._barrier(bool(predicate), lambda v, lane: sum(v.values())))

    def syncthreads_and(self, predicate: Any) -> int:
        return int(self._barrier(bool(predicate), lambda v, lane: all(v.values())))

    def syncthreads_or(self, predicate: Any) -> int:
        return int(self._barrier(bool(predicate), lambda v, lane: any(v.values())))

    def syncwarp(self, members: int = 0xFFFFFFFF) -> None:
        self._machine.wait(_Wait("warp", _site("syncwarp"), members))

    def _exchange(self, members: int, value: Any, answer: Any) -> Any:
        return self._machine.wait(
            _Wait("warp", _site("shuffle"), members, value, answer, orders=False)
        )

    def shfl_sync(self, members: int, value: Any, source: int) -> Any:
        return self._exchange(members, value, lambda v, lane: v[int(source) % 32])

    def shfl_up_sync(self, members: int, value: Any, delta: int) -> Any:
        return self._exchange(
            members, value, lambda v, lane: v[lane - delta if lane >= delta else lane]
        )

    def shfl_down_sync(self, members: int, value: Any, delta: int) -> Any:
        return self._exchange(
            members, value, lambda v, lane: v[lane + delta if lane + delta < 32 else lane]
        )

    def shfl_xor_sync(self, members: int, value: Any, bits: int) -> Any:
        return self._exchange(members, value, lambda v, lane: v[lane ^ bits])

    def ballot_sync(self, members: int, predicate: Any) -> int:
        return int(
            self._exchange(members, bool(predicate), lambda v, lane: sum(1 << k for k in v if v[k]))
        )

    def any_sync(self, members: int, predicate: Any) -> bool:
        return bool(self._exchange(members, bool(predicate), lambda v, lane: any(v.values())))

    def all_sync(self, members: int, predicate: Any) -> bool:
        return bool(self._exchange(members, bool(predicate), lambda v, lane: all(v.values())))


class _Atomic:
    """cuda.atomic"""

    def add(self, array: _Array, index: Any, value: Any) -> Any:
        return array.update(index, lambda old: old + value)

    def sub(self, array: _Array, index: Any, value: Any) -> Any:
        return array.update(index, lambda old: old - value)

    def max(self, array: _Array, index: Any, value: Any) -> Any:
        return array.update(index, lambda old: max(old, value))

    def min(self, array: _Array, index: Any, value: Any) -> Any:
        return array.update(index, lambda old: min(old, value))

    def exch(self, array: _Array, index: Any, value: Any) -> Any:
        return array.update(index, lambda old: value)

    def cas(self, array: _Array, index: Any, old: Any, value: Any) -> Any:
        return array.update(index, lambda found: value if found == old else found)


def _declared() -> str:
    """The name that the running line assigns to."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") == __name__:
        assert frame.f_back is not None
        frame = frame.f_back
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).split("=")[0].strip()


def _patched(function: Any, machine: _Machine, done: dict[Any, Any]) -> Any:
    """The function with `cuda`, Numba's types and device functions replaced in its globals."""
    if function in done:
        return done[function]
    names: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    cells = None
    done[function] = copy
    for name, value in function.__globals__.items():
        names[name] = _replaced(value, machine, done, function)
    if function.__closure__:
        cells = tuple(
            types.CellType(_replaced(cell.cell_contents, machine, done, function))
            for cell in function.__closure__
        )
        copy = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        done[function] = copy
    return copy


def _replaced(value: Any, machine: _Machine, done: dict[Any, Any], function: Any) -> Any:
    if getattr(value, "__name__", "") == "numba.cuda":
        return _Cuda(machine)
    if hasattr(value, "py_func"):
        return _patched(value.py_func, machine, done)
    if isinstance(value, types.FunctionType):
        same = value.__code__.co_filename == function.__code__.co_filename
        return _patched(value, machine, done) if same else value
    if type(value).__module__.startswith(("numba.core.types", "numba.cuda.types")):
        return getattr(np, str(value).replace("boolean", "bool_"), value)
    return value
