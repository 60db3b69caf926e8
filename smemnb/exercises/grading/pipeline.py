"""Whether asynchronous copies are under way while a tile is read, where an exercise asks for it.

Values, findings and counts are the same for a kernel that waits for each piece as soon as it has
sent it. So the kernel runs once more in one case, and each request that reads shared memory is
asked: is any copy of its block under way that reads something? In a pipeline it is in all rounds
but the last ones, which have nothing to send any more, however many stages there are, whether the
wait stands before or after the issue, and whether groups or mbarriers say that copies are there.

**Limits**: a copy counts as under way until a wait of its thread, or of a thread that finds the
phase of its mbarrier over. Half of the reads are enough, so that a tail of several rounds may wait
for everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.lanes import spread
from ...lockstep.watch import Access, CopyGroup, Watcher
from ...simulator import launch
from ..exercise import Exercise, Kernel
from .observe import initial_output, outputs_of, title_of
from .verdict import Part

if TYPE_CHECKING:
    from ...lockstep.batch import Batch

__all__ = ["pipeline_part"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(eq=False)
class _Sent:
    """A request of copies: the lanes whose copies are under way, and what they are waited for by.

    `group` is the number of each lane's group; `barrier` and `phase` are of an mbarrier, -1 where
    there is none.
    """

    left: Array
    group: Array
    barrier: Array
    phase: Array


class InFlight(Watcher):
    """Counts the requests that read what was copied, and those with copies under way.

    Attributes:
        reads: requests of warps that load from a shared array into which copies go.
        hiding: those of them that come while a copy of their block is under way.
        copies: requests of copies that read global memory.
    """

    def __init__(self) -> None:
        self.reads = self.hiding = self.copies = 0

    def begin_batch(self, batch: Batch) -> None:
        """Begin anew with other blocks."""
        self._shape = batch.shape
        self._committed = np.zeros(batch.shape, np.int64)
        self._sent: list[_Sent] = []
        self._targets: set[int] = set()

    def access(self, event: Access) -> None:
        """Keep a copy, or ask what is under way while a tile is read."""
        active = spread(event.active, self._shape)
        if event.copy:
            if event.array.space == "shared":
                self._targets.add(id(event.array))
            else:
                self.copies += int(active.any(axis=2).sum())
                nothing = np.full(self._shape, -1)
                self._sent.append(_Sent(active, self._committed, nothing, nothing))
        elif event.kind == "load" and id(event.array) in self._targets:
            warps, hides = active.any(axis=2), np.zeros((self._shape[0], 1), bool)
            for one in self._sent:
                hides |= one.left.reshape(len(hides), -1).any(axis=1, keepdims=True)
            self.reads += int(warps.sum())
            self.hiding += int((warps & hides).sum())

    def copy_group(self, event: CopyGroup) -> None:
        """A group is closed, or copies have arrived."""
        active = spread(event.active, self._shape)
        if event.step == "commit":
            self._committed = self._committed + active
            return
        for one in self._sent:
            if event.step == "wait":
                one.left = one.left & ~(active & (one.group < self._committed - event.pending))
            elif event.step == "attach":
                fresh = active & (one.barrier < 0)
                one.barrier = np.where(fresh, event.barrier, one.barrier)
                one.phase = np.where(fresh, event.phase, one.phase)
            else:
                self._passed(one, event, active)
        self._sent = [one for one in self._sent if one.left.any()]

    def _passed(self, one: _Sent, event: CopyGroup, active: Array) -> None:
        """Some threads have found phases of an mbarrier over."""
        barrier, over = (spread(given, self._shape) for given in (event.barrier, event.phase))
        for address in np.unique(barrier[active]).tolist():
            phases = np.where(active & (barrier == address), over, -1).max(axis=(1, 2))
            there = (one.barrier == address) & (one.phase < phases[:, None, None])
            one.left = one.left & ~there


def pipeline_part(
    exercise: Exercise, kernel: Kernel, patience_s: float | None = None
) -> Part | None:
    """Refuse a kernel that has no copy under way while it reads; None where nothing is asked.

    Raises:
        SmemnbError: as for `observe`; the kernel ran in the same case before.
    """
    if exercise.pipeline_case is None:
        return None
    case = exercise.cases[exercise.pipeline_case]
    inputs = case.inputs()
    expected = outputs_of(exercise, case.inputs())
    outputs = [initial_output(exercise, one) for one in expected]
    seen, args = InFlight(), (*outputs, *inputs)
    launch.run(
        kernel, case.grid, case.block, 0, case.shared_bytes, args, [seen], patience_s=patience_s
    )
    if seen.hiding and 2 * seen.hiding >= seen.reads:
        said = f"copies are under way in {seen.hiding} of {seen.reads} reads of a tile"
        return Part("order", said, ok=True)
    why = (
        "there is no asynchronous copy"
        if not seen.copies
        else f"copies are under way in {seen.hiding} of {seen.reads} reads of a tile"
    )
    return Part(
        "order",
        f"{why}: the way of the next piece is not hidden behind the work on this one. Send it "
        "before this one is read, and wait for it in a later round\n"
        f"({title_of(case, case.inputs(), expected[0])})",
        ok=False,
    )
