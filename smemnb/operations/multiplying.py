"""`matmul(a, b)`: alpha * a @ b + beta * out, by the kernels of `smemnb.kernels.matmul`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.rung import Rung
from . import launching
from .backends.find import matrix_view
from .backends.matrix_view import HOST, MatrixView
from .choice import (
    ENGINE,
    Plan,
    bands,
    check_rung,
    layout_of,
    matmul_plan,
    most_rows,
    moved_as,
    new_layout,
)
from .contract import (
    check_aligned,
    check_out,
    check_single,
    check_size,
    check_together,
    handle_in,
    number,
)
from .engine import check_time, seconds


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    alpha: float = 1,
    beta: float = 0,
    stream: Any = None,
    rung: str | Rung | None = None,
) -> Any:
    """The product alpha * a @ b + beta * out of two matrices, in float32.

    >>> import numpy as np
    >>> a = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    >>> matmul(a, np.ones((3, 2), np.float32), alpha=10)
    array([[ 60.,  60.],
           [150., 150.]], dtype=float32)

    Args:
        a: a matrix (rows x depth) of float32, its rows contiguous and any number of elements
            apart: an array of NumPy, Numba, CuPy, PyTorch or JAX, or of any library with
            `__cuda_array_interface__` or `__dlpack__`.
        b: a matrix (depth x cols) of the same library, on the same device.
        out: where the result goes (rows x cols, likewise, sharing no memory with a and b); None
            for a new array.
        alpha: factor of the product.
        beta: factor of `out` as it was; where it is 0 in float32, `out` is not read.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller: the current stream of CuPy or PyTorch, the one that a Numba
            array or `__cuda_array_interface__` names, else the default stream. On a stream that
            you name, arrays must be ready, and live until its work is done.
        rung: a kernel of `smemnb.kernels.matmul.ladder.LADDER`, or its name; None takes the
            fastest that fits. In the lockstep engine that is `matmul_tiled_32`, or
            `matmul_square` with alpha or beta.

    Returns:
        `out`, or a new array of the library of a, on its device. Arrays on a GPU stay there, and
        nothing waits for them; results of host arrays (NumPy, PyTorch and JAX on the CPU) are
        complete, at the price of copies to the device and back. Objects of other libraries give a
        Numba device array, or a NumPy array if they are on the host.

    Raises:
        LaunchRefused: an argument is not what is said above, a matrix reaches over more than
            2**31 elements, the rung does not fit; without a GPU, the engine would take longer than
            `SMEMNB_ENGINE_SECONDS` (60). Nothing was launched, and `out` is as it was.
    """
    try:
        return _product(a, b, out, (alpha, beta), stream, rung)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _product(a: Any, b: Any, out: Any, factors: Any, stream: Any, rung: Any) -> Any:
    check_rung(rung)
    asked = handle_in(stream)
    left, right = matrix_view("a", a, asked), matrix_view("b", b, asked)
    arrays = [left, right] if out is None else [matrix_view("out", out, asked), left, right]
    check_together(arrays)
    _check_shapes(left, right)
    check_single(arrays)
    check_aligned(arrays)
    scalars = number("alpha", factors[0]), number("beta", factors[1])
    plain, reads_out = bool(scalars[0] == 1 and scalars[1] == 0), bool(scalars[1] != 0)
    rows, cols = left.rows, right.cols
    if out is not None:
        check_out(arrays[0], "the product", rows, cols, [left, right])
    elif reads_out:
        raise LaunchRefused(f"`beta` is {factors[1]!r} and there is no `out` to weigh with it")
    check_size("the product", rows, cols)
    plan = _plan(rung, left, right, None if out is None else arrays[0], plain=plain)
    if launching.processors(left.place) == ENGINE:
        launching.check_reachable(arrays)
        what = f"matmul of {rows} x {left.cols} by {left.cols} x {cols}"
        check_time(what, seconds(plan, left.cols), plan.name, "a @ b")

    if out is None:
        target = left.backend.empty(left, rows, cols, asked)
        target.name = "out"
        if target.place != HOST and target.address & 15:
            plan = _plan(rung, left, right, target, plain=plain)
    else:
        target = arrays[0]
        target.backend.before_write(target)
    used = left.backend.stream(left) if asked is None else asked
    on: Any = 0
    if rows and cols:
        on = _run(plan, rung, (target, left, right), scalars, used, plain=plain)
    return out if out is not None else left.backend.native(target, left, on)


def _check_shapes(a: MatrixView, b: MatrixView) -> None:
    if a.cols != b.rows:
        raise LaunchRefused(
            f"`a` has {a.cols} columns and `b` {b.rows} rows (shapes {a.shape} and {b.shape}); a"
            " product needs as many of one as of the other"
        )


def _plan(rung: Any, a: MatrixView, b: MatrixView, out: MatrixView | None, *, plain: bool) -> Plan:
    result = new_layout(a.rows, b.cols, 4) if out is None else layout_of(out)
    return matmul_plan(
        rung, result, layout_of(a), layout_of(b), launching.processors(a.place), plain=plain
    )


def _run(
    plan: Plan,
    rung: Any,
    arrays: tuple[MatrixView, MatrixView, MatrixView],
    scalars: tuple[np.float32, np.float32],
    handle: int,
    *,
    plain: bool,
) -> Any:
    """Launch, in bands of rows where they are more than a grid covers."""
    out, a, b = arrays
    reads_out, dtype = bool(scalars[1] != 0), moved_as(4)
    factors = scalars if plan.scaled else ()
    if a.rows <= most_rows(plan):
        return launching.run(plan, arrays, factors, dtype, handle, reads_out=reads_out)
    stream = None
    for band in bands(a.rows, most_rows(plan)):
        target, left = out.part(band, slice(0, out.cols)), a.part(band, slice(0, a.cols))
        part = _plan(rung, left, b, target, plain=plain)
        stream = launching.run(part, (target, left, b), factors, dtype, handle, reads_out=reads_out)
    return stream
