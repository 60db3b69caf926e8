"""The finished kernels of the package: every rung of both ladders, whole and ragged.

`matmul_shared` is left out: its blocks ask again and again whether another one's sums are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.matmul import ladder as products
from ...kernels.matmul.variants.sliced import matmul_sliced_of
from ...kernels.rung import Rung
from ...kernels.transpose import ladder as transposes
from ...kernels.transpose.variants import pairs, shifted, wide
from ...measure.verify.case import Case, empty, numbers

DEPTH = 24


def _transpose(rung: Rung, rows: int, cols: int, dtype: Any = np.float32, parts: int = 1) -> Case:
    kind = f" {np.dtype(dtype).name}" if dtype is not np.float32 else ""
    return Case(
        f"{rung.name} {rows} x {cols}{kind}",
        rung.kernel,
        rung.grid(rows, cols),
        rung.block,
        lambda random: (
            empty(cols, rows * parts, dtype=dtype),
            numbers(random, rows, cols * parts, dtype=dtype),
        ),
    )


def _copy(rows: int, cols: int) -> Case:
    return Case(
        f"copy_wide {rows} x {cols}",
        transposes.COPY.kernel,
        transposes.COPY.grid(rows, cols),
        transposes.COPY.block,
        lambda random: (empty(rows, cols), numbers(random, rows, cols)),
    )


def _product(rung: Rung, rows: int, cols: int, depth: int) -> Case:
    more = (np.float32(1), np.float32(0)) if rung.scaled else ()
    return Case(
        f"{rung.name} {rows} x {cols} x {depth}",
        rung.kernel,
        rung.grid(rows, cols),
        rung.block,
        lambda random: (
            empty(rows, cols),
            numbers(random, rows, depth),
            numbers(random, depth, cols),
            *more,
        ),
    )


def _chosen(size: int) -> Case:
    """Elements of another size by 16 bytes, in whole tiles."""
    dtype = {1: np.uint8, 2: np.uint16, 8: np.uint64, 16: np.uint64}[size]
    if size == 16:
        side = pairs.TILE
        rung = Rung(pairs.transpose_pairs, "", (side, pairs.ROWS), (side, side))
        return _transpose(rung, 128, 128, dtype, 2)
    kernel, (threads, _) = wide.transpose_fastest_of(transposes.TYPES[size]), wide.BLOCKS[size]
    return _transpose(Rung(kernel, "", (threads, 1), wide.TILES[size]), 128, 128, dtype)


def _shape(rung: Rung) -> tuple[int, int]:
    """A ragged shape that the rung takes."""
    return (100, 68) if rung.aligned > 1 else (70, 37)


def _shifted(dtype: Any) -> Case:
    """Rows that begin anywhere: a tile inside, and those at the edges."""
    size = np.dtype(dtype).itemsize
    kernel, shape = shifted.transpose_shifted_of(transposes.TYPES[size]), shifted.SHAPES[size]
    rung = Rung(kernel, "", (shape.threads, 1), shape.tile)
    high, wide = rung.tile
    return _transpose(rung, 2 * high + 67, wide + 131 * 4 // size, dtype)


_SLICED = Rung(
    matmul_sliced_of(products.SLICED),
    "",
    (products.SLICED.threads, 1),
    (products.SLICED.rows, products.SLICED.cols),
    scaled=True,
)

CASES = (
    *(_transpose(rung, 128, 64) for rung in transposes.LADDER),
    *(_transpose(rung, *_shape(rung)) for rung in transposes.LADDER),
    *(_chosen(size) for size in (1, 2, 8, 16)),
    *(_shifted(dtype) for dtype in (np.float32, np.uint16)),
    _copy(16, 512),
    _product(_SLICED, 64, 128, 64),
    *(_product(rung, 128, 128, DEPTH) for rung in products.LADDER),
    *(_product(rung, 37, 70, 19) for rung in products.LADDER if not rung.depth),
)
