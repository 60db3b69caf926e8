"""Lane values and masks: the data that a lockstep program moves.

A lane value is a NumPy scalar (the same in every lane) or an array of ndim 3 whose shape
broadcasts to (blocks, warps, 32). A mask is a bool array of the same kind. `EVERY_LANE` is the
one mask that is known to be true everywhere; comparing with `is` skips the work that a mask costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LaunchRefused
from .numbers.math_functions import cast
from .numbers.typing_rules import UNIFY

__all__ = [
    "EVERY_LANE",
    "NO_LANE",
    "WARP",
    "LaneValue",
    "Mask",
    "Selectable",
    "both",
    "cast",
    "chosen",
    "constant",
    "narrowed",
    "split",
    "spread",
    "truth",
]

WARP = 32

LaneValue = Any
Mask = np.ndarray[Any, np.dtype[np.bool_]]

EVERY_LANE: Mask = np.ones((1, 1, 1), dtype=bool)
EVERY_LANE.setflags(write=False)
NO_LANE: Mask = np.zeros((1, 1, 1), dtype=bool)
NO_LANE.setflags(write=False)


class Selectable:
    """What is no number and yet differs between lanes: an array, or a part of one."""

    def selected(self, mask: Mask, old: Any) -> Any:
        """This where the mask holds, `old` elsewhere."""
        raise NotImplementedError

    def truth(self) -> LaneValue:
        """Whether each lane's option is true."""
        raise TypeError(f"a {type(self).__name__} is neither true nor false")


def constant(value: object) -> LaneValue:
    """A Python constant with the dtype Numba gives it: int64, float64, bool, complex128.

    >>> constant(3).dtype, constant(3.0).dtype
    (dtype('int64'), dtype('float64'))

    Raises:
        LaunchRefused: an integer of more than 64 bits.
    """
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise LaunchRefused(
                f"the integer {value} has more than 64 bits; no kernel's integer has"
            )
        return np.int64(value) if -(2**63) <= value < 2**63 else np.uint64(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, complex):
        return np.complex128(value)
    if isinstance(value, tuple):
        return tuple(constant(item) for item in value)
    if isinstance(value, slice):
        return slice(constant(value.start), constant(value.stop), constant(value.step))
    return value


def narrowed(value: np.ndarray[Any, Any]) -> LaneValue:
    """The same lane value with every axis along which it is constant cut to length 1.

    >>> narrowed(np.arange(64).reshape(1, 2, 32) % 32).shape
    (1, 1, 32)
    """
    for axis in range(3):
        first = value.take([0], axis=axis)
        if value.shape[axis] > 1 and bool((value == first).all()):
            value = first
    return value.reshape(())[()] if value.size == 1 else value


def truth(value: LaneValue) -> LaneValue:
    """The value as a condition: a NumPy bool or a bool array."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind == "b" else value != 0
    if isinstance(value, np.generic) or not hasattr(value, "truth"):
        return bool(value)
    return value.truth()


def split(mask: Mask, condition: LaneValue) -> tuple[Mask, Mask]:
    """Lanes of the mask where the condition holds, and where it does not.

    Either is `NO_LANE` when empty; the mask itself is returned when the condition holds (or
    fails) in all its lanes, so that an undivided branch costs no further masking.
    """
    if not isinstance(condition, np.ndarray):
        return (mask, NO_LANE) if condition else (NO_LANE, mask)
    if mask is EVERY_LANE:
        if condition.all():
            return mask, NO_LANE
        return (condition, ~condition) if condition.any() else (NO_LANE, mask)
    yes, no = mask & condition, mask & ~condition
    if not no.any():
        return mask, NO_LANE
    return (yes, no) if yes.any() else (NO_LANE, mask)


def both(first: Mask, second: Mask) -> Mask:
    """Lanes of either mask."""
    if first is NO_LANE:
        return second
    if second is NO_LANE:
        return first
    return first | second


def chosen(mask: LaneValue, new: LaneValue, old: LaneValue) -> LaneValue:
    """`new` where the mask holds, `old` elsewhere, in the type Numba unifies both to."""
    if new is old:
        return new
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        parts = [chosen(mask, a, b) for a, b in zip(new, old, strict=True)]
        return type(new)(*parts) if hasattr(new, "_fields") else tuple(parts)
    if isinstance(new, Selectable):
        return new.selected(mask, old)
    if new.dtype != old.dtype:
        dtype = UNIFY[old.dtype.num][new.dtype.num]
        new, old = cast(new, dtype), cast(old, dtype)
    return np.where(mask, new, old)


def spread(value: LaneValue, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The value as an array of the full shape (blocks, warps, 32), not to be written to."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    return np.broadcast_to(value, shape)
