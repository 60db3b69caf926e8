"""What a seed decides of fresh cases: the same on every machine, with every Python and NumPy.

A seed is a whole number. `seed_of` makes it of a kernel's text, so that a notebook says the same of
the same kernel; whoever grades a class brings one of their own.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TypeVar

Choice = TypeVar("Choice")

MOST = 10**6
"""Seeds of kernels are below it: a number that can be read and typed."""


class Draw:
    """Sizes, choices and seeds of numbers, each drawn anew from one seed.

    Args:
        seed: decides all of them.
        purpose: what they are drawn for; others get other ones of the same seed.

    >>> draw = Draw(7, "ex00_scale")
    >>> draw.size(2, 2000), draw.one_of(32, 64, 96)
    (65, 96)
    """

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed, self._purpose, self._drawn = seed, purpose, 0

    def size(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self._below(high - low + 1)

    def one_of(self, *choices: Choice) -> Choice:
        """One of several things."""
        return choices[self._below(len(choices))]

    def numbers(self) -> int:
        """A seed for `scattered`, far from those of the published cases."""
        return self.size(10**6, 2**31)

    def _below(self, count: int) -> int:
        self._drawn += 1
        drawn = sha256(f"{self._seed} {self._purpose} {self._drawn}".encode()).digest()
        return int.from_bytes(drawn[:16], "big") % count


def seed_of(text: str) -> int:
    """The seed that a kernel's text makes; spaces at the ends of its lines do not count.

    >>> seed_of("out[i] = 2 * inp[i]")
    192667
    """
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return int.from_bytes(sha256(lines.encode("utf-8", "replace")).digest()[:8], "big") % MOST
