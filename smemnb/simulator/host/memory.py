"""The memory that stands for a device's: pieces of host memory, found by any address inside.

An address that Numba gets is the host's own address of the piece, so copies are plain copies and a
kernel argument is a NumPy view. Memory of the device that nobody has written holds all-ones bits
(NaN, -1); memory that host and device share begins as zeros. A piece is fresh until something is
copied into it, a launch gets it, or a NumPy view of it is handed out.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right, insort
from threading import RLock
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_H100_BYTES = 80 << 30
UNWRITTEN = 0xFF
"""Each byte of device memory that nobody has written."""


def _room() -> int:
    """Bytes that stand for a device's: an H100's, or half of what the host has."""
    try:
        return min(_H100_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, ValueError, OSError):  # Windows
        return _H100_BYTES


class Memory:
    """Pieces of memory by their first address."""

    def __init__(self) -> None:
        self._pieces: dict[int, Bytes] = {}
        self._starts: list[int] = []
        self._lent: dict[int, int] = {}
        self._fresh: set[int] = set()
        self._lock = RLock()
        self.used = 0
        self.total = _room()

    def allocate(self, size: int, fill: int = UNWRITTEN) -> int:
        """Address of `size` new bytes.

        Raises:
            MemoryError: more than there is.
        """
        if self.used + size > self.total:
            raise MemoryError(size)
        piece = np.full(max(size, 1), fill, np.uint8) if fill else np.zeros(max(size, 1), np.uint8)
        address = self._keep(piece)
        if fill:
            self._fresh.add(address)
        return address

    def is_fresh(self, address: int, size: int) -> bool:
        """Whether these bytes are a whole piece that nobody has written."""
        found = self.find(address)
        if found is None or address not in self._fresh or size != found[1].nbytes:
            return False
        return bool((found[1] == UNWRITTEN).all())

    def start(self, address: int) -> int | None:
        """First address of the piece that `address` is in; None if it is in none."""
        found = self.find(address)
        return None if found is None else found[0]

    def written(self, address: int) -> None:
        """Note that the piece around an address may hold something from now on."""
        found = self.find(address)
        if found is not None:
            self._fresh.discard(found[0])

    def lend(self, address: int, size: int) -> None:
        """Let the device see memory that the host owns already, until `take_back`."""
        if not self.holds(address, size):
            lent: Any = (ctypes.c_uint8 * size).from_address(address)
            self._keep(np.frombuffer(lent, np.uint8))
            self._lent[address] = 0
        if address in self._lent:
            self._lent[address] += 1

    def take_back(self, address: int) -> None:
        """The end of `lend`; what was allocated here anyway stays."""
        if address in self._lent:
            self._lent[address] -= 1
            if not self._lent[address]:
                del self._lent[address]
                self.free(address)

    def free(self, address: int) -> bool:
        """Forget a piece; arrays that still look at it keep it alive. False: there is none."""
        with self._lock:
            piece = self._pieces.pop(address, None)
            if piece is None:
                return False
            self._starts.remove(address)
            self._fresh.discard(address)
            self.used -= piece.nbytes
            return True

    def find(self, address: int) -> tuple[int, Bytes] | None:
        """First address and bytes of the piece that `address` is in (or just behind)."""
        with self._lock:
            at = bisect_right(self._starts, address) - 1
            if at < 0:
                return None
            start = self._starts[at]
            piece = self._pieces[start]
            return (start, piece) if address <= start + piece.nbytes else None

    def holds(self, address: int, size: int) -> bool:
        """Whether these bytes are all inside one piece."""
        found = self.find(address)
        return found is not None and address + size <= found[0] + found[1].nbytes

    def view(
        self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]
    ) -> np.ndarray[Any, Any] | None:
        """A NumPy array over a piece; None if the address is in none."""
        found = self.find(address)
        if found is None:
            return None
        start, piece = found
        self._fresh.discard(start)
        return np.ndarray(shape, dtype, buffer=piece, offset=address - start, strides=strides)

    def _keep(self, piece: Bytes) -> int:
        address = int(piece.__array_interface__["data"][0])
        with self._lock:
            if address not in self._pieces:
                insort(self._starts, address)
                self.used += piece.nbytes
            self._pieces[address] = piece
        return address


memory = Memory()


def array_at(value: Any) -> np.ndarray[Any, Any] | None:
    """The NumPy view of a device array or record of numba.cuda; None if a GPU holds it."""
    shape, strides = tuple(value.shape), tuple(value.strides)
    if value.size == 0:
        return np.empty(shape, value.dtype)
    return memory.view(int(value.device_ctypes_pointer.value), shape, value.dtype, strides)
