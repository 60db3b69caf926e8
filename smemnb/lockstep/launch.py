"""A launch: its blocks in batches, each batch run whole by the compiled program.

`Launch` is what holds for all blocks (grid, block, arguments in virtual global memory), `Batch`
one group of blocks in flight (their numbers, their shared memory, the lanes still alive). Blocks
run in order of their linear number; how many share a batch changes no result that a kernel
without races between blocks can see.

Addresses are virtual: every allocation handed in begins on a multiple of 256 bytes, so counts of
sectors never depend on the host's allocator.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from .lanes import EVERY_LANE, WARP, Mask, constant, narrowed
from .memory import GlobalStore, KernelArray, SharedStore
from .program import Library, library_of
from .scope import InferredTypes
from .watch import Access, Barrier, OutOfRange, Watcher

Dim3 = tuple[int, int, int]
Xyz = namedtuple("Xyz", "x y z")

LANES_PER_BATCH = 1 << 16
ALIGNMENT = 256  # bytes, of every global allocation (cudaMalloc's)
DYNAMIC_BASE = 1 << 20  # virtual address of dynamic shared memory, past any static array


class Launch:
    """What is the same for all blocks of a launch.

    `grid` and `block` are (x, y, z); `warps` is per block; `arguments` are lane values and
    `KernelArray`s in the order of the parameters.
    """

    def __init__(
        self,
        function: Any,
        grid: Dim3,
        block: Dim3,
        *,
        shared_bytes: int = 0,
        shared_limit: int | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self.function, self.grid, self.block = function, grid, block
        self.shared_bytes, self.shared_limit = shared_bytes, shared_limit
        self.static_shared_bytes = 0
        self.watchers = tuple(watchers)
        self.threads = math.prod(block)
        self.warps = -(-self.threads // WARP)
        self.blocks = math.prod(grid)
        self.block_dim = Xyz(*(np.int32(n) for n in block))
        self.grid_dim = Xyz(*(np.int32(n) for n in grid))
        number = np.arange(self.warps * WARP, dtype=np.int32).reshape(1, self.warps, WARP)
        x, y, _ = block
        self.thread_index = Xyz(
            *(narrowed(n) for n in (number % x, number // x % y, number // (x * y)))
        )
        self.live: Mask = EVERY_LANE if self.threads % WARP == 0 else number < self.threads

    def thread_of(self, warp: int, lane: int) -> Dim3:
        """threadIdx of a lane."""
        number, (x, y, _) = warp * WARP + lane, self.block
        return number % x, number // x % y, number // (x * y)

    def block_of(self, number: int) -> Dim3:
        """blockIdx of the block with this linear number."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


