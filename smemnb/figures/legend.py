"""What stands around a drawing: its title and the key of its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .sheet import FAINT, SMALLEST, Sheet, shortened, width_of

__all__ = ["Key", "heading", "legend"]

SAMPLE, GAP = 12, 18  # pixels: a colour's box, and between two entries


class Key(NamedTuple):
    """One colour, or a hatch in it, and what it stands for."""

    words: str
    fill: str = "none"
    edge: str = "none"
    hatch: str | None = None


def heading(sheet: Sheet, x: float, title: str, more: str = "") -> None:
    """A title at the top of a sheet, and a line below it; of both what fits into its width.

    A title that ends with its place, as in "line 3, load a[i]: block 0, warp 1", keeps the place.
    """
    room = sheet.width - x - 12
    access, colon, place = title.rpartition(": block ")
    place = f"{colon}{place}" if colon else ""
    access = access if colon else title
    left = room - width_of(place, 13, bold=True)
    said = shortened(access, left, 13, bold=True) + place
    sheet.write(x, 20, said, size=13, bold=True, align="left")
    if more:
        sheet.write(x, 40, shortened(more, room), align="left")


def legend(sheet: Sheet, x: float, y: float, keys: Sequence[Key]) -> None:
    """Samples of colours with their words, from x to the right."""
    for key in keys:
        box = (x, y - SAMPLE / 2, SAMPLE, SAMPLE)
        sheet.box(*box, fill=key.fill, edge=key.edge, hatch=key.hatch)
        sheet.write(x + SAMPLE + 5, y, key.words, colour=FAINT, align="left")
        x += SAMPLE + 5 + width_of(key.words, SMALLEST) + GAP
