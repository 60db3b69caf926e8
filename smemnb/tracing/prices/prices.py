"""The prices of one launch, as observations for the findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hardware import limits
from ...lockstep.memory import KernelArray
from ...lockstep.watch import Bulk, Site, Watcher
from ..model import Observation, SiteCounts
from ..watchers.initialisation import Initialisation
from .arithmetic import double_arithmetic
from .coalescing import inefficient_accesses
from .local_arrays import arrays_in_memory
from .matrix_rows import conflicting_rows
from .padding import phantom_padding
from .shared_memory import few_blocks, unused_arrays

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch


class Prices(Watcher):
    """Notes which shared arrays a launch declares; the rest is worked out when it is over."""

    def __init__(self) -> None:
        self.declared: dict[Site, KernelArray] = {}
        """Where shared arrays were declared."""
        self.tiles: set[tuple[Any, ...]] = set()
        """Shared arrays that bulk copies or products of warpgroups touch."""
        self.dynamic: dict[np.dtype[Any], KernelArray] = {}
        """The dynamic shared memory, as elements of each type that the kernel takes it for."""

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def bulk(self, event: Bulk) -> None:
        """Note an array that is touched as a whole."""
        array = event.array
        self.tiles.add((array.name, array.base, array.shape))

    def end_batch(self) -> None:
        """Note the shared arrays that these blocks came by."""
        for site, array in self._batch.shared.items():
            if isinstance(site, Site):
                self.declared.setdefault(site, array)
            elif isinstance(site, np.dtype):
                self.dynamic.setdefault(site, array)

    def observations(
        self, counts: Sequence[SiteCounts], written: Initialisation
    ) -> list[Observation]:
        """What the launch pays without need, by its counts and the elements it stored."""
        return list(self._all(counts, written))

    def _all(self, counts: Sequence[SiteCounts], written: Initialisation) -> Iterator[Observation]:
        from ...simulator import devices

        yield from double_arithmetic(self._launch.types)
        yield from arrays_in_memory(self._launch.function, self._launch.types)
        yield from few_blocks(self._launch, self.declared, limits(devices.cc()))
        if not counts:
            return
        yield from inefficient_accesses(counts)
        yield from conflicting_rows(counts)
        yield from unused_arrays(self.declared, counts, self.tiles)
        alone = self.dynamic.values() if len(self.dynamic) == 1 else ()
        for array in (*self.declared.values(), *alone):
            on_it = [one for one in counts if _same(one, array)]
            stored = written.stored(array)
            if on_it and stored is not None:
                yield from phantom_padding(array, on_it, np.asarray(stored))


def _same(one: SiteCounts, array: KernelArray) -> bool:
    found = one.array
    return (found.name, found.base, found.shape) == (array.name, array.base, array.shape)
