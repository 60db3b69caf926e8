"""Sums and their like over a whole array, in the order and the dtypes of Numba's loops."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import KernelStopped
from ..lanes import LaneValue, Mask, cast, chosen, truth
from ..watch import Site
from .arrays import KernelArray
from .whole import each_index

if TYPE_CHECKING:
    from ..batch import Batch

FLOAT64 = np.dtype(np.float64)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What Numba adds up in: 64 bits for narrower integers."""
    if dtype.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


def _folded(
    combine: Callable[[Any, Any], Any],
    first: int,
    array: KernelArray,
    batch: Batch,
    mask: Mask,
    site: Site,
    dtype: np.dtype[Any] | None = None,
) -> LaneValue:
    """All elements combined one after another, beginning with `first`."""
    wide = dtype or _wide(array.dtype)
    result: Any = wide.type(first)
    for index, here in each_index(array.shape, mask):
        more = combine(result, cast(array.load(batch, index, here, site), wide))
        result = more if here is mask else chosen(here, more, result)
    return result


total = partial(_folded, np.add, 0)
product = partial(_folded, np.multiply, 1)


def _quotient_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.complex128) if dtype.kind == "c" else FLOAT64


def mean(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """The sum, divided by the number of elements."""
    wide = FLOAT64 if array.dtype.kind in "biu" else array.dtype
    whole = total(array, batch, mask, site, wide)
    return cast(whole, _quotient_dtype(wide)) / np.asarray(array.size)


def variance(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """The mean of the squared distances from the mean."""
    middle = mean(array, batch, mask, site)
    result: Any = np.float64(0)
    for index, here in each_index(array.shape, mask):
        away = cast(array.load(batch, index, here, site), middle.dtype) - middle
        result = np.where(here, result + (away * np.conj(away)).real, result)
    return result / np.asarray(array.size)


def deviation(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """The root of the variance."""
    return np.sqrt(variance(array, batch, mask, site))


def _met(array: KernelArray, batch: Batch, mask: Mask, site: Site, *, wanted: bool) -> LaneValue:
    """Whether some element is as wanted (true for any, false for all); lanes stop at the first."""
    found: Any = np.zeros((1, 1, 1), bool)
    for index, here in each_index(array.shape, mask):
        looking = here & ~found
        if looking.any():
            value = truth(array.load(batch, index, looking, site))
            found = found | (looking & np.equal(value, wanted))
    return found if wanted else ~found


def count_nonzero(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    """How many elements are not zero."""
    result: Any = np.int64(0)
    for index, here in each_index(array.shape, mask):
        value = truth(array.load(batch, index, here, site))
        result = result + np.where(here & value, np.int64(1), np.int64(0))
    return result


def furthest(
    array: KernelArray, batch: Batch, mask: Mask, site: Site, *, largest: bool
) -> tuple[LaneValue, LaneValue]:
    """The largest (or smallest) element, the first of several, and its row-major number.

    Raises:
        KernelStopped: there is none.
    """
    best: Any = None
    at: Any = np.int64(0)
    for number, (index, here) in enumerate(each_index(array.shape, mask)):
        value: Any = array.load(batch, index, here, site)
        if best is None:
            best = value
            continue
        better = value > best if largest else value < best
        if array.dtype.kind == "f":  # the first NaN counts as both, as in NumPy
            better = (better | np.isnan(value)) & ~np.isnan(best)
        best = chosen(here & better, value, best)
        at = np.where(here & better, np.int64(number), at)
    if best is None:
        raise KernelStopped(
            f"line {site.line}: {site.text}: an array without elements has no largest and no "
            "smallest one. Test its size first."
        )
    return best, at


def _argument(*where: Any, largest: bool) -> LaneValue:
    return furthest(*where, largest=largest)[1]


def _extreme(*where: Any, largest: bool) -> LaneValue:
    """max(array): comparisons alone, so a NaN stays only if it comes first."""
    array, batch, mask, site = where
    best: Any = None
    for index, here in each_index(array.shape, mask):
        value = array.load(batch, index, here, site)
        if best is not None:
            better = value > best if largest else value < best
            value = chosen(here & better, value, best)
        best = value
    if best is None:
        return furthest(*where, largest=largest)[0]
    return best


METHODS: dict[str, Callable[..., Any]] = {
    "sum": total,
    "prod": product,
    "mean": mean,
    "var": variance,
    "std": deviation,
    "any": partial(_met, wanted=True),
    "all": partial(_met, wanted=False),
    "argmax": partial(_argument, largest=True),
    "argmin": partial(_argument, largest=False),
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): method for name, method in METHODS.items()},
    np.count_nonzero: count_nonzero,
    builtins.max: partial(_extreme, largest=True),
    builtins.min: partial(_extreme, largest=False),
    builtins.sum: total,
}
