"""Runs a plan: on a device on the caller's stream, or on copies of what the host holds.

Nothing here waits for a device, but for arrays of the host, whose result must be there when the
call returns. On a GPU the driver launches (`prepared`); Numba does where that is not to be had, and
in the lockstep engine. `repeated` does again what a call like one before did here.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from ..simulator import device
from ..simulator.devices import launches
from . import prepared
from .backends.matrix_view import HOST, MatrixView
from .backends.numba_arrays import array_over, on_device, stream_of
from .choice import ENGINE, UNTOUCHED, Plan

Scalars = tuple[Any, ...]
"""What a kernel takes after its matrices."""


def on_gpu() -> bool:
    """Whether launches of this process go to a GPU.

    Raises:
        SmemnbError: SMEMNB_DEVICE asks for one, and there is none.
    """
    from numba import cuda  # noqa: F401  (the plug decides when it is imported)

    where = launches()
    if where in ("gpu", "lockstep"):
        return where == "gpu"
    return device() not in ("lockstep", "numba simulator")


@lru_cache(maxsize=64)
def processors(place: int) -> int:
    """Multiprocessors of a device; `ENGINE` where the engine stands for it."""
    from numba import cuda

    if not on_gpu():
        return ENGINE
    chip = cuda.get_current_device() if place == HOST else cuda.gpus[place]
    return int(chip.MULTIPROCESSOR_COUNT)


def check_reachable(arrays: Sequence[MatrixView]) -> None:
    """Raise LaunchRefused if the engine cannot read the memory of one of these arrays."""
    for matrix in arrays:
        if matrix.place != HOST and matrix.span and not _is_here(matrix):
            raise LaunchRefused(
                f"`{matrix.name}` is in the memory of a GPU, and this process runs kernels in the"
                " lockstep engine. Pass a NumPy array, or unset SMEMNB_DEVICE to use the GPU"
            )


def _is_here(matrix: MatrixView) -> bool:
    if device() != "lockstep":
        return False
    from ..simulator.host.memory import memory

    return memory.holds(matrix.address, matrix.span)


# --- on a device -------------------------------------------------------------------------------


def run(
    plan: Plan,
    arrays: Sequence[MatrixView],
    scalars: Scalars,
    dtype: np.dtype[Any],
    handle: int,
    *,
    reads_out: bool = False,
) -> Any:
    """Launch a plan on matrices, `out` first, moved as `dtype`; return Numba's stream.

    Raises:
        LaunchRefused: the stream is captured into a CUDA graph, and what is needed for the launch
            cannot be had meanwhile. Nothing was launched.
    """
    if arrays[0].place == HOST:
        return _run_on_host(plan, arrays, scalars, dtype, handle, reads_out=reads_out)
    return _run_on_device(plan, arrays, scalars, dtype, handle)


def _run_on_device(
    plan: Plan, arrays: Sequence[MatrixView], scalars: Scalars, dtype: np.dtype[Any], handle: int
) -> Any:
    """Launch on the arrays' device; nothing is awaited.

    Work that arrays announce on another stream comes first.
    """
    place = arrays[0].place
    with on_device(place):
        stream = stream_of(handle, place)
        lie = tuple(lies_as(matrix, dtype, plan.typed) for matrix in arrays)
        own = _workspace_lies(plan)
        args = (plan.grid, plan.block, lie, scalars, own, place, handle)
        launch = prepared.prepared(plan.kernel, *args, overlaps=plan.overlaps)
        for matrix in arrays:
            if matrix.stream is not None and matrix.stream != handle:
                _order(matrix, handle, stream)
        if launch is None:
            kept = _kept_workspace(plan, place, handle) if own else ()
            start(plan, [array_over(matrix, dtype) for matrix in arrays], (*scalars, *kept), stream)
        else:
            addresses = tuple(matrix.address for matrix in arrays)
            put(launch, plan, addresses, scalars, place, handle)
            noted = getattr(_noting, "launches", None)
            if noted is not None:
                noted.append(Noted(launch, plan, tuple(arrays), scalars, handle))
        _let_go(arrays, handle, stream)
    return stream


def put(
    launch: prepared.Launch,
    plan: Plan,
    addresses: Sequence[int],
    numbers: Sequence[Any],
    place: int,
    handle: int,
) -> None:
    """Put a prepared launch on a stream, with a workspace where the kernel takes one."""
    if not plan.sums:
        launch.start(addresses, numbers, handle)
        return
    if plan.sums == UNTOUCHED:
        launch.start((*addresses, 0, 0), numbers, handle)
        return
    if prepared.capturing(handle):
        with _captured_workspace(plan, place, handle) as own:
            launch.start((*addresses, *own), numbers, handle)
        return
    sums, flags = _kept_workspace(plan, place, handle)
    kept = sums.device_ctypes_pointer.value, flags.device_ctypes_pointer.value
    launch.start((*addresses, *kept), numbers, handle)


def lies_as(matrix: MatrixView, dtype: np.dtype[Any], typed: str) -> prepared.Lies:
    """How a matrix lies for a kernel that moves it as `dtype`, and how it is typed.

    `typed` is Numba's letter: under A one compiled kernel serves all strides; C asks for what Numba
    gives its own arrays, C where rows are contiguous and A where they are not.
    """
    shape, strides = matrix.lies_as(dtype)
    return prepared.Lies(shape, strides, dtype, _letter(shape, strides, dtype.itemsize, typed))


def _letter(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, typed: str) -> str:
    if typed == "A":
        return "A"
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != expected:
            return "A"
        expected *= extent
    return "C"


# --- what a launch leaves for those who do it again ----------------------------------------------


class Noted(NamedTuple):
    """A prepared launch that was made for a call."""

    launch: prepared.Launch
    plan: Plan
    arrays: tuple[MatrixView, ...]
    scalars: Scalars
    handle: int


_noting = threading.local()


def is_noting() -> bool:
    """Whether this thread is within `noting`."""
    return getattr(_noting, "launches", None) is not None


@contextmanager
def noting() -> Iterator[list[Noted]]:
    """The prepared launches that this thread makes meanwhile."""
    outer = getattr(_noting, "launches", None)
    found: list[Noted] = []
    _noting.launches = found
    try:
        yield found
    finally:
        _noting.launches = outer


# --- the workspace of a kernel -------------------------------------------------------------------


def _workspace_lies(plan: Plan) -> tuple[prepared.Lies, ...]:
    """How a plan's sums and flags lie, if it takes any."""
    if not plan.sums:
        return ()
    return (
        prepared.Lies((plan.sums,), (4,), np.dtype(np.float32), "C"),
        prepared.Lies((plan.flags,), (4,), np.dtype(np.uint32), "C"),
    )


