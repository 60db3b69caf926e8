"""What the watchers saw go wrong, in words: one cause, one cure, both with their lines.

A watcher hands over an `Observation` (sites, threads, a cell); a `Finding` says it in a sentence
that names the lines as they are written, the threads with their warps, and the cell, and in a
second sentence what to change. Severity "error" changes results or hangs a GPU; "warning" works
until the hardware schedules the lanes differently; "note" is harmless today.

Taught in `01_shared_memory`. **Limits**: a finding is about the launch that was watched; another
grid or other data may show more.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..lockstep.watch import Site
from .model import Dim3, Observation, place
from .subscript import subscript

SEVERITY = {
    "race": "error",
    "race_in_warp": "warning",
    "race_same_value": "note",
    "divergent_barrier": "error",
    "exited_before_barrier": "error",
    "uninitialised": "error",
    "stale": "error",
    "out_of_range": "error",
    "wrapped_index": "warning",
}
_RANK = {"error": 0, "warning": 1, "note": 2}
_UNIT = {"uninitialised": "time", "stale": "time", "out_of_range": "time", "wrapped_index": "time"}
_UNIT |= {"divergent_barrier": "thread", "exited_before_barrier": "thread"}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a launch, with its lines, threads and cell, and its cure.

    `count` is how many cells (races), threads (barriers) or lanes (reads of what nobody stored,
    indices out of range) it concerns in the whole launch; `threads`, `warps`, `block` and `index`
    name the first of them.
    """

    kind: str
    severity: str
    function: str
    line: int
    source: str
    other_function: str | None
    other_line: int | None
    other_source: str | None
    threads: tuple[Dim3, ...]
    warps: tuple[int, ...]
    block: Dim3
    array: str | None
    index: tuple[int, ...] | None
    count: int
    cause: str
    cure: str

    @property
    def unit(self) -> str:
        """What `count` counts, in the right number: "cells", "threads" or "times"."""
        noun = _UNIT.get(self.kind, "cell")
        return noun if self.count == 1 else noun + "s"

    def __repr__(self) -> str:
        return f"{self.severity}, {self.kind.replace('_', ' ')}: {self.cause} {self.cure}"

    def __str__(self) -> str:
        """As the repr, in lines of at most 96 columns, which a page does not break in a word."""
        lines = textwrap.wrap(
            repr(self),
            96,
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        return "\n".join(lines)


def in_order(finding: Finding) -> tuple[object, ...]:
    """Sort key of a finding: severity, broken barriers first (they cause races), then lines."""
    return (
        _RANK[finding.severity],
        finding.kind not in ("divergent_barrier", "exited_before_barrier"),
        finding.line,
        finding.other_line or 0,
        finding.kind,
        finding.array or "",
        finding.function,
        finding.other_function or "",
        finding.block,
        finding.threads,
    )


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
        self._kernel, self._block = kernel, block
        self._label, self._source = label, source
        self._broken = [one.site for one in seen if one.kind == "divergent_barrier"]

    def finding(self, seen: Observation) -> Finding:
        """The observation as a finding, in words."""
        cause, cure = _SAID[seen.kind](self, seen)
        other = seen.other
        threads = (seen.thread,) if seen.other_thread is None else (seen.thread, seen.other_thread)
        return Finding(
            kind=seen.kind,
            severity=SEVERITY[seen.kind],
            function=self._label(seen.site),
            line=seen.site.line,
            source=self._source(seen.site),
            other_function=None if other is None else self._label(other),
            other_line=None if other is None else other.line,
            other_source=None if other is None else self._source(other),
            threads=threads,
            warps=(seen.warp,) if seen.other_warp is None else (seen.warp, seen.other_warp),
            block=seen.block,
            array=None if seen.array is None else seen.array.name,
            index=seen.index,
            count=seen.count,
            cause=cause[0].upper() + cause[1:],
            cure=cure,
        )

    def line(self, site: Site) -> str:
        """The line of a site as it is said: "line 9", or "line 9 of helper"."""
        label = self._label(site)
        return f"line {site.line}" + ("" if label == self._kernel else f" of {label}")

    def thread(self, seen: Observation, other: bool = False) -> str:
        """A thread with its warp: "thread (3, 1), warp 1"."""
        coordinates = seen.other_thread if other else seen.thread
        warp = seen.other_warp if other else seen.warp
        said = "another thread" if coordinates is None else f"thread {self._at(coordinates)}"
        return said if warp is None else f"{said}, warp {warp}"

    def does(self, seen: Observation, other: bool = False) -> str:
        """One of the two accesses: "line 9 stores tile[ty, tx] (thread (3, 1), warp 1)"."""
        site = seen.other if other and seen.other is not None else seen.site
        return f"{self.line(site)} {_act(site)} ({self.thread(seen, other)})"

    def both(self, seen: Observation) -> str:
        """Both accesses of a race and the cell they meet in."""
        if seen.other is None or seen.other is seen.site:
            said = (
                f"{self.line(seen.site)} {_act(seen.site)} in {self.thread(seen)} "
                f"and in {self.thread(seen, other=True)}"
            )
        else:
            there = self.does(seen, other=True).removeprefix(f"{self.line(seen.site)} ")
            said = f"{self.does(seen)} and {there}"
        return f"{said}: the same cell {_cell(seen)}"

    def broken_barrier(self, first: Site, then: Site) -> Site | None:
        """A barrier between two lines that some threads do not reach."""
        ends = sorted((first.line, then.line))
        for barrier in self._broken:
            if barrier.file == first.file == then.file and ends[0] <= barrier.line <= ends[1]:
                return barrier
        return None

    def _at(self, coordinates: Dim3) -> str:
        return place(coordinates, self._block)


def _act(site: Site) -> str:
    verbs = {"load": "loads", "store": "stores"}
    return f"{verbs.get(site.kind, 'runs')} {site.text}"


def _cell(seen: Observation) -> str:
    name = "of the array" if seen.array is None else seen.array.name
    return name if seen.index is None else f"{name}[{', '.join(map(str, seen.index))}]"


def _race(words: Words, seen: Observation) -> tuple[str, str]:
    cause = f"{words.both(seen)}, and no barrier orders them."
    return cause, _ordered_by(_BLOCK, words, seen)


_BLOCK = "cuda.syncthreads()"


def _ordered_by(barrier: str, words: Words, seen: Observation) -> str:
    first, then = seen.site, seen.other
    if then is None or then is first:
        return (
            "Let one thread store it, give every thread a cell of its own, or use "
            "cuda.atomic.add if the values are to be added up."
        )
    broken = words.broken_barrier(first, then)
    if broken is not None and barrier == _BLOCK:
        return (
            f"Repair the barrier of {words.line(broken)} first: not every thread reaches it, so "
            "it orders nothing."
        )
    if (first.file, first.line) == (then.file, then.line):
        if first.text == then.text:
            return (
                "Make it one step that no other thread comes between: cuda.atomic.add, or "
                "another function of cuda.atomic."
            )
        return f"Load into a variable first, then {barrier}, then store on a line of its own."
    if first.file == then.file and first.function == then.function and first.line > then.line:
        return (
            f"Put {barrier} after {words.line(first)}, at the end of the loop body: the next "
            f"pass comes back to {words.line(then)} while other threads are still there."
        )
    return f"Put {barrier} between {words.line(first)} and {words.line(then)}."


def _race_in_warp(words: Words, seen: Observation) -> tuple[str, str]:
    cause = f"{words.both(seen)}, inside one warp, and no cuda.syncwarp() orders them."
    return cause, (
        _ordered_by("cuda.syncwarp()", words, seen)[:-1]
        + "; on GPUs since 2017 the lanes of a warp need not run in step."
    )


def _race_same_value(words: Words, seen: Observation) -> tuple[str, str]:
    cause = f"{words.both(seen)}, every time with the same value, and no barrier orders them."
    return cause, (
        "Harmless on a GPU as it stands; let one thread store it, so that it does not become "
        "a race on the day the values differ."
    )


def _divergent(words: Words, seen: Observation) -> tuple[str, str]:
    where = "elsewhere"
    if seen.other is not None and seen.other is not seen.site:
        where = f"at {words.line(seen.other)}"
    one = seen.detail.get("missing") == 1
    others = f"that {'has' if one else 'have'} not returned {'is' if one else 'are'} {where}"
    return _some_at_a_barrier(words, seen, others), (
        "Move cuda.syncthreads() out of the if or the loop, so that every thread of the block "
        "reaches the same one; only the work stays inside."
    )


def _exited(words: Words, seen: Observation) -> tuple[str, str]:
    others = "has" if seen.detail.get("missing") == 1 else "have"
    return _some_at_a_barrier(words, seen, f"{others} returned before it"), (
        "Turn the early return into a guard: put the work under an if, and leave "
        "cuda.syncthreads() outside it, where every thread passes."
    )


def _some_at_a_barrier(words: Words, seen: Observation, others: str) -> str:
    """How many threads of the first such block reach a barrier, and what the others do."""
    arrived, missing = (seen.detail.get(name, "some") for name in ("arrived", "missing"))
    absent = "" if seen.other_thread is None else f" (first {words.thread(seen, other=True)})"
    reach = "thread of the block reaches" if arrived == 1 else "threads of the block reach"
    return (
        f"{arrived} {reach} the barrier of {words.line(seen.site)} "
        f"(first {words.thread(seen)}) and {missing} {others}{absent}."
    )


def _uninitialised(words: Words, seen: Observation) -> tuple[str, str]:
    cause = f"{words.does(seen)}: no thread of the block has stored {_cell(seen)} before."
    return cause, _STORE_FIRST


def _stale(words: Words, seen: Observation) -> tuple[str, str]:
    cause = (
        f"{words.does(seen)}: no thread of this block has stored {_cell(seen)} before; a GPU "
        "gives what an earlier block left there, which often looks right."
    )
    return cause, _STORE_FIRST


_STORE_FIRST = (
    "Store every cell that is loaded (for instance 0 where the input ends), or do not load it "
    "(end the loop at the last stored cell): shared memory does not start as zeros."
)


def _out_of_range(words: Words, seen: Observation) -> tuple[str, str]:
    axis = seen.axis or 0
    name, written = _index(seen, axis)
    index, size = _reach(seen, axis)
    where = f"{words.does(seen)} with index {index} on axis {axis}"
    if index < 0:
        return (
            f"{where}, where {name} has size {size}: before the array, even after Numba has "
            "wrapped it.",
            f"Guard the line: if {_said(written)} >= 0.",
        )
    return f"{where}, but {name} has size {size} there.", _guard(seen, axis, name, written)


def _guard(seen: Observation, axis: int, name: str, written: ast.expr | None) -> str:
    """The cure of an index past the end, by how far it goes and how it is written."""
    index, size = _reach(seen, axis)
    test = f"if {_said(written)} < {name}.shape[{axis}]"
    shape = () if seen.array is None else seen.array.shape
    furthest = int(seen.detail.get("furthest", -1))
    if furthest == size:
        last = f"The last index is {size - 1}" if size else f"{name} has no cell there"
        ways = [f"guard the line: {test}"]
        if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Add) and size:
            ways.append(f"go round: ({_said(written)}) % {name}.shape[{axis}]")
        elif isinstance(written, ast.BinOp) and isinstance(written.op, ast.Sub) and size:
            ways.insert(0, f"subtract 1 more: {_said(written)} - 1")
        return f"{last}; {', or '.join(ways)}."
    fits = any(max(index, furthest) < n for at, n in enumerate(shape) if at != axis)
    return f"Guard the line: {test}" + (", or exchange the indices." if fits else ".")


