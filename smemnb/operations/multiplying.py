"""`matmul(a, b)`: alpha * a @ b + beta * out, by the kernels of `smemnb.kernels.matmul`.

Two matrices that lie by rows take the short way, `_by_rows`. Operands by columns, of one axis, and
batches are first cut into launches (`operands`), and each of those is planned and run alike.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..errors import LaunchRefused, SmemnbError, shortened
from ..kernels.rung import Rung
from . import launching
from .backends.find import array_view
from .backends.matrix_view import HOST, BatchView, MatrixView
from .choice import ENGINE, MAX_BLOCKS_DOWN, Plan, bands, check_rung, layout_of, most_rows, moved_as
from .contract import (
    MAX_ELEMENTS,
    check_aligned,
    check_out,
    check_result,
    check_single,
    check_size,
    check_together,
    handle_in,
    number,
)
from .engine import check_time, seconds
from .matmul_choice import LIKE_H200, Lying, ProductPlan, product_plan, words_of
from .operands import Launch, Operand, launches, operand, result_shape, span
from .repeated import repeated
from .tensor_products import check_precision, kind_of, tensor_plan, tensor_product

Factors = tuple[np.float32, np.float32]
"""alpha and beta."""


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    alpha: float = 1,
    beta: float = 0,
    stream: Any = None,
    rung: str | Rung | None = None,
    precision: str | None = None,
) -> Any:
    """The product alpha * a @ b + beta * out: of matrices, vectors, and their batches.

    >>> import numpy as np
    >>> a = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    >>> matmul(a, np.ones((3, 2), np.float32), alpha=10)
    array([[ 60.,  60.],
           [150., 150.]], dtype=float32)
    >>> matmul(np.ones((5, 2, 3), np.float32), a.T).shape
    (5, 2, 2)

    Shapes mean what they mean to `numpy.matmul`: an operand of one axis is a row as `a` and a
    column as `b`, and its axis is not in the result; of more than two axes the last two are
    matrices, and the others are broadcast.

    Args:
        a: a matrix (rows x depth) of float32, float16 or bfloat16, a vector, or a batch: an array
            of NumPy, Numba, CuPy, PyTorch or JAX, or of any library with
            `__cuda_array_interface__` or `__dlpack__`. Its elements are neighbours along rows, or
            along columns as those of `x.T` are; rows, columns and matrices lie any number of
            elements apart. Nothing is copied.
        b: a matrix (depth x cols), a vector or a batch, likewise, of the same library, on the same
            device.
        out: where the result goes (rows x cols, behind the axes of the batch), its rows
            contiguous, sharing no memory with a and b; None for a new array.
        alpha: factor of the product.
        beta: factor of `out` as it was; where it is 0 in float32, `out` is not read.
        stream: on which the work is put: a stream of Numba, CuPy or PyTorch, or a handle. None
            takes that of the caller: the current stream of CuPy or PyTorch, the one that a Numba
            array or `__cuda_array_interface__` names, else the default stream. On a stream that
            you name, arrays must be ready, and live until its work is done.
        rung: a kernel of `smemnb.kernels.matmul.ladder.LADDER`, or its name; None takes the
            fastest that fits; `matmul.plan(a, b)` says which and why. Rungs take two matrices
            that lie by rows. In the lockstep engine those are multiplied by `matmul_tiled_32`,
            or `matmul_square` with alpha or beta.
        precision: "tf32" for a product of float32 by tensor cores, with operands rounded to 10
            bits behind the point; None or "float32" keeps all 23.

    Tensor cores (a GPU of cc 8.0 or later) make the products of float16 and of bfloat16, of all
    the shapes above; both operands are of that dtype, and so is the result, or float32 where
    `out` is. Sums are float32, as float32 is added up by the tensor cores (`rules.tensor_core`):
    products are exact, sums cut off rather than rounded, so an element of depth k is off by up to
    about k * 2**-22 times the sum of its products' sizes, and then rounded once to its dtype. Of
    "tf32" each element of an operand is rounded before: to the nearest number of 10 bits behind the
    point, of two as near to the one away from 0 (`cvt.rna.tf32`), so by up to 2**-11 of itself;
    what rounds past the largest of these numbers is infinite. `rung` is left out then. An `out`
    lies as one of float32 does: its rows and matrices any number of elements apart, from any
    element on; where they do not begin at multiples of 16 bytes, it is written in smaller pieces.
    Where rows of an operand do not begin at multiples of 16 bytes, it is copied into a workspace
    first.

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
        if precision is not None or kind_of(a) is not None or kind_of(b) is not None:
            check_precision(precision)
            if precision == "tf32" or kind_of(a) is not None or kind_of(b) is not None:
                return tensor_product(a, b, out, alpha, beta, stream, rung, precision)
        factors = alpha, beta
        return repeated(("matmul", "a", "b"), _product, (a, b), out, factors, stream, rung)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


