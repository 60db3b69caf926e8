"""Small tables of numbers made on the host, in the memory where an operation's arrays are.

An operation may need numbers that the host works out, as the edges of a histogram: `table` gives
them as an array of the caller's library on the caller's device, and keeps the last ones, as a
caller asks for the same edges again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LaunchRefused
from . import prepared
from .backends.find import array_view
from .backends.matrix_view import HOST, MatrixView
from .backends.numba_arrays import _described, on_device, stream_of
from .contract import handle_in
from .patterns import _host_array, _like

MOST = 64
"""Tables that are kept."""
_kept: dict[tuple[Any, ...], Any] = {}


def forget() -> None:
    """Drop all tables."""
    _kept.clear()


def table(x: Any, numbers: np.ndarray[Any, Any], stream: Any = None) -> Any:
    """The numbers, of one axis, as an array of the library and device of x.

    Raises:
        LaunchRefused: they are not there yet, and the stream is captured into a CUDA graph.
    """
    asked = handle_in(stream)
    view = array_view("x", x, asked)
    key = (type(x), view.place, numbers.dtype.str, numbers.tobytes())
    found = _kept.get(key)
    if found is not None:
        return found
    backend = view.backend
    handle = backend.stream(view) if asked is None else asked
    like = _like(view, backend.own_type(numbers.dtype), numbers.itemsize)
    if view.place != HOST and prepared.capturing(handle):
        raise LaunchRefused(
            "the operation copies a table to the device, and the stream is captured into a CUDA"
            " graph. Call it once outside of the capture, with the same arguments"
        )
    made = backend.empty(like, 1, numbers.size, asked)
    on: Any = 0
    if made.place == HOST:
        _host_array(made, numbers.dtype)[...] = numbers.reshape(made.extents)
    else:
        with on_device(made.place):
            on = stream_of(handle, made.place)
            shape, steps = (numbers.size,), (numbers.itemsize,)
            there = _described(
                made.address, shape, steps, numbers.nbytes, numbers.dtype, made.place
            )
            there.copy_to_device(numbers, stream=on)
            _wait(on)  # a later call may use it on another stream
    result = backend.native(made, like, on).reshape((numbers.size,))
    if len(_kept) >= MOST:
        _forget_after_use(view.place)
    _kept[key] = result
    return result


def _forget_after_use(place: int) -> None:
    """Drop all tables, once no launch that is under way reads them."""
    if place != HOST:
        from numba import cuda

        with on_device(place):
            cuda.synchronize()
    forget()


def wait(view: MatrixView, asked: int | None) -> None:
    """Wait for what was put on the caller's stream, unless reading an element does so anyway."""
    if view.place == HOST or (asked is None and view.backend.has_current):
        return
    handle = view.backend.stream(view) if asked is None else asked
    with on_device(view.place):
        _wait(stream_of(handle, view.place))


def _wait(stream: Any) -> None:
    """Wait for a stream of Numba's; 0 is the default one."""
    from numba import cuda

    (stream or cuda.default_stream()).synchronize()


def captured(view: MatrixView, asked: int | None) -> bool:
    """Whether the caller's stream is captured into a CUDA graph."""
    if view.place == HOST:
        return False
    return prepared.capturing(view.backend.stream(view) if asked is None else asked)
