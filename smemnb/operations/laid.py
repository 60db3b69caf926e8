"""An array as kernels of patterns see it: where it lies in memory, but not at which address.

A `Laid` stands for an array while launches are planned: it has `shape`, `strides` in bytes, `dtype`
and `size`, and `seen` looks at the same memory in another way. `folded` makes three axes of many:

    outer x length x inner       what is before, along and behind the axis that an operation goes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from .backends.matrix_view import TypeRefused, _contiguous, reach


@dataclass(frozen=True, slots=True)
class Laid:
    """An array without its address.

    Attributes:
        source: whose memory it is: the name of an argument, `out`, or a part of the workspace.
        shape: elements along each axis.
        strides: bytes from element to element along each axis.
        dtype: of NumPy.
        at: bytes from the beginning of the source.
        beyond: of the first element, bytes behind a multiple of 128.

    >>> x = Laid("x", (3, 4), (16, 4), np.dtype(np.float32))
    >>> x.flat().shape, x.seen((2, 4), at=16).at, x.seen((12,)).is_contiguous
    ((12,), 16, True)
    """

    source: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    at: int = 0
    beyond: int = 0

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """Axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def span(self) -> int:
        """Bytes from the first element to behind the last."""
        return reach(self.shape, self.strides, self.itemsize)

    @property
    def is_contiguous(self) -> bool:
        """Whether elements follow each other in the order of rows, without gaps."""
        expected = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent > 1 and stride != expected:
                return self.size == 0
            expected *= extent
        return True

    def aligned(self, multiple: int) -> bool:
        """Whether the first element lies at a multiple of so many bytes, up to 128."""
        return self.beyond % multiple == 0

    def seen(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        dtype: Any = None,
        at: int = 0,
    ) -> Laid:
        """The same memory, `at` bytes on, of another shape; without strides it has no gaps."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        steps = _contiguous(shape, kind.itemsize) if strides is None else strides
        return replace(
            self,
            shape=shape,
            strides=steps,
            dtype=kind,
            at=self.at + at,
            beyond=(self.beyond + at) % 128,
        )

    def flat(self, dtype: Any = None) -> Laid:
        """All memory from the first to behind the last element as one axis, gaps included."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        return self.seen((self.span // kind.itemsize,), dtype=kind)


class Folded(NamedTuple):
    """An array as outer x length x inner elements, and the steps in elements between them.

    The result of what goes along `length` has outer x inner elements, in that order.
    """

    outer: int
    length: int
    inner: int
    outer_step: int
    length_step: int
    inner_step: int


def folded(x: Laid, axes: tuple[int, ...], *, any_order: bool = False) -> Folded | None:
    """The array along these axes; None where its memory cannot be seen so, or lies backwards.

    >>> x = Laid("x", (5, 6, 7, 8), (1344, 224, 32, 4), np.dtype(np.float32))
    >>> folded(x, (1, 2))
    Folded(outer=5, length=42, inner=8, outer_step=336, length_step=8, inner_step=1)
    >>> print(folded(x, (1, 3)))
    None

    Args:
        x: the array.
        axes: along which the operation goes, in ascending order.
        any_order: whether elements along `length` may be taken in any order, as those of a sum.
    """
    size = x.itemsize
    if any(stride % size or (stride < 0 and n > 1) for stride, n in _sides(x)):
        return None
    every = [(n, stride // size) for stride, n in _sides(x)]
    along = [every[axis] for axis in axes]
    if any_order:
        along.sort(key=lambda one: -one[1])
    kept = _merged([one for at, one in enumerate(every) if at not in axes])
    along = _merged(along)
    if len(along) > 1 or len(kept) > 2:
        return None
    length, step = along[0] if along else (prod(every[axis][0] for axis in axes), 1)
    if not kept:
        kept = [(prod(n for at, (n, _) in enumerate(every) if at not in axes), 0)]
    if len(kept) == 1:
        (count, apart), one = kept[0], (1, 0)
        kept = [kept[0], one] if count == 1 or apart >= step else [one, kept[0]]
    (outer, outer_step), (inner, inner_step) = kept
    return Folded(outer, length, inner, outer_step, step, inner_step)


def _sides(x: Laid) -> list[tuple[int, int]]:
    return list(zip(x.strides, x.shape, strict=True))


def _merged(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(extent, step) of axes, those as one of which one goes on where the next one ends."""
    found: list[tuple[int, int]] = []
    for extent, step in axes:
        if extent == 1:
            continue
        if found and found[-1][1] == extent * step:
            found[-1] = (found[-1][0] * extent, step)
        else:
            found.append((extent, step))
    return found


def axes_of(axis: Any, ndim: int, name: str = "x") -> tuple[int, ...]:
    """The axes that `axis` means, ascending, as NumPy counts them; all of them for None.

    >>> axes_of(-1, 3), axes_of((2, 0), 3), axes_of(None, 2)
    ((2,), (0, 2), (0, 1))

    Raises:
        TypeRefused: no whole number, tuple of such or None.
        LaunchRefused: there is no such axis, or one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    several = axis if isinstance(axis, tuple | list) else (axis,)
    found = [one_axis(one, ndim, name, said=axis) for one in several]
    if len(set(found)) < len(found):
        raise LaunchRefused(f"`axis` is {axis!r}, which names an axis of `{name}` twice")
    return tuple(sorted(found))


def one_axis(axis: Any, ndim: int, name: str = "x", said: Any = None) -> int:
    """The number of one axis, counted from the first.

    Raises:
        TypeRefused: no whole number.
        LaunchRefused: there is no such axis.
    """
    shown = axis if said is None else said
    if isinstance(axis, bool | np.bool_) or not isinstance(axis, int | np.integer):
        raise TypeRefused(
            f"`axis` is {shown!r}, no whole number. Pass one of {-ndim} to {ndim - 1} for an array"
            f" of {ndim} axes"
        )
    if not -ndim <= axis < ndim:
        words = f"`{name}` has {ndim} axes: 0 to {ndim - 1}, or {-ndim} to -1 from the last one"
        if ndim == 0:
            words = f"`{name}` is a single number without axes. Leave `axis` out"
        raise LaunchRefused(f"`axis` is {shown!r}, and {words}")
    return int(axis) % ndim


def reduced_shape(
    shape: tuple[int, ...], axes: tuple[int, ...], *, keepdims: bool = False
) -> tuple[int, ...]:
    """Of a result without these axes, or with 1 element along them.

    >>> reduced_shape((2, 3, 4), (1,)), reduced_shape((2, 3, 4), (1,), keepdims=True)
    ((2, 4), (2, 1, 4))
    """
    if keepdims:
        return tuple(1 if at in axes else extent for at, extent in enumerate(shape))
    return tuple(extent for at, extent in enumerate(shape) if at not in axes)
