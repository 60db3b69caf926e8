"""Whole arrays at a time: stored through a slice, filled, searched, added up.

Each is the loop of element accesses that the device makes, so the watchers see every one. Where
extents differ between lanes the loop goes as far as the longest, and lanes drop out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import KernelStopped
from ..lanes import LaneValue, Mask
from ..watch import Site
from .arrays import KernelArray, Shape
from .choices import ChosenArray
from .records import is_record, load_at

if TYPE_CHECKING:
    from ..batch import Batch


def each_index(shape: Shape, mask: Mask) -> Iterator[tuple[tuple[Any, ...], Mask]]:
    """Every index of a shape in row-major order, with the lanes in which it exists."""
    longest = [int(np.max(extent)) for extent in shape]
    varying = [axis for axis, extent in enumerate(shape) if isinstance(extent, np.ndarray)]
    for index in np.ndindex(*longest):
        here = mask
        for axis in varying:
            here = here & (index[axis] < shape[axis])
        if not varying or here.any():
            yield index, here


def store_whole(
    target: KernelArray, value: Any, batch: Batch, mask: Mask, site: Site, where: str
) -> None:
    """Store a number, a record, a tuple, or an array that fits into all elements of a view."""
    if isinstance(value, tuple):
        _store_tuple(target, value, batch, mask, site, where)
        return
    if not isinstance(value, KernelArray) or is_record(value):
        for index, here in each_index(target.shape, mask):
            target.save(batch, index, here, site, value)
        return
    _check_fits(target, value, mask, where)
    before, loading = len(target.shape) - len(value.shape), load_at(site)

    def read(index: tuple[Any, ...], here: Mask) -> LaneValue:
        at = tuple(
            i if isinstance(extent, np.ndarray) or extent != 1 else 0
            for i, extent in zip(index[before:], value.shape, strict=True)
        )
        return value.load(batch, at, here, loading)

    places = list(each_index(target.shape, mask))
    several = isinstance(value, ChosenArray) or isinstance(target, ChosenArray)
    if (
        several or value.memory is target.memory
    ):  # they may overlap: all is read before anything is written
        values = [read(index, here) for index, here in places]
        for (index, here), one in zip(places, values, strict=True):
            target.save(batch, index, here, site, one)
        return
    for index, here in places:
        target.save(batch, index, here, site, read(index, here))


def _store_tuple(
    target: KernelArray, values: tuple[Any, ...], batch: Batch, mask: Mask, site: Site, where: str
) -> None:
    if len(target.shape) != 1 or bool(np.any((target.shape[0] != len(values)) & mask)):
        raise KernelStopped(
            f"{where}: {len(values)} values do not fit into the shape {_shown(target.shape)}. "
            "Give as many values as there are elements."
        )
    for at, value in enumerate(values):
        target.save(batch, (at,), mask, site, value)


def _check_fits(target: KernelArray, value: KernelArray, mask: Mask, where: str) -> None:
    fits = len(value.shape) <= len(target.shape)
    for have, want in zip(value.shape[::-1], target.shape[::-1], strict=False):
        fits = fits and not bool(np.any((np.not_equal(have, want) & np.not_equal(have, 1)) & mask))
    if not fits:
        raise KernelStopped(
            f"{where}: an array of shape {_shown(value.shape)} does not fit into the shape "
            f"{_shown(target.shape)}. Slice both to the same shape."
        )


def _shown(shape: Shape) -> str:
    return str(tuple("?" if isinstance(n, np.ndarray) else int(n) for n in shape)).replace("'", "")


def contains(array: KernelArray, value: Any, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """`value in array`: every lane looks until it has found it."""
    found: Any = np.zeros((1, 1, 1), bool)
    for index, here in each_index(array.shape, mask):
        looking = here & ~found
        if not looking.any():
            continue
        found = found | (looking & (array.load(batch, index, looking, site) == value))
    return found
