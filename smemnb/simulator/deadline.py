"""The time by which all launches of this process have to end, where somebody set one.

A launch that is traced has a limit of its own (`patience_s`); a program launches more kernels than
the one that is looked at. Inside `launches_end_within(seconds)` the clock of every launch in the
engine gets what is left of the seconds. **Limits**: a launch on a GPU cannot be stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_end: float | None = None  # of time.monotonic()


@contextmanager
def launches_end_within(seconds: float) -> Iterator[None]:
    """Give all launches of the block `seconds` together, and no more than a block around it."""
    global _end
    before, end = _end, time.monotonic() + seconds
    _end = end if before is None else min(before, end)
    try:
        yield
    finally:
        _end = before


def patience_left(patience_s: float | None) -> float | None:
    """The patience of a launch that begins now: its own, or what is left where that is less.

    >>> patience_left(None), patience_left(5.0)
    (None, 5.0)
    """
    if _end is None:
        return patience_s
    left = max(0.0, _end - time.monotonic())
    return left if patience_s is None else min(left, patience_s)
