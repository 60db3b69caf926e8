"""What numba.cuda's own names mean: coordinates, bits, fences, the group of all blocks.

Each implementation follows the protocol of `protocol.py`: `(batch, mask, site, *arguments)`. The
tables at the end map qualified names below `numba.cuda` to them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast, chosen
from ..numbers.typing_rules import FLOAT64, brev_dtype
from ..numbers.typing_rules import _float_for as float_for
from ..protocol import lockstep_implementation
from ..watch import Site
from .libdevice.floats import fused
from .libdevice.integers import first_set, leading_zeros, ones, reversed_bits

if TYPE_CHECKING:
    from ..batch import Batch

Implementation = Callable[..., Any]


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
    """A pause: it changes no value."""


def _itself(batch: Batch, mask: Mask, site: Site, items: Any) -> Any:
    """cuda.literal_unroll(items): a loop over a tuple goes item by item anyway."""
    return items


def popc(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.popc(x): number of one bits."""
    return ones(value).astype(value.dtype)[()]


def clz(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.clz(x): number of zero bits above the highest one bit."""
    return leading_zeros(value).astype(value.dtype)[()]


def ffs(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.ffs(x): place of the lowest one bit, counted from 1; 0 if there is none."""
    return first_set(value).astype(np.uint32)[()]


def brev(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.brev(x): the bits in reverse order."""
    dtype = brev_dtype(value.dtype)
    return reversed_bits(cast(value, dtype), dtype.itemsize * 8).astype(dtype)[()]


def fma(
    batch: Batch, mask: Mask, site: Site, a: LaneValue, b: LaneValue, c: LaneValue
) -> LaneValue:
    """cuda.fma(a, b, c): a * b + c rounded once."""
    dtype = max((float_for(v.dtype, v.dtype, 4) for v in (a, b, c)), key=lambda d: d.itemsize)
    return fused(cast(a, dtype), cast(b, dtype), cast(c, dtype))


def selp(
    batch: Batch, mask: Mask, site: Site, choice: LaneValue, a: LaneValue, b: LaneValue
) -> LaneValue:
    """cuda.selp(p, a, b): a where p holds, else b."""
    return chosen(np.not_equal(choice, 0), a, b)


def cbrt(batch: Batch, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    """cuda.cbrt(x): the cube root."""
    return cast(np.cbrt(cast(value, FLOAT64)), float_for(value.dtype, value.dtype, 4))


class GridGroup:
    """cuda.cg.this_grid(): the group of all threads of the launch."""

    @staticmethod
    def sync() -> None:
        """grid.sync(): the barrier of all blocks; the engine runs the implementation below."""


@lockstep_implementation(GridGroup.sync)
def _sync_grid(batch: Batch, mask: Mask, site: Site) -> LaneValue:
    batch.sync_grid(mask, site)
    return np.int32(0)


def this_grid(batch: Batch, mask: Mask, site: Site) -> type[GridGroup]:
    """cuda.cg.this_grid()."""
    return GridGroup


IMPLEMENTATIONS: dict[str, tuple[Implementation, str]] = {
    "grid": (grid, "grid"),
    "gridsize": (gridsize, "gridsize"),
    "nanosleep": (_nothing, "pause"),
    "cg.this_grid": (this_grid, "grid group"),
    "literal_unroll": (_itself, "unrolled"),
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
