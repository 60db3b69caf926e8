"""One shared-memory request laid out over the 32 banks: which word each lane asks for, and where.

`bank = (address // 4) % 32`; the n-way and the wavefronts are those of `smemnb.rules.bank`.
`smemnb.figures.bank_map(trace.bank_map(line))` draws it. Taught in `14_banks`.

**Limits**: one request of the model; 8 or 16 bytes per lane go in phases, so that two words of one
bank need not meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...rules import bank
from ..model import AccessRow, Dim3, WorstRequest


@dataclass(frozen=True, repr=False)
class BankMap:
    """The worst request of a line: 32 byte addresses, the active lanes, bytes per lane, kind."""

    address: tuple[int, ...]
    active: tuple[bool, ...]
    width: int
    kind: str
    access: str
    line: int
    block: Dim3
    warp: int

    @classmethod
    def of(cls, row: AccessRow, worst: WorstRequest) -> BankMap:
        """The worst request of a row."""
        return cls(
            address=worst.address,
            active=worst.active,
            width=row.width,
            kind=row.rule,
            access=row.access,
            line=row.line,
            block=worst.block,
            warp=worst.warp,
        )

    @property
    def banks(self) -> tuple[int | None, ...]:
        """The bank of each lane's first word, None for an inactive lane."""
        numbers = bank.bank_of(np.array(self.address, dtype=np.int64))
        return tuple(int(n) if on else None for n, on in zip(numbers, self.active, strict=True))

    @property
    def words(self) -> tuple[int, ...]:
        """How many distinct words the request wants from each of the 32 banks."""
        wanted = {
            word
            for start, on in zip(self.address, self.active, strict=True)
            if on
            for word in range(start // 4, (start + self.width - 1) // 4 + 1)
        }
        numbers = bank.bank_of(4 * np.array(sorted(wanted), dtype=np.int64))
        return tuple(int(n) for n in np.bincount(numbers, minlength=32))

    @property
    def wavefronts(self) -> int:
        """Wavefronts of this request, in the model."""
        return int(self._counts.wavefronts)

    @property
    def ways(self) -> int:
        """The n-way of this request, in the model."""
        return int(self._counts.ways)

    def __repr__(self) -> str:
        block = "(" + ", ".join(map(str, self.block)) + ")"
        noun = "wavefront" if self.wavefronts == 1 else "wavefronts"
        return (
            f"line {self.line}, {self.access}: block {block}, warp {self.warp}: "
            f"{self.ways}-way, {self.wavefronts} {noun} (model)\n"
            f"distinct words per bank: {spread(self.words)}"
        )

    @property
    def _counts(self) -> bank.Counts:
        address = np.array(self.address, dtype=np.int64)
        active = np.array(self.active, dtype=np.bool_)
        return bank.measure(address, width=self.width, active=active, kind=self.kind)


def spread(counts: tuple[int, ...]) -> str:
    """Which banks have which count, the highest first.

    >>> spread((2, 0) * 16), spread((32,) + (0,) * 31), spread((1,) * 32)
    ('2 in banks 0, 2, ..., 30', '32 in bank 0', '1 in banks 0-31')
    """
    said = []
    for count in sorted(set(counts) - {0}, reverse=True):
        said.append(f"{count} in {_named([b for b, n in enumerate(counts) if n == count])}")
    return "; ".join(said)


def _named(banks: list[int]) -> str:
    if len(banks) == 1:
        return f"bank {banks[0]}"
    steps = {after - before for before, after in pairwise(banks)}
    if steps == {1}:
        return f"banks {banks[0]}-{banks[-1]}"
    if len(steps) == 1 and len(banks) > 4:
        return f"banks {banks[0]}, {banks[1]}, ..., {banks[-1]}"
    return f"banks {', '.join(map(str, banks))}"
