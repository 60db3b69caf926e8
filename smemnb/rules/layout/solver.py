"""Which layout serves all access patterns of a tile: the smallest clean one, with its proof.

Clean means no extra wavefront in any request of any pattern. Tried in this order, so that the first
clean one is the smallest: row-major; the swizzles, which take no byte more (`Xor`, `XorChunks`,
`Rotated`, then every `Swizzle` of up to 5 bits); pads of one element and more. A pitch of 128 bytes
more gives every cell the bank it had, so no pad beyond that can help where none up to it does.

Each layout tried is kept with the reason against it: extra wavefronts, vectors torn apart or off
their grid, rows off the alignment asked for, too many bytes. Taught in `23_layouts`.

**Limits**: one pitch and one rule for the whole tile; counts, not time.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hardware import BANKS, WAVEFRONT_BYTES
from .. import bank
from .patterns import Pattern
from .places import Layout, Padded, Rotated, RowMajor, Swizzle, Xor, XorChunks

__all__ = ["Proof", "Solution", "Tried", "prove", "solve"]

_WIDTH = 74
_SHOWN = 4  # layouts that did not do, in the text


@dataclass(frozen=True)
class Proof:
    """A row of the proof table: one pattern in one layout; `ideal` is the fewest wavefronts."""

    pattern: str
    requests: int
    wavefronts: int
    ideal: int
    ways: int

    @property
    def extra(self) -> int:
        """Extra wavefronts: the conflicts."""
        return self.wavefronts - self.ideal


@dataclass(frozen=True)
class Tried:
    """A layout and why it does not do; "" for one that does."""

    layout: Layout
    reason: str


@dataclass(frozen=True, repr=False)
class Solution:
    """What `solve` found; as text, the proof table and what else was tried.

    Attributes:
        layout: the smallest clean layout, None if there is none.
        swizzle: the first clean swizzle; None if there is none, or row-major is clean.
        pad: the smallest clean pad; None as well.
        proof: a row per pattern for `layout`, or for row-major if there is none.
        tried: every layout looked at, in order.
    """

    layout: Layout | None
    swizzle: Layout | None
    pad: Layout | None
    proof: tuple[Proof, ...]
    tried: tuple[Tried, ...]

    def __repr__(self) -> str:
        if self.layout is None:
            head = [f"none of {len(self.tried)} layouts does; counts of row-major (model)"]
        else:
            head = [f"{self.layout}: {self.layout.bytes:,} bytes, clean (model)"]
        failed = [one for one in self.tried if one.reason]
        said = [f"not {_short(one.layout)}: {one.reason}" for one in failed[:_SHOWN]]
        if len(failed) > _SHOWN:
            said.append(f"nor {len(failed) - _SHOWN} more")
        if self.pad is not None and self.pad is not self.layout:
            said.append(f"smallest clean pad: {_short(self.pad)}, {self.pad.bytes:,} bytes")
        elif self.pad is None and self.swizzle is not None:
            said.append(f"no pad does: {self._pads_tried}")
        return "\n".join([*_wrapped(head), *_table(self.proof), *_wrapped(said)])

    @property
    def _pads_tried(self) -> str:
        """The pads that were looked at: "1 to 32 elements tried"."""
        most = max(one.layout.pad_elems for one in self.tried if isinstance(one.layout, Padded))
        return f"1 to {most} elements tried"


def solve(
    patterns: Sequence[Pattern],
    *,
    shape: tuple[int, int],
    dtype: Any = np.float32,
    align_bytes: int = 1,
    budget_bytes: int | None = None,
) -> Solution:
    """The smallest layout in which no request of these patterns has an extra wavefront.

    >>> from smemnb.rules.layout import pattern
    >>> both = [pattern("store tile[ty, tx]"), pattern("load tile[tx, ty]")]
    >>> solve(both, shape=(32, 32))
    Xor(rows=32, cols=32, itemsize=4): 4,096 bytes, clean (model)
    pattern            requests wavefronts fewest n-way
    store tile[ty, tx]       32         32     32     1
    load tile[tx, ty]        32         32     32     1
    not RowMajor: 32-way in load tile[tx, ty]
    smallest clean pad: Padded, pad_elems=1, 4,224 bytes

    Args:
        patterns: every load and store of the tile, from `pattern`.
        shape: rows and columns of the tile.
        dtype: of its elements, 1, 2, 4, 8 or 16 bytes; NumPy's or Numba's, or its name.
        align_bytes: each row must begin at a multiple of this (16 for cp.async and 16-byte loads).
        budget_bytes: the tile may take no more; None for any size.

    Raises:
        ValueError: no pattern, a cell outside the tile, or a shape or size that no tile has.
    """
    plain = RowMajor(*shape, _itemsize(dtype))
    if align_bytes < 1:
        raise ValueError(f"align_bytes is {align_bytes}; rows begin at multiples of 1 byte or more")
    asked = _Asked(tuple(patterns), align_bytes, budget_bytes)
    asked.refuse_outside(plain)
    tried = [asked.judged(plain)]
    swizzle = pad = None
    if tried[0].reason:
        swizzle = asked.first(_swizzles(plain), tried)
        pad = asked.first(_pads(plain), tried)
    found = swizzle or pad if tried[0].reason else plain
    return Solution(found, swizzle, pad, prove(found or plain, patterns), tuple(tried))


def prove(layout: Layout, patterns: Sequence[Pattern]) -> tuple[Proof, ...]:
    """The proof table of any layout: counts of each pattern, extra wavefronts or not.

    >>> from smemnb.rules.layout import Padded, pattern
    >>> prove(Padded(32, 32), [pattern("load tile[tx, ty]")])[0].extra
    0

    Raises:
        ValueError: a cell outside the tile, or vectors torn apart or off their grid.
    """
    return tuple(_proof(layout, one) for one in patterns)


def _itemsize(dtype: Any) -> int:
    """Bytes of an element; Numba's types say their bits."""
    bits = getattr(dtype, "bitwidth", None)
    return int(bits) // 8 if bits else np.dtype(dtype).itemsize


