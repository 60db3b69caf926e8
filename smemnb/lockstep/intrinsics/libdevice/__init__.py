"""The functions of cuda.libdevice, by name, with the types of libdevice's own signatures.

`floats`, `integers` and `conversions` hold tables of name -> (types, function); arguments are cast
to those types as Numba casts them, and results to theirs. Functions that fill pointers in C give a
tuple, as in Numba: what they return, then what they fill in. `rounding` rounds once, in any
direction; `special` and `bessel` are the functions that NumPy lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lanes import LaneValue, Mask, cast
from ...tables import union
from ...watch import Site
from . import conversions, floats, integers

if TYPE_CHECKING:
    from ...batch import Batch

Types = tuple[np.dtype[Any], ...]

FUNCTIONS = union(integers.FUNCTIONS, floats.FUNCTIONS, conversions.FUNCTIONS)


def signature(name: str) -> tuple[Types, Types]:
    """(types of the results, types of the arguments) of a function.

    >>> signature("frexpf")
    ((dtype('float32'), dtype('int32')), (dtype('float32'),))
    """
    results, *arguments = FUNCTIONS[name][0].split()
    return tuple(map(np.dtype, results.split(","))), tuple(map(np.dtype, arguments))


def _result(value: Any, dtype: np.dtype[Any]) -> LaneValue:
    value = np.asarray(value)
    if value.dtype.kind in "biu":
        return value.astype(dtype)[()]
    return cast(value, dtype)[()]


def _implementation(name: str) -> Callable[..., Any]:
    (results, arguments), compute = signature(name), FUNCTIONS[name][1]

    def implementation(batch: Batch, mask: Mask, site: Site, *values: LaneValue) -> Any:
        operands = [cast(v, dtype) for v, dtype in zip(values, arguments, strict=True)]
        with np.errstate(all="ignore"):
            found = compute(*operands)
        if len(results) == 1:
            return _result(found, results[0])
        return tuple(_result(part, dtype) for part, dtype in zip(found, results, strict=True))

    return implementation


IMPLEMENTATIONS: dict[str, tuple[Callable[..., Any], str]] = {
    f"libdevice.{name}": (_implementation(name), "libdevice") for name in FUNCTIONS
}
