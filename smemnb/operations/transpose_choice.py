"""Which kernel runs for which transpose, and its launch.

`smemnb.kernels.transpose.ladder.fastest` decides by shape and by where rows begin; a `rung` of the
ladder, or its name, decides for it. Elements of other sizes than 1, 2, 4, 8 and 16 bytes, and those
that do not lie at multiples of their size, go in units. Choices are kept, by shapes, bytes between
rows and alignment.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LaunchRefused
from ..kernels.rung import UNSIGNED, Rung
from ..kernels.transpose import ladder
from ..kernels.transpose.variants import runs, units
from .choice import Layout, Plan, _check_rows, _known, _Shown, moved_as

SIZES = (1, 2, 4, 8, 16)
"""Bytes of elements that kernels move whole."""


@lru_cache(maxsize=1024)
def transpose_plan(
    rung: Rung | str | None, itemsize: int, out: Layout, x: Layout, count: int = 1
) -> Plan:
    """The kernel `(out, x)` for these matrices, of elements of 1, 2, 4, 8 or 16 bytes.

    Args:
        rung: of the ladder, its name, or None.
        itemsize: bytes of an element.
        out: where the result goes.
        x: what is transposed.
        count: matrices of a batch; the kernel of more than one takes arrays of three dimensions.

    Raises:
        LaunchRefused: the rung is not known, or does not fit.
    """
    dtype = raw(itemsize)
    chosen = ladder.fastest(_Shown(out, dtype), _Shown(x, dtype), batched=count > 1)
    if rung is not None:
        if count > 1:
            raise LaunchRefused(
                "`rung` is that of one matrix, and these are several. Leave `rung` out, or pass"
                " one matrix at a time"
            )
        chosen = _transpose_rung(rung, itemsize, chosen)
        _check_rows(chosen, ("x", x, itemsize), ("out", out, itemsize))
    plan = _plan_of(chosen, x, count)
    return plan if rung is None else plan._replace(typed="C")


def raw(itemsize: int) -> np.dtype[Any]:
    """A dtype of so many bytes, for a question about a kernel."""
    return np.dtype("V16") if itemsize == 16 else moved_as(itemsize)


def _plan_of(rung: Rung, x: Layout, count: int) -> Plan:
    across, down = rung.grid(x.rows, x.cols)
    return Plan(rung.kernel, rung.name, (across * count, down), rung.block, rung.tile)


@lru_cache(maxsize=1024)
def units_plan(unit: int, parts: int, rows: int, cols: int, count: int = 1) -> Plan:
    """The kernel `(out, x)` for elements of `parts` units of 1, 2, 4 or 8 bytes.

    Tiles are those of which a matrix fills most.
    """

    def empty(tile: tuple[int, int]) -> int:
        return -(-rows // tile[0]) * -(-cols // tile[1])

    tile = min((units.SQUARE, units.TALL, units.FLAT), key=empty)
    kernel = units.transpose_units_of(ladder.TYPES[unit], parts, tile, batched=count > 1)
    rung = Rung(kernel, "", (32 * units.THREADS_Y, 1), tile, span=UNSIGNED)
    return _plan_of(rung, Layout(rows, cols, cols * unit * parts, 0), count)


@lru_cache(maxsize=1024)
def runs_plan(unit: int, first: int, second: int, run: int, *, chunks: bool) -> Plan:
    """The kernel `(out, x)` that copies first x second runs of so many units of 1 to 8 bytes."""
    kernel = runs.copy_runs_of(ladder.TYPES[unit], chunks=chunks)
    grid = runs.grid(first, second, run, unit, chunks)
    moved = runs.THREADS * runs.EACH * runs.per_piece(unit, chunks)
    return Plan(kernel, "copy_runs", grid, (runs.THREADS, 1), (1, moved))


def _transpose_rung(rung: Rung | str, itemsize: int, fits: Rung) -> Rung:
    made = _made_for(itemsize)
    if isinstance(rung, str) and rung in made:
        return made[rung]
    found = _known(rung, ladder.LADDER)
    if found in ladder.LADDER and itemsize != 4:
        raise LaunchRefused(
            f"rung {found.name} moves elements of 4 bytes, and these have {itemsize}. For those"
            f" there are: {', '.join(sorted(made))}; {fits.name} fits"
        )
    return found


@lru_cache(maxsize=8)
def _made_for(itemsize: int) -> dict[str, Rung]:
    """The rungs from which `fastest` chooses for elements of this size, by name."""
    dtype, found = raw(itemsize), {}
    for beyond in (0, itemsize):
        shown = _Shown(Layout(16384, 16384, 16384 * itemsize, beyond), dtype)
        rung = ladder.fastest(shown, shown)
        found[rung.name] = rung
    return found
