"""np.finfo and np.iinfo: what they tell, as Numba has it in a kernel.

Numba gives a named tuple of constants; NumPy's scalars keep their type there, and Python's whole
numbers are int64 (uint64 where that is too small).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

FLOAT_FIELDS = """eps epsneg iexp machep max maxexp min minexp negep nexp nmant precision resolution
tiny bits""".split()
INTEGER_FIELDS = ["min", "max", "bits"]

FloatLimits = namedtuple("FloatLimits", FLOAT_FIELDS)  # type: ignore[misc]
IntegerLimits = namedtuple("IntegerLimits", INTEGER_FIELDS)  # type: ignore[misc]

LIMITS: dict[Callable[..., Any], Any] = {np.finfo: FloatLimits, np.iinfo: IntegerLimits}


def limits_of(function: Callable[..., Any], dtype: np.dtype[Any]) -> Any:
    """What `np.finfo` or `np.iinfo` tells of a dtype.

    >>> limits_of(np.iinfo, np.dtype(np.int16)).max
    np.int64(32767)

    Raises:
        ValueError: a dtype of the other kind.
    """
    found, kind = function(dtype), LIMITS[function]
    return kind(*(_number(getattr(found, name)) for name in kind._fields))


def _number(value: Any) -> Any:
    if type(value) is not int:
        return value
    return np.int64(value) if -(2**63) <= value < 2**63 else np.uint64(value)
