"""Room for deep expressions: 250 operators or branches in a row are 250 closures deep.

Numba compiles bytecode, which is flat; the engine goes down the syntax tree, by some ten calls of
Python for each level. What Python's own compiler takes must fit. Python keeps the frames of such
calls on the heap, so a larger limit costs nothing until it is used.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 40_000
"""Calls of Python; its compiler goes about 3,000 levels deep."""

_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def deep_enough() -> Iterator[None]:
    """Raise Python's limit of recursion while this holds, in any of several threads."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, DEEPEST))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_before)