def plan(
    a: Any, b: Any, multiprocessors: int | None = None, precision: str | None = None
) -> ProductPlan:
    """Which kernel `matmul(a, b)` launches on a GPU, and why, in words.

    >>> import numpy as np
    >>> print(plan(np.ones((1, 4096), np.float32), np.ones((4096, 4096), np.float32), 132))
    A result of 1 row: b is read once. 32 pieces of the result, the depth cut in 16 parts, for 132 \
multiprocessors. By the model every byte once takes most of the time.

    Args:
        a: left operand, as `matmul` takes it.
        b: right operand.
        multiprocessors: of the GPU; None asks the device of the arrays, or takes the 132 of an
            H200 where there is no GPU.
        precision: as `matmul` takes it.

    Raises:
        LaunchRefused: `matmul` would refuse these operands.
    """
    try:
        return _said(a, b, multiprocessors, precision)
    except SmemnbError as error:
        raise shortened(error) from error.__cause__


matmul.plan = plan  # type: ignore[attr-defined]


def _said(a: Any, b: Any, multiprocessors: int | None, precision: str | None) -> ProductPlan:
    if multiprocessors is not None and (type(multiprocessors) is not int or multiprocessors < 1):
        raise LaunchRefused(
            f"`multiprocessors` is {multiprocessors!r}; a whole number of 1 or more is wanted"
        )
    check_precision(precision)
    left, right = array_view("a", a), array_view("b", b)
    shape = result_shape(left, right)
    check_together([left, right], whole=False)
    if precision == "tf32" or any(kind_of(view) is not None for view in (left, right)):
        return tensor_plan((left, right), precision, multiprocessors)
    check_single([left, right])
    one, other = operand(left, "left"), operand(right, "right")
    steps = tuple(prod(shape[at + 1 :]) * 4 for at in range(len(shape)))
    found = launches(_result(one, other, shape, steps, left, right), one, other)
    _check_reaches(found, left, right)
    if not found:
        return ProductPlan("none", 0, (0, 0), (0, 0), 0, "The result has no elements.")
    many = multiprocessors or launching.processors(left.place) or LIKE_H200
    first = found[0]
    made, views = _planned(first, (left, left, right), None, many, plain=True)
    parts = zip(views, (first.out, first.a, first.b), first.steps, strict=True)
    lying = [_lying(view, part, step) for view, part, step in parts]
    words = words_of(made, lying[0], lying[1], lying[2], first.matrices, many)
    return ProductPlan(made.name, len(found), made.grid, made.block, 4 * made.sums, words)


def _product(a: Any, b: Any, out: Any, factors: Any, stream: Any, rung: Any) -> Any:
    check_rung(rung)
    asked = handle_in(stream)
    left, right = array_view("a", a, asked), array_view("b", b, asked)
    into = None if out is None else array_view("out", out, asked)
    arrays = [left, right] if into is None else [into, left, right]
    shape = result_shape(left, right)
    check_together(arrays, whole=False)
    check_single(arrays)
    check_aligned(arrays)
    scalars = number("alpha", factors[0]), number("beta", factors[1])
    if into is None and scalars[1] != 0:
        raise LaunchRefused(f"`beta` is {factors[1]!r} and there is no `out` to weigh with it")
    if not any(view.problem for view in arrays):
        return _by_rows(left, right, into, scalars, asked, rung, out)
    return _in_launches(left, right, into, scalars, asked, rung, out, shape)


