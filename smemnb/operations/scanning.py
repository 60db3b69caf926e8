"""`cumsum`, `cummax`: by the kernels of `smemnb.kernels.scan`.

An array is outer x length x inner elements along its axis and takes one launch
(`kernels.scan.choosing` says of which kernel); one with gaps, or in another order, is copied first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..kernels.scan import choosing
from ..kernels.step import Launch
from .choice import ENGINE
from .laid import Laid, one_axis
from .patterns import Call, Work, engine_seconds, perform
from .workspace import Workspace

SUMMED = (
    *("float32", "float64", "bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
COMPARED = ("float32", "float64", "int32", "int64")


def cumsum(
    x: Any,
    axis: int | None = None,
    *,
    exclusive: bool = False,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """The running sums of elements along an axis, as `numpy.cumsum`.

    >>> import numpy as np
    >>> x = np.array([[3, 1, 4], [1, 5, 9]], np.int32)
    >>> cumsum(x, axis=1)
    array([[ 3,  4,  8],
           [ 1,  6, 15]])
    >>> cumsum(x, exclusive=True)
    array([ 0,  3,  4,  8,  9, 14])

    Integers and bools are added in 64 bits and give int64, unsigned ones uint64 (int64 for PyTorch,
    as its own cumsum). Floats stay what they are: they are added pairwise inside tiles, and from
    tile to tile in float64, in an order that depends on shape, alignment and device alone; so
    repeated calls agree bit by bit. A result is off by at most 40 * eps * sum(abs(x)) of the n
    elements in it, for float64 (40 + n / 2**17) times that. Sums of positive floats may so fall by
    an error from one element to the next. From a NaN on all results are NaN.

    Args:
        x: an array of float32, float64, a kind of integer or bool, of NumPy, Numba, CuPy, PyTorch
            or JAX, or of any library with `__cuda_array_interface__` or `__dlpack__`; of any number
            of axes and any strides that do not lie backwards.
        axis: along which it goes, negative ones counted from the end; None for all elements in the
            order of rows, which gives an array of one axis.
        exclusive: whether an element takes no part in its own sum: the first one is 0.
        out: where the result goes: of the same library and device, contiguous, sharing no memory
            with x; None for a new array.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller.

    Returns:
        `out`, or a new array of the library of x, on its device. Arrays on a GPU stay there, and
        nothing waits for them; results of host arrays are complete.

    Raises:
        LaunchRefused: an argument is not what is said above; without a GPU, the engine would take
            longer than `SMEMNB_ENGINE_SECONDS` (60). Nothing was launched, and `out` is as it was.
    """
    return _scanned("sum", x, axis, out, stream, exclusive=bool(exclusive))


def cummax(x: Any, axis: int | None = None, *, out: Any = None, stream: Any = None) -> Any:
    """The largest element so far along an axis, as `numpy.maximum.accumulate`.

    >>> import numpy as np
    >>> cummax(np.array([3, 1, 4, 1, 5], np.float32))
    array([3., 3., 4., 4., 5.], dtype=float32)

    Elements stay of their dtype, float32, float64, int32 or int64. A NaN stays from
    where it stands on. Without an axis it goes over all elements. Arguments are those of `cumsum`.
    """
    return _scanned("max", x, axis, out, stream)


def _scanned(
    name: str, x: Any, axis: int | None, out: Any, stream: Any, *, exclusive: bool = False
) -> Any:
    said = axis if axis is None or type(axis) is int else _Said(axis)
    words = {"sum": "cumsum", "max": "cummax"}[name]
    return perform(words, _plan, {"x": x}, (name, said, exclusive), out, stream)


class _Said:
    """An axis of another type than most, read when the call is planned; no key is like it."""

    def __init__(self, axis: Any) -> None:
        self.axis = axis


def _plan(call: Call, name: str, axis: Any, exclusive: Any) -> Work:
    words = {"sum": "cumsum", "max": "cummax"}[name]
    taken = SUMMED if name == "sum" else COMPARED
    call.check_dtype("x", taken, words, by_parts=name == "sum")
    said = axis.axis if isinstance(axis, _Said) else axis
    shape = call["x"].shape
    lie = (1, prod(shape), 1)
    if said is not None:
        at = one_axis(said, len(shape))
        lie = (prod(shape[:at]), shape[at], prod(shape[at + 1 :]))
    x = call.contiguous("x")
    kind = _result(name, x.dtype, unsigned=call.views["x"].backend.unsigned_sums)
    moved = {"bool": np.uint8, "uint64": np.int64}  # sums of both have the same bits
    x = x.flat(moved.get(x.dtype.name))
    acc = np.dtype(moved.get(kind.name, kind))
    of = choosing.combining(name, x.dtype.name, acc.name)

    def launches(new: Workspace, out: Laid) -> Sequence[Launch]:
        return choosing.launches(
            of,
            new,
            out.flat(acc),
            x,
            lie,
            exclusive=exclusive,
            beyond=x.beyond % 16,
            processors=1 if call.processors == ENGINE else call.processors,
        )

    return Work(
        (prod(shape),) if said is None else shape,
        kind,
        launches,
        f"{words} of {' x '.join(map(str, shape)) or '1'} elements",
        {"sum": "np.cumsum(x)", "max": "np.maximum.accumulate(x)"}[name],
        engine_seconds(x.size, per_element=150e-9),
    )


def _result(name: str, dtype: np.dtype[Any], *, unsigned: bool) -> np.dtype[Any]:
    """The dtype of a result for elements of this one."""
    if name == "max" or dtype.kind == "f":
        return dtype
    return np.dtype(np.uint64 if dtype.kind == "u" and unsigned else np.int64)
