"""Which kernel runs for which matrices, and its launch.

`smemnb.kernels.transpose.ladder.fastest` and `smemnb.kernels.matmul.ladder.fastest` decide by shape
and by where rows begin; a `rung` of the ladder, or its name, decides for them. Choices are kept, by
shapes, bytes between rows and alignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import LaunchRefused
from ..kernels.matmul import ladder as products
from ..kernels.rung import Rung
from ..kernels.transpose import ladder as transposes
from .backends.matrix_view import HOST, MatrixView, TypeRefused

MAX_BLOCKS_DOWN = 65535  # of a grid in y, on every chip
ENGINE = 0
"""In place of a number of multiprocessors: the lockstep engine."""


class Layout(NamedTuple):
    """What a choice depends on: shape, bytes from row to row, address beyond a multiple of 16."""

    rows: int
    cols: int
    pitch: int
    beyond: int


class Plan(NamedTuple):
    """A kernel and its launch; `tile` is what a block covers, `scaled` whether it takes alpha.

    With `sums` it takes so many float32 and `flags` uint32 of its own besides, the flags all 0.
    """

    kernel: Any
    name: str
    grid: tuple[int, int]
    block: tuple[int, int]
    tile: tuple[int, int]
    scaled: bool = False
    sums: int = 0
    flags: int = 0


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


# --- transpose ---------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def transpose_plan(rung: Rung | str | None, itemsize: int, out: Layout, x: Layout) -> Plan:
    """The kernel `(out, x)` for these matrices.

    Raises:
        LaunchRefused: the rung is not known, or does not fit.
    """
    dtype = _RAW16 if itemsize == 16 else _MOVED[itemsize]
    arrays = _Shown(out, dtype), _Shown(x, dtype)
    chosen = transposes.fastest(*arrays)
    if rung is not None:
        chosen = _transpose_rung(rung, itemsize, chosen)
        _check_rows(chosen, ("x", x, itemsize), ("out", out, itemsize))
    grid = chosen.grid(x.rows, x.cols)
    return Plan(chosen.kernel, chosen.name, grid, chosen.block, chosen.tile)


def _transpose_rung(rung: Rung | str, itemsize: int, fits: Rung) -> Rung:
    made = _made_for(itemsize)
    if isinstance(rung, str) and rung in made:
        return made[rung]
    found = _known(rung, transposes.LADDER)
    if found in transposes.LADDER and itemsize != 4:
        raise LaunchRefused(
            f"rung {found.name} moves elements of 4 bytes, and these have {itemsize}. For those"
            f" there are: {', '.join(sorted(made))}; {fits.name} fits"
        )
    return found


@lru_cache(maxsize=8)
def _made_for(itemsize: int) -> dict[str, Rung]:
    """The rungs from which `fastest` chooses for elements of this size, by name."""
    dtype, found = _RAW16 if itemsize == 16 else _MOVED[itemsize], {}
    for beyond in (0, itemsize):
        shown = _Shown(Layout(16, 16, 16 * itemsize, beyond), dtype)
        rung = transposes.fastest(shown, shown)
        found[rung.name] = rung
    return found


# --- product -----------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def matmul_plan(
    rung: Rung | str | None, out: Layout, a: Layout, b: Layout, processors: int, *, plain: bool
) -> Plan:
    """The kernel `(out, a, b)`, or `(out, a, b, alpha, beta)` if the plan is `scaled`.

    Args:
        rung: of the ladder, its name, or None.
        out: where the result goes.
        a: left matrix.
        b: right matrix.
        processors: multiprocessors of the device, or `ENGINE`.
        plain: alpha is 1 and beta 0.

    Raises:
        LaunchRefused: the rung is not known, or does not fit.
    """
    if rung is None and processors != ENGINE:
        shown = [_Shown(one, _MOVED[4]) for one in (out, a, b)]
        fit = products.fastest(shown[0], shown[1], shown[2], processors)
        tile = fit.rung.tile if fit.rung else (-(-out.rows // fit.grid[1]), 1)
        name, launch = fit.kernel.__name__, (fit.grid, fit.block)
        return Plan(fit.kernel, name, *launch, tile, scaled=True, sums=fit.sums, flags=fit.flags)
    if rung is None:
        # The choice for a GPU is laid out for it: the engine takes 4.5 s for 512 cubed where these
        # take 0.3 and 0.5 s, and 1.0 s for 128 cubed in place of 0.01 and 0.08 s.
        rung = "matmul_tiled_32" if plain else "matmul_square"
    chosen = _known(rung, products.LADDER)
    if not (chosen.scaled or plain):
        scaled = ", ".join(one.name for one in products.LADDER if one.scaled)
        raise LaunchRefused(f"rung {chosen.name} takes no alpha and beta. These do: {scaled}")
    if chosen.aligned > 1:
        _check_rows(chosen, ("a", a, 4), ("b", b, 4), ("out", out, 4))
    _check_whole_tiles(chosen, out, a.cols)
    grid = chosen.grid(out.rows, out.cols)
    return Plan(chosen.kernel, chosen.name, grid, chosen.block, chosen.tile, chosen.scaled)


def _check_whole_tiles(rung: Rung, out: Layout, depth: int) -> None:
    if not rung.whole(out.rows, out.cols, depth):
        high, wide = rung.tile
        raise LaunchRefused(
            f"rung {rung.name} makes whole tiles: rows in multiples of {high}, columns of {wide}, a"
            f" depth in multiples of {rung.depth}, at least one; asked for are {out.rows} x"
            f" {out.cols} of depth {depth}. Leave `rung` out for a kernel that fits any shape"
        )


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
        dtype = _RAW16 if itemsize == 16 else _MOVED[itemsize]
        if rung.fits(_Shown(layout, dtype)):
            continue
        need = rung.aligned * itemsize
        raise LaunchRefused(
            f"rung {rung.name} moves {need} bytes at a time, so rows must begin at multiples of"
            f" {need} bytes: those of `{name}` are {layout.pitch} bytes apart and begin"
            f" {layout.beyond} beyond one. Leave `rung` out for a kernel that fits"
        )
