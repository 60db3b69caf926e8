"""The rungs of row normalisation in order, with their launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..step import Launch, New, Step
from .rungs import (
    layer_norm_wide,
    log_softmax_wide,
    rms_norm_wide,
    softmax_block,
    softmax_held,
    softmax_joined,
    softmax_naive,
    softmax_online,
    softmax_packed,
    softmax_shuffled,
    softmax_split,
    softmax_staged,
    softmax_trailing,
    softmax_warps,
    softmax_wide,
)

MOST_ROWS = 65_535
"""Rows that a grid of (parts, rows) covers."""

MOST_PARTS = 132 * softmax_joined.RESIDENT
"""Blocks that a GPU of 132 multiprocessors holds at once: parts of a row in `softmax_joined`."""

Launches = Callable[..., list[Launch]]
Fits = Callable[..., bool]


def _rows_of(module: Any, kernel: Any, rows: int) -> Launches:
    """Blocks that take so many rows each."""

    def launches(new: New, out: Any, inp: Any, *more: Any) -> list[Launch]:
        blocks = max(1, -(-inp.shape[0] // rows))
        return [Launch(kernel, blocks, module.THREADS, (out, inp, *more))]

    return launches


def _at_most(module: Any) -> Fits:
    return lambda out, inp, *more: bool(inp.shape[1] <= module.MOST)


def quads(*arrays: Any) -> bool:
    """Whether rows are whole pieces of 16 bytes that begin at multiples of 16 bytes."""
    for array in arrays:
        if not getattr(array, "ndim", 0):
            continue
        row = array.strides[0] if array.ndim > 1 and array.shape[0] > 1 else 0
        if array.shape[-1] * array.dtype.itemsize % 16 or row % 16 or _address(array) % 16:
            return False
    return True


def _address(array: Any) -> int:
    if hasattr(array, "beyond"):
        return int(array.beyond)
    shown = getattr(array, "__cuda_array_interface__", None)
    return int(shown["data"][0]) if shown else 0


def _wide(module: Any) -> Fits:
    return lambda out, inp, *more: bool(inp.shape[1] <= module.MOST) and quads(out, inp, *more)


def _parts(inp: Any) -> int:
    return int(max(1, -(-inp.shape[1] // softmax_split.PART)))


def _split(new: New, out: Any, inp: Any) -> list[Launch]:
    parts, rows = _parts(inp), inp.shape[0]
    tops, sums = new((rows * parts,), inp.dtype), new((rows * parts,), inp.dtype)
    module, grid = softmax_split, (parts, rows)
    return [
        Launch(module.softmax_parts, grid, module.THREADS, (tops, sums, inp)),
        Launch(module.softmax_split, grid, module.THREADS, (out, inp, tops, sums)),
    ]


def _joined(new: New, out: Any, inp: Any) -> list[Launch]:
    parts, rows = _parts(inp), inp.shape[0]
    tops, sums = new((rows * parts,), inp.dtype), new((rows * parts,), inp.dtype)
    flags = new((1 + 2 * rows,), np.dtype(np.uint32))
    module = softmax_joined
    return [
        Launch(module.softmax_joined, (parts, rows), module.THREADS, (out, inp, tops, sums, flags))
    ]


def _trailing(new: New, out: Any, inp: Any) -> list[Launch]:
    parts, rows = _parts(inp), inp.shape[0]
    tops, sums = new((rows * parts,), inp.dtype), new((rows * parts,), inp.dtype)
    flags = new((1 + 2 * rows,), np.dtype(np.uint32))
    module, late = softmax_trailing, behind(rows, parts, MOST_PARTS)
    args = (out, inp, tops, sums, flags, np.uint32(late))
    return [Launch(module.softmax_trailing, (parts, rows + late), module.THREADS, args)]


def behind(rows: int, parts: int, resident: int) -> int:
    """How many rows a block of `softmax_trailing` ends later than it begins.

    So many that the blocks which a GPU holds at once, and the parts of one row more, lie between:
    whoever is waited for has mostly ended by then, and nobody has to wait.

    >>> behind(1000, 13, 528), behind(20, 13, 528), behind(16, 512, 528)
    (42, 20, 3)
    """
    return int(min(rows, 1 + -(-resident // parts)))


def _fits_trailing(out: Any, inp: Any) -> bool:
    return inp.shape[0] <= MOST_ROWS // 2 and quads(out, inp)


def _fits_split(out: Any, inp: Any) -> bool:
    return inp.shape[0] <= MOST_ROWS and quads(out, inp)


def _fits_joined(out: Any, inp: Any) -> bool:
    return _fits_split(out, inp) and _parts(inp) <= MOST_PARTS


def _step(
    module: Any, changed: str, launches: Launches | None = None, fits: Fits | None = None
) -> Step:
    name = module.__name__.rpartition(".")[2]
    kernel = getattr(module, name)
    return Step(
        name,
        changed,
        (kernel,),
        launches or _rows_of(module, kernel, 1),
        fits or (lambda *arrays: True),
    )


def _several(module: Any, rows: int, changed: str, fits: Fits | None = None) -> Step:
    name = module.__name__.rpartition(".")[2]
    return _step(module, changed, _rows_of(module, getattr(module, name), rows), fits)


SOFTMAX: tuple[Step, ...] = (
    _several(softmax_naive, softmax_naive.THREADS, "one thread per row, three passes"),
    _step(softmax_block, "one block per row"),
    _step(softmax_online, "maximum and sum in one pass"),
    _step(softmax_staged, "the row waits in shared memory", fits=_at_most(softmax_staged)),
    _step(softmax_shuffled, "lanes exchange by shuffles", fits=_at_most(softmax_shuffled)),
    _step(softmax_held, "the row waits in registers", fits=_at_most(softmax_held)),
    _several(softmax_warps, softmax_warps.WARPS, "one warp per row", _at_most(softmax_warps)),
    _several(softmax_packed, softmax_packed.ROWS, "8 lanes per row", _at_most(softmax_packed)),
    _step(softmax_wide, "16 bytes per access", fits=_wide(softmax_wide)),
    Step(
        "softmax_split",
        "several blocks per row, two launches",
        (softmax_split.softmax_split, softmax_split.softmax_parts),
        _split,
        _fits_split,
    ),
    _step(softmax_joined, "several blocks per row, one launch", _joined, _fits_joined),
    _step(softmax_trailing, "blocks wait for earlier rows", _trailing, _fits_trailing),
)
"""`launches(new, out, inp)`."""

LOG_SOFTMAX = (_step(log_softmax_wide, "the logarithm", fits=_wide(log_softmax_wide)),)
"""`launches(new, out, inp)`."""

LAYER_NORM = (_step(layer_norm_wide, "mean and variance", fits=_wide(layer_norm_wide)),)
"""`launches(new, out, inp, weight, bias, eps)`."""

RMS_NORM = (_step(rms_norm_wide, "no mean", fits=_wide(rms_norm_wide)),)
"""`launches(new, out, inp, weight, eps)`."""

LADDER: tuple[Step, ...] = (*SOFTMAX, *LOG_SOFTMAX, *LAYER_NORM, *RMS_NORM)

BEFORE = {
    "softmax_wide": "softmax_held",
    "softmax_split": "softmax_wide",
    "log_softmax_wide": "softmax_wide",
    "layer_norm_wide": "softmax_wide",
}
"""The step against which another one changes one thing, where it is not the one before it."""


def step_named(name: str) -> Step:
    """A step of the ladder.

    >>> step_named("softmax_online").changed
    'maximum and sum in one pass'
    """
    return next(step for step in LADDER if step.name == name)
