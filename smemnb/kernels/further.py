"""Kernels that no ladder has and that only large or whole shapes choose, as rungs to examine."""

from __future__ import annotations

from .matmul.ladder import SLICED
from .matmul.variants.sliced import matmul_sliced_of
from .rung import UNSIGNED, Rung
from .transpose.ladder import TYPES
from .transpose.variants import shifted
from .transpose.variants.wide import CHUNK_BYTES


def _shifted(size: int) -> Rung:
    kernel, shape = shifted.transpose_shifted_of(TYPES[size]), shifted.SHAPES[size]
    block, tile, per_chunk = (shape.threads, 1), shape.tile, CHUNK_BYTES // size
    return Rung(kernel, "rows that begin anywhere", block, tile, span=UNSIGNED, begins=per_chunk)


_SLICED = Rung(
    matmul_sliced_of(SLICED),
    "four slices of the depth",
    (SLICED.threads, 1),
    (SLICED.rows, SLICED.cols),
    4,
    True,
    UNSIGNED,
    depth=SLICED.depth * SLICED.slices,
)

FURTHER: dict[tuple[str, int], list[Rung]] = {
    ("transpose", size): [_shifted(size)] for size in shifted.SHAPES
} | {("matmul", 4): [_SLICED]}
"""(operation, bytes of an element) -> rungs."""