def _is_plain(factors: Factors) -> bool:
    return bool(factors[0] == 1 and factors[1] == 0)


# --- two matrices that lie by rows ---------------------------------------------------------------


def _by_rows(
    left: MatrixView,
    right: MatrixView,
    into: MatrixView | None,
    factors: Factors,
    asked: int | None,
    rung: Any,
    out: Any,
) -> Any:
    rows, cols, plain = left.rows, right.cols, _is_plain(factors)
    arrays = [left, right] if into is None else [into, left, right]
    check_together(arrays)
    if into is not None:
        check_out(into, "the product", rows, cols, [left, right])
    check_size("the product", rows, cols)
    plan = _plan(rung, left, right, into, plain=plain)
    if launching.processors(left.place) == ENGINE:
        launching.check_reachable(arrays)
        what = f"matmul of {rows} x {left.cols} by {left.cols} x {cols}"
        check_time(what, seconds(plan, left.cols), plan.name, "a @ b")

    if into is None:
        target = left.backend.empty(left, rows, cols, asked)
        target.name = "out"
        if target.place != HOST and target.address & 15:
            plan = _plan(rung, left, right, target, plain=plain)
    else:
        target = into
        target.backend.before_write(target)
    used = left.backend.stream(left) if asked is None else asked
    on: Any = 0
    if rows and cols:
        on = _run(plan, rung, (target, left, right), factors, used)
    return out if into is not None else left.backend.native(target, left, on)


def _plan(rung: Any, a: MatrixView, b: MatrixView, out: MatrixView | None, *, plain: bool) -> Plan:
    result = Lying(layout_of(a)._replace(cols=b.cols, pitch=b.cols * 4, beyond=0))
    if out is not None:
        result = Lying(layout_of(out))
    many = launching.processors(a.place)
    return product_plan(
        rung, result, Lying(layout_of(a)), Lying(layout_of(b)), 1, many, plain=plain
    )


def _run(
    plan: Plan,
    rung: Any,
    arrays: tuple[MatrixView, MatrixView, MatrixView],
    factors: Factors,
    handle: int,
) -> Any:
    """Launch, in bands of rows where they are more than a grid covers."""
    out, a, b = arrays
    reads_out, dtype = bool(factors[1] != 0), moved_as(4)
    if plan.grid[1] <= MAX_BLOCKS_DOWN:
        some = factors if plan.scaled else ()
        views = (out, b, a) if plan.swapped else arrays
        return launching.run(plan, views, some, dtype, handle, reads_out=reads_out)
    stream = None
    for band in bands(a.rows, most_rows(plan)):
        target, left = out.part(band, slice(0, out.cols)), a.part(band, slice(0, a.cols))
        part = _plan(rung, left, b, target, plain=_is_plain(factors))
        stream = _run(part, rung, (target, left, b), factors, handle)
    return stream


# --- operands by columns, vectors, batches ------------------------------------------------------


