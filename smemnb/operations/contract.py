"""What the operations refuse, all of it before anything is launched or written.

The arrays of a call are of one library and on one device; `out` has the shape and dtype of the
result, may be written, and shares no memory with what is read. No matrix reaches over more than
`MOST_ELEMENTS`: kernels count elements from the first one in 32 bits without a sign, and elements
of 16 bytes by halves, so 2**31 is what all of them can address.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from .backends.backend import HOST, MatrixView, TypeRefused
from .overlap import overlap, rows_overlap

MOST_ELEMENTS = 1 << 31
_LARGEST = float(np.finfo(np.float32).max)
SIZES = (1, 2, 4, 8, 16)


def check_together(arrays: Sequence[MatrixView]) -> None:
    """Nothing, if the arrays are of one library, on one device, and not too large.

    Raises:
        LaunchRefused: otherwise.
    """
    first = arrays[0]
    family = first.kind.family(first.place)
    for other in arrays:
        if other.kind is not first.kind and other.kind.family(other.place) is not family:
            raise TypeRefused(
                f"`{first.name}` is {first.kind.label} and `{other.name}` {other.kind.label}."
                " Pass arrays of one library"
            )
        if other.place != first.place:
            raise LaunchRefused(
                f"`{first.name}` is on {_place(first)} and `{other.name}` on {_place(other)}. Pass"
                " arrays of one place: nothing is copied between devices"
            )
        if other.span > MOST_ELEMENTS * other.itemsize:
            _refuse_size(other)


def check_size(name: str, rows: int, cols: int) -> None:
    """Nothing, if the kernels can address a matrix of this shape.

    Raises:
        LaunchRefused: otherwise.
    """
    if rows * cols > MOST_ELEMENTS:
        raise LaunchRefused(f"{name} has {rows} x {cols} = {rows * cols} elements. {_MOST}")


_MOST = (
    f"The kernels address at most 2**31 = {MOST_ELEMENTS} elements, gaps between rows counted:"
    " pass the matrix in parts"
)


def _refuse_size(seen: MatrixView) -> None:
    reach = -(-seen.span // seen.itemsize)
    raise LaunchRefused(
        f"`{seen.name}` of shape {seen.shape} reaches over {reach} elements. {_MOST}"
    )


def _place(seen: MatrixView) -> str:
    return "the host" if seen.place == HOST else f"device {seen.place}"


def check_elements(seen: MatrixView) -> None:
    """Nothing, if a transpose can move its elements.

    Raises:
        LaunchRefused: an element has another size than 1, 2, 4, 8 or 16 bytes.
    """
    if seen.itemsize not in SIZES:
        raise TypeRefused(
            f"`{seen.name}` is {seen.dtype}, of {seen.itemsize} bytes per element; the kernels move"
            " elements of 1, 2, 4, 8 or 16 bytes. Transpose its fields, or another dtype"
        )


def check_single(arrays: Sequence[MatrixView]) -> None:
    """Nothing, if all arrays are float32.

    Raises:
        LaunchRefused: one is not.
    """
    for seen in arrays:
        if seen.dtype != seen.kind.float32:
            cure = seen.kind.single.format(name=seen.name)
            if seen.name == "out":
                cure = "an `out` of float32"
            raise TypeRefused(
                f"`{seen.name}` is {seen.dtype}; the product is made in float32. Pass {cure}"
            )


def check_out(
    out: MatrixView, what: str, rows: int, cols: int, inputs: Sequence[MatrixView]
) -> None:
    """Nothing, if the result `what` of rows x cols elements may be written to `out`.

    Raises:
        LaunchRefused: otherwise.
    """
    like = inputs[0]
    if (out.rows, out.cols) != (rows, cols):
        raise LaunchRefused(f"`out` has shape {out.shape}; {what} has {(rows, cols)}")
    if out.dtype != like.dtype:
        raise TypeRefused(
            f"`out` is {out.dtype} and `{like.name}` {like.dtype}. Pass an `out` of {like.dtype}"
        )
    if out.readonly:
        raise LaunchRefused("`out` is read-only. Pass an array that may be written")
    if rows_overlap(out):
        raise LaunchRefused(
            f"rows of `out` share memory: they are {out.cols * out.itemsize} bytes long and"
            f" {out.pitch} bytes apart. Pass an array whose elements have memory of their own"
        )
    for other in inputs:
        if overlap(out, other):
            raise LaunchRefused(
                f"`out` shares memory with `{other.name}`, which is read while `out` is written."
                " Leave `out` out, or pass an array of its own memory"
            )


def check_aligned(arrays: Sequence[MatrixView]) -> None:
    """Nothing, if every array on a device begins at a multiple of its elements' size.

    Raises:
        LaunchRefused: otherwise.
    """
    for seen in arrays:
        if seen.place != HOST and seen.address % seen.itemsize:
            raise LaunchRefused(
                f"`{seen.name}` begins at address {seen.address:#x}, which is no multiple of its"
                f" elements' {seen.itemsize} bytes: a GPU cannot read it. Pass a copy"
            )


def number(name: str, value: Any) -> np.float32:
    """A number as the kernels take it.

    Raises:
        TypeRefused: no real number.
    """
    if type(value) is float or type(value) is int:
        if -_LARGEST <= value <= _LARGEST:  # the usual case, at no price
            return np.float32(value)
    else:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real | np.generic):
            hint = f" Pass {name}.item()" if hasattr(value, "item") else " Pass a float"
            raise TypeRefused(f"`{name}` is {value!r}, no real number.{hint}")
        if isinstance(value, np.generic) and value.dtype.kind not in "iuf":
            raise TypeRefused(f"`{name}` is {value!r}, no real number. Pass a float")
    try:
        with np.errstate(over="ignore"):
            return np.float32(float(value))
    except OverflowError:
        raise LaunchRefused(f"`{name}` is too large for float32") from None


def handle_in(stream: Any) -> int | None:
    """The handle of a stream of any library, None for None.

    Raises:
        TypeRefused: no stream.
    """
    if stream is None:
        return None
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    for name in ("cuda_stream", "ptr"):  # of PyTorch, of CuPy
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if hasattr(stream, "synchronize") and hasattr(stream, "__int__"):  # of an older Numba
        return int(stream)
    raise TypeRefused(
        f"`stream` is {stream!r}, no stream. Pass one of Numba, CuPy or PyTorch, or its handle"
    )
