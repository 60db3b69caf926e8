"""libdevice's functions of integers; the unsigned ones take and give signed types of equal bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

I32, I64 = np.dtype("i4"), np.dtype("i8")
U32, U64 = np.dtype("u4"), np.dtype("u8")


def leading_zeros(value: Any) -> Any:
    """Number of zero bits above the highest one bit.

    >>> leading_zeros(np.int16(1)), leading_zeros(np.int32(0))
    (np.int64(15), np.int64(32))
    """
    width = value.dtype.itemsize * 8
    rest = np.asarray(value).astype(np.uint64) & np.uint64(2**width - 1)
    for shift in (1, 2, 4, 8, 16, 32):
        rest = rest | (rest >> np.uint64(shift))
    return (width - np.bitwise_count(rest).astype(np.int64))[()]


def first_set(value: Any) -> Any:
    """Place of the lowest one bit, counted from 1; 0 if there is none.

    >>> first_set(np.int32(12)), first_set(np.int64(0))
    (np.int64(3), np.int64(0))
    """
    bits = np.asarray(value).astype(np.int64)
    with np.errstate(over="ignore"):
        lowest = (bits & -bits).view(np.uint64) - np.uint64(1)
    place = np.bitwise_count(lowest).astype(np.int64) + 1
    return np.where(bits == 0, 0, place)[()]


def reversed_bits(value: Any, width: int) -> Any:
    """The lowest `width` bits in reverse order, as a uint64.

    >>> reversed_bits(np.int32(6), 32)
    np.uint64(1610612736)
    """
    rest = np.asarray(value).astype(np.uint64)
    masks = (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF,
             0x0000FFFF0000FFFF, 0x00000000FFFFFFFF)  # fmt: skip
    for power, mask in enumerate(masks):
        shift, kept = np.uint64(1 << power), np.uint64(mask)
        rest = ((rest >> shift) & kept) | ((rest & kept) << shift)
    return (rest >> np.uint64(64 - width))[()]


def ones(value: Any) -> Any:
    """Number of one bits."""
    return np.bitwise_count(value.view(f"u{value.dtype.itemsize}")).astype(np.int64)


def _high_half(a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two uint64."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    return a1 * b1 + (middle >> half) + ((middle & low) + a0 * b1 >> half)


def _signed_high_half(a: Any, b: Any) -> Any:
    high = _high_half(a.view(U64), b.view(U64)).view(I64)
    return high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _permuted_bytes(x: Any, y: Any, selector: Any) -> Any:
    """Four bytes of the eight in y and x, each chosen by three bits of the selector."""
    eight = (x.view(U32).astype(U64)) | (y.view(U32).astype(U64) << np.uint64(32))
    result = np.uint64(0)
    for at in range(4):
        chosen = (selector.view(U32).astype(U64) >> np.uint64(4 * at)) & np.uint64(7)
        byte = (eight >> (chosen * np.uint64(8))) & np.uint64(255)
        result = result | (byte << np.uint64(8 * at))
    return result


def _unsigned(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*(v.view(f"u{v.dtype.itemsize}") for v in values))


def _wide(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*(v.astype(I64) for v in values))


def _unsigned_wide(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: compute(*(v.view(U32).astype(I64) for v in values))


def _low_24(value: Any) -> Any:
    return (value & 0xFFFFFF ^ 0x800000) - 0x800000


def _absolute_difference(x: Any, y: Any, z: Any) -> Any:
    return np.absolute(x - y) + z


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "abs": ("i4 i4", np.absolute),
    "llabs": ("i8 i8", np.absolute),
    "brev": ("i4 i4", lambda x: reversed_bits(x, 32)),
    "brevll": ("i8 i8", lambda x: reversed_bits(x, 64)),
    "byte_perm": ("i4 i4 i4 i4", _permuted_bytes),
    "clz": ("i4 i4", leading_zeros),
    "clzll": ("i4 i8", leading_zeros),
    "ffs": ("i4 i4", first_set),
    "ffsll": ("i4 i8", first_set),
    "popc": ("i4 i4", ones),
    "popcll": ("i4 i8", ones),
    "hadd": ("i4 i4 i4", _wide(lambda x, y: (x + y) >> 1)),
    "rhadd": ("i4 i4 i4", _wide(lambda x, y: (x + y + 1) >> 1)),
    "uhadd": ("i4 i4 i4", _unsigned_wide(lambda x, y: (x + y) >> 1)),
    "urhadd": ("i4 i4 i4", _unsigned_wide(lambda x, y: (x + y + 1) >> 1)),
    "max": ("i4 i4 i4", np.maximum),
    "min": ("i4 i4 i4", np.minimum),
    "umax": ("i4 i4 i4", _unsigned(np.maximum)),
    "umin": ("i4 i4 i4", _unsigned(np.minimum)),
    "llmax": ("i8 i8 i8", np.maximum),
    "llmin": ("i8 i8 i8", np.minimum),
    "ullmax": ("i8 i8 i8", _unsigned(np.maximum)),
    "ullmin": ("i8 i8 i8", _unsigned(np.minimum)),
    "mul24": ("i4 i4 i4", _wide(lambda x, y: _low_24(x) * _low_24(y))),
    "umul24": ("i4 i4 i4", _wide(lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF))),
    "mulhi": ("i4 i4 i4", _wide(lambda x, y: (x * y) >> 32)),
    "umulhi": ("i4 i4 i4", lambda x, y: x.view(U32).astype(U64) * y.view(U32) >> np.uint64(32)),
    "mul64hi": ("i8 i8 i8", _signed_high_half),
    "umul64hi": ("i8 i8 i8", _unsigned(_high_half)),
    "sad": ("i4 i4 i4 i4", _wide(_absolute_difference)),
    "usad": ("i4 i4 i4 i4", _unsigned_wide(_absolute_difference)),
}
"""Name -> (result and argument types, function)."""
