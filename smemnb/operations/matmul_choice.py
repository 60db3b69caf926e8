"""Which kernel makes a product, from where its matrices lie.

In the order in which they are asked:

    a rung of the ladder               the caller named it
    `matmul_tiled_32`, `matmul_square` in the lockstep engine, for one product of matrices by rows
    `small_choice`                     up to 1 GFLOP, or of up to 16 rows or columns, one product
    `kernels.matmul.ladder.fastest`    by rows, one product of whole tiles in aligned rows
    `variants.balanced`                a result that fills half a tile, any layout and batch
    `variants.guarded`                 everything else, and where it costs less by the model
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..errors import LaunchRefused
from ..kernels.matmul import choosing, choosing_small, ladder, unguarded
from ..kernels.matmul.choosing import Estimate, Problem
from ..kernels.matmul.choosing_small import Laid
from ..kernels.matmul.cut import QUAD, Cut
from ..kernels.matmul.unguarded import Offer, Side
from ..kernels.matmul.variants.balanced import matmul_balanced_of, matmul_inside_of
from ..kernels.matmul.variants.even import CHUNK
from ..kernels.matmul.variants.guarded import matmul_guarded_of
from ..kernels.rung import Rung
from . import small_choice
from .choice import ENGINE, Layout, Plan, _check_rows, _known, _Shown, moved_as

LIKE_H200 = 132
"""Multiprocessors for which a choice is made where there is no GPU to ask."""


class Lying(NamedTuple):
    """Where the matrices of an operand lie: what a kernel is passed.

    Attributes:
        layout: of the first one, as it is stored.
        columns: whether rows of `layout` are columns of the operand.
        step: bytes from matrix to matrix.
    """

    layout: Layout
    columns: bool = False
    step: int = 0

    @property
    def wide(self) -> bool:
        """Whether rows begin at multiples of 16 bytes, and hold whole quads."""
        rows, cols, pitch, beyond = self.layout
        begins = not (beyond or self.step % 16 or (rows > 1 and pitch % 16))
        return begins and cols % QUAD == 0


@lru_cache(maxsize=1024)
def product_plan(
    rung: Rung | str | None,
    out: Lying,
    a: Lying,
    b: Lying,
    count: int,
    processors: int,
    *,
    plain: bool,
) -> Plan:
    """The kernel for `count` products.

    Args:
        rung: of the ladder, its name, or None.
        out: where the results go.
        a: left operand.
        b: right operand.
        count: products, each of the next matrices.
        processors: multiprocessors of the device, or `ENGINE`.
        plain: alpha is 1 and beta 0.

    Raises:
        LaunchRefused: the rung is not known, or does not fit.
    """
    by_rows = count == 1 and not (a.columns or b.columns)
    if by_rows and (rung is not None or processors == ENGINE):
        return matmul_plan(rung, out.layout, a.layout, b.layout, processors, plain=plain)
    if rung is not None:
        raise LaunchRefused(
            "rungs of the ladder take two matrices that lie by rows; here one lies by columns, or"
            " there is a batch of them. Leave `rung` out"
        )
    many = processors or LIKE_H200
    rows, cols = out.layout.rows, out.layout.cols
    depth = a.layout.rows if a.columns else a.layout.cols
    if count == 1 and depth and (small := _small(out, a, b, depth, many)):
        return small
    problem = Problem(rows, cols, depth, count)
    found = choosing.choose(problem, many)
    if by_rows and _is_whole(problem, a, b) and _ladder_suffices(problem, found, many):
        return matmul_plan(None, out.layout, a.layout, b.layout, processors, plain=plain)
    sides = Side(not a.columns, a.wide), Side(b.columns, b.wide)
    offer = unguarded.best_offer(problem, *sides, many) if processors != ENGINE else None
    if offer is not None:
        costs_less = offer.cycles <= unguarded.GUARDED * found.cycles
        if costs_less or _adds_long(found, depth):
            return _unguarded(offer, a, b, count)
    return _guarded(found, out, a, b, count)


@dataclass(frozen=True)
class ProductPlan:
    """How a product would be made on a GPU: `matmul.plan(a, b)`.

    Attributes:
        kernel: its name.
        launches: how many of it.
        grid: of the first one.
        block: threads of a block.
        workspace: bytes of partial sums.
        words: why this kernel, in a sentence or two.
    """

    kernel: str
    launches: int
    grid: tuple[int, ...]
    block: tuple[int, int]
    workspace: int
    words: str

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"{self.kernel}[{self.grid}, {self.block[0]}]: {self.words}"


def words_of(plan: Plan, out: Lying, a: Lying, b: Lying, count: int, processors: int) -> str:
    """Why a plan is what it is."""
    rows, cols = out.layout.rows, out.layout.cols
    depth = a.layout.rows if a.columns else a.layout.cols
    on = f"{processors} multiprocessors"
    if plan.name in small_choice.NAMES.values():
        laid = _laid(out, a, b, depth)
        return small_choice.words_of(small_choice.cheapest(laid, processors), laid, processors)
    high, wide = plan.tile
    tiles = -(-rows // high) * -(-cols // wide)
    some = f"{tiles} tiles of {high}x{wide}" + (f" for each of {count} matrices" * (count > 1))
    if plan.name == "matmul_balanced":
        blocks = plan.grid[0]
        each, left = divmod(tiles, blocks)
        whole = [f"take {_counted(each, 'whole tile')} each"] * (each > 0)
        rest = [f"share {left} evenly along the depth"] * (left > 0)
        does = " and ".join(whole + rest)
        return f"{some} for {on}, without guards: {blocks} blocks stay, {does}."
    if plan.name == "matmul_inside":
        return f"{some} for {on}, without guards: a block for each of them."
    if plan.name != "matmul_guarded":
        return f"{some} for {on}: the kernel that was tuned for large results."
    parts = plan.grid[1]
    found = choosing.estimate(Problem(rows, cols, depth, count), _cut_of(plan), parts, processors)
    cut = f"; the depth is cut in {parts} parts, whose sums are added in order" if parts > 1 else ""
    rounds = _counted(found.rounds, "round")
    return f"{some}, {rounds} on {on}{cut}. By the model {LIMITS[found.limit]}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


LIMITS = {
    "product": "multiply-adds take most of the time",
    "arrival": "the tiles' way from L2 takes most of the time",
    "latency": "each step waits for its loads",
    "memory": "every byte once takes most of the time",
}


def _cut_of(plan: Plan) -> Cut:
    return next(
        cut
        for cut in choosing.CUTS
        if (cut.rows, cut.cols, cut.threads) == (*plan.tile, plan.block[0])
    )


def _adds_long(found: Estimate, depth: int) -> bool:
    """Whether a guarded product would add up more one after the other than the others ever do.

    Rounding errors of a sum grow with its length.
    """
    return depth > found.parts * found.cut.slices * CHUNK * 8


def _is_whole(problem: Problem, a: Lying, b: Lying) -> bool:
    """Whether the ladder's tiles come out even, in rows that begin at multiples of 16 bytes."""
    edge = ladder.SMALL.rows
    even = not (problem.rows % edge or problem.cols % edge or problem.depth % ladder.SMALL.depth)
    return even and a.wide and b.wide


