"""The rungs of the matrix product in order, and which kernel fits a shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..rung import UNSIGNED, Rung, described
from . import registers, staged, wider
from .sliced import matmul_sliced_of
from .streamed import matmul_streamed_of
from .tiling import QUAD, Tiling
from .wide import matmul_of

WIDE = Tiling()
PREFETCHED = replace(WIDE, buffers=2)
PINNED = replace(PREFETCHED, pinned=True)
WARPED = replace(PINNED, warp_rows=64, warp_cols=32, lanes_down=8)
TALL = replace(WARPED, warp_cols=64, lanes_down=4)
SNAKING = replace(TALL, turn=1)
OVERLAPPED = replace(SNAKING, fragments=2)
INTERLEAVED = replace(OVERLAPPED, interleaved=True)
BANDED = replace(INTERLEAVED, band=4)
FASTEST = replace(BANDED, stage_at=5)
SHARED = replace(FASTEST, stage_at=6, band=16)
"""Of blocks that stay and share the tiles of one round (`streamed`), tuned anew for that."""

SMALL = replace(FASTEST, stage_at=6, rows=64, cols=64, warp_cols=32, lanes_down=8)
"""For results too small to give every multiprocessor a tile of 128x128."""

SLICED = replace(SMALL, slices=4)
"""The same where the depth can be cut: four times as many warps for the same tiles (`sliced`)."""

TILINGS = {
    "matmul_wide": (WIDE, "16 bytes per load, flat offsets without a sign"),
    "matmul_prefetched": (PREFETCHED, "two buffers: the next tiles are loaded during the product"),
    "matmul_pinned": (PINNED, "their loads stay at the top of the loop"),
    "matmul_warped": (WARPED, "a warp makes 64x32 in place of 16x128: fewer words read"),
    "matmul_tall": (TALL, "16x8 per thread, 128 threads: 24 reads for 128 products"),
    "matmul_snaking": (SNAKING, "the outer product turns back, so registers are read again"),
    "matmul_overlapped": (OVERLAPPED, "fragments of step k + 1 read during step k"),
    "matmul_interleaved": (INTERLEAVED, "pairs of lanes share what they read: fewer wavefronts"),
    "matmul_banded": (BANDED, "tiles walked in bands of 4 rows, for the L2 cache"),
    "matmul_fastest": (FASTEST, "the next tiles are stored before the last three steps"),
}


def _wide(name: str) -> Rung:
    tiling, changed = TILINGS[name]
    kernel = matmul_of(tiling, True, True, True, name)
    return replace(_of(tiling), kernel=kernel, changed=changed, depth=tiling.depth)


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
    """A kernel for the arrays at hand, its launch, and the rung that says how far it reaches.

    Where `sums` is not 0 the kernel takes two arrays after beta: so many float32, and `flags`
    uint32, all 0 before the launch and after it.
    """

    kernel: Any
    grid: tuple[int, int]
    block: tuple[int, int]
    rung: Rung | None = None
    sums: int = 0
    flags: int = 0


HANDING_OVER = 8
"""Steps of the depth that it costs a block to share a tile: one more piece, sums through L2."""


def fastest(out: Any, a: Any, b: Any, multiprocessors: int = 132) -> Fit:
    """The fastest kernel `(out, a, b, alpha, beta)` for these arrays.

    Shapes of whole tiles in aligned rows get kernels without guards, others the same with a first
    tile of the depth that is left over; results of less than a tile go element by element. Where
    tiles do not come out even, blocks stay and share some (`Fit.sums`).
    """
    rows, cols = out.shape
    large = -(-rows // FASTEST.rows) * -(-cols // FASTEST.cols) > multiprocessors
    tiling = FASTEST if large else SMALL
    if rows < tiling.rows or cols < tiling.cols:
        rung = next(one for one in LADDER if one.name == "matmul_square")
        return Fit(rung.kernel, rung.grid(rows, cols), rung.block, rung)
    rung = _of(tiling)
    exact, wide_a, wide_b = _fitting(tiling, rung, out, a, b)
    if large:
        return _large(out, a, (exact, wide_a, wide_b), SHARED.resident * multiprocessors)
    if exact and not a.shape[1] % (SLICED.depth * SLICED.slices):
        kernel = matmul_sliced_of(SLICED)
        return Fit(kernel, rung.grid(rows, cols), (SLICED.threads, 1), _of(SLICED))
    return fit_of(tiling, out, a, b)


def _large(out: Any, a: Any, fitting: tuple[bool, bool, bool], at_once: int) -> Fit:
    """Tiles of 128x128 for a GPU that holds so many blocks at once."""
    rung, steps = _of(SHARED), -(-a.shape[1] // SHARED.depth)
    grid = rung.grid(*out.shape)
    shared = sharing_pays(grid[0] * grid[1], at_once, steps)
    if not at_once or steps < SHARED.depth or (fitting[0] and not shared):
        kernel = matmul_of(FASTEST, *fitting, "matmul_fastest")
        return Fit(kernel, grid, (FASTEST.threads, 1), _of(FASTEST))
    kernel = matmul_streamed_of(SHARED, *fitting, "matmul_shared")
    size = at_once * SHARED.rows * SHARED.cols
    return Fit(kernel, (at_once, 1), (SHARED.threads, 1), rung, size, at_once + 1)


def sharing_pays(tiles: int, at_once: int, steps: int) -> bool:
    """Whether blocks that share tiles are done sooner than those that take whole ones.

    >>> [sharing_pays(edge * edge, 264, 16 * edge) for edge in (16, 32, 33, 64)]
    [False, True, True, True]
    """
    rounds, left = divmod(tiles, at_once) if at_once else (0, 0)
    if not left:
        return False
    helpers = at_once - left
    parts = helpers // left + 1 if helpers >= left else 1 + 1 / -(-left // helpers)
    return rounds * steps + steps / parts + HANDING_OVER < (rounds + 1) * steps


def fit_of(tiling: Tiling, out: Any, a: Any, b: Any) -> Fit:
    """The kernel of a tiling for these arrays, of which `out` holds at least one tile."""
    rung = _of(tiling)
    kernel = matmul_of(tiling, *_fitting(tiling, rung, out, a, b), "matmul_fastest")
    return Fit(kernel, rung.grid(*out.shape), rung.block, rung)


def _fitting(tiling: Tiling, rung: Rung, out: Any, a: Any, b: Any) -> tuple[bool, bool, bool]:
    """Whether shapes are of whole tiles in aligned rows; whether those of a, of b are aligned."""
    (rows, cols), depth = out.shape, a.shape[1]
    wide_a = rung.fits(a) and depth % QUAD == 0
    wide_b = rung.fits(b) and cols % QUAD == 0
    whole = depth > 0 and not (rows % tiling.rows or cols % tiling.cols or depth % tiling.depth)
    return whole and wide_a and wide_b, wide_a, wide_b
