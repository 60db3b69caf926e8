"""What the operations refuse, all of it before anything is launched or written.

The arrays of a call are of one library and on one device; `out` has the shape and dtype of the
result, may be written, and shares no memory with what is read. No matrix reaches over more than
`MAX_ELEMENTS`: kernels count elements from the first one in 32 bits without a sign, and elements
of 16 bytes by halves, so 2**31 is what all of them can address.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from .backends.matrix_view import HOST, MatrixView, TypeRefused
from .overlap import overlap, rows_overlap, share

MAX_ELEMENTS = 1 << 31
_LARGEST = float(np.finfo(np.float32).max)
MOST_BYTES = 16


def check_together(arrays: Sequence[MatrixView], *, whole: bool = True) -> None:
    """Raise unless the arrays are of one library, on one device, and not too large.

    Arrays that no kernel sees `whole` may be of any size.

    Raises:
        TypeRefused: they are of several libraries.
        LaunchRefused: they are in several places, or one is too large.
    """
    first = arrays[0]
    family = first.backend.family(first.place)
    for other in arrays:
        if other.backend is not first.backend and other.backend.family(other.place) is not family:
            raise TypeRefused(
                f"`{first.name}` is {first.backend.label} and `{other.name}` {other.backend.label}."
                " Pass arrays of one library"
            )
        if other.place != first.place:
            raise LaunchRefused(
                f"`{first.name}` is on {_place(first)} and `{other.name}` on {_place(other)}. Pass"
                " arrays of one place: nothing is copied between devices"
            )
        if whole and other.span > MAX_ELEMENTS * other.itemsize:
            _refuse_size(other)


def check_size(name: str, rows: int, cols: int) -> None:
    """Raise LaunchRefused unless the kernels can address a matrix of this shape."""
    if rows * cols > MAX_ELEMENTS:
        raise LaunchRefused(f"{name} has {rows} x {cols} = {rows * cols} elements. {_MOST}")


_MOST = (
    f"The kernels address at most 2**31 = {MAX_ELEMENTS} elements, gaps between rows counted:"
    " pass the matrix in parts"
)


def _refuse_size(matrix: MatrixView) -> None:
    reach = -(-matrix.span // matrix.itemsize)
    raise LaunchRefused(
        f"`{matrix.name}` of shape {matrix.shape} reaches over {reach} elements. {_MOST}"
    )


def _place(matrix: MatrixView) -> str:
    return "the host" if matrix.place == HOST else f"device {matrix.place}"


def check_elements(matrix: MatrixView) -> None:
    """Raise TypeRefused unless its elements are of a size that a transpose can move."""
    if not 1 <= matrix.itemsize <= MOST_BYTES:
        raise TypeRefused(
            f"`{matrix.name}` is {matrix.dtype}, of {matrix.itemsize} bytes per element;"
            f" the kernels move elements of 1 to {MOST_BYTES} bytes. Transpose its fields, or"
            " another dtype"
        )


def check_single(arrays: Sequence[MatrixView]) -> None:
    """Raise TypeRefused unless all arrays are float32."""
    for matrix in arrays:
        if matrix.dtype != matrix.backend.float32:
            raise TypeRefused(
                f"`{matrix.name}` is {matrix.dtype}; the product is made in float32."
                f" {dtype_cure(matrix, ('float32',))}"
            )


def dtype_cure(view: MatrixView, taken: Sequence[str], *, by_parts: bool = False) -> str:
    """What to pass for an array that is of none of the dtypes `taken`, a sentence without its stop.

    `by_parts`: whether an operation on complex numbers is one on either part.
    """
    kind = view.backend.number_type(view.dtype)
    dtype = cast_to(kind, taken)
    if view.name == "out":  # a copy would not be the caller's
        return f"Pass an `out` of {dtype}"
    if kind is not None and kind.kind == "c":
        parts = view.backend.parts.format(name=view.name)
        each = f": pass {parts}, one at a time" if by_parts else ""
        return f"Complex numbers are not taken{each}"
    if kind is not None and kind.kind not in "biuf":
        return f"Pass an array of {dtype}"
    return f"Pass {view.backend.cast.format(name=view.name, dtype=dtype)}"


def cast_to(kind: np.dtype[Any] | None, taken: Sequence[str]) -> str:
    """The dtype among `taken` to cast to: one that holds all that `kind` does, if there is one.

    >>> cast_to(np.dtype(np.float16), ("float32", "float64"))
    'float32'
    """
    if kind is not None and kind.name in taken:  # of the other order of bytes
        return kind.name
    if kind is not None and kind.kind in "iuf":
        group = "f" if kind.kind == "f" else "iu"
        alike = [name for name in taken if np.dtype(name).kind in group]
        alike.sort(key=lambda name: np.dtype(name).itemsize)
        if alike:
            return next((name for name in alike if np.can_cast(kind, name)), alike[-1])
    return next((name for name in ("float32", "int64") if name in taken), taken[0])


def check_out(
    out: MatrixView, what: str, rows: int, cols: int, inputs: Sequence[MatrixView]
) -> None:
    """Raise unless the result `what` of rows x cols elements may be written to `out`.

    Raises:
        TypeRefused: `out` has another dtype than the inputs.
        LaunchRefused: it has another shape, is read-only, or shares memory.
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


