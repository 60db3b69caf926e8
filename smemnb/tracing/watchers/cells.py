"""Cells of an array for watchers that look at single cells: pieces of `grain` bytes.

A grain is an element as long as all accesses are of whole elements. Once a narrower piece is
touched (a field of a record, a view of another dtype, one half of a complex number) the cells
become as narrow.
"""

from __future__ import annotations

import math

import numpy as np

from ...lockstep.watch import ArrayInfo


def cell_count(array: ArrayInfo, grain: int) -> int:
    """How many cells of `grain` bytes the memory of an array has."""
    memory = array.memory
    return -(-math.prod(memory.shape) * memory.itemsize // grain)


def cell_index(array: ArrayInfo, cell: int, grain: int) -> tuple[int, ...]:
    """The index of the element in which a cell lies."""
    element = min(cell * grain // array.itemsize, max(math.prod(array.shape) - 1, 0))
    return tuple(int(i) for i in np.unravel_index(element, array.shape))
