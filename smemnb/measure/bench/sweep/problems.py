"""Seeded random problems: what a sweep measures.

Each problem is drawn from a generator of its own, which begins with operation, seed and number. So
the first problems of a seed are the same whatever their count, on every machine.

Products: rows, columns and depth are log-uniform from 1 to 16384 and independent, at most 2 TFLOP.
Every other problem has more than 1 GFLOP; draws on the wrong side are drawn again. The four layouts
take turns by twos, so that each is there as often below 1 GFLOP as above.

Transposes: elements of 1, 2, 4, 8 and 16 bytes take turns. The bytes of the matrix are log-uniform
from 1 MB to 2 GB, its rows log-uniform from 1 to the number of elements: matrices of few columns
and of few rows are as frequent as square ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ....errors import SmemnbError

__all__ = ["GFLOP", "ITEMSIZES", "LAYOUTS", "OPERATIONS", "Problem", "problems"]

OPERATIONS: Final = ("matmul", "transpose")
LAYOUTS: Final = ("NN", "NT", "TN", "TT")
"""a and b by rows (N) or by columns (T), as BLAS calls them."""
ITEMSIZES: Final = (1, 2, 4, 8, 16)
GFLOP: Final = 10**9
LONGEST: Final = 16384
MOST_FLOP: Final = 2 * 10**12
FEWEST_BYTES, MOST_BYTES = 10**6, 2 * 10**9


@dataclass(frozen=True)
class Problem:
    """One operation on one shape.

    Attributes:
        operation: one of `OPERATIONS`.
        shape: rows, columns and depth of a product; rows and columns of a transpose's input.
        layout: of a product one of `LAYOUTS`; "" of a transpose.
        itemsize: bytes per element; 4 of a product.
    """

    operation: str
    shape: tuple[int, ...]
    layout: str = ""
    itemsize: int = 4

    @property
    def work(self) -> int:
        """FLOP of a product, two per multiply-add; bytes read and written of a transpose."""
        return 2 * math.prod(self.shape) * (1 if self.operation == "matmul" else self.itemsize)

    @property
    def is_large(self) -> bool:
        """Whether a product has more than 1 GFLOP, or a transpose's matrix more than 100 MB."""
        return self.work > (GFLOP if self.operation == "matmul" else 2 * 10**8)

    def __str__(self) -> str:
        """The problem in a report.

        >>> print(Problem("matmul", (127, 4096, 300), "NT"))
        NT 127 x 4096, depth 300
        >>> print(Problem("transpose", (1000000, 3), itemsize=2))
        1000000 x 3, 2 bytes
        """
        rows, cols, *depth = self.shape
        if depth:
            return f"{self.layout} {rows} x {cols}, depth {depth[0]}"
        return f"{rows} x {cols}, {self.itemsize} {'byte' if self.itemsize == 1 else 'bytes'}"


def problems(operation: str, count: int, seed: int) -> tuple[Problem, ...]:
    """The first problems of a seed.

    >>> for problem in problems("matmul", 4, seed=1):
    ...     print(problem)
    NT 12274 x 6, depth 3
    NT 640 x 1520, depth 10913
    TN 120 x 156, depth 15
    TN 149 x 1134, depth 10597

    Raises:
        SmemnbError: another operation, or a count that is not at least 1.
    """
    if operation not in OPERATIONS:
        raise SmemnbError(f"operation is {operation!r}; a sweep is of {' or '.join(OPERATIONS)}")
    if count < 1:
        raise SmemnbError(f"--count {count}: a sweep has at least 1 problem")
    draw = _product if operation == "matmul" else _transpose
    return tuple(draw(seed, number) for number in range(count))


def _product(seed: int, number: int) -> Problem:
    draws = _draws("matmul", seed, number)
    layout = LAYOUTS[(number // 2 + seed) % 4]
    while True:
        shape = tuple(_log_uniform(next(draws), 1, LONGEST) for _ in range(3))
        found = Problem("matmul", shape, layout)
        if found.work <= MOST_FLOP and found.is_large == bool(number % 2):
            return found


def _transpose(seed: int, number: int) -> Problem:
    draws = _draws("transpose", seed, number)
    itemsize = ITEMSIZES[(number + seed) % 5]
    while True:
        elements = _log_uniform(next(draws), FEWEST_BYTES, MOST_BYTES) // itemsize
        rows = _log_uniform(next(draws), 1, elements)
        found = Problem("transpose", (rows, elements // rows), itemsize=itemsize)
        if FEWEST_BYTES < found.work // 2 <= MOST_BYTES:
            return found


def _draws(operation: str, seed: int, number: int) -> Iterator[float]:
    """Numbers in [0, 1) that Python promises to keep the same for a seed."""
    draw: Callable[[], float] = random.Random(f"smemnb {operation} {seed} {number}").random
    while True:
        yield draw()


def _log_uniform(part: float, low: int, high: int) -> int:
    """The integer below a log-uniform number from low to high + 1.

    >>> [_log_uniform(part, 1, 16384) for part in (0.0, 0.25, 0.5, 0.999999)]
    [1, 11, 128, 16384]
    """
    return min(high, int(low * math.exp(part * math.log((high + 1) / low))))
