"""Runs a plan: on a device on the caller's stream, or on copies of what the host holds.

Nothing here waits for a device, but for arrays of the host, whose result must be there when the
call returns.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from ..simulator import device
from ..simulator.devices import launches
from .backends.matrix_view import HOST, MatrixView
from .backends.numba_arrays import array_over, on_device, stream_of
from .choice import ENGINE, Plan

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
    """Launch a plan on matrices, `out` first, moved as `dtype`; return Numba's stream."""
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
        for matrix in arrays:
            if matrix.stream is not None and matrix.stream != handle:
                _order(matrix.stream, stream, place)
        own = _own_arrays(plan, place, handle, stream)
        start(plan, [array_over(matrix, dtype) for matrix in arrays], (*scalars, *own), stream)
        if any(matrix.backend.borrowed for matrix in arrays):
            _keep(arrays, stream)
    return stream


_own: dict[tuple[int, int], tuple[Any, ...]] = {}


def _own_arrays(plan: Plan, place: int, handle: int, stream: Any) -> tuple[Any, ...]:
    """Arrays of the kernel's own, kept for each stream: its launches come one after the other."""
    if not plan.sums:
        return ()
    from numba import cuda

    kept = _own.get((place, handle))
    if kept is None or kept[0].size < plan.sums or kept[1].size < plan.flags:
        sums = cuda.device_array(plan.sums, np.float32, stream=stream)
        flags = cuda.to_device(np.zeros(plan.flags, np.uint32), stream)
        kept = _own[place, handle] = sums, flags
    return kept


_in_use: deque[tuple[Any, list[Any]]] = deque()


def _keep(arrays: Sequence[MatrixView], stream: Any) -> None:
    """Hold on to memory of other libraries until the work that was put on the stream is done."""
    from numba import cuda

    event = cuda.event(timing=False)
    event.record(stream)
    _in_use.append((event, [matrix.value for matrix in arrays]))
    while _in_use[0][0] is not event and _in_use[0][0].query():
        _in_use.popleft()


def _order(first: int, then: Any, place: int) -> None:
    """What is on the stream of handle `first` by now comes before what follows on `then`."""
    from numba import cuda

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
    cols = matrix.cols * matrix.itemsize // dtype.itemsize
    if not matrix.span:
        return np.empty((matrix.rows, cols), dtype)
    memory: Any = (ctypes.c_uint8 * matrix.span).from_address(matrix.address)
    return np.ndarray((matrix.rows, cols), dtype, memory, 0, (matrix.pitch, dtype.itemsize))


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
    own = _own_arrays(plan, cuda.current_context().device.id, handle, stream)
    start(plan, [result, *fresh], (*scalars, *own), stream)
    copied = result.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    np.copyto(views[0], copied)
    return stream
