"""How a kernel and its launch are described, and the rungs that a caller may name.

`transpose_choice` and `matmul_choice` decide which kernel runs. Choices are kept, by shapes, bytes
between rows and alignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from ..kernels.rung import Rung
from .backends.matrix_view import HOST, MatrixView, TypeRefused

MAX_BLOCKS_DOWN = 65535  # of a grid in y, on every chip
ENGINE = 0
"""In place of a number of multiprocessors: the lockstep engine."""


UNTOUCHED = 1
"""In place of a size of sums: there is one part, and so nothing to add up."""


class Layout(NamedTuple):
    """What a choice depends on: shape, bytes from row to row, address beyond a multiple of 16."""

    rows: int
    cols: int
    pitch: int
    beyond: int


class Plan(NamedTuple):
    """A kernel and its launch; `tile` is what a block covers, `scaled` whether it takes alpha.

    With `sums` it takes so many float32 and `flags` uint32 of its own besides, the flags all 0.
    With `sums` of `UNTOUCHED` the kernel takes both and looks at neither.
    With `swapped` a product takes b before a.
    `typed` is Numba's letter for the layout of its matrices: A takes any strides, so that one
    compiled kernel serves all; C has contiguous ones typed as Numba types its own device arrays.
    With `overlaps` the kernel touches no memory before `ptx.await_previous`, so that it may
    be brought to the GPU while the one before it in the stream still runs.
    """

    kernel: Any
    name: str
    grid: tuple[int, ...]
    block: tuple[int, int]
    tile: tuple[int, int]
    scaled: bool = False
    sums: int = 0
    flags: int = 0
    swapped: bool = False
    typed: str = "A"
    overlaps: bool = False


class _Shown:
    """An array that is not there yet, as `Rung.fits` and `fastest` look at it."""

    def __init__(self, layout: Layout, dtype: Any) -> None:
        rows, cols, pitch, beyond = layout
        self.shape, self.strides = (rows, cols), (pitch, dtype.itemsize)
        self.dtype = dtype
        self.__cuda_array_interface__ = {"data": (beyond, False)}


def layout_of(matrix: MatrixView) -> Layout:
    """Where a matrix lies for a kernel: those of the host are copied, with contiguous rows."""
    rows, cols = matrix.rows, matrix.cols
    if matrix.place == HOST:
        return Layout(rows, cols, cols * matrix.itemsize, 0)
    return Layout(rows, cols, matrix.pitch, matrix.address & 15)


def new_layout(rows: int, cols: int, itemsize: int) -> Layout:
    """A matrix that is about to be made: contiguous, at a multiple of 16."""
    return Layout(rows, cols, cols * itemsize, 0)


def most_rows(plan: Plan) -> int:
    """Rows that one launch of the plan can cover: a grid has at most 65535 blocks in y."""
    return MAX_BLOCKS_DOWN * plan.tile[0]


def bands(rows: int, most: int) -> Iterator[slice]:
    """Rows in pieces of at most so many.

    >>> list(bands(70, 32))
    [slice(0, 32, None), slice(32, 64, None), slice(64, 70, None)]
    """
    for first in range(0, rows, most):
        yield slice(first, min(rows, first + most))


def moved_as(itemsize: int) -> np.dtype[Any]:
    """The dtype under which a transpose moves elements of this size; two of it for 16 bytes."""
    return _MOVED[itemsize]


_MOVED: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("u2"),
    4: np.dtype("f4"),
    8: np.dtype("u8"),
    16: np.dtype("u8"),
}
_RAW16 = np.dtype("V16")


# --- rungs -------------------------------------------------------------------------------------


def _known(rung: Rung | str, ladder: Sequence[Rung]) -> Rung:
    if isinstance(rung, Rung):
        return rung
    for one in ladder:
        if one.name == rung:
            return one
    names = ", ".join(one.name for one in ladder)
    raise LaunchRefused(f"`rung` {rung!r} is not known. There are: {names}")


def check_rung(rung: Any) -> None:
    """Raise TypeRefused unless this is a name, a `Rung` or None."""
    if not (rung is None or isinstance(rung, str | Rung)):
        raise TypeRefused(
            f"`rung` is {rung!r}. Pass the name of a rung, or a Rung of the ladder; None chooses"
        )


def _check_rows(rung: Rung, *arrays: tuple[str, Layout, int]) -> None:
    for name, layout, itemsize in arrays:
        dtype = _RAW16 if itemsize == 16 else moved_as(itemsize)
        if rung.fits(_Shown(layout, dtype)):
            continue
        need = rung.aligned * itemsize
        raise LaunchRefused(
            f"rung {rung.name} moves {need} bytes at a time, so rows must begin at multiples of"
            f" {need} bytes: those of `{name}` are {layout.pitch} bytes apart and begin"
            f" {layout.beyond} beyond one. Leave `rung` out for a kernel that fits"
        )
