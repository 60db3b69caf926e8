"""An array that is another one in some lanes: `row = a if p else b`.

Two views of one array differ in their first element, and perhaps in shape and strides: these
become lane values. Two arrays stay side by side, each with its lanes, and every access is made
on each for its own lanes.

**Limits**: an access through arrays side by side counts as one request per array, where a GPU
issues one for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import KernelStopped
from ..lanes import LaneValue, Mask, chosen
from ..watch import Site
from .arrays import KernelArray

if TYPE_CHECKING:
    from ..batch import Batch


def choose(mask: Mask, new: KernelArray, old: Any) -> KernelArray:
    """`new` where the mask holds, `old` elsewhere."""
    if not isinstance(old, KernelArray):
        return new
    if _is_same_declaration(new, old):
        return old
    pieces = isinstance(new, ChosenArray) or isinstance(old, ChosenArray)
    if not pieces and new.store is old.store and new.unit == old.unit:
        return _merged(mask, new, old)
    if not pieces and new.memory is old.memory and _unit_view(new) and _unit_view(old):
        return _merged(mask, new, old)
    parts = [(lanes & ~mask, array) for lanes, array in parts_of(old)]
    parts += [(lanes & mask, array) for lanes, array in parts_of(new)]
    return ChosenArray([part for part in parts if part[0].any()] or parts[:1])


def _unit_view(array: KernelArray) -> bool:
    """Whether stores over the same memory agree: the elements lie on the grid of their size."""
    return array.unit == array.root.unit and array.dtype == array.root.dtype


def _is_same_declaration(new: KernelArray, old: KernelArray) -> bool:
    """Whether both come from one cuda.local.array, run again: it is the same memory."""
    return (
        new.space == old.space == "local"
        and new.root is new
        and old.root is old
        and (new.name, new.shape, new.dtype) == (old.name, old.shape, old.dtype)
        and new.name != ""
    )


def _merged(mask: Mask, new: KernelArray, old: KernelArray) -> KernelArray:
    """Two views of one array as one whose shape, strides and start are chosen per lane."""

    def pick(first: Any, second: Any) -> Any:
        return _pick(mask, first, second)

    view = KernelArray(
        new.name,
        new.space,
        new.store,
        tuple(map(pick, new.shape, old.shape)),
        new.dtype,
        strides=tuple(map(pick, new.strides, old.strides)),
        base=new.base,
        start=pick(_start(new), _start(old)),
        unit=new.unit,
    )
    valid = None
    if new.valid is not None or old.valid is not None:
        every = np.ones((1, 1, 1), bool)
        valid = np.where(
            mask,
            every if new.valid is None else new.valid,
            every if old.valid is None else old.valid,
        )
    return view.derived(new, valid)


def _start(array: KernelArray) -> Any:
    return 0 if array.start is None else array.start


def parts_of(array: KernelArray) -> list[tuple[Mask, KernelArray]]:
    """The arrays behind an array, each with the lanes that see it."""
    if isinstance(array, ChosenArray):
        return array.parts
    return [(np.ones((1, 1, 1), bool), array)]


class ChosenArray(KernelArray):
    """Several arrays, each seen by its own lanes."""

    def __init__(self, parts: list[tuple[Mask, KernelArray]]) -> None:
        self.parts = parts
        first = parts[0][1]
        shape, strides = first.shape, first.strides
        for lanes, other in parts[1:]:
            shape = tuple(_pick(lanes, a, b) for a, b in zip(other.shape, shape, strict=True))
            strides = tuple(_pick(lanes, a, b) for a, b in zip(other.strides, strides, strict=True))
        super().__init__(
            first.name,
            first.space,
            first.store,
            shape,
            first.dtype,
            strides=strides,
            base=first.base,
            start=first.start,
            unit=first.unit,
        )

    def lanes_of(self, mask: Mask) -> list[tuple[Mask, KernelArray]]:
        """The arrays that lanes of the mask see, with these lanes."""
        seen = [(lanes & mask, array) for lanes, array in self.parts]
        return [(lanes, array) for lanes, array in seen if lanes.any()]

    def each(self, mask: Mask, apply: Callable[[Mask, KernelArray], Any]) -> Any:
        """`apply(lanes, array)` for each array, the results joined lane by lane."""
        result: Any = None
        for lanes, array in self.lanes_of(mask):
            value = apply(lanes, array)
            result = value if result is None else chosen(lanes, value, result)
        return result

    def load(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> LaneValue | KernelArray:
        """The elements at this index, or what is left of each array."""
        found = self.each(mask, lambda lanes, array: array.load(batch, index, lanes, site))
        return np.zeros((), self.dtype)[()] if found is None else found

    def save(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site, value: LaneValue
    ) -> None:
        """Write to each array in its lanes."""
        for lanes, array in self.lanes_of(mask):
            array.save(batch, index, lanes, site, value)

    def place(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> tuple[LaneValue, Mask]:
        """Refused: the lanes are in different arrays.

        Raises:
            KernelStopped: always.
        """
        raise KernelStopped(
            f"line {site.line}: {site.text} is given an array that is another one in some threads. "
            "Branch around the call, with one array on each side."
        )


def of_parts(view: Callable[..., KernelArray]) -> Callable[..., KernelArray]:
    """A function from array to view, made of each array where they stand side by side."""

    @functools.wraps(view)
    def run(array: KernelArray, *rest: Any) -> KernelArray:
        if not isinstance(array, ChosenArray):
            return view(array, *rest)
        return ChosenArray([(lanes, view(one, *rest)) for lanes, one in array.parts])

    return run


def of_each(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """An implementation whose first argument is an array, made on each array for its own lanes."""

    def run(batch: Batch, mask: Mask, site: Site, array: KernelArray, *rest: Any) -> Any:
        if not isinstance(array, ChosenArray):
            return implementation(batch, mask, site, array, *rest)
        return array.each(mask, lambda lanes, one: implementation(batch, lanes, site, one, *rest))

    return run


def _pick(mask: Mask, new: Any, old: Any) -> Any:
    if not isinstance(new, np.ndarray) and not isinstance(old, np.ndarray) and new == old:
        return new
    return np.where(mask, new, old)
