"""One experiment: a kernel that is wrong on purpose, and what its author wanted it to compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Extent = tuple[int, ...]

THREADS: Final = 256
"""Threads of a block where nothing else is said: eight warps."""

HALF: Final = THREADS // 2

LATE: Final = 200_000
"""Nanoseconds by which some warps come late, so that an order is tried that a GPU rarely takes."""

ALL: Final = 0xFFFFFFFF
"""The mask of a whole warp."""


@dataclass(frozen=True)
class Experiment:
    """A kernel, its launch, and the result that its author expects.

    `name` is unlike that of any other experiment.

    Attributes:
        kind: the finding that the engine reports of it; "" for a control without an error.
        kernel: a dispatcher of numba.cuda; its first argument is the result.
        make: the arguments of a launch by its number, new arrays each time.
        right: the expected first argument after the launch with these arguments.
        grid, block: of the launch.
        hides: why a GPU may give right values all the same; "" where it is not expected to.
        dirty: whether another kernel leaves numbers in shared memory before each launch.
        variant: what is special about this launch of the kernel.
    """

    kind: str
    kernel: Any
    make: Callable[[int], tuple[Any, ...]]
    right: Callable[..., Array]
    grid: Extent
    block: Extent
    hides: str = ""
    dirty: bool = False
    variant: str = ""

    @property
    def name(self) -> str:
        """The kernel's name, and what is special where a kernel is launched in several ways."""
        return " ".join(filter(None, (str(self.kernel.py_func.__name__), self.variant)))

    @property
    def says(self) -> str:
        """What the author did, as the kernel's docstring says it."""
        return str(self.kernel.py_func.__doc__).strip()


def numbers(seed: int, size: int = THREADS) -> Array:
    """Whole numbers from 1 on that no other launch has in the same places.

    A value that an earlier launch left behind therefore never looks right.
    """
    return (np.arange(size) * 7 + 1 + 10_007 * (seed + 1)).astype(np.int32)


def zeros(size: int = THREADS) -> Array:
    """A result before the launch."""
    return np.zeros(size, np.int32)


def vectors(seed: int) -> tuple[Array, Array]:
    """A result and an input, one number per thread of a block."""
    return zeros(), numbers(seed)


def lanes(seed: int) -> tuple[Array, Array]:
    """A result and an input, one number per lane of a warp."""
    return zeros(32), numbers(seed, 32)
