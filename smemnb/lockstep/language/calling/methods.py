"""Methods of numbers and tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...intrinsics.libdevice.integers import ones
from ...lanes import LaneValue
from ..objects.mixed import NUMBERS, equal


def _conjugate(value: LaneValue) -> LaneValue:
    return np.conjugate(value) if value.dtype.kind == "c" else value


def _index(items: tuple[LaneValue, ...], wanted: LaneValue) -> LaneValue:
    """The first place of a value; a lane that finds none gets -1."""
    place: LaneValue = np.int64(-1)
    for at in reversed(range(len(items))):
        found = np.where(equal(items[at], wanted), np.int64(at), place)
        place = found if found.ndim else found[()]
    return place


_OF_NUMBERS: dict[str, Callable[..., LaneValue]] = {
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
_OF_TUPLES: dict[str, Callable[..., LaneValue]] = {"index": _index}

METHOD_NAMES = _OF_NUMBERS.keys() | _OF_TUPLES.keys() | {"sync"}  # the last of a GridGroup


def method_of(owner: Any, name: str) -> Callable[..., LaneValue] | None:
    """The method of a number or a tuple, None if it has none of this name."""
    if isinstance(owner, NUMBERS):
        return _OF_NUMBERS.get(name)
    if isinstance(owner, tuple):
        return _OF_TUPLES.get(name)
    return None
