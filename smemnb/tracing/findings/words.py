"""The sentences of one launch: how all findings name lines, threads, accesses and elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lockstep.watch import Site
from ..model import Dim3, Observation, place
from .loops import around

Said = tuple[str, str]
"""What went wrong, and what to change."""

_BROKEN = ("divergent_barrier", "divergent_syncwarp")

Say = Callable[["Words", Observation], Said]
"""The words of one kind of finding."""


class Words:
    """The sentences of one launch: it knows the block's shape and which function is the kernel.

    Args:
        kernel: label of the kernel; lines of other functions are named with their function.
        block: threads per block, for the naming of threads.
        label: the name that the report gives to the function of a site.
        source: the source line of a site.
        seen: all observations of the launch; some words depend on what else was seen.
    """

    def __init__(
        self,
        kernel: str,
        block: Dim3,
        label: Callable[[Site], str],
        source: Callable[[Site], str],
        seen: Sequence[Observation] = (),
    ) -> None:
        self._kernel, self.block = kernel, block
        self.label, self.source = label, source
        self._broken = [one.site for one in seen if one.kind in _BROKEN]
        self._unnamed = {one.site for one in seen if one.kind == "unnamed_lane"}

    def line(self, site: Site) -> str:
        """The line of a site as it is said: "line 9", or "line 9 of helper"."""
        label = self.label(site)
        return f"line {site.line}" + ("" if label == self._kernel else f" of {label}")

    def thread(self, seen: Observation, other: bool = False) -> str:
        """A thread with its warp: "thread (3, 1), warp 1"."""
        coordinates = seen.other_thread if other else seen.thread
        warp = seen.other_warp if other else seen.warp
        said = "another thread" if coordinates is None else f"thread {self.at(coordinates)}"
        return said if warp is None else f"{said}, warp {warp}"

    def does(self, seen: Observation, other: bool = False) -> str:
        """One of the two accesses: "line 9 stores tile[ty, tx] (thread (3, 1), warp 1)"."""
        site = seen.other if other and seen.other is not None else seen.site
        return f"{self.line(site)} {act(site)} ({self.thread(seen, other)})"

    def both(self, seen: Observation) -> str:
        """Both accesses of a race and the element they meet in."""
        if seen.other is None or seen.other is seen.site:
            said = (
                f"{self.line(seen.site)} {act(seen.site)} in {self.thread(seen)} "
                f"and in {self.thread(seen, other=True)}"
            )
        else:
            there = self.does(seen, other=True).removeprefix(f"{self.line(seen.site)} ")
            comes_back = passes(seen) == {"back"} and around(seen.site, seen.other).loop
            later = ", in a later pass of the loop," if comes_back else ""
            said = f"{self.does(seen)} and{later} {there}"
        return f"{said}: the same element {element(seen)}"

    def broken_barrier(self, first: Site, then: Site) -> Site | None:
        """A barrier between two lines that some threads do not reach, of a block or of a warp."""
        ends = sorted((first.line, then.line))
        for barrier in self._broken:
            if barrier.file == first.file == then.file and ends[0] <= barrier.line <= ends[1]:
                return barrier
        return None

    def leaves_out(self, site: Site) -> bool:
        """Whether a warp function is run by lanes that its mask does not name."""
        return site in self._unnamed

    def at(self, coordinates: Dim3) -> str:
        """A thread's coordinates, as many as the block has axes."""
        return place(coordinates, self.block)


def passes(seen: Observation) -> frozenset[str]:
    """In which passes of a loop the sides of a race meet (`watchers.races.passes`)."""
    return frozenset(str(seen.detail.get("passes", "")).split())


def act(site: Site) -> str:
    """What a site does: "stores tile[ty, tx]"."""
    verbs = {"load": "loads", "store": "stores"}
    return f"{verbs.get(site.kind, 'runs')} {site.text}"


def element(seen: Observation) -> str:
    """The element of an observation: "tile[1, 3]"."""
    name = "of the array" if seen.array is None else seen.array.name
    return name if seen.index is None else f"{name}[{', '.join(map(str, seen.index))}]"