def check_result(
    out: MatrixView,
    shape: tuple[int, ...],
    x: MatrixView,
    what: str = "the transpose",
    also: MatrixView | None = None,
) -> None:
    """Raise unless a result of this shape may be written to `out`, an array of any axes.

    Raises:
        TypeRefused: `out` has another dtype than `x`.
        LaunchRefused: it has another shape, is read-only, shares memory with itself or with `x`,
            or its last axis is not one of neighbours.
    """
    if out.extents != shape:
        raise LaunchRefused(f"`out` has shape {out.extents}; {what} has {shape}")
    if out.dtype != x.dtype:
        raise TypeRefused(
            f"`out` is {out.dtype} and `{x.name}` {x.dtype}. Pass an `out` of {x.dtype}"
        )
    if out.readonly:
        raise LaunchRefused("`out` is read-only. Pass an array that may be written")
    own = "Leave `out` out, or pass an array of its own memory"
    if len(shape) == 2 and shape[-1] > 1 and out.steps[-1] != out.itemsize:
        out.check()
    reach = out.itemsize
    for step, extent in sorted(zip(out.steps, out.extents, strict=True)):
        if extent > 1 and step < reach:
            out.check()
            raise LaunchRefused(
                f"`out` has shape {out.extents} and strides {out.steps} bytes: elements share"
                f" memory, or lie backwards. {own}"
            )
        reach += (extent - 1) * max(0, step)
    if shape and shape[-1] > 1 and out.steps[-1] != out.itemsize:
        raise LaunchRefused(
            f"`out` has strides {out.steps} bytes: elements of its last axis must be neighbours,"
            f" {out.itemsize} bytes apart. {own}"
        )
    for other in (x, also):
        if other is not None and share(out, other):
            raise LaunchRefused(
                f"`out` shares memory with `{other.name}`, which is read while `out` is written."
                f" {own}"
            )


def check_aligned(arrays: Sequence[MatrixView]) -> None:
    """Raise LaunchRefused unless arrays on a device begin at a multiple of their elements' size."""
    for matrix in arrays:
        if matrix.place != HOST and matrix.address % matrix.itemsize:
            raise LaunchRefused(
                f"`{matrix.name}` begins at address {matrix.address:#x}, which is no multiple of"
                f" its elements' {matrix.itemsize} bytes: a GPU cannot read it. Pass a copy"
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


def plain_number(value: Any) -> float | None:
    """What `number` gives, as a float, if the number is an ordinary one; None for all others."""
    if type(value) is int and -(1 << 24) <= value <= 1 << 24:  # exact in float32
        return float(value)
    if type(value) is float and -_LARGEST <= value <= _LARGEST:
        return float(np.float32(value))
    return None


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
