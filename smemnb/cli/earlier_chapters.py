"""Chapters of earlier versions: what took their place, and what becomes of a learner's copies.

A chapter that is no longer in the workbook stays in a learner's folder when someone worked in it:
its checks go on working, because exercise names are frozen. A copy that is as it was laid out is
taken away, so that the folder does not fill with twins.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .copied_pages import CopiedPages

TOOK_ITS_PLACE = {
    "00_start_here.ipynb": ("10_threads.ipynb", "11_sectors.ipynb"),
    "01_shared_memory.ipynb": ("12_shared_memory.ipynb", "13_races.ipynb"),
    "02_banks.ipynb": ("14_banks.ipynb", "15_rows_and_columns.ipynb", "16_widths.ipynb"),
    "03_transpose.ipynb": ("20_transpose.ipynb", "21_pad.ipynb"),
    "04_swizzle.ipynb": ("22_swizzle.ipynb", "23_layouts.ipynb"),
    "04b_checkpoint.ipynb": ("24_checkpoint.ipynb",),
    "05_tiled_matmul.ipynb": ("30_tiles.ipynb", "31_limits.ipynb"),
    "06_register_tiling.ipynb": (
        "32_register_tiles.ipynb",
        "33_turned_tile.ipynb",
        "34_fast_code.ipynb",
    ),
    "07_double_buffering.ipynb": ("35_two_buffers.ipynb", "36_beside_the_library.ipynb"),
    "08_budgets.ipynb": ("40_budgets.ipynb",),
    "08b_checkpoint.ipynb": ("43_checkpoint.ipynb",),
    "09_profiling.ipynb": ("42_profiling.ipynb",),
}
"""Of each chapter that an earlier version had, the chapters of today that teach what it taught, in
the order in which they are read."""


@dataclass(frozen=True)
class Earlier:
    """Earlier chapters in a learner's folder.

    Attributes:
        kept: pages in which someone worked; they are as they were.
        taken_away: pages that were as smemnb had laid them out.
    """

    kept: tuple[str, ...]
    taken_away: tuple[str, ...]


def clear_earlier(folder: Path, record: CopiedPages) -> Earlier:
    """Take away earlier chapters in which nobody worked.

    Args:
        folder: the learner's.
        record: what smemnb wrote into it.
    """
    kept: list[str] = []
    taken_away: list[str] = []
    for name in earlier_in(folder):
        page = folder / name
        if record.is_untouched(page, name):
            page.unlink()
            taken_away.append(name)
        else:
            kept.append(name)
    return Earlier(tuple(kept), tuple(taken_away))


def earlier_in(folder: Path) -> tuple[str, ...]:
    """Names of the earlier chapters in a learner's folder whose successors are there, too."""
    return tuple(
        name
        for name, successors in TOOK_ITS_PLACE.items()
        if all((folder / one).exists() for one in (name, *successors))
    )
