"""Vector types: float32x2 ... uint64x4, with x, y, z, w, as C's float2 ... ulonglong4.

A value is a named tuple of lane values, all of the type's element type, so it goes through
variables, branches, tuples and device functions like any tuple. A constructor takes numbers and
vectors in any mixture that fills it: `float32x4(v.x, float32x2(a, b), 0)`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch

ELEMENTS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()


def _flat(parts: tuple[Any, ...]) -> list[LaneValue]:
    found: list[LaneValue] = []
    for part in parts:
        found.extend(part) if isinstance(part, tuple) else found.append(part)
    return found


def _constructor(kind: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    def construct(batch: Batch, mask: Mask, site: Site, *parts: Any) -> Any:
        numbers = _flat(parts)
        if len(numbers) != len(kind._fields):
            raise TypeError(
                f"{site.text} gives {kind.__name__} {len(numbers)} numbers; "
                f"it holds {len(kind._fields)}"
            )
        return kind(*(cast(number, dtype) for number in numbers))

    return construct


def _vector_types() -> dict[str, Any]:
    return {
        f"{element}x{count}": namedtuple(f"{element}x{count}", list("xyzw"[:count]))
        for element in ELEMENTS
        for count in (1, 2, 3, 4)
    }


TYPES = _vector_types()
"""Name -> class of the values of a vector type."""

IMPLEMENTATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    name: (_constructor(kind, np.dtype(name[:-2])), "vector") for name, kind in TYPES.items()
}
