"""Arrays of a block or thread, constant arrays, and loads and stores with a cache hint.

A hint (`cuda.ldcg`, `cuda.stwt` ...) changes which caches an access goes through and no value; it
is reported to the watchers as the load or store that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask
from ..memory import KernelArray, LocalStore, frozen
from ..memory.attributes import numpy_dtype
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in value) if isinstance(value, tuple) else (int(value),)


def shared_array(
    batch: Batch, mask: Mask, site: Site, shape: Any, dtype: Any, alignment: Any = None
) -> KernelArray:
    """cuda.shared.array(shape, dtype): one array per block; shape 0 is the dynamic memory."""
    extents, kind = _shape(shape), numpy_dtype(dtype)
    if extents == (0,):
        return batch.share_dynamic(site.text, kind)
    natural = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize  # as Numba declares it
    return batch.share(site, site.text, extents, kind, int(alignment or natural))


def local_array(
    batch: Batch, mask: Mask, site: Site, shape: Any, dtype: Any, alignment: Any = None
) -> KernelArray:
    """cuda.local.array(shape, dtype): one array per thread."""
    extents, kind = _shape(shape), numpy_dtype(dtype)
    size = int(np.prod(extents))
    store = LocalStore(size, kind, followed=batch.watched)
    return KernelArray(site.text, "local", store, extents, kind)


def const_array_like(batch: Batch, mask: Mask, site: Site, array: Any) -> KernelArray:
    """cuda.const.array_like(values): a read-only array of these values, of its own memory."""
    return array if isinstance(array, KernelArray) else frozen(site.text, array)


def _load(batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any) -> Any:
    """cuda.ldca(array, index) and its kind: the element."""
    return array.load(batch, index if isinstance(index, tuple) else (index,), mask, site)


def _store(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, value: LaneValue
) -> None:
    """cuda.stcg(array, index, value) and its kind: array[index] = value."""
    array.save(batch, index if isinstance(index, tuple) else (index,), mask, site, value)


IMPLEMENTATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "shared.array": (shared_array, "shared array"),
    "local.array": (local_array, "local array"),
    "const.array_like": (const_array_like, "constant array"),
    **dict.fromkeys(("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), (_load, "load")),
    **dict.fromkeys(("stcg", "stcs", "stwb", "stwt"), (_store, "store")),
}
