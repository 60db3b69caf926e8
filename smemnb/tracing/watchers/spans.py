"""Which threads touch each cell, in short: the lowest and the highest of all, and of the writers.

Enough to say whether two sets of accesses meet: whether some cell is touched by a thread of each
that are not the same, one of them writing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
NOBODY = np.iinfo(np.int64).max
BLOCK = 42  # bits of a cell's number below that of its block


@dataclass
class Spans:
    """Cells of `grain` bytes, ascending, with the threads that touch them.

    `low` and `high` have two rows, of all touches and of the writes; `high` is -1 for none. With
    `blocks` 1 the first block stands for all.
    """

    grain: int
    blocks: int
    cell: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, touches: list[tuple[Array, Array, bool]], grain: int, blocks: int) -> Spans:
        """The spans of touches: cells, their threads, and whether they write."""
        cell = np.unique(np.concatenate([cell for cell, _, _ in touches]))
        low, high = np.full((2, len(cell)), NOBODY), np.full((2, len(cell)), -1)
        for touched, thread, write in touches:
            place = np.searchsorted(cell, touched)
            for row in (0, 1) if write else (0,):
                np.minimum.at(low[row], place, thread)
                np.maximum.at(high[row], place, thread)
        return cls(grain, blocks, cell, low, high)

    def spread(self, grain: int, blocks: int) -> Spans:
        """The same in cells of `grain` bytes, for `blocks` blocks."""
        spans, per = self, self.grain // grain
        if per > 1:
            block = self.cell >> BLOCK << BLOCK
            cell = (block + (self.cell - block) * per)[:, None] + np.arange(per)
            spans = self._repeated(cell.reshape(-1), grain, np.repeat, per)
        if blocks > spans.blocks:
            cell = spans.cell + (np.arange(blocks)[:, None] << BLOCK)
            spans = spans._repeated(cell.reshape(-1), grain, np.tile, (1, blocks))
            spans.blocks = blocks
        return spans

    def _repeated(self, cell: Array, grain: int, repeat: Any, times: Any) -> Spans:
        axis = {"axis": 1} if repeat is np.repeat else {}
        low, high = repeat(self.low, times, **axis), repeat(self.high, times, **axis)
        return Spans(grain, self.blocks, cell, low, high)

    def joined(self, other: Spans) -> Spans:
        """The spans of both; they have the same grain and blocks."""
        cell = np.union1d(self.cell, other.cell)
        low, high = np.full((2, len(cell)), NOBODY), np.full((2, len(cell)), -1)
        for one in (self, other):
            place = np.searchsorted(cell, one.cell)
            low[:, place] = np.minimum(low[:, place], one.low)
            high[:, place] = np.maximum(high[:, place], one.high)
        return Spans(self.grain, self.blocks, cell, low, high)

    def meets(self, other: Spans) -> bool:
        """Whether some cell has a thread of each, not the same one, and one writes."""
        _, mine, their = np.intersect1d(
            self.cell, other.cell, assume_unique=True, return_indices=True
        )
        for one, two in ((1, 0), (0, 1)):
            low, high = self.low[one, mine], self.high[one, mine]
            least, most = other.low[two, their], other.high[two, their]
            alone = (low == high) & (least == most) & (low == least)
            if ((high >= 0) & (most >= 0) & ~alone).any():
                return True
        return False


class History:
    """Spans of what came so far, in pieces whose sizes at least double.

    So each cell is joined a few times only, however many pieces are added.
    """

    def __init__(self) -> None:
        self._pieces: list[Spans] = []

    def add(self, spans: Spans) -> None:
        """Add what came next."""
        pieces = self._pieces
        pieces.append(spans)
        while len(pieces) > 1 and len(pieces[-2].cell) <= 2 * len(pieces[-1].cell):
            grain, blocks = _common(pieces[-2:])
            one, other = (piece.spread(grain, blocks) for piece in pieces[-2:])
            pieces[-2:] = [one.joined(other)]

    def meets(self, now: Spans) -> bool:
        """Whether anything that came so far meets this."""
        grain, blocks = _common([*self._pieces, now])
        self._pieces = [piece.spread(grain, blocks) for piece in self._pieces]
        now = now.spread(grain, blocks)
        return any(piece.meets(now) for piece in self._pieces)


def _common(pieces: Iterable[Spans]) -> tuple[int, int]:
    kept = list(pieces)
    grain = int(np.gcd.reduce([one.grain for one in kept]))
    return grain, max(one.blocks for one in kept)
