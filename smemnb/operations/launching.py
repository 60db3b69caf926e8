"""Runs a plan: on a device on the caller's stream, or on copies of what the host holds.

Nothing here waits for a device, but for arrays of the host, whose result must be there when the
call returns.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from ..simulator import device
from ..simulator.devices import launches
from .choice import ENGINE, MOST_BLOCKS_DOWN, Plan
from .kinds.numba_arrays import array_over, stream_of
from .kinds.seen import HOST, Seen

Scalars = tuple[np.float32, ...]


def on_gpu() -> bool:
    """Whether launches of this process go to a GPU.

    Raises:
        SmemnbError: SMEMNB_DEVICE asks for one, and there is none.
    """
    from numba import cuda  # noqa: F401  (the plug decides when it is imported)

    return launches() == "gpu" or device() not in ("lockstep", "numba simulator")


@lru_cache(maxsize=64)
def processors(place: int) -> int:
    """Multiprocessors of a device; `ENGINE` where the engine stands for it."""
    from numba import cuda

    if not on_gpu():
        return ENGINE
    chip = cuda.get_current_device() if place == HOST else cuda.gpus[place]
    return int(chip.MULTIPROCESSOR_COUNT)


def bands(rows: int, high: int) -> Iterator[slice]:
    """Rows in pieces that a grid covers, tiles of `high` rows: at most 65535 of them each.

    >>> list(bands(70, 1)), [(band.start, band.stop) for band in bands(65535 * 32 + 1, 32)]
    ([slice(0, 70, None)], [(0, 2097120), (2097120, 2097121)])
    """
    most = MOST_BLOCKS_DOWN * high
    for first in range(0, rows, most):
        yield slice(first, min(rows, first + most))


def check_reachable(arrays: Sequence[Seen]) -> None:
    """Nothing, if the lockstep engine can look at the memory of these arrays.

    Raises:
        LaunchRefused: one is in the memory of a GPU.
    """
    for seen in arrays:
        if seen.place != HOST and seen.span and not _is_here(seen):
            raise LaunchRefused(
                f"`{seen.name}` is in the memory of a GPU, and this process runs kernels in the"
                " lockstep engine. Pass a NumPy array, or unset SMEMNB_DEVICE to use the GPU"
            )


def _is_here(seen: Seen) -> bool:
    if device() != "lockstep":
        return False
    from ..simulator.host.memory import memory

    return memory.holds(seen.address, seen.span)


# --- on a device -------------------------------------------------------------------------------


def run_on_device(
    launch: Callable[[Any, Any], None], arrays: Sequence[Seen], dtype: np.dtype[Any], handle: int
) -> Any:
    """Call `launch(device arrays, stream)` on the arrays' device; what was launched is not awaited.

    Work that arrays announce on another stream comes first. Numba's stream is returned.
    """
    from numba import cuda

    place = arrays[0].place
    context = cuda.current_context()
    where: AbstractContextManager[Any] = nullcontext()
    if context.device.id != place:
        where, context = cuda.gpus[place], cuda.gpus[place].get_primary_context()
    with where:
        stream = stream_of(handle, place)
        for seen in arrays:
            if seen.stream is not None and seen.stream != handle:
                _order(seen.stream, stream, place)
        launch([array_over(seen, dtype, context) for seen in arrays], stream)
        if any(seen.kind.borrowed for seen in arrays):
            _keep(arrays, stream)
    return stream


_in_use: deque[tuple[Any, list[Any]]] = deque()


def _keep(arrays: Sequence[Seen], stream: Any) -> None:
    """Hold on to memory of other libraries until the work that was put on the stream is done."""
    from numba import cuda

    event = cuda.event(timing=False)
    event.record(stream)
    _in_use.append((event, [seen.value for seen in arrays]))
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
    if device() == "numba simulator":
        from ..simulator import run

        run(plan.kernel, plan.grid, plan.block, 0, 0, (*arrays, *scalars))
    else:
        plan.kernel[plan.grid, plan.block, stream](*arrays, *scalars)


# --- on copies of the host's memory ------------------------------------------------------------


def host_view(seen: Seen, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The memory of a matrix of the host as a NumPy array of another dtype."""
    cols = seen.cols * seen.itemsize // dtype.itemsize
    if not seen.span:
        return np.empty((seen.rows, cols), dtype)
    memory: Any = (ctypes.c_uint8 * seen.span).from_address(seen.address)
    return np.ndarray((seen.rows, cols), dtype, memory, 0, (seen.pitch, dtype.itemsize))


def run_on_host(
    launch: Callable[[Any, Any], None],
    arrays: Sequence[Seen],
    dtype: np.dtype[Any],
    handle: int,
    reads_out: bool = False,
) -> None:
    """Copy to the device, call `launch(device arrays, stream)`, copy the first array back."""
    views = [host_view(seen, dtype) for seen in arrays]
    if device() == "numba simulator":
        copies = [np.ascontiguousarray(view) for view in views]
        launch(copies, 0)
        np.copyto(views[0], copies[0])
        return
    from numba import cuda

    stream = stream_of(handle, cuda.current_context().device.id)
    fresh = [cuda.to_device(np.ascontiguousarray(view), stream) for view in views[1:]]
    if reads_out:
        result = cuda.to_device(np.ascontiguousarray(views[0]), stream)
    else:
        result = cuda.device_array(views[0].shape, dtype, stream=stream)
    launch([result, *fresh], stream)
    if views[0].flags.c_contiguous:
        result.copy_to_host(views[0], stream)
        if stream:
            stream.synchronize()
    else:
        copied = result.copy_to_host(stream=stream)
        if stream:
            stream.synchronize()
        np.copyto(views[0], copied)
