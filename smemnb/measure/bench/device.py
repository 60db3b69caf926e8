"""Matrices on the device, and the kernels that fill them and judge results.

Matrices are random and without symmetry. Results are compared on the device, every element: a
transpose by its bits, a product with one made in float64. A result is spoilt before each check, so
that what a kernel did not write is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import cuda, float32, float64, uint32

from .case import Case
from .contenders import copied, dtype, extents

__all__ = ["Judge", "Matrices", "Shown", "bytes_needed", "matrices", "placed", "refill", "sweep"]

THREADS, BLOCKS = 256, 1056
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _mixed(at: Any, seed: Any) -> Any:
    """32 bits that look random, from a place and a seed (the finish of MurmurHash3)."""
    mixed = uint32(uint32(at) * uint32(2654435761) + uint32(seed) * uint32(40503))
    mixed = uint32(uint32(mixed ^ (mixed >> uint32(16))) * uint32(2246822507))
    mixed = uint32(uint32(mixed ^ (mixed >> uint32(13))) * uint32(3266489909))
    return uint32(mixed ^ (mixed >> uint32(16)))


@cuda.jit  # type: ignore[untyped-decorator]
def _fill_bits(words: Any, seed: Any) -> None:
    """Words of 4 random bytes."""
    for at in range(cuda.grid(1), words.shape[0], cuda.gridsize(1)):
        words[at] = _mixed(at, seed)


@cuda.jit  # type: ignore[untyped-decorator]
def _fill_numbers(numbers: Any, seed: Any) -> None:
    """Numbers in [-1, 1): multiples of 2^-22, so that float32 holds each."""
    for at in range(cuda.grid(1), numbers.shape[0], cuda.gridsize(1)):
        numbers[at] = float32(_mixed(at, seed) >> uint32(9)) * float32(2.0**-22) - float32(1)


@cuda.jit  # type: ignore[untyped-decorator]
def _place(to: Any, source: Any) -> None:
    """to = source, element by element."""
    for row in range(cuda.blockIdx.x, to.shape[0], cuda.gridDim.x):
        for col in range(cuda.threadIdx.x, to.shape[1], cuda.blockDim.x):
            to[row, col] = source[row, col]


@cuda.jit  # type: ignore[untyped-decorator]
def _not_transposed(count: Any, out: Any, inp: Any, parts: Any) -> None:
    """Add to count[0] the elements, of `parts` values each, where out differs from inp.T."""
    wrong = 0
    for row in range(cuda.blockIdx.x, inp.shape[0], cuda.gridDim.x):
        for at in range(cuda.threadIdx.x, inp.shape[1], cuda.blockDim.x):
            if out[at // parts, row * parts + at % parts] != inp[row, at]:
                wrong += 1
    cuda.atomic.add(count, 0, wrong)


@cuda.jit  # type: ignore[untyped-decorator]
def _not_equal(count: Any, left: Any, right: Any) -> None:
    """Add to count[0] the places where two rows of values differ."""
    wrong = 0
    for at in range(cuda.grid(1), left.shape[0], cuda.gridsize(1)):
        if left[at] != right[at]:
            wrong += 1
    cuda.atomic.add(count, 0, wrong)


@cuda.jit  # type: ignore[untyped-decorator]
def _product(out: Any, a: Any, b: Any) -> None:
    """out = a @ b in float64, one element per thread."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float64(0)
        for k in range(a.shape[1]):
            acc += float64(a[row, k]) * float64(b[k, col])
        out[row, col] = acc


@cuda.jit  # type: ignore[untyped-decorator]
def _furthest(found: Any, result: Any, true: Any) -> None:
    """found[thread]: largest difference from the true values, and largest of these; NaN is inf."""
    difference = largest = float64(0)
    for row in range(cuda.blockIdx.x, true.shape[0], cuda.gridDim.x):
        for col in range(cuda.threadIdx.x, true.shape[1], cuda.blockDim.x):
            apart = abs(float64(result[row, col]) - true[row, col])
            if not apart < float64(np.inf):
                apart = float64(np.inf)
            difference = max(difference, apart)
            largest = max(largest, abs(true[row, col]))
    found[cuda.grid(1), 0], found[cuda.grid(1), 1] = difference, largest


@cuda.jit  # type: ignore[untyped-decorator]
def _read(words: Any, sums: Any) -> None:
    """Read all words; sums[0] is written where a sum is 0, which it never is for words of 1."""
    total = uint32(0)
    for at in range(cuda.grid(1), words.shape[0], cuda.gridsize(1)):
        total = uint32(total + words[at])
    if total == uint32(0) and cuda.grid(1) < words.shape[0]:
        sums[0] = total


