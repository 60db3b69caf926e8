"""A case of the set: a kernel, how it is launched, and seeded arguments.

A case that is a loop of tries (`retries`) has no fixed count: it is launched and read like the
others, and no count of its atomics is compared.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Extent = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One launch of one kernel.

    Attributes:
        name: of the case, unlike any other's: the kernel's, and what is special here.
        kernel: a dispatcher of numba.cuda.
        grid, block: blocks, and threads of a block, one to three numbers each.
        make: gives the arguments, new arrays each time; it gets a seeded generator.
        shared_bytes: dynamic shared memory per block.
        retries: why the case has no fixed count, such as "float atomic"; "" if it has one.
    """

    name: str
    kernel: Any
    grid: Extent
    block: Extent
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    shared_bytes: int = 0
    retries: str = ""

    @property
    def kernel_name(self) -> str:
        """The name in the kernel's `def`: a part of the name that profilers show."""
        return str(self.kernel.py_func.__code__.co_name)

    @property
    def warps(self) -> int:
        """Warps of the whole launch."""
        threads = int(np.prod(self.block))
        return -(-threads // 32) * int(np.prod(self.grid))

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of a launch: the same numbers each time, in new arrays."""
        return self.make(np.random.default_rng(zlib.crc32(self.name.encode())))


def numbers(random: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    """Seeded whole numbers from 1 to 99 in an array, without symmetry; the type's own width."""
    return np.asarray(random.integers(1, 100, shape)).astype(dtype)


def empty(*shape: int, dtype: Any = np.float32) -> Array:
    """A result before a launch: zeros."""
    return np.zeros(shape, dtype)
