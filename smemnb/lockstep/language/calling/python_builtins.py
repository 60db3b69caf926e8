"""Python's builtins that take more than numbers, and methods of numbers and tuples."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ...intrinsics.halves import Bfloat16
from ...intrinsics.libdevice.integers import ones
from ...intrinsics.names import qualified
from ...lanes import LaneValue, Mask, cast, constant
from ...memory import KernelArray
from ...memory.attributes import ndindex
from ...memory.sequences import Flat, extents
from ...numbers.math_functions import FUNCTIONS, to_bool, to_float
from ...numbers.typing_rules import BOOL, COMPLEX128, FLOAT64, INT64
from ...watch import Site
from ..iterables import Enumerated, Items, Range, Started, Zipped, items_of
from ..mixed import BINARY, NUMBERS, equal
from ..scope import Frame

Builtin = Callable[..., LaneValue]
"""(frame, mask, site, *values, **named) -> lane value; a TypeError says what it cannot take."""


NOUGHT = np.int64(0)


def _items(value: LaneValue, site: Site) -> Items:
    found = items_of(value, site)
    if found is None:
        raise TypeError(f"a {type(value).__name__} cannot be gone over")
    return found


def _range(frame: Frame, mask: Mask, site: Site, *bounds: LaneValue) -> LaneValue:
    return Range(*bounds)


def _enumerate(
    frame: Frame, mask: Mask, site: Site, items: LaneValue, start: LaneValue = NOUGHT
) -> LaneValue:
    return Enumerated(_items(items, site), start)


def _iter(frame: Frame, mask: Mask, site: Site, items: LaneValue) -> LaneValue:
    return Started(_items(items, site))


def next_item(frame: Frame, mask: Mask, started: LaneValue) -> tuple[LaneValue, Mask]:
    """The next item, and the lanes that have no more."""
    if not isinstance(started, Started):
        raise TypeError(f"next() of a {type(started).__name__}")
    return started.next(frame, mask)


def _zip(frame: Frame, mask: Mask, site: Site, *parts: LaneValue) -> LaneValue:
    return Zipped([_items(part, site) for part in parts])


def _tuple(frame: Frame, mask: Mask, site: Site, items: LaneValue = ()) -> LaneValue:
    if not isinstance(items, tuple):
        raise TypeError(f"tuple() of a {type(items).__name__}")
    return tuple(items)


def _len(frame: Frame, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    if isinstance(value, KernelArray | Flat):
        if not value.shape:
            raise TypeError("an array of no axes has no length")
        return extents(value.shape)[0]
    return value.count if isinstance(value, Items) else np.int64(len(value))


def _sum(
    frame: Frame, mask: Mask, site: Site, items: LaneValue, start: LaneValue = NOUGHT
) -> LaneValue:
    whole, total = _items(items, site), start
    if isinstance(whole.count, np.ndarray):
        raise TypeError("sum() of items of which lanes have different numbers")
    for at in range(int(whole.count)):
        total = BINARY["+"](total, whole.item(frame, mask, at))
    return total


def _slice(frame: Frame, mask: Mask, site: Site, *bounds: LaneValue) -> LaneValue:
    return slice(*bounds)


def _complex(
    frame: Frame, mask: Mask, site: Site, real: LaneValue, imag: LaneValue | None = None
) -> LaneValue:
    return FUNCTIONS[complex](real, imag)


def _float(frame: Frame, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    return np.float64(value) if isinstance(value, str) else to_float(value)


def _bool(frame: Frame, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    return to_bool(value) if isinstance(value, NUMBERS) else np.bool_(bool(value))


_OF_NUMBERS: dict[Any, Any] = {
    int: INT64, float: FLOAT64, bool: BOOL, complex: COMPLEX128,
}  # fmt: skip


def _isinstance(
    frame: Frame, mask: Mask, site: Site, value: LaneValue, kinds: LaneValue
) -> LaneValue:
    """Numba's types are exact: an int32 is no `int`, which is int64."""
    return np.bool_(any(_is_of(value, kind) for kind in _flat(kinds)))