class Shown:
    """A device matrix seen as one of another type, for libraries that read its interface."""

    def __init__(self, array: Any, typestr: str) -> None:
        self.owner = array
        found = dict(array.__cuda_array_interface__)
        rows, cols = found["shape"]
        row_bytes = cols * np.dtype(found["typestr"]).itemsize
        size = np.dtype(typestr).itemsize
        pitch = found["strides"][0] if found.get("strides") else row_bytes
        found |= {"shape": (rows, row_bytes // size), "strides": (pitch, size)}
        self.__cuda_array_interface__ = found | {"typestr": np.dtype(typestr).str}


@dataclass(frozen=True)
class Matrices:
    """The arrays of a case: `out`, the inputs, and for a transpose two to copy between."""

    out: Any
    inputs: tuple[Any, ...]
    copies: tuple[Any, ...]
    spoils: tuple[Any, ...]  # the words behind `out` and the copy's target

    @property
    def arrays(self) -> tuple[Any, ...]:
        """`out`, then the inputs."""
        return (self.out, *self.inputs)


def bytes_needed(case: Case) -> int:
    """Device memory of a case, with one more result for a library and a product in float64."""
    if case.operation == "transpose":
        rows, cols = case.shape
        return 5 * (max(rows, cols) * (min(rows, cols) + case.spare) * case.itemsize)
    rows, cols, depth = case.shape
    inputs = rows * (depth + case.spare) + depth * (cols + case.spare)
    return 4 * inputs + (8 + 2 * 4) * rows * (cols + case.spare)


def matrices(case: Case) -> Matrices:
    """Filled matrices of a case on the device."""
    made = [_matrix(case, *one, seed) for seed, one in enumerate(extents(case), 1)]
    copies: tuple[Any, ...] = ()
    spoils = [made[0][1]]
    if case.operation == "transpose":
        flat = copied(case)
        high, wide = flat.shape
        pair = [_matrix(flat, high, wide, seed) for seed in (3, 4)]
        copies = (pair[0][0], pair[1][0])
        spoils.append(pair[0][1])
    return Matrices(made[0][0], tuple(one for one, _ in made[1:]), copies, tuple(spoils))


def placed(case: Case) -> tuple[Any, ...]:
    """`out` and the inputs, of which only the inputs' elements were written: no gap, no result."""
    found = []
    for seed, (high, wide) in enumerate(extents(case)):
        kind = dtype(case)
        parts = case.itemsize // kind.itemsize
        whole = cuda.device_array((high, (wide + case.spare) * parts), kind)
        part = whole if not case.spare else whole[:, : wide * parts]
        if seed:
            filled, _ = _matrix(replace(case, spare=0), high, wide, seed)
            _place[_blocks(high), THREADS](part, filled)
        found.append(part)
    return tuple(found)


def _matrix(case: Case, high: int, wide: int, seed: int) -> tuple[Any, Any]:
    """A matrix, and all words of the memory behind it."""
    kind = dtype(case)
    parts = case.itemsize // kind.itemsize
    pitch = (wide + case.spare) * parts
    size = high * pitch * kind.itemsize
    words = cuda.device_array(-(-size // 4), np.uint32)
    refill(words, seed, as_numbers=kind == np.float32)
    values = words.view(kind)[: high * pitch].reshape(high, pitch)
    return (values if not case.spare else values[:, : wide * parts]), words


def refill(words: Any, seed: int, *, as_numbers: bool = False) -> None:
    """Random bits, or float32 in [-1, 1), into words of 4 bytes."""
    blocks = _blocks(-(-words.size // THREADS))
    if as_numbers:
        _fill_numbers[blocks, THREADS](words.view(np.float32), seed)
    else:
        _fill_bits[blocks, THREADS](words, seed)


class Judge:
    """Whether results of a case are right; keeps the product in float64."""

    def __init__(self, case: Case, held: Matrices) -> None:
        self._case, self._held = case, held
        self._true: Any = None

    def spoil(self) -> None:
        """Fill `out`, and the copy's target, with what is not the result."""
        for words in self._held.spoils:
            refill(words, 99)

    def wrong_elements(self, result: Any) -> int:
        """Values of a transpose's result that differ from the input's, by their bits."""
        kind = np.dtype(BITS[self._case.itemsize])
        out, inp = (
            cuda.as_cuda_array(Shown(one, kind.str)) for one in (result, self._held.inputs[0])
        )
        count = cuda.to_device(np.zeros(1, np.int64))
        parts = self._case.itemsize // kind.itemsize
        _not_transposed[_blocks(inp.shape[0]), THREADS](count, out, inp, parts)
        return int(count.copy_to_host()[0])

    def wrong_copies(self) -> int:
        """Words that the copy did not bring over."""
        out, inp = (one.reshape(one.size).view(np.uint32) for one in self._held.copies)
        count = cuda.to_device(np.zeros(1, np.int64))
        _not_equal[_blocks(-(-out.size // THREADS)), THREADS](count, out, inp)
        return int(count.copy_to_host()[0])

    def error(self, result: Any) -> float:
        """Largest error of a product's result over the largest true value; inf for NaN."""
        high, wide = self._held.out.shape
        if self._true is None:
            self._true = cuda.device_array((high, wide), np.float64)
            _product[(-(-wide // 32), -(-high // 8)), (32, 8)](self._true, *self._held.inputs)
        found = cuda.device_array((_blocks(high) * THREADS, 2), np.float64)
        _furthest[_blocks(high), THREADS](found, cuda.as_cuda_array(result), self._true)
        difference, largest = found.copy_to_host().max(axis=0)
        return float(difference / largest) if largest else float(difference)


def _blocks(wished: int) -> int:
    return max(1, min(BLOCKS, wished))


def sweep(size: int) -> Callable[[], None]:
    """A function that reads so many bytes, so that the L2 cache holds nothing else."""
    words = cuda.to_device(np.ones(size // 4, np.uint32))
    sums = cuda.to_device(np.zeros(1, np.uint32))
    started = _read[_blocks(-(-words.size // THREADS)), THREADS]
    return lambda: started(words, sums)
