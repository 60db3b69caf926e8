"""The operands of a product as kernels take them: by rows or by columns, one by one or in batches.

`numpy.matmul` says what shapes mean: an operand of one axis is a row on the left and a column on
the right; of more than two axes the last two are matrices, and the others are broadcast. A kernel
takes matrices whose rows, or whose columns, are neighbouring elements, and batches whose matrices
lie the same distance apart. `launches` cuts a product into those:

    axes that follow each other in memory, for all three arrays    are one
    one matrix on the right for a batch on the left                rows below rows: one tall matrix
    the longest axis that is left                                  the batch of a launch
    each place along the others                                    a launch of its own
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple

from ..errors import LaunchRefused
from .backends.matrix_view import MatrixView

MOST_MATRICES = 65535
"""Of a batch in one launch: a grid has no more blocks along z."""


@dataclass(frozen=True)
class Operand:
    """Matrices of one shape in an array.

    Attributes:
        rows: of a matrix.
        cols: of a matrix.
        pitch: bytes from row to row, or from column to column where it lies by columns.
        columns: whether a matrix lies by columns.
        extents: matrices along each axis of the batch.
        steps: bytes from matrix to matrix along each of them.
    """

    rows: int
    cols: int
    pitch: int
    columns: bool = False
    extents: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    @property
    def stored(self) -> tuple[int, int]:
        """Rows and columns as they lie in memory: those of the transpose where by columns."""
        return (self.cols, self.rows) if self.columns else (self.rows, self.cols)


class Launch(NamedTuple):
    """One launch: `matrices` of a batch, and where the first of them begins in each array."""

    out: Operand
    a: Operand
    b: Operand
    matrices: int
    at: tuple[int, int, int]
    steps: tuple[int, int, int]


def operand(view: MatrixView, side: str = "right") -> Operand:
    """How the matrices in an array lie.

    Args:
        view: an array of any axes.
        side: what one axis is: a row on the `left`, a column on the `right`.

    Raises:
        LaunchRefused: the array is a single number, or its elements are neighbours neither along
            rows nor along columns.
    """
    extents, steps, size = view.extents, view.steps, view.itemsize
    if not extents:
        raise LaunchRefused(f"`{view.name}` is a single number; a product needs one axis or more")
    if len(extents) == 1 and side == "left":
        extents, steps = (1, *extents), (extents[0] * size, *steps)
    elif len(extents) == 1:
        extents, steps = (*extents, 1), (*steps, size)
    *batch, rows, cols = extents
    if 0 in extents:  # strides of nothing mean nothing
        return Operand(rows, cols, cols * size, extents=tuple(batch), steps=(0,) * len(batch))
    *batch_steps, down, across = steps
    lying = _pitch(rows, cols, down, across, size), _pitch(cols, rows, across, down, size)
    if lying[0] is None and lying[1] is None:
        raise LaunchRefused(_strided(view))
    if any(step < 0 and extent > 1 for step, extent in zip(batch_steps, batch, strict=True)):
        raise LaunchRefused(_strided(view))
    by_columns = lying[0] is None or (lying[1] is not None and cols == 1 and rows > 1)
    pitch = lying[1] if by_columns else lying[0]
    assert pitch is not None
    return Operand(rows, cols, pitch, by_columns, tuple(batch), tuple(batch_steps))


def _pitch(rows: int, cols: int, down: int, across: int, size: int) -> int | None:
    """Bytes from row to row of neighbouring elements, None where rows are none."""
    if (cols > 1 and across != size) or (rows > 1 and (down < 0 or down % size)):
        return None
    return down if rows > 1 else cols * size


def _strided(view: MatrixView) -> str:
    cure = view.backend.contiguous.format(name=view.name)
    return (
        f"`{view.name}` has shape {view.extents} and strides {view.steps} bytes: along rows or"
        f" along columns elements must be neighbours, {view.itemsize} bytes apart, and none may lie"
        f" backwards. Pass {cure}"
    )


def result_shape(a: MatrixView, b: MatrixView) -> tuple[int, ...]:
    """The shape of the product, as `numpy.matmul` has it.

    Raises:
        LaunchRefused: the shapes do not go together.
    """
    for view in (a, b):
        if not view.extents:
            raise LaunchRefused(
                f"`{view.name}` is a single number; a product needs one axis or more"
            )
    depth_a, depth_b = a.extents[-1], b.extents[-2] if len(b.extents) > 1 else b.extents[0]
    if depth_a != depth_b:
        raise LaunchRefused(
            f"`a` has {depth_a} columns and `b` {depth_b} rows (shapes {a.extents} and"
            f" {b.extents}); a product needs as many of one as of the other"
        )
    batch = _broadcast(a, b)
    rows = a.extents[-2:-1] if len(a.extents) > 1 else ()
    cols = b.extents[-1:] if len(b.extents) > 1 else ()
    return (*batch, *rows, *cols)


def _broadcast(a: MatrixView, b: MatrixView) -> tuple[int, ...]:
    left, right = a.extents[:-2], b.extents[:-2]
    longest = max(len(left), len(right))
    pairs = zip(
        (1,) * (longest - len(left)) + left, (1,) * (longest - len(right)) + right, strict=True
    )
    found = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            raise LaunchRefused(
                f"matrices of `a` and `b` do not pair: shapes {a.extents} and {b.extents}. Along"
                " each axis before the last two, both have as many, or one of them has 1"
            )
        found.append(other if one == 1 else one)
    return tuple(found)


def launches(out: Operand, a: Operand, b: Operand) -> list[Launch]:
    """The launches of a product whose result, of whole matrices, has the batch of `out`."""
    if 0 in (*out.extents, out.rows, out.cols):
        return []
    spread = [_spread(one, len(out.extents), out.extents) for one in (out, a, b)]
    axes = _merged(list(zip(out.extents, *spread, strict=True)))
    out, a, axes = _stacked(out, a, b, axes)
    longest = max(range(len(axes)), key=lambda at: axes[at][0], default=None)
    count, steps = 1, (0, 0, 0)
    if longest is not None:
        count, *found = axes.pop(longest)
        steps = found[0], found[1], found[2]
    alone = replace(out, extents=()), replace(a, extents=()), replace(b, extents=())
    made = []
    for place in product(*(range(axis[0]) for axis in axes)):
        at = [
            sum(index * axis[which] for index, axis in zip(place, axes, strict=True))
            for which in (1, 2, 3)
        ]
        for first in range(0, count, MOST_MATRICES):
            some = min(MOST_MATRICES, count - first)
            begin = [at[which] + first * steps[which] for which in range(3)]
            made.append(Launch(*alone, some, (begin[0], begin[1], begin[2]), steps))
    return made


def _spread(one: Operand, axes: int, wanted: tuple[int, ...]) -> list[int]:
    """Bytes along each axis of the result's batch: 0 where an operand has one matrix for all."""
    missing = axes - len(one.extents)
    steps = [0] * missing + list(one.steps)
    extents = [1] * missing + list(one.extents)
    return [0 if had == 1 else step for had, step in zip(extents, steps, strict=True)]


