"""`transpose(x)`: x.T with contiguous rows, by the kernels of `smemnb.kernels.transpose`."""

from __future__ import annotations

from typing import Any

from ..errors import SmemnbError, shortened
from ..kernels.rung import Rung
from . import launching
from .backends.find import matrix_view
from .backends.matrix_view import HOST, MatrixView
from .choice import (
    Plan,
    bands,
    check_rung,
    layout_of,
    most_rows,
    moved_as,
    new_layout,
    transpose_plan,
)
from .contract import (
    check_aligned,
    check_elements,
    check_out,
    check_size,
    check_together,
    handle_in,
)
from .engine import check_time, seconds


def transpose(x: Any, out: Any = None, stream: Any = None, rung: str | Rung | None = None) -> Any:
    """The transpose of a matrix, with contiguous rows; bits are moved as they are.

    >>> import numpy as np
    >>> x = np.arange(6, dtype=np.int16).reshape(2, 3)
    >>> transpose(x)
    array([[0, 3],
           [1, 4],
           [2, 5]], dtype=int16)

    Args:
        x: a matrix (rows x cols) of any dtype of 1, 2, 4, 8 or 16 bytes, its rows contiguous and
            any number of whole elements apart: an array of NumPy, Numba, CuPy, PyTorch or JAX,
            or of any library with `__cuda_array_interface__` or `__dlpack__`.
        out: where the result goes (cols x rows, of the same library, device and dtype, sharing no
            memory with x); None for a new array.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller: the current stream of CuPy or PyTorch, the one that a Numba
            array or `__cuda_array_interface__` names, else the default stream. On a stream that
            you name, arrays must be ready, and live until its work is done.
        rung: a kernel of `smemnb.kernels.transpose.ladder.LADDER`, or its name; None takes the
            fastest that fits.

    Returns:
        `out`, or a new array of the library of x, on its device. Arrays on a GPU stay there, and
        nothing waits for them; results of host arrays (NumPy, PyTorch and JAX on the CPU) are
        complete, at the price of a copy to the device and back. Objects of other libraries give
        a Numba device array, or a NumPy array if they are on the host.

    Raises:
        LaunchRefused: an argument is not what is said above, a matrix reaches over more than
            2**31 elements, the rung does not fit; without a GPU, the engine would take longer than
            `SMEMNB_ENGINE_SECONDS` (60). Nothing was launched, and `out` is as it was.
    """
    try:
        return _transposed(x, out, stream, rung)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _transposed(x: Any, out: Any, stream: Any, rung: Any) -> Any:
    check_rung(rung)
    asked = handle_in(stream)
    inp = matrix_view("x", x, asked)
    check_elements(inp)
    rows, cols = inp.cols, inp.rows
    arrays = [inp] if out is None else [matrix_view("out", out, asked), inp]
    check_together(arrays)
    check_aligned(arrays)
    if out is not None:
        check_out(arrays[0], "the transpose", rows, cols, [inp])
    check_size("the transpose", rows, cols)
    plan = _plan(rung, inp, None if out is None else arrays[0])
    if not launching.on_gpu():
        launching.check_reachable(arrays)
        what = f"transpose of {inp.rows} x {inp.cols} elements"
        check_time(what, seconds(plan), plan.name, "x.T.copy()")

    if out is None:
        target = inp.backend.empty(inp, rows, cols, asked)
        target.name = "out"
        if target.place != HOST and target.address & 15:
            plan = _plan(rung, inp, target)
    else:
        target = arrays[0]
        target.backend.before_write(target)
    used = inp.backend.stream(inp) if asked is None else asked
    on = _run(plan, rung, target, inp, used) if rows and cols else 0
    return out if out is not None else inp.backend.native(target, inp, on)


def _plan(rung: Any, inp: MatrixView, out: MatrixView | None) -> Plan:
    if out is None:
        result = new_layout(inp.cols, inp.rows, inp.itemsize)
    else:
        result = layout_of(out)
    return transpose_plan(rung, inp.itemsize, result, layout_of(inp))


def _run(plan: Plan, rung: Any, out: MatrixView, inp: MatrixView, handle: int) -> Any:
    """Launch, in bands of rows where they are more than a grid covers."""
    dtype = moved_as(inp.itemsize)
    if inp.rows <= most_rows(plan):
        return launching.run(plan, (out, inp), (), dtype, handle)
    stream = None
    for band in bands(inp.rows, most_rows(plan)):
        target, source = out.part(slice(0, inp.cols), band), inp.part(band, slice(0, inp.cols))
        part = _plan(rung, source, target)
        stream = launching.run(part, (target, source), (), dtype, handle)
    return stream
