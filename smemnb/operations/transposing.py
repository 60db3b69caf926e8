"""`transpose(x)`: x.T with contiguous rows, by the kernels of `smemnb.kernels.transpose`."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.rung import Rung
from . import launching
from .axes import Part, parts, permutation
from .backends.find import array_view
from .backends.matrix_view import HOST, BatchView, MatrixView
from .choice import (
    Layout,
    Plan,
    bands,
    check_rung,
    layout_of,
    most_rows,
    moved_as,
    new_layout,
)
from .contract import (
    MAX_ELEMENTS,
    check_aligned,
    check_elements,
    check_out,
    check_result,
    check_size,
    check_together,
    handle_in,
)
from .engine import check_time, seconds
from .repeated import repeated
from .transpose_choice import SIZES, runs_plan, transpose_plan, units_plan


def transpose(
    x: Any,
    out: Any = None,
    stream: Any = None,
    rung: str | Rung | None = None,
    axes: tuple[int, ...] | None = None,
) -> Any:
    """The transpose of a matrix, or of each of a batch; bits are moved as they are.

    >>> import numpy as np
    >>> x = np.arange(6, dtype=np.int16).reshape(2, 3)
    >>> transpose(x)
    array([[0, 3],
           [1, 4],
           [2, 5]], dtype=int16)
    >>> images = np.zeros((8, 32, 40, 3), np.uint8)
    >>> transpose(images, axes=(0, 3, 1, 2)).shape
    (8, 3, 32, 40)

    Args:
        x: a matrix (rows x cols), or an array of more axes, of any dtype of 1 to 16 bytes: an array
            of NumPy, Numba, CuPy, PyTorch or JAX, or of any library with
            `__cuda_array_interface__` or `__dlpack__`. Along one axis its elements are neighbours;
            along the others they lie any distance apart, so rows may begin anywhere, and a
            column-major matrix is copied.
        out: where the result goes (of the same library, device and dtype, its last axis one of
            neighbours, sharing no memory with x); None for a new array.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller: the current stream of CuPy or PyTorch, the one that a Numba
            array or `__cuda_array_interface__` names, else the default stream. On a stream that
            you name, arrays must be ready, and live until its work is done.
        rung: a kernel of `smemnb.kernels.transpose.ladder.LADDER`, or its name, for one matrix of
            contiguous rows; None takes the fastest that fits.
        axes: the order of axes, as `numpy.transpose` takes it: axis k of the result is axis
            `axes[k]` of x. None lets the last two change places. One launch moves an array of three
            axes; of more axes those that follow each other in memory, before and after, are one,
            and each place along what is left takes a launch.

    Returns:
        `out`, or a new array of the library of x, on its device, in row-major order. Arrays on a
        GPU stay there, and nothing waits for them; results of host arrays (NumPy, PyTorch and JAX
        on the CPU) are complete, at the price of a copy to the device and back. Objects of other
        libraries give a Numba device array, or a NumPy array if they are on the host.

    Raises:
        LaunchRefused: an argument is not what is said above, a matrix reaches over more than
            2**31 elements, the rung does not fit; without a GPU, the engine would take longer than
            `SMEMNB_ENGINE_SECONDS` (60). Nothing was launched, and `out` is as it was.
    """
    try:
        if axes is not None:
            return _transposed(x, out, stream, rung, axes)
        return repeated(("transpose", "x"), _transposed, (x,), out, (), stream, rung)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def _transposed(x: Any, out: Any, stream: Any, rung: Any, axes: Any = None) -> Any:
    check_rung(rung)
    asked = handle_in(stream)
    inp = array_view("x", x, asked)
    check_elements(inp)
    into = None if out is None else array_view("out", out, asked)
    views = [inp] if into is None else [into, inp]
    if axes is None and all(_is_plain(view) for view in views):
        return _matrix(inp, into, asked, rung, out)
    if len(inp.extents) < 2:
        inp.check()
    return _axes(inp, into, asked, rung, out, permutation(axes, len(inp.extents), inp.name))


def _is_plain(view: MatrixView) -> bool:
    """Whether it is one matrix of contiguous rows, of elements that kernels move whole."""
    size = view.itemsize
    return not view.problem and size in SIZES and (view.place == HOST or view.address % size == 0)


# --- one matrix, its rows contiguous -----------------------------------------------------------


def _matrix(
    inp: MatrixView, into: MatrixView | None, asked: int | None, rung: Any, out: Any
) -> Any:
    rows, cols = inp.cols, inp.rows
    arrays = [inp] if into is None else [into, inp]
    check_together(arrays)
    check_aligned(arrays)
    if into is not None:
        check_out(into, "the transpose", rows, cols, [inp])
    check_size("the transpose", rows, cols)
    plan = _plan(rung, inp, into)
    if not launching.on_gpu():
        launching.check_reachable(arrays)
        what = f"transpose of {inp.rows} x {inp.cols} elements"
        check_time(what, seconds(plan), plan.name, "x.T.copy()")

    if into is None:
        target = inp.backend.empty(inp, rows, cols, asked)
        target.name = "out"
        if target.place != HOST and target.address & 15:
            plan = _plan(rung, inp, target)
    else:
        target = into
        target.backend.before_write(target)
    used = inp.backend.stream(inp) if asked is None else asked
    on = _run(plan, rung, target, inp, used) if rows and cols else 0
    return out if into is not None else inp.backend.native(target, inp, on)


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


# --- an array of any axes ----------------------------------------------------------------------


class _Launch(NamedTuple):
    """A kernel with its arrays, moved as `dtype`."""

    plan: Plan
    out: MatrixView
    inp: MatrixView
    dtype: np.dtype[Any]


def _axes(
    inp: MatrixView,
    into: MatrixView | None,
    asked: int | None,
    rung: Any,
    out: Any,
    order: tuple[int, ...],
) -> Any:
    arrays = [inp] if into is None else [into, inp]
    shape = tuple(inp.extents[at] for at in order)
    rows, cols = prod(shape[:-1]), shape[-1]
    steps = tuple(prod(shape[at + 1 :]) * inp.itemsize for at in range(len(shape)))
    found = parts(inp, order, steps) if rows and cols else []
    check_together(arrays, whole=False)
    if into is not None:
        check_result(into, shape, inp)
        found = parts(inp, order, into.steps) if rows and cols else []
    _check_reaches(found, inp)
    if not launching.on_gpu():
        launching.check_reachable(arrays)
        plans = [_launch(part, inp, inp, rung).plan for part in found]
        if plans:
            what = f"transpose of {' x '.join(map(str, inp.extents))} elements"
            total = sum(seconds(plan) for plan in plans)
            check_time(what, total, plans[0].name, "np.ascontiguousarray(np.transpose(x, axes))")
    elif rung is not None:
        for part in found:
            _launch(part, inp, inp, rung)

    if into is None:
        target = inp.backend.empty(inp, rows, cols, asked)
        target.name = "out"
    else:
        target = into
        target.backend.before_write(target)
    used = inp.backend.stream(inp) if asked is None else asked
    on: Any = 0
    for part in found:
        for band in _bands(part, most_rows(_launch(part, target, inp, rung).plan)):
            launch = _launch(band, target, inp, rung)
            views = launch.out, launch.inp
            on = launching.run(launch.plan, views, (), launch.dtype, used)
    if into is not None:
        return out
    return inp.backend.native(target, inp, on).reshape(shape)


def _check_reaches(found: list[Part], inp: MatrixView) -> None:
    """Raise LaunchRefused if kernels cannot address the matrices of these parts."""
    for part in found:
        unit = min(8, _unit(part, inp, inp))
        if part.is_run:
            matrix, rows = part.cols.extent, 1
        else:
            matrix, rows = part.rows.extent * part.cols.extent, part.rows.extent
        reach = max(matrix * part.itemsize, (rows - 1) * part.rows.step_in) // unit
        if reach > MAX_ELEMENTS * max(1, part.itemsize // 8):
            raise LaunchRefused(
                f"`{inp.name}` of shape {inp.extents} has matrices of {matrix} elements. The"
                f" kernels address at most 2**31 = {MAX_ELEMENTS} elements, gaps between rows"
                " counted: pass the array in parts"
            )


def _bands(part: Part, most: int) -> list[Part]:
    """The part in bands of at most so many rows, where a grid does not cover them all."""
    rows = part.rows
    if part.is_run or rows.extent <= most:
        return [part]
    return [
        replace(
            part,
            at_in=part.at_in + band.start * rows.step_in,
            at_out=part.at_out + band.start * part.itemsize,
            rows=replace(rows, extent=band.stop - band.start),
        )
        for band in bands(rows.extent, most)
    ]


def _unit(part: Part, out: MatrixView, inp: MatrixView) -> int:
    """The widest power of two, up to 16 bytes, that divides all that a part is made of."""
    size = part.cols.extent * part.itemsize if part.is_run else part.itemsize
    numbers = [size, 16]
    if inp.place != HOST:
        numbers += [inp.address + part.at_in, out.address + part.at_out]
        axes = [part.batch, part.rows] if part.is_run else [part.batch]
        for axis in axes:
            if axis.extent > 1:
                numbers += [axis.step_in, axis.step_out]
        if not part.is_run:
            numbers += [part.rows.step_in] * (part.rows.extent > 1)
            numbers += [part.cols.step_out] * (part.cols.extent > 1)
    return gcd(*numbers)


def _launch(part: Part, out: MatrixView, inp: MatrixView, rung: Any) -> _Launch:
    """The kernel of a part, and the arrays that it takes."""
    unit, count = _unit(part, out, inp), part.batch.extent
    if part.is_run:
        return _copied(part, out, inp, rung, unit)
    rows, cols, size = part.rows, part.cols, part.itemsize
    moved = size if unit == size else min(unit, 8)
    high = _Side(count, cols.extent, rows.extent, part.batch.step_out, cols.step_out)
    wide = _Side(count, rows.extent, cols.extent, part.batch.step_in, rows.step_in)
    target = _view(out, part.at_out, high, size, moved)
    source = _view(inp, part.at_in, wide, size, moved)
    if moved == size:
        laid = _layout(target, high), _layout(source, wide)
        return _Launch(transpose_plan(rung, size, *laid, count), target, source, moved_as(size))
    if rung is not None:
        raise LaunchRefused(
            f"`rung` moves elements of 4 bytes, and `{inp.name}` has {size}, or does not begin at"
            " multiples of them. Leave `rung` out"
        )
    plan = units_plan(moved, size // moved, rows.extent, cols.extent, count)
    return _Launch(plan, target, source, moved_as(moved))


class _Side(NamedTuple):
    """What a kernel sees of an array: matrices of rows x cols elements, steps in bytes."""

    matrices: int
    rows: int
    cols: int
    step: int
    pitch: int


def _view(of: MatrixView, at: int, side: _Side, size: int, moved: int) -> MatrixView:
    """A matrix, or a batch of them, in an array; columns are counted in what is moved."""
    matrix = MatrixView(
        of.name,
        of.value,
        of.backend,
        of.address + at,
        (side.rows, side.cols * size // moved),
        (side.pitch, moved),
        None,
        moved,
        of.place,
        of.stream,
        readonly=of.readonly,
    )
    return matrix if side.matrices == 1 else BatchView(matrix, side.matrices, side.step)


def _layout(view: MatrixView, side: _Side) -> Layout:
    """Where the matrices of a side lie, that of the first one if all begin alike."""
    laid = layout_of(view)
    step = laid.rows * laid.pitch if view.place == HOST else side.step
    if side.matrices == 1 or (laid.beyond + step) % 16 == laid.beyond:
        return laid
    return laid._replace(beyond=view.itemsize % 16)  # some begin beside a multiple of 16


def _copied(part: Part, out: MatrixView, inp: MatrixView, rung: Any, unit: int) -> _Launch:
    """The copy of runs, in the widest pieces."""
    if rung is not None:
        raise LaunchRefused(
            f"`rung` transposes a matrix of contiguous rows; `{inp.name}` is copied run by run, as"
            " its neighbours stay neighbours. Leave `rung` out"
        )
    moved, size = min(unit, 8), part.itemsize
    run = part.cols.extent * size // moved
    batch, rows = part.batch, part.rows
    plan = runs_plan(moved, batch.extent, rows.extent, run, chunks=unit == 16)
    views = []
    for array, at, side in (
        (out, part.at_out, (batch.step_out, rows.step_out)),
        (inp, part.at_in, (batch.step_in, rows.step_in)),
    ):
        laid = _Side(1, rows.extent, part.cols.extent, *side)
        views.append(BatchView(_view(array, at, laid, size, moved), batch.extent, side[0]))
    return _Launch(plan, views[0], views[1], moved_as(moved))