Axis = tuple[int, int, int, int]
"""Matrices along an axis of the batch, and the bytes between them in out, a and b."""


def _merged(axes: Sequence[Axis]) -> list[Axis]:
    """Axes longer than 1, those that follow each other in all three arrays as one."""
    found: list[Axis] = []
    for axis in axes:
        if axis[0] == 1:
            continue
        if found and all(found[-1][at] == axis[at] * axis[0] for at in (1, 2, 3)):
            found[-1] = (found[-1][0] * axis[0], *axis[1:])
        else:
            found.append(axis)
    return found


def _stacked(
    out: Operand, a: Operand, b: Operand, axes: list[Axis]
) -> tuple[Operand, Operand, list[Axis]]:
    """One tall matrix in place of a batch on the left with one matrix on the right."""
    if not axes or a.columns:
        return out, a, axes
    count, *steps = axes[-1]
    below = steps[0] == out.rows * out.pitch and steps[1] == a.rows * a.pitch
    if out.rows == 1:  # a single row says nothing of where the next one would lie
        out, below = replace(out, pitch=steps[0]), steps[0] > 0
        a = replace(a, pitch=steps[1])
    if steps[2] != 0 or not below or a.pitch < 0:
        return out, a, axes
    rows = count * out.rows
    return replace(out, rows=rows), replace(a, rows=rows), axes[:-1]


def span(one: Operand, count: int, step: int, itemsize: int) -> int:
    """Bytes from the first element of `count` matrices to behind the last."""
    rows, cols = one.stored
    if not prod((rows, cols, count)):
        return 0
    return (count - 1) * step + (rows - 1) * one.pitch + cols * itemsize