class Batch:
    """A group of blocks in flight.

    `shape` is (blocks, warps, 32); `live` are the lanes that have not returned from the kernel;
    `writes` counts stores, so that a loop can tell whether anything still happens.
    """

    def __init__(self, launch: Launch, first: int, count: int) -> None:
        self.launch, self.first, self.count = launch, first, count
        self.shape = (count, launch.warps, WARP)
        self.live: Mask = launch.live
        self.watched = bool(launch.watchers)
        self.writes = 0
        self.block_axis = np.arange(count, dtype=np.int64).reshape(count, 1, 1)
        number = (first + self.block_axis).astype(np.int32)
        x, y, _ = launch.grid
        self.block_index = Xyz(
            *(narrowed(n) for n in (number % x, number // x % y, number // (x * y)))
        )
        self.shared: dict[Any, KernelArray] = {}
        self.shared_top = 0
        self.dynamic: np.ndarray[Any, np.dtype[np.uint8]] | None = None

    @property
    def lane_number(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A number of its own for each lane of the batch."""
        return np.arange(math.prod(self.shape), dtype=np.int64).reshape(self.shape)

    def share(
        self, key: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], alignment: int
    ) -> KernelArray:
        """The block's shared array declared at one place of the source."""
        array = self.shared.get(key)
        if array is None:
            base = -(-self.shared_top // alignment) * alignment
            size = math.prod(shape)
            self._reserve(base + size * dtype.itemsize, name)
            store = SharedStore.poisoned(self.count, size, dtype)
            array = KernelArray(name, "shared", store, shape, dtype, base=base)
            self.shared[key] = array
        return array

    def share_dynamic(self, name: str, dtype: np.dtype[Any]) -> KernelArray:
        """The launch's dynamic shared memory as elements of this dtype; all of them alias."""
        array = self.shared.get(dtype)
        if array is None:
            if self.dynamic is None:
                self.dynamic = np.full((self.count, self.launch.shared_bytes), 0xAA, np.uint8)
            size = self.launch.shared_bytes // dtype.itemsize
            rows = self.dynamic[:, : size * dtype.itemsize].view(dtype)
            store = SharedStore(rows)
            array = KernelArray(name, "shared", store, (size,), dtype, base=DYNAMIC_BASE)
            self.shared[dtype] = array
        return array

    def _reserve(self, top: int, name: str) -> None:
        launch = self.launch
        self.shared_top = top
        launch.static_shared_bytes = max(launch.static_shared_bytes, top)
        total = top + launch.shared_bytes
        if launch.shared_limit is not None and total > launch.shared_limit:
            raise LaunchRefused(
                f"{launch.function.__name__} asks for {total:,} bytes of shared memory per block "
                f"(the array {name!r} goes past the end); this device gives a block at most "
                f"{launch.shared_limit:,}. Make the tile smaller."
            )

    def tell_access(self, event: Access) -> None:
        """Hand an access to the watchers."""
        if not isinstance(event.offset, np.ndarray):
            event.offset = np.full((1, 1, 1), event.offset, np.int64)
        if event.active is EVERY_LANE or event.active.any():
            for watcher in self.launch.watchers:
                watcher.access(event)

    def tell_barrier(self, event: Barrier) -> None:
        """Hand a barrier to the watchers."""
        for watcher in self.launch.watchers:
            watcher.barrier(event)

    def tell_out_of_range(self, event: OutOfRange) -> None:
        """Hand lost accesses to the watchers."""
        for watcher in self.launch.watchers:
            watcher.out_of_range(event)


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def global_arrays(names: Sequence[str], arguments: Sequence[object]) -> list[KernelArray | Any]:
    """The arguments of a launch as a kernel sees them, arrays at virtual addresses."""
    bases: dict[int, int] = {}
    top = ALIGNMENT
    seen: list[Any] = []
    for name, value in zip(names, arguments, strict=True):
        if not isinstance(value, np.ndarray):
            seen.append(constant(value))
            continue
        owner = _owner(value)
        address = owner.__array_interface__["data"][0]
        if address not in bases:
            bases[address] = top
            top += -(-max(owner.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        seen.append(_global_array(name, value, bases[address] - address))
    return seen


def _global_array(name: str, value: np.ndarray[Any, Any], shift: int) -> KernelArray:
    """One array argument; `shift` turns its host address into its virtual one."""
    item = value.itemsize
    if any(stride % item for stride in value.strides):
        raise LaunchRefused(
            f"argument {name!r} has strides {value.strides}, which are no whole elements of "
            f"{item} bytes. Pass a copy: np.ascontiguousarray({name})."
        )
    strides = tuple(stride // item for stride in value.strides)
    reach = [(extent - 1) * step for extent, step in zip(value.shape, strides, strict=True)]
    if value.size == 0:
        flat, start = np.zeros(1, value.dtype), 0
    else:
        start = -sum(min(0, step) for step in reach)
        span = start + sum(max(0, step) for step in reach) + 1
        lowest = tuple(slice(-1, None) if step < 0 else slice(0, 1) for step in reach)
        flat = np.lib.stride_tricks.as_strided(value[lowest], (span,), (item,))
    base = value.__array_interface__["data"][0] + shift - start * item
    return KernelArray(
        name,
        "global",
        GlobalStore(flat),
        value.shape,
        value.dtype,
        strides=strides,
        base=base,
        start=start or None,
    )


def launch(
    function: Any,
    grid: Dim3,
    block: Dim3,
    args: Sequence[object],
    *,
    shared_bytes: int = 0,
    shared_limit: int | None = None,
    watchers: Sequence[Watcher] = (),
    types: InferredTypes | None = None,
    lanes_per_batch: int = LANES_PER_BATCH,
) -> Launch:
    """Run a kernel over all blocks of a grid; arrays among `args` are written in place.

    Args:
        function: the kernel's Python function.
        grid: blocks in x, y, z.
        block: threads in x, y, z.
        args: NumPy arrays, NumPy or Python scalars, tuples of them.
        shared_bytes: dynamic shared memory per block.
        shared_limit: the most shared memory a block may have, None for no limit.
        watchers: what listens in.
        types: Numba's inferred types, None for the engine's own rules.
        lanes_per_batch: how many lanes run at a time, in whole blocks.

    Raises:
        UnsupportedSyntax: a construct the engine does not run.
        LaunchRefused: more shared memory than `shared_limit`, or a wrong number of arguments.
        KernelStopped: a loop that never ends.
    """
    library: Library = library_of(function, types)
    program = library.program(function)
    program.check_count(len(args))
    state = Launch(
        function,
        grid,
        block,
        shared_bytes=shared_bytes,
        shared_limit=shared_limit,
        watchers=watchers,
    )
    arguments = global_arrays(program.parameters[: len(args)], args)
    step = max(1, lanes_per_batch // (state.warps * WARP))
    for watcher in watchers:
        watcher.start(state)
    with np.errstate(all="ignore"):
        for first in range(0, state.blocks, step):
            batch = Batch(state, first, min(step, state.blocks - first))
            for watcher in watchers:
                watcher.begin_batch(batch)
            program.run(batch, batch.live, arguments, kernel=True)
            for watcher in watchers:
                watcher.end_batch()
    for watcher in watchers:
        watcher.finish()
    return state
