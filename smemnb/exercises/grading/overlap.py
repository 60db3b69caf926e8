"""Whether the loads of the next tile are under way while the present one is read.

A load does not make its warp wait; the first line that needs its value does. So the time of a load
is hidden only if a tile is read between the load and the store that puts its value into shared
memory. Values and counts do not show that: the kernel is run once more, with another number in
each element of its inputs, so that every store tells which load it waits for.

**Limits**: the order is that of the source; a compiler may move a load. One read in between is
enough. Not looked at are stores before the first barrier, as no tile is there yet that could be
read meanwhile, and numbers that are changed on their way into a tile. Where threads wait for others
in a loop, the order of their accesses is not known, and nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...lockstep.watch import Access, Barrier, Site, Watcher
from ...simulator import launch
from ..exercise import Case, Exercise, Kernel
from ..source import function_of, parameters, source_line
from .observe import initial_output, outputs_of, title_of
from .verdict import Part

if TYPE_CHECKING:
    from ...lockstep.batch import Batch

__all__ = ["overlap_part"]


class _Step(NamedTuple):
    """One access of the order that is refused."""

    verb: str
    site: Site


class _Order(Watcher):
    """Looks for the first store that follows its load with no read of a tile in between.

    `first` is the number of each input's first element, by the name of its parameter; `idle` are
    the accesses around the store that was found, in the order in which they came.
    """

    def __init__(self, first: Mapping[str, int]) -> None:
        self._first = first
        self._begun: list[_Step] = []
        self.idle: list[_Step] = []
        self.known = True

    def begin_batch(self, batch: Batch) -> None:
        """Begin anew with other blocks."""
        self._now, self._barriers, self._read_at = 0, 0, 0
        self._loads: dict[float, tuple[int, Site]] = {}
        self._read_here: Site | None = None

    def barrier(self, event: Barrier) -> None:
        """Begin a new phase of the block."""
        if event.scope == "block":
            self._barriers += 1
            self._read_here = None

    def access(self, event: Access) -> None:
        """Remember who loads and who reads, and look at each store."""
        self.known &= event.turn is None
        self._now += 1
        space, kind = event.array.space, event.kind
        if space == "global" and kind == "load" and event.array.name in self._first:
            first = self._first[event.array.name]
            for number in _numbers((piece.offset, piece.active) for piece in event.cells()):
                self._loads[first + number] = self._now, event.site
        elif space == "shared" and kind == "load" and event.active.any():
            self._read_at, self._read_here = self._now, event.site
            self._settle(_Step("reads", event.site))
        elif space == "shared" and kind == "store" and self._barriers and not self._begun:
            self._look_at(event)

    def end_batch(self) -> None:
        """Settle what was found, where no read comes any more."""
        self._settle()

    def _look_at(self, event: Access) -> None:
        """Note a store whose value was loaded after the last read."""
        for number in _numbers((piece.value, piece.active) for piece in event.cells()):
            when, load = self._loads.get(number, (0, event.site))
            if when > self._read_at:
                before = [_Step("reads", self._read_here)] if self._read_here else []
                self._begun = [*before, _Step("loads", load), _Step("stores", event.site)]
                if before:
                    self._settle()
                return

    def _settle(self, *after: _Step) -> None:
        if self._begun and not self.idle:
            self.idle = [*self._begun, *after]


def _numbers(moved: Iterable[tuple[Any, Any]]) -> list[float]:
    """The numbers in active lanes, each once."""
    found = []
    for values, active in moved:
        every, lanes = np.broadcast_arrays(values, active)
        found.append(every[lanes])
    numbers: list[float] = np.unique(np.concatenate(found)).tolist()
    return numbers


def overlap_part(
    exercise: Exercise, kernel: Kernel, patience_s: float | None = None
) -> Part | None:
    """Refuse a kernel that waits for its loads with nothing to do; None where nothing is asked.

    Raises:
        SmemnbError: as for `observe`; the kernel ran in the same case before.
    """
    if exercise.overlap_case is None:
        return None
    case = exercise.cases[exercise.overlap_case]
    seen = _watched(exercise, case, kernel, patience_s)
    if not seen.idle or not seen.known:
        return Part("order", "each tile is loaded while another one is read", ok=True)
    function = function_of(kernel)
    assert function is not None
    steps = [_said(step, function.__name__) for step in seen.idle]
    expected = outputs_of(exercise, case.inputs())[0]
    return Part(
        "order",
        f"{', then '.join(said for said, _ in steps)}: no tile is read between this load and its "
        "store, so every warp waits there\n"
        + "\n".join(dict.fromkeys(line for _, line in steps))
        + f"\n({title_of(case, case.inputs(), expected)})",
        ok=False,
    )


def _watched(exercise: Exercise, case: Case, kernel: Kernel, patience_s: float | None) -> _Order:
    """The watcher of a launch in which each element of the inputs has a number of its own."""
    inputs = list(case.inputs())
    outputs = [initial_output(exercise, one) for one in outputs_of(exercise, case.inputs())]
    first: dict[str, int] = {}
    begin = 1  # zeros beyond the edge are nobody's
    for name, value in zip(parameters(kernel)[len(outputs) :], inputs, strict=True):
        if isinstance(value, np.ndarray):
            value[...] = np.arange(begin, begin + value.size).reshape(value.shape)
            first[name] = begin
            begin += value.size
    order = _Order(first)
    args = (*outputs, *inputs)
    launch.run(
        kernel, case.grid, case.block, 0, case.shared_bytes, args, [order], patience_s=patience_s
    )
    return order


def _said(step: _Step, kernel: str) -> tuple[str, str]:
    """An access in words, and its line as a verdict shows it."""
    site = step.site
    of = "" if site.function == kernel else f" of {site.function}"
    line = source_line(site.file, site.line) or site.text
    return f"line {site.line}{of} {step.verb}", f"{site.line} | {line.strip()}"