def _wrapped_index(words: Words, seen: Observation) -> tuple[str, str]:
    axis = seen.axis or 0
    name, written = _index(seen, axis)
    index, size = _reach(seen, axis)
    said = _said(written)
    cause = (
        f"{words.does(seen)} with index {index} on axis {axis}: it counts from the end, Numba "
        f"wraps it to {index + size}, where {name} has size {size}."
    )
    return cause, (
        f"Guard the line: if {said} >= 0; if the other end is meant, write "
        f"({said}) % {name}.shape[{axis}]."
    )


def _reach(seen: Observation, axis: int) -> tuple[int, int]:
    """The first bad index and the size of its axis."""
    size = int(seen.detail.get("size", 0 if seen.array is None else seen.array.shape[axis]))
    return int(seen.detail["index"] if "index" in seen.detail else (seen.index or ())[axis]), size


def _index(seen: Observation, axis: int) -> tuple[str, ast.expr | None]:
    """The array and the index of one axis, as they are written in the source."""
    name, parts = subscript(seen.site.text)
    if not name:
        name = "the array" if seen.array is None else seen.array.name
    return name, parts[axis] if axis < len(parts) else None


def _said(written: ast.expr | None) -> str:
    return "index" if written is None else ast.unparse(written)


_SAID: dict[str, Callable[[Words, Observation], tuple[str, str]]] = {
    "race": _race,
    "race_in_warp": _race_in_warp,
    "race_same_value": _race_same_value,
    "divergent_barrier": _divergent,
    "exited_before_barrier": _exited,
    "uninitialised": _uninitialised,
    "stale": _stale,
    "out_of_range": _out_of_range,
    "wrapped_index": _wrapped_index,
}
