"""The launch of a product that is small, shallow or narrow, and why it is made so, in words.

`kernels.matmul.choosing_small` prices the candidates; here the cheapest one becomes a `Plan`.
"""

from __future__ import annotations

from functools import lru_cache

from ..kernels.matmul import choosing_small
from ..kernels.matmul.choosing_small import Laid, Offer
from ..kernels.matmul.variants.direct import matmul_direct_of
from ..kernels.matmul.variants.shallow import matmul_shallow_of
from ..kernels.matmul.variants.small import matmul_small_of
from ..kernels.matmul.variants.vectors import vector_product_of
from .choice import UNTOUCHED, Plan

NAMES = {kind: f"matmul_{kind}" for kind in ("direct", "shallow", "small", "vectors")}
"""Kind of an offer -> name of its kernel."""


@lru_cache(maxsize=1024)
def cheapest(laid: Laid, processors: int) -> Offer:
    """The offer that is taken."""
    return choosing_small.cheapest(laid, processors)


def plan_of(offer: Offer, laid: Laid) -> Plan:
    """The kernel and its launch."""
    block = offer.threads, 1
    blocks = offer.grid[0] * offer.grid[1] * (offer.grid[2] if len(offer.grid) > 2 else 1)
    tile = 1, -(-laid.rows * laid.cols // blocks)
    columns = laid.a_columns, laid.b_columns
    name = NAMES[offer.kind]
    if offer.kind == "direct":
        kernel = matmul_direct_of(*offer.choice, *columns)
        return Plan(kernel, name, offer.grid, block, tile, scaled=True, overlaps=True)
    if offer.kind == "shallow":
        kernel = matmul_shallow_of(offer.choice, *columns, laid.wide_out)
        return Plan(kernel, name, offer.grid, block, tile, scaled=True, overlaps=True)
    if offer.kind == "small":
        return _small(offer, laid, tile)
    made, swapped = offer.choice, laid.cols < laid.rows
    small_columns = not laid.b_columns if swapped else laid.a_columns
    return Plan(
        vector_product_of(made.tiling, small_columns, swapped),
        name,
        offer.grid,
        block,
        tile,
        scaled=True,
        sums=made.sums or UNTOUCHED,
        flags=made.flags or UNTOUCHED,
        swapped=swapped,
        overlaps=True,
    )


def _small(offer: Offer, laid: Laid, tile: tuple[int, int]) -> Plan:
    tiling, (tiles, parts) = offer.choice, offer.grid
    parted = parts > 1
    kernel = matmul_small_of(
        tiling, laid.a_columns, laid.b_columns, laid.wide_a, laid.wide_b, parted
    )
    return Plan(
        kernel,
        NAMES["small"],
        offer.grid,
        (offer.threads, 1),
        tile,
        scaled=True,
        sums=tiles * parts * tiling.rows * tiling.cols if parted else 0,
        flags=tiles if parted else 0,
        overlaps=True,
    )


def words_of(offer: Offer, laid: Laid, processors: int) -> str:
    """Why an offer is what it is."""
    words = {"direct": _direct, "shallow": _shallow, "small": _tiles, "vectors": _vectors}
    return f"{words[offer.kind](offer, laid, processors)} By the model {LIMITS[offer.limit]}."


LIMITS = {
    "latency": "it waits for its loads",
    "lines": "the lines that its loads touch take most of the time",
    "issue": "its instructions take most of the time",
    "product": "multiply-adds and copies take most of the time",
    "memory": "every byte once takes most of the time",
}


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _direct(offer: Offer, laid: Laid, processors: int) -> str:
    group = offer.choice[0]
    return (
        f"{_counted(laid.rows * laid.cols, 'element')} of depth {laid.depth}, each by"
        f" {_counted(group, 'lane')}, straight from memory: {_counted(offer.grid[0], 'block')} for"
        f" {processors} multiprocessors."
    )


def _shallow(offer: Offer, laid: Laid, processors: int) -> str:
    across, down = offer.grid
    return (
        f"A depth of {laid.depth}: the result of {laid.rows} x {laid.cols} is written once, in"
        f" {across} x {down} pieces, for {processors} multiprocessors."
    )


def _tiles(offer: Offer, laid: Laid, processors: int) -> str:
    tiling, (tiles, parts) = offer.choice, offer.grid
    cut = f"; the depth is cut in {parts} parts, whose sums are added in order" * (parts > 1)
    warps = f"whose threads part the depth in {tiling.slices}, " * (tiling.slices > 1)
    return (
        f"{_counted(tiles, 'tile')} of {tiling.rows}x{tiling.cols}, {warps}for {processors}"
        f" multiprocessors{cut}."
    )


def _vectors(offer: Offer, laid: Laid, processors: int) -> str:
    swapped = laid.cols < laid.rows
    few = _counted(laid.cols, "column") if swapped else _counted(laid.rows, "row")
    pieces, _, parts = offer.grid
    cut = f", the depth cut in {parts} parts" if parts > 1 else ""
    return (
        f"A result of {few}: {'a' if swapped else 'b'} is read once. {pieces} pieces of the"
        f" result{cut}, for {processors} multiprocessors."
    )
