"""An array whose axes change places, as batches of matrices or of runs.

Kernels turn matrices of which both the rows and the rows of the result are neighbouring elements,
and copy runs of neighbours. `parts` finds those in an array of any number of axes: axes that follow
each other in memory, on both sides, are one; the last axis of the result is written along; the axis
along which the array's own elements are neighbours says what there is to do:

    it is the result's last axis as well    runs are copied; short ones are elements, and turned
    it is another axis                      both make a matrix, and one more axis is the batch
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from ..errors import LaunchRefused
from .backends.matrix_view import MatrixView, TypeRefused

MOST_BYTES = 16
"""Of an element that kernels turn."""


@dataclass(frozen=True)
class Axis:
    """Elements along an axis, and the bytes from one to the next in the array and in the result."""

    extent: int
    step_in: int
    step_out: int


@dataclass(frozen=True)
class Part:
    """What one launch does: the lengths in elements of `itemsize` bytes, the steps in bytes.

    Attributes:
        at_in: bytes from the array's first element to this part's.
        at_out: the same of the result.
        itemsize: bytes of an element, or of a run's smallest piece.
        batch: of the matrices, or of the runs' rows.
        rows: of a matrix of the array: elements of a row of the result. Of runs: their number.
        cols: of a matrix of the array; the elements of a run.
        is_run: whether runs are copied; else the matrices are transposed.

    A row of the array lies `rows.step_in` bytes behind the row before, a row of the result
    `cols.step_out`; of runs `rows` has both distances.
    """

    at_in: int
    at_out: int
    itemsize: int
    batch: Axis
    rows: Axis
    cols: Axis
    is_run: bool


_ONE = Axis(1, 0, 0)


def permutation(axes: object, ndim: int, name: str) -> tuple[int, ...]:
    """The order of axes that `axes` means, without negative numbers; None swaps the last two.

    Raises:
        TypeRefused: it is no sequence of whole numbers.
        LaunchRefused: it is no permutation of the axes.
    """
    if axes is None:
        return (*range(ndim - 2), ndim - 1, ndim - 2)
    wanted = f"Pass a permutation of {tuple(range(ndim))}, as numpy.transpose takes"
    if not isinstance(axes, tuple | list) or any(type(one) is not int for one in axes):
        raise TypeRefused(f"`axes` is {axes!r}, no tuple of whole numbers. {wanted}")
    order = tuple(one + ndim if -ndim <= one < 0 else one for one in axes)
    if sorted(order) != list(range(ndim)):
        raise LaunchRefused(f"`axes` is {axes!r}, and `{name}` has {ndim} axes. {wanted}")
    return order


def parts(x: MatrixView, order: tuple[int, ...], steps_out: tuple[int, ...]) -> list[Part]:
    """The launches that write `x`, its axes in this order, where the result has these steps.

    No axis of the array is empty.

    Raises:
        LaunchRefused: elements of `x` are neighbours along no axis, or lie backwards.
    """
    size = x.itemsize
    ordered = [
        Axis(x.extents[at], x.steps[at], step) for at, step in zip(order, steps_out, strict=True)
    ]
    if any(axis.step_in < 0 and axis.extent > 1 for axis in ordered):
        raise _refusal(x, "a negative one walks backwards (a slice with step -1)")
    axes = _merged([axis for axis in ordered if axis.extent > 1])
    axes, size = _short_runs(axes, size)
    if not axes or axes[-1].step_out != size:
        axes.append(Axis(1, size, size))  # the result's rows are single elements
    last = axes.pop()
    if last.step_in == size:
        return _each(axes, 2, lambda batch, rows: Part(0, 0, size, batch, rows, last, is_run=True))
    found = next((axis for axis in axes if axis.step_in == size), None)
    if found is not None:
        axes.remove(found)
    elif not axes or any(axis.extent == 1 for axis in ordered):
        found = Axis(1, size, size)  # rows of the array are single elements
    else:
        raise _refusal(x, f"along no axis are elements neighbours, {size} bytes apart")
    return _each(axes, 1, lambda batch, _: Part(0, 0, size, batch, last, found, is_run=False))


def _merged(axes: list[Axis]) -> list[Axis]:
    """Axes of which one goes on where the next one ends, on both sides, as one."""
    found: list[Axis] = []
    for axis in axes:
        before = found[-1] if found else None
        if (
            before is not None
            and before.step_in == axis.extent * axis.step_in
            and before.step_out == axis.extent * axis.step_out
        ):
            found[-1] = replace(axis, extent=before.extent * axis.extent)
        else:
            found.append(axis)
    return found


def _short_runs(axes: list[Axis], size: int) -> tuple[list[Axis], int]:
    """Runs of up to 16 bytes are elements of that size, if then there are matrices of them."""
    if len(axes) < 3:
        return axes, size
    last = axes[-1]
    wide = last.extent * size
    if last.step_in == last.step_out == size and wide <= MOST_BYTES:
        *others, behind = axes[:-1]
        if behind.step_out == wide and any(axis.step_in == wide for axis in others):
            return [*others, behind], wide
    return axes, size


def _each(axes: list[Axis], kept: int, make: Callable[[Axis, Axis], Part]) -> list[Part]:
    """A part for each place along all axes but the `kept` longest, which one launch covers."""
    by_length = sorted(axes, key=lambda axis: -axis.extent)
    longest = [*by_length[:kept], *[_ONE] * kept][:kept]
    others = by_length[kept:]
    part, found = make(longest[-1], longest[0]), []
    for place in product(*(range(axis.extent) for axis in others)):
        steps = list(zip(place, others, strict=True))
        at_in = sum(at * axis.step_in for at, axis in steps)
        at_out = sum(at * axis.step_out for at, axis in steps)
        found.append(replace(part, at_in=at_in, at_out=at_out))
    return found


def _refusal(x: MatrixView, why: str) -> LaunchRefused:
    if len(x.extents) == 2 and x.problem:
        return LaunchRefused(x.problem)
    cure = x.backend.contiguous.format(name=x.name)
    return LaunchRefused(
        f"`{x.name}` has shape {x.extents} and strides {x.steps} bytes: {why}. Pass {cure}"
    )
