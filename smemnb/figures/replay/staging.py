"""Which element of a global array each store to shared memory brought.

The block is run again with other numbers in its arrays: each element holds a tag, a whole number
that says which element it is. Where a store brings a tag, it brings that element, whatever
registers, local arrays or functions it went through. A tag has as many bits as its type holds
exactly; what one run cannot hold is spread over several, and a last run has the first one's tags
turned round, so that neither a constant, nor a sum, nor the larger of two elements passes for a
copy. The runs count only if they make the same accesses, one by one, as that with the numbers that
were given.

**Limits**: numbers that were changed on the way are not followed, nor are truth values, complex
numbers, records, and arrays inside tuples. Where integers steer the accesses, only arrays of
floating-point numbers have tags; where those do, too, nothing is known. A loop that ends by the
numbers may take as long as a run may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .camera import Camera, same
from .record import Array, Tile

__all__ = ["Source", "sources"]

MULTIPLIER: Final = 0x9E3779B97F4A7C15 | 1
ADDEND: Final = 0x2545F4914F6CDD1D
BITS: Final = {"f2": 10, "i1": 6, "u1": 6, "i2": 13, "u2": 13}
"""Bits of a tag by the type's kind and size; of all wider types `WIDE_BITS`."""
WIDE_BITS: Final = 22  # whole numbers below 2**23 are exact in float32

Filmed = Callable[[Sequence[Any]], Camera]
"""A film of the block's run with these arguments."""


class Source(NamedTuple):
    """Whence the elements of one store come.

    Attributes:
        tile: of each element, which global array; -1 where it is no copy of one.
        element: which element of it.
    """

    tile: Array
    element: Array


class _Group(NamedTuple):
    """The arrays whose tags have as many bits: argument, tile, first number, for each."""

    bits: int
    members: tuple[tuple[int, int, int], ...]
    size: int

    @property
    def runs(self) -> int:
        """Runs that it takes to tell the elements apart, without the last one."""
        return max(1, -(-(self.size - 1).bit_length() // self.bits))

    @property
    def modulus(self) -> int:
        """Of the numbers that stand for elements."""
        return int(1 << (self.bits * self.runs))


def sources(
    film: Camera, filmed: Filmed, values: Callable[[], Sequence[Any]], names: Sequence[str]
) -> dict[int, Source] | None:
    """Whence each shared store of a film comes, by the number of its shot; None if unknown.

    Args:
        film: of the run with the numbers that were given.
        filmed: makes one of a run with other numbers.
        values: new copies of the arguments.
        names: of the kernel's parameters.
    """
    stores = [at for at, shot in enumerate(film.shots) if shot.values is not None]
    for kinds in ("iuf", "f"):
        groups = _groups(film.tiles, values(), names, kinds)
        if not groups or not stores:
            continue
        films = _tagged(film, filmed, values, groups)
        if films is not None:
            return {at: _decoded(groups, [one[at] for one in films]) for at in stores}
    return None if stores else {}


def _groups(
    tiles: Sequence[Tile], args: Sequence[Any], names: Sequence[str], kinds: str
) -> list[_Group]:
    """The arguments that can have tags, by the bits of these."""
    known = {tile.name: at for at, tile in enumerate(tiles) if tile.space == "global"}
    found: dict[int, list[tuple[int, int, int]]] = {}
    sizes: dict[int, int] = {}
    for number, (arg, name) in enumerate(zip(args, names, strict=False)):
        if name in known and isinstance(arg, np.ndarray) and arg.dtype.kind in kinds:
            tile = tiles[known[name]]
            if tile.shape == arg.shape and tile.dtype == str(arg.dtype) and arg.size:
                bits = BITS.get(arg.dtype.str[1:], WIDE_BITS)
                found.setdefault(bits, []).append((number, known[name], sizes.get(bits, 0)))
                sizes[bits] = sizes.get(bits, 0) + arg.size
    return [_Group(bits, tuple(members), sizes[bits]) for bits, members in found.items()]


def _tagged(
    film: Camera, filmed: Filmed, values: Callable[[], Sequence[Any]], groups: list[_Group]
) -> list[list[Array | None]] | None:
    """The numbers of each shot in each run with tags; None where one makes other accesses."""
    last = max(group.runs for group in groups)
    films = []
    for run in [*range(last), -1]:
        args = values()
        for group in groups:
            for number, _, first in group.members:
                args[number][...] = _tags(group, run, first, args[number].shape)
        try:
            other = filmed(args)
        except Exception:  # what tags as indices may raise; then nothing is known
            return None
        if not same(film.shots, other.shots):
            return None
        films.append([shot.values for shot in other.shots])
    return films


def _tags(group: _Group, run: int, first: int, shape: tuple[int, ...]) -> Array:
    """The tags of an array: its elements' digits in a run, all with one more leading bit."""
    number = np.arange(first, first + int(np.prod(shape)), dtype=np.uint64)
    mixed = (number * np.uint64(MULTIPLIER) + np.uint64(ADDEND)) & np.uint64(group.modulus - 1)
    low = np.uint64((1 << group.bits) - 1)
    if run < 0:
        digit = low - (mixed & low)
    else:
        digit = (mixed >> np.uint64(group.bits * min(run, group.runs - 1))) & low
    return (digit + np.uint64(1 << group.bits)).astype(np.int64).reshape(shape)


def _decoded(groups: list[_Group], moved: list[Array | None]) -> Source:
    """The elements whose tags a store has brought, run by run."""
    numbers = [np.asarray(one, np.float64) for one in moved if one is not None]
    tile, element = np.full(numbers[0].size, -1), np.full(numbers[0].size, -1)
    for group in groups:
        base = 1 << group.bits
        parts = [*numbers[: group.runs], numbers[-1]]
        fits = np.ones(tile.size, bool)
        for one in parts:
            fits &= (one >= base) & (one < 2 * base)
        at = np.flatnonzero(fits)
        digits = [one[at].astype(np.int64) - base for one in parts]
        at = at[digits[0] + digits[-1] == base - 1]
        whole = np.zeros(at.size, np.uint64)
        for place, one in enumerate(parts[:-1]):
            digit = (one[at].astype(np.int64) - base).astype(np.uint64)
            whole |= digit << np.uint64(group.bits * place)
        back = np.uint64(pow(MULTIPLIER, -1, 1 << 64))
        number = ((whole - np.uint64(ADDEND)) * back) & np.uint64(group.modulus - 1)
        for _, owner, first in group.members:
            size = _size_after(group, first)
            inside = (number >= first) & (number < first + size)
            tile[at[inside]] = owner
            element[at[inside]] = number[inside].astype(np.int64) - first
    return Source(tile, element)


def _size_after(group: _Group, first: int) -> int:
    """Elements of the member that begins at a number."""
    later = [one for _, _, one in group.members if one > first]
    return min([*later, group.size]) - first
