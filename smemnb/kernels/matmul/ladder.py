"""The rungs of the matrix product in order, and which kernel fits a shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..rung import UNSIGNED, Rung, described
from .rungs.matmul_8x8 import matmul_8x8
from .rungs.matmul_by_quads import matmul_by_quads
from .rungs.matmul_column import matmul_column
from .rungs.matmul_fastest import matmul_fastest
from .rungs.matmul_laid_out import matmul_laid_out
from .rungs.matmul_naive import matmul_naive
from .rungs.matmul_overlapped import matmul_overlapped
from .rungs.matmul_prefetched import matmul_prefetched
from .rungs.matmul_primed import matmul_primed
from .rungs.matmul_scattered import matmul_scattered
from .rungs.matmul_snaking import matmul_snaking
from .rungs.matmul_square import matmul_square
from .rungs.matmul_tall import matmul_tall
from .rungs.matmul_tiled import matmul_tiled
from .rungs.matmul_tiled_32 import matmul_tiled_32
from .rungs.matmul_turned import matmul_turned
from .rungs.matmul_turned_padded import matmul_turned_padded
from .rungs.matmul_two_blocks import matmul_two_blocks
from .rungs.matmul_unguarded import matmul_unguarded
from .rungs.matmul_unsigned import matmul_unsigned
from .rungs.matmul_warped import matmul_warped
from .rungs.matmul_wide import matmul_wide
from .tiling import QUAD, Tiling
from .variants.sliced import matmul_sliced_of
from .variants.streamed import matmul_streamed_of
from .variants.whole import matmul_of

WIDE = Tiling()
PREFETCHED = replace(WIDE, buffers=2)
WARPED = replace(PREFETCHED, warp_rows=64, warp_cols=32, lanes_down=8)
TALL = replace(WARPED, warp_cols=64, lanes_down=4)
SNAKING = replace(TALL, turn=1)
OVERLAPPED = replace(SNAKING, fragments=2)
FASTEST = replace(OVERLAPPED, pinned=True)
TILINGS = {
    "matmul_wide": WIDE,
    "matmul_prefetched": PREFETCHED,
    "matmul_warped": WARPED,
    "matmul_tall": TALL,
    "matmul_snaking": SNAKING,
    "matmul_overlapped": OVERLAPPED,
    "matmul_fastest": FASTEST,
}
"""The rungs whose choices a `Tiling` holds; `variants` makes the same kernels of it, and others."""

VARIED = replace(FASTEST, interleaved=True, band=4, stage_at=5)
"""For shapes that are not of whole tiles, and for rows that begin anywhere. Lanes in pairs, bands
of tiles and an early store gain in kernels from factories; in the flat text they do not."""

SHARED = replace(VARIED, stage_at=6, band=16)
"""Of blocks that stay and share the tiles of one round (`streamed`), tuned anew for that."""

SMALL = replace(VARIED, stage_at=6, rows=64, cols=64, warp_cols=32, lanes_down=8)
"""For results too small to give every multiprocessor a tile of 128x128."""

SLICED = replace(SMALL, slices=4)
"""The same where the depth can be cut: four times as many warps for the same tiles (`sliced`)."""


def _plain(kernel: Any, changed: str, edge: int) -> Rung:
    """One element of out per thread: `(out, a, b)`."""
    return Rung(kernel, changed, (edge, edge), (edge, edge))


def _scaled(kernel: Any, changed: str, threads: int, edge: int, **needs: Any) -> Rung:
    """Several elements per thread: `(out, a, b, alpha, beta)`."""
    return Rung(kernel, changed, (threads, 1), (edge, edge), scaled=True, **needs)


_WHOLE = {"depth": 8}
_FLAT = {"depth": 8, "span": UNSIGNED}
_WIDE = {"depth": 8, "span": UNSIGNED, "aligned": QUAD}
_RUNGS = (
    _plain(matmul_scattered, "neighbouring threads take rows", 16),
    _plain(matmul_naive, "neighbouring threads take columns", 16),
    _plain(matmul_tiled, "tiles of 16x16 in shared memory", 16),
    _plain(matmul_tiled_32, "tiles of 32x32", 32),
    _scaled(matmul_column, "8 rows of a column per thread", 512, 64),
    _scaled(matmul_square, "4x4 per thread", 256, 64),
    _scaled(matmul_8x8, "128x128 per block, 8x8 per thread", 256, 128),
    _scaled(matmul_turned, "the tile of a turned", 256, 128),
    _scaled(matmul_turned_padded, "4 pad words per row of it", 256, 128),
    _scaled(matmul_unguarded, "whole tiles only: no guards", 256, 128, **_WHOLE),
    _scaled(matmul_two_blocks, "two blocks on a multiprocessor", 256, 128, **_WHOLE),
    _scaled(matmul_laid_out, "8 steps one after the other, no loop", 256, 128, **_WHOLE),
    _scaled(matmul_unsigned, "flat offsets without a sign", 256, 128, **_FLAT),
    _scaled(matmul_by_quads, "16 bytes per read of the tiles", 256, 128, **_FLAT),
    _scaled(matmul_primed, "the first tiles before the loop", 256, 128, **_FLAT),
    _scaled(matmul_wide, "16 bytes per load", 256, 128, **_WIDE),
    _scaled(matmul_prefetched, "two buffers: loads during the product", 256, 128, **_WIDE),
    _scaled(
        matmul_warped,
        "64x32 per warp in place of 16x128: fewer words read",
        256,
        128,
        prepares="matmul_tall",
        **_WIDE,
    ),
    _scaled(matmul_tall, "16x8 per thread: 24 reads for 128 products", 128, 128, **_WIDE),
    _scaled(matmul_snaking, "the outer product turns back", 128, 128, **_WIDE),
    _scaled(matmul_overlapped, "step k + 1 is read during step k", 128, 128, **_WIDE),
    _scaled(matmul_fastest, "loads stay at the top of the loop", 128, 128, **_WIDE),
)
LADDER = tuple(described(rung, "out = alpha * a @ b + beta * out.") for rung in _RUNGS)
"""The rungs in their order: each kernel is the flat text of its file."""


def rung_named(name: str) -> Rung:
    """The rung of the ladder with this name.

    >>> rung_named("matmul_warped").prepares
    'matmul_tall'
    """
    return next(rung for rung in LADDER if rung.name == name)


def _of(tiling: Tiling) -> Rung:
    """A rung without its kernel: the launch of a tiling, and what it needs."""
    tile = tiling.rows, tiling.cols
    return Rung(None, "", (tiling.threads, 1), tile, QUAD, True, UNSIGNED)


def kernel_of(tiling: Tiling, exact: bool, wide_a: bool, wide_b: bool) -> Any:
    """The rung `matmul_fastest` where it fits, in place of the variant for any shapes and rows."""
    if tiling == VARIED and exact and wide_a and wide_b:
        return matmul_fastest
    return matmul_of(tiling, exact, wide_a, wide_b, "matmul_fastest")


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
    tiling = VARIED if large else SMALL
    if rows < tiling.rows or cols < tiling.cols:
        rung = rung_named("matmul_square")
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
        kernel = kernel_of(VARIED, *fitting)
        return Fit(kernel, grid, (VARIED.threads, 1), _of(VARIED))
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
    kernel = kernel_of(tiling, *_fitting(tiling, rung, out, a, b))
    return Fit(kernel, rung.grid(*out.shape), rung.block, rung)


def _fitting(tiling: Tiling, rung: Rung, out: Any, a: Any, b: Any) -> tuple[bool, bool, bool]:
    """Whether shapes are of whole tiles in aligned rows; whether those of a, of b are aligned."""
    (rows, cols), depth = out.shape, a.shape[1]
    wide_a = rung.fits(a) and depth % QUAD == 0
    wide_b = rung.fits(b) and cols % QUAD == 0
    whole = depth > 0 and not (rows % tiling.rows or cols % tiling.cols or depth % tiling.depth)
    return whole and wide_a and wide_b, wide_a, wide_b
