"""Bars made of characters, which stay where a page loses its styles, beside their numbers."""

from __future__ import annotations

from .colours import EXTRA, FEWEST

LONGEST = 8
"""Characters of the longest bar of a memory."""
FEWEST_MARK, EXTRA_MARK = "█", "▓"
MARK = f'<span aria-hidden="true" style="color:{EXTRA}">{EXTRA_MARK}</span>'
"""The second pattern, as HTML."""


def bar(count: int, extra: int, most: int) -> str:
    """A bar for `count`, `extra` of it in the second pattern, where `most` has the whole length.

    A part that is not 0 has at least one character.

    >>> bar(2048, 1984, 2048), bar(64, 0, 2048), bar(96, 32, 96), bar(0, 0, 0)
    ('█▓▓▓▓▓▓▓', '█', '█████▓▓▓', '')
    """
    if not count:
        return ""
    length = max(1 + (0 < extra < count), round(LONGEST * count / most))
    second = round(length * extra / count)
    if 0 < extra < count:
        second = min(max(second, 1), length - 1)
    return FEWEST_MARK * (length - second) + EXTRA_MARK * second


def drawn(count: int, extra: int, most: int) -> str:
    """The bar in its colours, as HTML; a screen reader reads the numbers beside it."""
    whole = bar(count, extra, most)
    fewest, second = whole.count(FEWEST_MARK), whole.count(EXTRA_MARK)
    parts = [(FEWEST, FEWEST_MARK * fewest), (EXTRA, EXTRA_MARK * second)]
    return "".join(
        f'<span aria-hidden="true" style="color:{colour}">{mark}</span>'
        for colour, mark in parts
        if mark
    )
