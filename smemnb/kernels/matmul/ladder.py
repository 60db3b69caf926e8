"""The rungs of the matrix product in order, and which kernel fits a shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..rung import UNSIGNED, Rung, described
from . import registers, staged, wider
from .tiling import QUAD, Tiling
from .wide import matmul_of

WIDE = Tiling()
PREFETCHED = replace(WIDE, buffers=2)
WARPED = replace(PREFETCHED, warp_rows=64, warp_cols=32, lanes_down=8)
INTERLEAVED = replace(WARPED, interleaved=True)
TALL = replace(INTERLEAVED, warp_cols=64, lanes_down=4)
BANDED = replace(TALL, band=4)
EARLY = replace(BANDED, stage_at=6)
OVERLAPPED = replace(EARLY, fragments=2)
SNAKING = replace(OVERLAPPED, snake=True)
FASTEST = replace(SNAKING, wide_out=False)
SMALL = replace(FASTEST, rows=64, cols=64, warp_cols=32, lanes_down=8)
"""For results too small to give every multiprocessor a tile of 128x128."""

SLICED = replace(SMALL, slices=2)
"""The same with twice as many warps (`sliced`); not chosen yet, as it was not measured."""

TILINGS = {
    "matmul_wide": (WIDE, "16 bytes per access, flat offsets without a sign"),
    "matmul_prefetched": (PREFETCHED, "two buffers: the next tiles are loaded during the product"),
    "matmul_warped": (WARPED, "a warp makes 64x32 in place of 16x128: fewer words read"),
    "matmul_interleaved": (INTERLEAVED, "pairs of lanes share what they read: fewer wavefronts"),
    "matmul_tall": (TALL, "16x8 per thread, 128 threads: 24 reads for 128 products"),
    "matmul_banded": (BANDED, "tiles walked in bands of 4 rows, for the L2 cache"),
    "matmul_early": (EARLY, "the next tiles are stored before the last two steps"),
    "matmul_overlapped": (OVERLAPPED, "fragments of step k + 1 read during step k"),
    "matmul_snaking": (SNAKING, "the outer product turns back, so registers are read again"),
    "matmul_fastest": (FASTEST, "results stored element by element"),
}


def _wide(name: str) -> Rung:
    tiling, changed = TILINGS[name]
    kernel = matmul_of(tiling, True, True, True, name)
    return replace(_of(tiling), kernel=kernel, changed=changed)


def _of(tiling: Tiling) -> Rung:
    """A rung without its kernel: the launch of a tiling, and what it needs."""
    tile = tiling.rows, tiling.cols
    return Rung(None, "", (tiling.threads, 1), tile, QUAD, True, UNSIGNED)


def _scalar(kernel: Any, changed: str, threads: int, edge: int) -> Rung:
    return Rung(kernel, changed, (threads, 1), (edge, edge), scaled=True)


_RUNGS = (
    Rung(wider.matmul_scattered, "neighbouring threads take rows", (16, 16), (16, 16)),
    Rung(staged.matmul_naive, "neighbouring threads take columns", (16, 16), (16, 16)),
    Rung(staged.matmul_tiled, "tiles of 16x16 in shared memory", (16, 16), (16, 16)),
    Rung(wider.matmul_tiled_32, "tiles of 32x32", (32, 32), (32, 32)),
    _scalar(registers.matmul_column, "8 rows of a column per thread", 512, 64),
    _scalar(registers.matmul_square, "4x4 per thread", 256, 64),
    _scalar(registers.matmul_8x8, "128x128 per block, 8x8 per thread", 256, 128),
    _scalar(registers.matmul_turned, "the tile of a turned", 256, 128),
    _scalar(registers.matmul_turned_padded, "4 pad words per row of it", 256, 128),
    *map(_wide, TILINGS),
)
LADDER = tuple(described(rung, "out = alpha * a @ b + beta * out.") for rung in _RUNGS)


@dataclass(frozen=True)
class Fit:
    """A kernel for the arrays at hand, its launch, and the rung that says how far it reaches."""

    kernel: Any
    grid: tuple[int, int]
    block: tuple[int, int]
    rung: Rung | None = None


def fastest(out: Any, a: Any, b: Any, multiprocessors: int = 132) -> Fit:
    """The fastest kernel `(out, a, b, alpha, beta)` for these arrays.

    Shapes of whole tiles in aligned rows get the kernel without guards, others the same with a
    first tile of the depth that is left over; results of less than a tile go element by element.
    """
    rows, cols = out.shape
    large = -(-rows // FASTEST.rows) * -(-cols // FASTEST.cols) > multiprocessors
    tiling = FASTEST if large else SMALL
    if rows < tiling.rows or cols < tiling.cols:
        rung = next(one for one in LADDER if one.name == "matmul_square")
        return Fit(rung.kernel, rung.grid(rows, cols), rung.block, rung)
    return fit_of(tiling, out, a, b)


def fit_of(tiling: Tiling, out: Any, a: Any, b: Any) -> Fit:
    """The kernel of a tiling for these arrays, of which `out` holds at least one tile."""
    rows, cols = out.shape
    rung = _of(tiling)
    wide_a = rung.fits(a) and a.shape[1] % QUAD == 0
    wide_b = rung.fits(b) and cols % QUAD == 0
    whole = not (rows % tiling.rows or cols % tiling.cols or a.shape[1] % tiling.depth)
    exact = whole and a.shape[1] > 0 and wide_a and wide_b
    kernel = matmul_of(tiling, exact, wide_a, wide_b, "matmul_fastest")
    return Fit(kernel, rung.grid(rows, cols), rung.block, rung)