_own: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
"""Device and stream -> sums, flags, and the context that they live and die with."""


def _kept_workspace(plan: Plan, place: int, handle: int) -> tuple[Any, Any]:
    """Sums and flags, kept for each stream: its launches come one after the other.

    They only grow, so that two plans in turn settle on memory that holds either.

    Raises:
        LaunchRefused: the stream is captured. A graph would keep the addresses of this memory, and
            a larger plan on the stream would give the memory back.
    """
    from numba import cuda

    if prepared.capturing(handle):
        raise LaunchRefused(_no_workspace(plan, "Numba launches it"))
    context, kept = cuda.gpus[place].get_primary_context(), _own.get((place, handle))
    if kept is not None and kept[2] is not context:  # `cuda.close()` ends a context
        kept = None
    had = (kept[0].size, kept[1].size) if kept is not None else (0, 0)
    if kept is None or had[0] < plan.sums or had[1] < plan.flags:
        with on_device(place):
            stream = stream_of(handle, place)
            sums = cuda.device_array(max(plan.sums, had[0]), np.float32, stream=stream)
            flags = cuda.to_device(np.zeros(max(plan.flags, had[1]), np.uint32), stream)
        kept = _own[place, handle] = sums, flags, context
    return kept[0], kept[1]


@contextmanager
def _captured_workspace(plan: Plan, place: int, handle: int) -> Iterator[tuple[int, int]]:
    """Addresses of sums and flags that belong to the graph that a stream is captured into.

    Those that are kept for the stream would not do: a graph may be replayed on any other stream,
    at the same time as calls on this one, and both would write the same sums. Memory of the
    caller's library would not do either: CuPy gives it to others as soon as it is dropped, and
    PyTorch keeps it for the graph only if the capture was begun by PyTorch.

    Memory of a graph holds anything when a replay begins, so its flags are `_graph_flags`: setting
    them to 0 would be a node of its own, of 1.8 us on an H200. One graph with memory of its own is
    never replayed twice at once, and every launch leaves its flags 0.

    Raises:
        LaunchRefused: the device has no memory that a graph could own.
    """
    if not prepared.has_pools(place):
        raise LaunchRefused(_no_workspace(plan, f"device {place} has no memory pools"))
    sums = prepared.graph_memory(handle, 4 * plan.sums)
    try:
        yield sums, _graph_flags(plan.flags, place)
    finally:
        prepared.graph_free(handle, (sums,))


_FLAGS_AT_ONCE = 1 << 16
_lasting: dict[int, tuple[int, int, Any]] = {}
"""Device -> address and number of flags for graphs that nobody has yet, and their context."""


def _graph_flags(count: int, place: int) -> int:
    """The address of flags, all 0, for one launch in a graph; they are never another launch's."""
    from numba import cuda

    context = cuda.gpus[place].get_primary_context()
    with _giving:
        address, left, of = _lasting.get(place, (0, 0, context))
        if of is not context or left < count:
            left = max(count, _FLAGS_AT_ONCE)
            with on_device(place):
                address = prepared.lasting_zeros(left)
        _lasting[place] = address + 4 * count, left - count, context
    return address


