"""What kernels ask arrays for: attributes, methods, and NumPy's functions of arrays.

`attribute` and `METHODS` take the array; a method also takes batch, mask and the site of its
call, then the arguments. Methods that copy (`copy`, `flatten`, `astype`) are not here: Numba has
no memory to allocate in a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..tables import union
from ..watch import Site
from . import reductions, views, whole
from .arrays import KernelArray
from .sequences import Flat, FlatItems, Indices, extents

if TYPE_CHECKING:
    from ..batch import Batch

MISSING = object()
"""What `attribute` gives for a name that arrays do not have."""


ATTRIBUTES: dict[str, Callable[[KernelArray], Any]] = {
    "shape": lambda array: extents(array.shape),
    "strides": lambda array: extents(step * array.unit for step in array.strides),
    "size": lambda array: extents((array.size,))[0],
    "ndim": lambda array: np.int64(len(array.shape)),
    "itemsize": lambda array: np.int64(array.itemsize),
    "nbytes": lambda array: extents((array.size * array.itemsize,))[0],
    "dtype": lambda array: array.dtype,
    "T": views.transposed,
    "flat": Flat,
    "real": lambda array: views.half_of(array, "real"),
    "imag": lambda array: views.half_of(array, "imag"),
}


def attribute(array: KernelArray, name: str) -> Any:
    """An attribute of an array, or a field of its records; MISSING if there is none.

    The field of one record is read by `read_field`.
    """
    if array.is_record and name in (array.dtype.names or ()):
        return views.field_of(array, name)
    found = ATTRIBUTES.get(name)
    return MISSING if found is None else found(array)


def field(
    array: KernelArray, name: str | int, batch: Batch, mask: Mask, site: Site
) -> LaneValue | KernelArray:
    """A field of a record: its value, a record inside it, or an array inside it."""
    part = field_array(array, name)
    return part if part.shape or part.is_record else part.load(batch, (), mask, site)


def field_array(array: KernelArray, name: str | int) -> KernelArray:
    """A field, by name or number, as an array over all the records of an array."""
    names = array.dtype.names or ()
    return views.field_of(array, name if isinstance(name, str) else names[name])


Method = Callable[..., Any]


def _transpose(array: KernelArray, batch: Batch, mask: Mask, site: Site, *axes: Any) -> KernelArray:
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
    return views.transposed(array, tuple(int(axis) for axis in given) or None)


def _reshape(array: KernelArray, batch: Batch, mask: Mask, site: Site, *shape: Any) -> KernelArray:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return views.reshaped(array, given, where(site))


def _ravel(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> KernelArray:
    return views.raveled(array, where(site))


def _view(array: KernelArray, batch: Batch, mask: Mask, site: Site, dtype: Any) -> KernelArray:
    return views.seen_as(array, numpy_dtype(dtype), where(site))


def _item(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> LaneValue:
    return array.load(batch, (0,) * len(array.shape), mask, site)


def _fill(array: KernelArray, batch: Batch, mask: Mask, site: Site, value: LaneValue) -> None:
    whole.store_whole(array, value, batch, mask, site, where(site))


def _as_array(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> KernelArray:
    return array


def _shape(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> Any:
    return ATTRIBUTES["shape"](array)


def _size(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> Any:
    return ATTRIBUTES["size"](array)


def _nditer(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> FlatItems:
    return FlatItems(array, site, "cell")


def _ndenumerate(array: KernelArray, batch: Batch, mask: Mask, site: Site) -> FlatItems:
    return FlatItems(array, site, "index and element")


def ndindex(*shape: Any) -> Indices:
    """np.ndindex(2, 3), or of a tuple."""
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return Indices(tuple(n if isinstance(n, np.ndarray) else int(n) for n in given))


METHODS: dict[str, Method] = union(
    {
        "transpose": _transpose,
        "reshape": _reshape,
        "ravel": _ravel,
        "view": _view,
        "item": _item,
        "fill": _fill,
    },
    reductions.METHODS,
)
"""Name of an array's method -> what it does."""

KINDS = {"fill": "store"}
"""The kind of a method's site, "load" for all others."""

FUNCTIONS: dict[Any, Method] = union(
    {
        np.asarray: _as_array,
        np.shape: _shape,
        np.size: _size,
        np.ravel: _ravel,
        np.reshape: _reshape,
        np.transpose: _transpose,
        np.nditer: _nditer,
        np.ndenumerate: _ndenumerate,
    },
    reductions.FUNCTIONS,
)
"""NumPy's (and Python's) function of an array -> what it does."""


def where(site: Site) -> str:
    """What a message calls a place of the source."""
    return f"line {site.line}: {site.text}"


def numpy_dtype(value: Any) -> np.dtype[Any]:
    """The NumPy dtype of a dtype, a NumPy or Numba type, or its name.

    >>> numpy_dtype("float32"), numpy_dtype(np.int16)
    (dtype('float32'), dtype('int16'))
    """
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, str | type):
        return np.dtype(value)
    if hasattr(value, "fields") and hasattr(value, "size"):  # a record type of Numba
        fields = dict(value.fields)
        return np.dtype(
            {
                "names": list(fields),
                "formats": [_field_format(part.type) for part in fields.values()],
                "offsets": [part.offset for part in fields.values()],
                "itemsize": value.size,
            }
        )
    if hasattr(value, "count"):  # a text type of Numba
        return np.dtype(f"{'U' if type(value).__name__ == 'UnicodeCharSeq' else 'S'}{value.count}")
    return np.dtype(str(value))


def _field_format(value: Any) -> Any:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return numpy_dtype(value.dtype), tuple(value.shape)
    return numpy_dtype(value)


def as_number(value: LaneValue, dtype: np.dtype[Any]) -> LaneValue:
    """`array.dtype.type(value)`."""
    return cast(value, dtype)