def _proof(layout: Layout, one: Pattern) -> Proof:
    row, col = (np.where(one.active, cells, 0) for cells in (one.row, one.col))
    address = layout.vectors(row, col, one.vector_elems)
    width = one.vector_elems * layout.itemsize
    counts = bank.measure(address, width=width, active=one.active, kind=one.kind)
    wavefronts, ideal = int(counts.wavefronts.sum()), int(counts.ideal.sum())
    return Proof(one.text, one.requests, wavefronts, ideal, int(counts.ways.max()))


@dataclass(frozen=True)
class _Asked:
    """What a layout has to do."""

    patterns: tuple[Pattern, ...]
    align_bytes: int
    budget_bytes: int | None

    def refuse_outside(self, tile: Layout) -> None:
        """Refuse patterns that no layout of this tile could serve."""
        if not self.patterns:
            raise ValueError("patterns is empty; give every load and store of the tile")
        for one in self.patterns:
            if one.vector_elems * tile.itemsize not in bank.WIDTHS:
                raise ValueError(
                    f'"{one.text}": {one.vector_elems} elements of {tile.itemsize} bytes are no'
                    " access of a lane; it has 1, 2, 4, 8 or 16 bytes"
                )
            last = one.col + one.vector_elems - 1
            for what, low, high, end in (
                ("row", one.row, one.row, tile.rows),
                ("column", one.col, last, tile.cols),
            ):
                outside = one.active & ((low < 0) | (high >= end))
                if outside.any():
                    raise ValueError(
                        f'"{one.text}" touches {what} {high[outside].flat[0]}, outside of this'
                        f" tile: 0 to {end - 1}"
                    )

    def judged(self, layout: Layout) -> Tried:
        """The layout with the first reason against it."""
        pitch = layout.bytes // layout.rows
        if self.budget_bytes is not None and layout.bytes > self.budget_bytes:
            return Tried(layout, f"{layout.bytes:,} bytes; budget {self.budget_bytes:,}")
        if pitch % self.align_bytes:
            return Tried(layout, f"rows of {pitch} bytes; aligned to {self.align_bytes} are wanted")
        for one in self.patterns:
            try:
                proof = _proof(layout, one)
            except ValueError:
                width = one.vector_elems * layout.itemsize
                return Tried(layout, f"{width}-byte vectors of {one.text} torn or off their grid")
            if proof.extra:
                return Tried(layout, f"{proof.ways}-way in {one.text}")
        return Tried(layout, "")

    def first(self, layouts: Iterator[Layout], tried: list[Tried]) -> Layout | None:
        """The first layout that does; all that were looked at are added to `tried`."""
        for layout in layouts:
            tried.append(self.judged(layout))
            if not tried[-1].reason:
                return layout
        return None


def _swizzles(tile: Layout) -> Iterator[Layout]:
    """Layouts as large as the tile, the plain rules first."""
    size = (tile.rows, tile.cols, tile.itemsize)
    for kind in (Xor, XorChunks, Rotated):
        try:
            yield kind(*size)
        except ValueError:  # not for such a width
            continue
    highest = tile.elems.bit_length()
    for bits in range(1, BANKS.bit_length()):
        for base in range(BANKS.bit_length()):
            for shift in range(bits, highest - base):
                if tile.elems % (1 << (base + bits)) == 0:
                    yield Swizzle(*size, bits=bits, base=base, shift=shift)


def _pads(tile: Layout) -> Iterator[Layout]:
    """Pads up to a pitch that is 128 bytes longer, where banks repeat."""
    for pad in range(1, WAVEFRONT_BYTES // tile.itemsize + 1):
        yield Padded(tile.rows, tile.cols, tile.itemsize, pad)


def _short(layout: Layout) -> str:
    """A layout without its size: "Padded, pad_elems=1"."""
    own = [
        f", {name}={value}"
        for name, value in vars(layout).items()
        if name not in ("rows", "cols", "itemsize")
    ]
    return type(layout).__name__ + "".join(own)


def _wrapped(lines: Sequence[str]) -> list[str]:
    """Sentences in lines that a notebook does not break within a word."""
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    ]


def _table(proof: Sequence[Proof]) -> list[str]:
    wide = max(len("pattern"), *(len(row.pattern) for row in proof))
    head = f"{'pattern':<{wide}} requests wavefronts fewest n-way"
    return [
        head,
        *(
            f"{row.pattern:<{wide}} {row.requests:8} {row.wavefronts:10} {row.ideal:6} {row.ways:5}"
            for row in proof
        ),
    ]
