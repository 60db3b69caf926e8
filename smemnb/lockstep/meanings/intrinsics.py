"""What numba.cuda's own names mean: coordinates, bits, fences, the group of all blocks.

Each meaning follows the protocol of `protocol.py`: `(batch, mask, site, *arguments)`. The tables
at the end map qualified names below `numba.cuda` to them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast, chosen
from ..numbers.typing_rules import brev_dtype
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch

Meaning = Callable[..., Any]


def grid(batch: Batch, mask: Mask, site: Site, ndim: Any) -> LaneValue:
    """cuda.grid(n): the thread's place in the grid, x first."""
    launch = batch.launch
    places = tuple(
        np.int64(size) * block + thread
        for size, block, thread in zip(
            launch.block, batch.block_index, batch.thread_index, strict=True
        )
    )
    return places[0] if int(ndim) == 1 else places[: int(ndim)]


def gridsize(batch: Batch, mask: Mask, site: Site, ndim: Any) -> LaneValue:
    """cuda.gridsize(n): threads of the whole grid along each axis."""
    launch = batch.launch
    sizes = tuple(np.int64(a * b) for a, b in zip(launch.grid, launch.block, strict=True))
    return sizes[0] if int(ndim) == 1 else sizes[: int(ndim)]


def _nothing(batch: Batch, mask: Mask, site: Site, *arguments: LaneValue) -> None:
    """A fence or a pause: lockstep order already has its effect."""


def popc(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.popc(x): number of one bits."""
    bits = value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value
    return cast(np.bitwise_count(bits), value.dtype)


def clz(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.clz(x): number of zero bits above the highest one bit."""
    width = value.dtype.itemsize * 8
    rest = np.asarray(value).astype(np.uint64) & np.uint64(2**width - 1)
    zeros = np.full(rest.shape, width, np.int64)
    while rest.any():
        zeros = np.where(rest != 0, zeros - 1, zeros)
        rest = rest >> np.uint64(1)
    return zeros.astype(value.dtype)[()]


def ffs(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.ffs(x): place of the lowest one bit, counted from 1; 0 if there is none."""
    bits = np.asarray(value).astype(np.int64)
    lowest = (bits & -bits).view(np.uint64) - np.uint64(1)
    place = np.bitwise_count(lowest).astype(np.uint32) + np.uint32(1)
    return np.where(bits == 0, np.uint32(0), place)[()]


def brev(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.brev(x): the bits in reverse order."""
    dtype = brev_dtype(value.dtype)
    width = dtype.itemsize * 8
    rest = np.asarray(value).astype(np.uint64)
    result = np.zeros(rest.shape, np.uint64)
    for _ in range(width):
        result = (result << np.uint64(1)) | (rest & np.uint64(1))
        rest = rest >> np.uint64(1)
    return result.astype(dtype)[()]


def fma(
    batch: Batch, mask: Mask, site: Site, a: LaneValue, b: LaneValue, c: LaneValue
) -> LaneValue:
    """cuda.fma(a, b, c): a * b + c rounded once (float32 exactly, float64 by longdouble)."""
    dtype = np.result_type(a, b, c)
    wide = np.float64 if dtype == np.float32 else np.longdouble
    return cast(np.multiply(a, b, dtype=wide) + np.asarray(c, dtype=wide), dtype)[()]


def selp(
    batch: Batch, mask: Mask, site: Site, choice: LaneValue, a: LaneValue, b: LaneValue
) -> LaneValue:
    """cuda.selp(p, a, b): a where p holds, else b."""
    return chosen(np.not_equal(choice, 0), a, b)


def cbrt(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.cbrt(x): the cube root."""
    return np.cbrt(value)


MEANINGS: dict[str, tuple[Meaning, str]] = {
    "grid": (grid, "grid"),
    "gridsize": (gridsize, "gridsize"),
    "threadfence": (_nothing, "fence"),
    "threadfence_block": (_nothing, "fence"),
    "threadfence_system": (_nothing, "fence"),
    "nanosleep": (_nothing, "pause"),
    "popc": (popc, "popc"),
    "clz": (clz, "clz"),
    "ffs": (ffs, "ffs"),
    "brev": (brev, "brev"),
    "fma": (fma, "fma"),
    "selp": (selp, "selp"),
    "cbrt": (cbrt, "cbrt"),
}


def _lane(batch: Batch) -> LaneValue:
    return np.arange(32, dtype=np.int32).reshape(1, 1, 32)


def _warp_size(batch: Batch) -> LaneValue:
    return np.int32(32)


COORDINATES: dict[str, Callable[[Batch], Any]] = {
    "threadIdx": attrgetter("thread_index"),
    "blockIdx": attrgetter("block_index"),
    "blockDim": attrgetter("launch.block_dim"),
    "gridDim": attrgetter("launch.grid_dim"),
    "laneid": _lane,
    "warpsize": _warp_size,
}
