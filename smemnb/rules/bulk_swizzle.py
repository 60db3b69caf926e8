"""Where the hardware's swizzle puts a byte of shared memory, for bulk copies and for wgmma.

A tile whose rows are `span` bytes wide (32, 64 or 128) lies row after row. The swizzle exchanges
its chunks of 16 bytes within each row: chunk c goes to place c ^ r, where r is the number of the
128-byte line that it lies in, counted modulo span / 16. In bits of the address in shared memory:

    span 128    bits 4, 5, 6  ^=  bits 7, 8, 9    repeats after 1024 bytes
    span 64     bits 4, 5     ^=  bits 7, 8       repeats after 512 bytes
    span 32     bit 4         ^=  bit 7           repeats after 256 bytes

It is its own inverse. As it goes by addresses, and not by places in the tile, a tile that does not
begin at a multiple of what the pattern repeats after begins in the middle of the pattern.

Sources: PTX ISA, "Tensor swizzle modes"; CUDA C++ Programming Guide, "Tensor Memory Access", the
tables of swizzle patterns.

**Limits**: chunks of 16 bytes; the modes with larger chunks of later chips are left out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["REPEATS", "SPANS", "swizzled"]

SPANS: Final = (0, 32, 64, 128)
"""Bytes of a row that a mode swizzles; 0 is none."""

REPEATS: Final = {0: 16, 32: 256, 64: 512, 128: 1024}
"""Bytes after which the pattern of a span begins anew."""

_CHUNK_BITS, _LINE_BITS = 4, 7


def swizzled(address: npt.ArrayLike, span: int) -> npt.NDArray[Any]:
    """The address where a byte lies that would lie at `address` without the swizzle.

    >>> swizzled([0, 128, 144, 1024 + 896], 128).tolist()
    [0, 144, 128, 2032]

    Args:
        address: in shared memory, in bytes.
        span: 0, 32, 64 or 128 bytes.

    Raises:
        ValueError: another span.
    """
    if span not in SPANS:
        raise ValueError(f"span={span}: the hardware swizzles 32, 64 or 128 bytes, or 0 for none")
    place = np.asarray(address, np.int64)
    chunks = max(1, span >> _CHUNK_BITS)
    return place ^ ((place >> _LINE_BITS & (chunks - 1)) << _CHUNK_BITS)