def _flat(kinds: Any) -> list[Any]:
    return [one for kind in kinds for one in _flat(kind)] if isinstance(kinds, tuple) else [kinds]


def _is_of(value: LaneValue, kind: Any) -> bool:
    if isinstance(value, NUMBERS):
        wanted = _OF_NUMBERS.get(kind)
        if wanted is None and isinstance(kind, type) and issubclass(kind, np.generic):
            wanted = np.dtype(kind)
        return value.dtype == wanted
    if isinstance(value, KernelArray):
        return kind is np.ndarray
    if isinstance(value, Range):
        return kind is range
    if isinstance(value, Bfloat16):
        return qualified(kind) == "bf16.bfloat16"
    return isinstance(kind, type) and isinstance(value, kind)


_ARRAY_NAMES = frozenset(
    "T dtype flags flat imag itemsize nbytes ndim real shape size strides ctypes"
    " copy item ravel reshape transpose view astype sum min max mean all any fill sort".split()
)


def _hasattr(frame: Frame, mask: Mask, site: Site, value: LaneValue, name: str) -> LaneValue:
    if isinstance(value, KernelArray):
        return np.bool_(name in _ARRAY_NAMES)
    if isinstance(value, NUMBERS):
        return np.bool_(name in ("real", "imag", "conjugate", "item", "view"))
    return np.bool_(hasattr(value, name))


def _type(frame: Frame, mask: Mask, site: Site, value: LaneValue) -> LaneValue:
    return value.dtype if isinstance(value, NUMBERS) else type(value)


def _ord(frame: Frame, mask: Mask, site: Site, text: str) -> LaneValue:
    return cast(constant(ord(text)), INT64)


BUILTINS: dict[Any, Builtin] = {
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.iter: _iter,
    builtins.tuple: _tuple,
    builtins.len: _len,
    builtins.sum: _sum,
    builtins.slice: _slice,
    builtins.complex: _complex,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.isinstance: _isinstance,
    builtins.hasattr: _hasattr,
    builtins.type: _type,
    builtins.ord: _ord,
    np.ndindex: lambda frame, mask, site, *shape: ndindex(*shape),
}


def _conjugate(value: LaneValue) -> LaneValue:
    return np.conjugate(value) if value.dtype.kind == "c" else value


def _index(items: tuple[LaneValue, ...], wanted: LaneValue) -> LaneValue:
    """The first place of a value; a lane that finds none gets -1."""
    place: LaneValue = np.int64(-1)
    for at in reversed(range(len(items))):
        found = np.where(equal(items[at], wanted), np.int64(at), place)
        place = found if found.ndim else found[()]
    return place


_METHODS_OF_NUMBERS: dict[str, Callable[..., LaneValue]] = {
    "conjugate": _conjugate,
    "conj": _conjugate,
    "item": lambda value: value,
    "view": lambda value, dtype: (
        value.view(np.dtype(str(dtype)))
        if not isinstance(dtype, (type, np.dtype))
        else value.view(dtype)
    ),
    "bit_count": lambda value: ones(value).astype(value.dtype)[()],
}
_METHODS_OF_TUPLES: dict[str, Callable[..., LaneValue]] = {"index": _index}

METHOD_NAMES = (
    _METHODS_OF_NUMBERS.keys() | _METHODS_OF_TUPLES.keys() | {"sync"}
)  # the last of a GridGroup


def method_of(owner: Any, name: str) -> Callable[..., LaneValue] | None:
    """The method of a number or a tuple, None if it has none of this name."""
    if isinstance(owner, NUMBERS):
        return _METHODS_OF_NUMBERS.get(name)
    if isinstance(owner, tuple):
        return _METHODS_OF_TUPLES.get(name)
    return None
