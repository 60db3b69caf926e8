"""A request: 32 byte addresses and a mask, checked.

A request is one warp-wide memory instruction. Every rule takes many of them at once, as an
integer array of shape (..., 32), lane by lane on the last axis, and an optional mask of the
same shape. What no GPU could be asked is refused here, in words that say what to write.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..hardware import WARP_LANES

__all__ = ["Bools", "Ints", "addresses", "mask"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def addresses(address: npt.ArrayLike, active: Bools | None = None) -> Ints:
    """The addresses as int64 of shape (..., 32).

    >>> addresses(range(0, 128, 4)).shape
    (32,)

    Args:
        address: byte addresses of any integer type.
        active: mask of the same shape; what stands in an inactive lane may be anything.

    Raises:
        TypeError: something else than integers.
        ValueError: a last axis that is not the 32 lanes, or a negative address.
    """
    given = np.asarray(address)
    if given.dtype.kind not in "iu":
        raise TypeError(
            f"address holds {given.dtype}; byte addresses are integers (use // for whole divisions)"
        )
    if given.ndim == 0 or given.shape[-1] != WARP_LANES:
        raise ValueError(
            f"address has shape {given.shape}; a request needs {WARP_LANES} addresses on the last"
            " axis, one per lane. For fewer lanes, keep 32 and pass `active`"
        )
    rows = given.astype(np.int64, copy=False)
    seen = rows if active is None else rows[active]
    if seen.size and seen.min() < 0:
        raise ValueError(f"address {seen.min()} is negative; addresses are bytes counted from 0")
    return rows


def mask(active: npt.ArrayLike | None, shape: tuple[int, ...]) -> Bools | None:
    """The mask as bools of `shape`, or None for all lanes.

    >>> int(mask(np.arange(32) < 20, (2, 32)).sum())
    40

    Raises:
        TypeError: something else than bools.
        ValueError: a shape that does not broadcast to the addresses.
    """
    if active is None:
        return None
    given = np.asarray(active)
    if given.dtype != np.bool_:
        raise TypeError(
            f"active holds {given.dtype}; it wants one bool per lane (True: the lane takes part)."
            " For a bit mask write (mask >> np.arange(32)) & 1 == 1"
        )
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(
            f"active has shape {given.shape}, the addresses {shape}; give one bool per lane"
        ) from None
