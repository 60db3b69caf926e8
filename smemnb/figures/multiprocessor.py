"""`occupancy_map`: the blocks that a multiprocessor holds at once, as boxes in what it has.

A multiprocessor has places for warps, registers, shared memory and places for blocks. Each resident
block takes its share of all four; what is used up first limits the number of blocks, and the rest
of the others stays empty. Occupancy is the share of the places for warps.

Every number is `rules.occupancy`'s. Taught in `40_budgets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..hardware import limits
from ..rules.occupancy import occupancy
from .drawing import Drawing
from .words import counted

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["Budget", "Multiprocessor", "alt", "measure", "occupancy_map", "text"]

WIDTH, LEFT, TOP = 640, 30, 84
ACROSS = 32  # warps side by side
WARP, HIGH = 18, 22  # pixels of a place for a warp
NAMES = {"shared": "shared memory", "places": "places for blocks"}
BAR, ROW = 22, 52  # pixels of a bar, and from one to the next


@dataclass(frozen=True)
class Budget:
    """One thing that a multiprocessor has: `total` of it, `each` for a block."""

    name: str
    total: int
    each: int


@dataclass(frozen=True)
class Multiprocessor:
    """The blocks that it holds; `budgets` are registers, shared bytes and places for blocks.

    `warps` is how many it has places for, `limiters` what allows no further block.
    """

    cc: tuple[int, int]
    threads: int
    blocks: int
    warps_per_block: int
    warps: int
    budgets: tuple[Budget, ...]
    limiters: tuple[str, ...]

    @property
    def owners(self) -> tuple[int | None, ...]:
        """The block of each place for a warp, None where it stays empty."""
        full = self.blocks * self.warps_per_block
        return tuple(
            number // self.warps_per_block if number < full else None
            for number in range(self.warps)
        )


def occupancy_map(
    cc: tuple[int, int] | str | float, threads: int, registers: int, shared_bytes: int = 0
) -> Drawing:
    """Resident blocks in a multiprocessor: warps, registers, shared memory, drawn.

    >>> occupancy_map((9, 0), threads=256, registers=64, shared_bytes=64 * 1024)
    cc 9.0, blocks of 256 threads: 3 blocks, 24 of 64 warps, limited by shared memory
    warps                      24 of      64, 8 per block
    registers              49,152 of  65,536, 16,384 per block
    shared memory         199,680 of 233,472, 66,560 per block (bytes)
    places for blocks           3 of      32, 1 per block
    model

    Args:
        cc: compute capability.
        threads: of a block.
        registers: of a thread.
        shared_bytes: of a block.

    Raises:
        ValueError: an unknown `cc`, or numbers that no launch can have.
    """
    found = measure(cc, threads, registers, shared_bytes)
    return Drawing(text(found), alt(found), WIDTH, lambda: _png(found))


def measure(
    cc: tuple[int, int] | str | float, threads: int, registers: int, shared_bytes: int = 0
) -> Multiprocessor:
    """The same as numbers.

    Raises:
        ValueError: as of `occupancy_map`.
    """
    held, most = occupancy(cc, threads, registers, shared_bytes), limits(cc)
    return Multiprocessor(
        held.cc,
        threads,
        held.blocks,
        held.warps_per_block,
        most.warps_per_sm,
        (
            Budget(
                "registers",
                most.registers_per_sm,
                held.registers_per_warp * held.warps_per_block,
            ),
            Budget("shared memory", most.shared_per_sm, held.shared_per_block),
            Budget("places for blocks", most.blocks_per_sm, 1),
        ),
        tuple(NAMES.get(name, name) for name in held.limiters),
    )


def text(found: Multiprocessor) -> str:
    """The numbers of the map."""
    said = [_title(found)]
    warps = Budget("warps", found.warps, found.warps_per_block)
    for budget in (warps, *found.budgets):
        used = found.blocks * budget.each
        more = " (bytes)" if budget.name == "shared memory" else ""
        said.append(
            f"{budget.name:18}{used:>11,} of {budget.total:>7,}, {budget.each:,} per block{more}"
        )
    return "\n".join([*said, "model"])


def alt(found: Multiprocessor) -> str:
    """One sentence for those who do not see the map."""
    used = ", ".join(
        f"{found.blocks * one.each:,} of {one.total:,} {_unit(one.name)}" for one in found.budgets
    )
    return f"Blocks in a multiprocessor of {_title(found)}; taken are {used}."


def _unit(name: str) -> str:
    return "bytes of shared memory" if name == "shared memory" else name


def _title(found: Multiprocessor) -> str:
    taken = found.blocks * found.warps_per_block
    by = " and ".join(found.limiters)
    return (
        f"cc {found.cc[0]}.{found.cc[1]}, blocks of {counted(found.threads, 'thread')}:"
        f" {counted(found.blocks, 'block')}, {taken} of {found.warps} warps, limited by {by}"
    )


def _png(found: Multiprocessor) -> bytes:
    from .legend import heading
    from .sheet import ACCENT, FAINT, painted

    rows = -(-found.warps // ACROSS)
    bars = TOP + rows * HIGH + 44

    def paint(sheet: Sheet) -> None:
        title, _, more = _title(found).partition(": ")
        heading(sheet, LEFT, title, f"{more} (model)")
        full = "warps" in found.limiters
        said = "places for warps, by block" + ("; no room for one block more" if full else "")
        sheet.write(LEFT, TOP - 13, said, colour=ACCENT if full else FAINT, align="left")
        _paint_warps(sheet, found)
        for number, budget in enumerate(found.budgets):
            _paint_budget(sheet, found, budget, bars + number * ROW)

    return painted(WIDTH, bars + ROW * len(found.budgets), paint)


def _colour(found: Multiprocessor, block: int) -> str:
    from .sheet import shade

    return shade(block, max(2, found.blocks))


def _paint_warps(sheet: Sheet, found: Multiprocessor) -> None:
    from .sheet import EMPTY, GRID, GROUND, ink_on

    for number, block in enumerate(found.owners):
        row, col = divmod(number, ACROSS)
        box = (LEFT + col * WARP, TOP + row * HIGH, WARP, HIGH)
        if block is None:
            sheet.box(*box, fill=EMPTY, edge=GRID)
            continue
        fill = _colour(found, block)
        sheet.box(*box, fill=fill, edge=GROUND)
        middle = LEFT + (col + 0.5) * WARP, TOP + (row + 0.5) * HIGH
        sheet.write(*middle, str(block), colour=ink_on(fill))


def _paint_budget(sheet: Sheet, found: Multiprocessor, budget: Budget, y: float) -> None:
    from .sheet import ACCENT, EMPTY, FAINT, GROUND, INK

    wide = ACROSS * WARP
    limits_blocks = budget.name in found.limiters
    used = found.blocks * budget.each
    said = f"{_unit(budget.name)}: {used:,} of {budget.total:,}"
    said += "; no room for one block more" if limits_blocks else ""
    colour = ACCENT if limits_blocks else INK
    sheet.write(LEFT, y - 12, said, colour=colour, align="left")
    sheet.box(LEFT, y, wide, BAR, fill=EMPTY)
    for block in range(found.blocks):
        share = budget.each / budget.total * wide
        if share:
            box = (LEFT + block * share, y, share, BAR)
            sheet.box(*box, fill=_colour(found, block), edge=GROUND, thick=0.8)
    ends = [(LEFT, y, LEFT + wide, y), (LEFT, y + BAR, LEFT + wide, y + BAR)]
    ends += [(LEFT, y, LEFT, y + BAR), (LEFT + wide, y, LEFT + wide, y + BAR)]
    sheet.lines(ends, colour=ACCENT if limits_blocks else FAINT, thick=1.2)
