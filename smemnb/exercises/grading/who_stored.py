"""Who stored a wrong element: the launch runs once more, with a watcher on that element alone.

Values can be wrong without a finding: where an index is exchanged, a neighbour's element is read,
and nothing else shows it. The engine knows the thread, the line and the elements that were loaded
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SmemnbError
from ...lockstep.intrinsics.printing import unshown
from ...lockstep.watch import Access, Site, Watcher
from ...tracing.model import Dim3, place
from ..exercise import Exercise, Kernel
from .observe import Run, initial_output

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

PATIENCE_SECONDS = 5.0


class LastStore(Watcher):
    """Watches the stores into one element of one array; `last` says the newest in words.

    `element` is the number of the element in row-major order.
    """

    def __init__(self, array: str, element: int) -> None:
        self._array, self._element = array, element
        self.last, self.sources, self.threads = "", list[str](), set[tuple[Dim3, Dim3]]()

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch
        self._loads: dict[Site, Access] = {}

    def access(self, event: Access) -> None:
        """Keep the last load of each expression; look at stores into the array."""
        if event.kind == "load":
            self._loads[event.site] = event
        elif event.array.space == "global" and event.array.name == self._array:
            for one in event.cells():
                hit = one.offset * one.unit // one.array.itemsize == self._element
                self._keep(one, np.broadcast_to(hit & one.active, self._batch.shape))

    def _keep(self, event: Access, hit: Any) -> None:
        if not hit.any():
            return
        launch = self._launch
        for block, warp, lane in np.argwhere(hit).tolist():  # the last of them is the newest
            at = block, warp, lane
            who = launch.thread_of(warp, lane), launch.block_of(self._batch.first + block)
            self.threads.add(who)
        thread, around = place(who[0], launch.block), place(who[1], launch.grid)
        does = "changes it by an atomic" if event.kind.startswith("atomic") else "stores it"
        said = f"Thread {thread} of block {around} {does} in line {event.site.line}"
        self.sources = [
            _element(load, int(np.broadcast_to(load.offset, self._batch.shape)[at]))
            for site, load in self._loads.items()
            if (site.function, site.line) == (event.site.function, event.site.line)
            and load.array.space in ("shared", "global")
            and np.broadcast_to(load.active, self._batch.shape)[at]
        ]
        self.last = said + (f", from {' and '.join(self.sources)}" if self.sources else "")


def _element(load: Access, offset: int) -> str:
    """The element that a lane loads, as it is written: tile[3, 0]."""
    array = load.array
    rest, index = offset * load.unit // array.unit, dict.fromkeys(range(len(array.shape)), 0)
    for axis in sorted(index, key=lambda axis: -abs(array.strides[axis])):
        if array.shape[axis] > 1 and array.strides[axis] > 0:
            index[axis], rest = divmod(rest, array.strides[axis])
    return f"{array.name}[{', '.join(str(index[axis]) for axis in index)}]"


def who_stored(
    exercise: Exercise, kernel: Kernel, run: Run, output: int, element: Sequence[int]
) -> tuple[str, list[str]]:
    """Say who last stored an element of an output, and list the elements that its line loaded.

    The sentence is "" if no store was seen.

    Args:
        exercise: says what outputs hold before the launch.
        kernel: what was run.
        run: its run; the same case is run again.
        output: number of the output.
        element: the index of the element.
    """
    from ...simulator import launch

    case, expected = run.case, run.expected[output]
    seen = LastStore(run.names[output], int(np.ravel_multi_index(tuple(element), expected.shape)))
    outputs = [initial_output(exercise, array) for array in run.expected]
    try:
        with unshown():
            launch.run(
                kernel,
                case.grid,
                case.block,
                0,
                case.shared_bytes,
                [*outputs, *case.inputs()],
                watchers=(seen,),
                patience_s=PATIENCE_SECONDS,
            )
    except SmemnbError:  # stopped: what was seen until then still holds
        pass
    others = len(seen.threads) - 1
    more = f" ({others} other thread{'s' if others > 1 else ''} stored it before)" if others else ""
    return (f"{seen.last}{more}." if seen.last else ""), seen.sources