def _no_workspace(plan: Plan, why: str) -> str:
    return (
        f"{plan.name} needs memory of its own for sums of parts, which cannot be had while a stream"
        f" is captured into a CUDA graph ({why}). Make this product outside of the capture, or name"
        " a `rung` of the ladder, which needs none"
    )


# --- memory that others may use anew -------------------------------------------------------------

_giving = threading.Lock()
_in_use: deque[tuple[Any, list[Any]]] = deque()
_releasing = threading.Lock()
_PAUSE_S = 0.001


def _let_go(arrays: Sequence[MatrixView], handle: int, stream: Any) -> None:
    """See to it that memory of the arrays is not used anew before the work on it is done.

    Nothing is kept of PyTorch's, CuPy's and Numba's arrays. The first two give memory that is
    dropped to later work on the same stream only, which the work of a call on their current stream
    precedes; where another stream was named, PyTorch is told so (`record_stream`). Numba frees
    memory by the driver, which waits for the device. JAX and DLPack promise nothing of that kind:
    their arrays are kept until an event behind the work has come to pass, and no longer.
    """
    for matrix in arrays:
        matrix.backend.used_on(matrix, handle)
    values = [matrix.value for matrix in arrays if matrix.backend.borrowed]
    if not values or prepared.capturing(handle):  # a graph's arrays are its caller's to keep
        return
    from numba import cuda

    event = cuda.event(timing=False)
    event.record(stream)
    with _releasing:
        _in_use.append((event, values))
        if len(_in_use) == 1:
            place = arrays[0].place
            threading.Thread(target=_release, args=(place,), name="smemnb", daemon=True).start()


def _release(place: int) -> None:
    """Drop what is kept as soon as its event has come to pass; ends when nothing is kept."""
    with on_device(place):
        prepared.query_beside_captures()
        while True:
            while not _is_past(_in_use[0][0]):
                time.sleep(_PAUSE_S)
            with _releasing:
                done = _in_use.popleft()
                more = bool(_in_use)
            del done  # outside of the lock: dropping an array may run code of its library
            if not more:
                return


def _is_past(event: Any) -> bool:
    try:
        return bool(event.query())
    except Exception:
        # The context is lost, and with it all work on the memory. Whoever calls CUDA next is told.
        return True


def _order(matrix: MatrixView, handle: int, then: Any) -> None:
    """What is on the stream that a matrix names by now comes before what follows on `then`.

    Raises:
        LaunchRefused: the stream of the work is captured and the other one is not.
    """
    from numba import cuda

    first, place = matrix.stream or 0, matrix.place
    if prepared.capturing(handle) and not prepared.capturing(first):
        raise LaunchRefused(
            f"`{matrix.name}` says that its work is on stream {first:#x}, and work is captured on"
            f" stream {handle:#x} into a CUDA graph, which can wait for nothing outside of it. Wait"
            " for the array before the capture, and pass one without a stream"
            " (array.bind(0) for Numba's)"
        )
    event = cuda.event(timing=False)
    event.record(stream_of(first, place))
    event.wait(then)


def start(plan: Plan, arrays: Sequence[Any], scalars: Scalars, stream: Any) -> None:
    """Launch a kernel on device arrays, or on NumPy arrays under Numba's simulator."""
    if launches() is None and device() == "numba simulator":
        from ..simulator import run

        run(plan.kernel, plan.grid, plan.block, 0, 0, (*arrays, *scalars))
    else:
        plan.kernel[plan.grid, plan.block, stream](*arrays, *scalars)


# --- on copies of the host's memory ------------------------------------------------------------


def host_view(matrix: MatrixView, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The memory of a matrix of the host as a NumPy array of another dtype."""
    shape, strides = matrix.lies_as(dtype)
    if not matrix.span:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_uint8 * matrix.span).from_address(matrix.address)
    return np.ndarray(shape, dtype, memory, 0, strides)


def _run_on_host(
    plan: Plan,
    arrays: Sequence[MatrixView],
    scalars: Scalars,
    dtype: np.dtype[Any],
    handle: int,
    *,
    reads_out: bool,
) -> Any:
    """Copy to the device, launch there, copy the first array back; the result is awaited."""
    views = [host_view(matrix, dtype) for matrix in arrays]
    if launches() is None and device() == "numba simulator":
        copies = [np.ascontiguousarray(view) for view in views]
        start(plan, copies, scalars, 0)
        np.copyto(views[0], copies[0])
        return 0
    from numba import cuda

    stream = stream_of(handle, cuda.current_context().device.id)
    fresh = [cuda.to_device(np.ascontiguousarray(view), stream) for view in views[1:]]
    if reads_out:
        result = cuda.to_device(np.ascontiguousarray(views[0]), stream)
    else:
        result = cuda.device_array(views[0].shape, dtype, stream=stream)
    place = cuda.current_context().device.id
    own = _kept_workspace(plan, place, handle) if plan.sums else ()
    start(plan, [result, *fresh], (*scalars, *own), stream)
    copied = result.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    np.copyto(views[0], copied)
    return stream