def _in_launches(
    left: MatrixView,
    right: MatrixView,
    into: MatrixView | None,
    factors: Factors,
    asked: int | None,
    rung: Any,
    out: Any,
    shape: tuple[int, ...],
) -> Any:
    a, b, plain = operand(left, "left"), operand(right, "right"), _is_plain(factors)
    if into is not None:
        check_result(into, shape, left, "the product", also=right)
        steps = into.steps
    else:
        steps = tuple(prod(shape[at + 1 :]) * 4 for at in range(len(shape)))
    found = launches(_result(a, b, shape, steps, left, right), a, b)
    _check_reaches(found, left, right)
    arrays = [left, right] if into is None else [into, left, right]
    many = launching.processors(left.place)
    plans = [_planned(one, (left, left, right), rung, many, plain=plain)[0] for one in found]
    if many == ENGINE:
        launching.check_reachable(arrays)
        total = sum(
            seconds(plan, one.a.cols) * one.matrices for plan, one in zip(plans, found, strict=True)
        )
        check_time(f"matmul of {left.extents} by {right.extents}", total, "matmul_guarded", "a @ b")

    if into is None:
        target = left.backend.empty(left, prod(shape[:-1]), prod(shape[-1:]), asked)
        target.name = "out"
    else:
        target = into
        target.backend.before_write(target)
    used = left.backend.stream(left) if asked is None else asked
    on: Any = 0
    for one in found:
        plan, views = _planned(one, (target, left, right), rung, many, plain=plain)
        on = _run(plan, rung, views, factors, used)
    if into is not None:
        return out
    made = left.backend.native(target, left, on)
    return made.reshape(shape) if len(shape) != 2 else made


def _result(
    a: Operand,
    b: Operand,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    left: MatrixView,
    right: MatrixView,
) -> Operand:
    """Where the matrices of the result lie; a vector's dropped axis has one row or column."""
    if len(left.extents) == 1 and len(right.extents) == 1:
        return Operand(1, 1, 4)
    if len(right.extents) == 1:
        return Operand(a.rows, 1, steps[-1] or 4, extents=shape[:-1], steps=steps[:-1])
    if len(left.extents) == 1:
        return Operand(1, b.cols, b.cols * 4, extents=shape[:-1], steps=steps[:-1])
    pitch = steps[-2] if a.rows > 1 else b.cols * 4
    return Operand(a.rows, b.cols, pitch, extents=shape[:-2], steps=steps[:-2])


def _check_reaches(found: list[Launch], left: MatrixView, right: MatrixView) -> None:
    """Raise LaunchRefused if kernels cannot address a matrix of these launches."""
    for one in found[:1]:
        for view, matrix in ((left, one.a), (right, one.b)):
            reach = span(matrix, 1, 0, 4) // 4
            if reach > MAX_ELEMENTS:
                raise LaunchRefused(
                    f"`{view.name}` of shape {view.extents} has matrices that reach over {reach}"
                    f" elements. The kernels address at most 2**31 = {MAX_ELEMENTS} elements, gaps"
                    " between rows counted: pass the array in parts"
                )
        check_size("the product", one.out.rows, one.out.cols)


def _planned(
    one: Launch,
    arrays: tuple[MatrixView, MatrixView, MatrixView],
    rung: Any,
    processors: int,
    *,
    plain: bool,
) -> tuple[Plan, tuple[MatrixView, MatrixView, MatrixView]]:
    """The kernel of a launch, and the views that it takes."""
    sides = zip(arrays, (one.out, one.a, one.b), one.at, one.steps, strict=True)
    views = [_view(of, part, at, one.matrices, step) for of, part, at, step in sides]
    lying = [
        _lying(view, part, step)
        for view, part, step in zip(views, (one.out, one.a, one.b), one.steps, strict=True)
    ]
    plan = product_plan(rung, *lying, one.matrices, processors, plain=plain)
    return plan, (views[0], views[1], views[2])


def _view(of: MatrixView, part: Operand, at: int, count: int, step: int) -> MatrixView:
    """Matrices of an array as they are stored."""
    matrix = MatrixView(
        of.name,
        of.value,
        of.backend,
        of.address + at,
        part.stored,
        (part.pitch, 4),
        of.dtype,
        4,
        of.place,
        of.stream,
        readonly=of.readonly,
    )
    return matrix if count == 1 else BatchView(matrix, count, step)


def _lying(view: MatrixView, part: Operand, step: int) -> Lying:
    laid = layout_of(view)
    if view.place == HOST:  # copied, one matrix behind the other
        step = laid.rows * laid.pitch
    return Lying(laid, part.columns, step)