def _ladder_suffices(problem: Problem, found: Estimate, processors: int) -> bool:
    """Whether the kernels that were tuned for large results cost no more than the cut found.

    They make whole tiles of 128x128, or of 64x64 where those would be too few, and never cut the
    depth over blocks.
    """
    large, small = ladder.FASTEST, ladder.SMALL
    if -(-problem.rows // large.rows) * -(-problem.cols // large.cols) > processors:
        return problem.rows >= large.rows and problem.cols >= large.cols
    cost = choosing.estimate(problem, Cut(small.rows, small.cols), 1, processors).cycles
    slices = ladder.SLICED.slices
    if problem.depth % (small.depth * slices) == 0:
        cost = cost / slices + choosing.BEGIN
    return cost <= found.cycles


def _laid(out: Lying, a: Lying, b: Lying, depth: int) -> Laid:
    shape = out.layout.rows, out.layout.cols, depth
    return Laid(*shape, a.columns, b.columns, a.wide, b.wide, out.wide)


def _small(out: Lying, a: Lying, b: Lying, depth: int, processors: int) -> Plan | None:
    """The launch of a small, shallow or narrow product; None of another, or if it costs more."""
    laid = _laid(out, a, b, depth)
    if not choosing_small.suits(laid):
        return None
    offer = small_choice.cheapest(laid, processors)
    problem = Problem(laid.rows, laid.cols, depth)
    sides = Side(not a.columns, a.wide), Side(b.columns, b.wide)
    tiles = unguarded.best_offer(problem, *sides, processors)
    guarded = choosing.choose(problem, processors)
    if choosing_small.elsewhere(guarded, tiles, depth, processors) < offer.cycles:
        return None
    return small_choice.plan_of(offer, laid)


def _unguarded(offer: Offer, a: Lying, b: Lying, count: int) -> Plan:
    """Tiles without guards, shared by blocks that stay, or one for each block."""
    cut, tile, block = offer.cut, (offer.cut.rows, offer.cut.cols), (offer.cut.threads, 1)
    sides = a.columns, b.columns, a.wide, b.wide
    if offer.shared:
        kernel, grid = matmul_balanced_of(cut, *sides, offer.short, offer.teams), (offer.blocks, 1)
        sums, flags = offer.sums, offer.blocks + 1
        return Plan(
            kernel, "matmul_balanced", grid, block, tile, scaled=True, sums=sums, flags=flags
        )
    batched = count > 1
    kernel = matmul_inside_of(cut, *sides, batched, offer.short)
    wide = (offer.tiles, 1, count) if batched else (offer.tiles, 1)
    return Plan(kernel, "matmul_inside", wide, block, tile, scaled=True)


def _guarded(found: Estimate, out: Lying, a: Lying, b: Lying, count: int) -> Plan:
    """A cut, for these layouts."""
    cut, batched = found.cut, count > 1
    kernel = matmul_guarded_of(cut, a.columns, b.columns, a.wide, b.wide, out.wide, batched)
    grid = (found.tiles, found.parts, count) if batched else (found.tiles, found.parts)
    shared = found.parts > 1
    return Plan(
        kernel,
        "matmul_guarded",
        grid,
        (cut.threads, 1),
        (cut.rows, cut.cols),
        scaled=True,
        sums=found.tiles * found.parts * count * cut.rows * cut.cols if shared else 1,
        flags=found.tiles * count if shared else 1,
    )


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
        shown = [_Shown(one, moved_as(4)) for one in (out, a, b)]
        fit = ladder.fastest(shown[0], shown[1], shown[2], processors)
        tile = fit.rung.tile if fit.rung else (-(-out.rows // fit.grid[1]), 1)
        name, launch = fit.kernel.__name__, (fit.grid, fit.block)
        return Plan(fit.kernel, name, *launch, tile, scaled=True, sums=fit.sums, flags=fit.flags)
    if rung is None:
        # The choice for a GPU is laid out for it: the engine takes 4.5 s for 512 cubed where these
        # take 0.3 and 0.5 s, and 1.0 s for 128 cubed in place of 0.01 and 0.08 s.
        rung = "matmul_tiled_32" if plain else "matmul_square"
    chosen = _known(rung, ladder.LADDER)
    if not (chosen.scaled or plain):
        scaled = ", ".join(one.name for one in ladder.LADDER if one.scaled)
        raise LaunchRefused(f"rung {chosen.name} takes no alpha and beta. These do: {scaled}")
    if chosen.aligned > 1:
        _check_rows(chosen, ("a", a, 4), ("b", b, 4), ("out", out, 4))
    _check_whole_tiles(chosen, out, a.cols)
    grid = chosen.grid(out.rows, out.cols)
    # The first rungs index by strides; who times a rung means it as Numba launches it
    block, tile = chosen.block, chosen.tile
    return Plan(chosen.kernel, chosen.name, grid, block, tile, chosen.scaled, typed="C")


def _check_whole_tiles(rung: Rung, out: Layout, depth: int) -> None:
    if not rung.whole(out.rows, out.cols, depth):
        high, wide = rung.tile
        raise LaunchRefused(
            f"rung {rung.name} makes whole tiles: rows in multiples of {high}, columns of {wide}, a"
            f" depth in multiples of {rung.depth}, at least one; asked for are {out.rows} x"
            f" {out.cols} of depth {depth}. Leave `rung` out for a kernel that fits any shape"
        )
