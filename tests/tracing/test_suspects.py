"""Which cells the race check looks at twice: few, so that most launches pass fast."""

from types import SimpleNamespace

import numpy as np

from smemnb.tracing.watchers.races.suspects import plain_beside_atomic, suspects


def touch(cells, thread, *, atomic=False):
    cell = np.array(cells)
    return SimpleNamespace(cell=cell, thread=np.full(len(cell), thread), atomic=atomic)


def test_cells_of_several_threads():
    """Thread 0 writes cells 0 to 3; 1 is written again, 2 read by another, 3 read by its writer."""
    writes = [touch([0, 1, 2, 3], 0), touch([1], 1)]
    found = suspects(writes, lambda: [touch([2], 1), touch([3], 0)], 5)
    assert found.tolist() == [False, True, True, False, False]


def test_only_atomics_touch_it():
    """Of the marked cells 0, 1 and 3, an access that is not atomic touches 1; 2 is not marked."""
    marked = np.array([True, True, False, True])
    touches = [touch([0, 1, 3], 0, atomic=True), touch([1, 2], 1)]
    assert plain_beside_atomic(touches, marked).tolist() == [False, True, False, False]
