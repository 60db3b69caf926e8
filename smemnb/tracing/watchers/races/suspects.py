"""The cells worth a closer look: several threads touch them, one writes. Mostly there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .touch import Touch

Array = np.ndarray[Any, np.dtype[Any]]


def suspects(writes: Iterable[Touch], reads: Callable[[], Iterable[Touch]], cells: int) -> Any:
    """Per cell, whether a thread writes it that is not the only one to touch it; None if none.

    `reads` is asked only if there are writes.
    """
    writer, several = None, None
    marked: list[Array] = []
    for touch in writes:
        if writer is None:
            kind = touch.thread.dtype
            writer = np.full(cells, -1, kind)
            several = np.zeros(cells, bool)
        else:
            before = writer[touch.cell]
            marked.append(touch.cell[(before >= 0) & (before != touch.thread)])
        writer[touch.cell] = touch.thread
        marked.append(touch.cell[writer[touch.cell] != touch.thread])
    if writer is None or several is None:
        return None
    for touch in reads():
        by = writer[touch.cell]
        marked.append(touch.cell[(by >= 0) & (by != touch.thread)])
    if not any(len(part) for part in marked):
        return None
    several[np.concatenate(marked)] = True
    return several


def plain_beside_atomic(touches: Iterable[Touch], marked: Array) -> Array:
    """The marked cells without those that only atomics touch."""
    plain = np.zeros(len(marked), bool)
    for touch in touches:
        if not touch.atomic:
            plain[touch.cell] = True
    return marked & plain
