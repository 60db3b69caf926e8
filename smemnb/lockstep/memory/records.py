"""Records: one element of an array with a structured dtype, by reference.

A record is a `KernelArray` without axes that points at its bytes, so `r = recs[i]; r.x += 1`
changes the array. Only an assignment to an element copies it, byte by byte as on the device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import Mask
from ..watch import Access, Site

if TYPE_CHECKING:
    from ..batch import Batch
    from .arrays import KernelArray


def is_record(value: Any) -> bool:
    """Whether a value is one record (an array of records is none)."""
    return getattr(value, "is_record", False) and value.shape == ()


def load_at(site: Site) -> Site:
    """The site of the loads that a store of a whole record or array brings with it."""
    return site.loading or _as_load(site)


@lru_cache(maxsize=1024)
def _as_load(site: Site) -> Site:
    return Site(site.function, site.file, site.line, site.column, site.text, "load")


def copy_record(
    target: KernelArray, source: KernelArray, batch: Batch, mask: Mask, site: Site
) -> None:
    """Copy one record over another in the lanes of the mask."""
    from .choices import parts_of

    for lanes, one in parts_of(source):
        _copy(target, one, batch, mask & lanes, site)


def _copy(target: KernelArray, source: KernelArray, batch: Batch, mask: Mask, site: Site) -> None:
    size = target.itemsize
    ends = [_start(array) for array in (source, target)]
    for array in (source, target):
        if array.valid is not None:
            mask = mask & array.valid
    _report(source, batch, load_at(site), "load", ends[0], mask, [None] * size)
    width = next(n for n in (8, 4, 2, 1) if not any(np.any(at % n) for at in (*ends, size)))
    word = np.dtype(f"u{width}")
    stores = [array.store.typed(word) for array in (source, target)]
    words = [stores[0].read(batch, ends[0] // width + at) for at in range(size // width)]
    octets = [octet for value in words for octet in np.moveaxis(_octets(value, width), -1, 0)]
    _report(target, batch, site, "store", ends[1], mask, octets)
    batch.writes += 1
    for at, value in enumerate(words):
        stores[1].write(batch, ends[1] // width + at, mask, value)


def _start(array: KernelArray) -> Any:
    return 0 if array.start is None else array.start


def _octets(value: Any, width: int) -> Any:
    whole = np.ascontiguousarray(np.asarray(value)[..., None])
    return whole.view(np.uint8).reshape(*np.shape(value), width)


def _report(
    array: KernelArray, batch: Batch, site: Site, kind: str, start: Any, mask: Mask, values: Any
) -> None:
    if not batch.watched or not array.reported:
        return
    for at, value in enumerate(values):
        there = start + at
        batch.report_access(Access(site, array.root, kind, there, mask, value, unit=1))
