"""Asynchronous copies of 4, 8 and 16 bytes: where they store, what they read, which lanes copy.

Launches of one warp, so that the hardware's own counters are exact: requests of both memories, and
sectors. Copies past L1 and through it, all lanes or some, lanes that only put zeros. Wavefronts of
copies have no counter of their own: `laboratory.copies_probe` reads them from that of all, and
`rules.async_copy` is the rule that came of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, uint32

from ...kernels.ptx.asynchronous import (
    await_copies,
    copy4,
    copy8,
    copy16,
    copy16_ca,
    copy16_first,
)
from ...measure.verify.case import Case, empty, numbers

WORDS = 2048
_LANES = np.arange(32)
ALL = np.ones(32, np.int32)


def _copied_at(copy: Any, words: int, name: str) -> Any:
    """A kernel whose lanes copy `words` words each, to places and from places that are given."""

    @cuda.jit
    def copied_at(out, inp, place, source, active, present):
        tile = cuda.shared.array(WORDS, uint32, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        for at in range(tx, WORDS, cuda.blockDim.x):
            tile[at] = uint32(0)
        cuda.syncthreads()  # no one copies before the tile is empty
        if active[tx] != 0:
            to, at = uint32(place[tx] * words), uint32(source[tx] * words)
            copy(tile, to, inp, at, present[tx] != 0)
        await_copies()
        cuda.syncthreads()  # everyone's copies are there
        for at in range(tx, WORDS, cuda.blockDim.x):
            out[at] = tile[at]

    copied_at.py_func.__name__ = copied_at.__name__ = name
    return copied_at


@cuda.jit
def copy16_first_at(out, inp, place, source, active, present):
    """Lanes copy 16 bytes, of which `present` words are read."""
    tile = cuda.shared.array(WORDS, uint32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    for at in range(tx, WORDS, cuda.blockDim.x):
        tile[at] = uint32(0)
    cuda.syncthreads()  # no one copies before the tile is empty
    if active[tx] != 0:
        copy16_first(tile, uint32(place[tx] * 4), inp, uint32(source[tx] * 4), present[tx])
    await_copies()
    cuda.syncthreads()  # everyone's copies are there
    for at in range(tx, WORDS, cuda.blockDim.x):
        out[at] = tile[at]


copy4_at = _copied_at(copy4, 1, "copy4_at")
copy8_at = _copied_at(copy8, 2, "copy8_at")
copy16_at = _copied_at(copy16, 4, "copy16_at")
copy16_ca_at = _copied_at(copy16_ca, 4, "copy16_ca_at")

HALF = (_LANES < 16).astype(np.int32)
PATTERNS = {  # places in the tile, places in the array, lanes that copy, lanes that read
    "neighbours": (_LANES, _LANES, ALL, ALL),
    "every second": (_LANES * 2, _LANES, ALL, ALL),
    "every eighth": (_LANES * 8, _LANES, ALL, ALL),
    "padded rows of 8": (_LANES % 8 * 9 + _LANES // 8 * 80, _LANES, ALL, ALL),
    "swizzled columns": (_LANES * 8 + (_LANES ^ (_LANES >> 3)) % 8, _LANES, ALL, ALL),
    "scattered": (_LANES * 37 % 101, _LANES, ALL, ALL),
    "reversed": (31 - _LANES, _LANES, ALL, ALL),
    "from every eighth": (_LANES, _LANES * 8, ALL, ALL),
    "from one": (_LANES, np.zeros(32), ALL, ALL),
    "first half": (_LANES, _LANES, HALF, ALL),
    "odd lanes": (_LANES * 3, _LANES, _LANES % 2, ALL),
    "one lane": (_LANES, _LANES, (_LANES == 7).astype(np.int32), ALL),
    "half are zeros": (_LANES, _LANES, ALL, HALF),
    "every second is zeros": (_LANES * 2, _LANES, ALL, _LANES % 2),
    "all are zeros": (_LANES, _LANES, ALL, 0 * ALL),
}
_FIRST = {
    "whole": 4 * ALL,
    "one to four": _LANES % 4 + 1,
    "none to three": _LANES % 4,
    "none in half": 2 * HALF,
}


def _case(kernel: Any, said: str, pattern: Any) -> Case:
    place, source, active, present = (np.asarray(one).astype(np.int32) for one in pattern)

    def make(random: np.random.Generator) -> tuple[Any, ...]:
        data = numbers(random, WORDS, dtype=np.uint32)
        return empty(WORDS, dtype=np.uint32), data, place, source, active, present

    return Case(f"{kernel.__name__} {said}", kernel, (1,), (32,), make)


CASES = (
    *(
        _case(kernel, said, pattern)
        for kernel in (copy4_at, copy8_at, copy16_at)
        for said, pattern in PATTERNS.items()
    ),
    *(
        _case(copy16_ca_at, said, PATTERNS[said])
        for said in ("neighbours", "every second", "swizzled columns", "half are zeros")
    ),
    *(_case(copy16_first_at, said, (_LANES, _LANES, ALL, first)) for said, first in _FIRST.items()),
)
