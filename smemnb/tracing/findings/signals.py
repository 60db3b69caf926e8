"""Words of races between blocks, beside an atomic, and on flags."""

from __future__ import annotations

from ...lockstep.texts import shown_lines
from ...lockstep.watch import Site
from ..model import HeardBy, Observation, place
from .races import broken_between, put_between
from .words import Words, act, element, passes


def race_between_blocks(words: Words, seen: Observation) -> tuple[str, str]:
    """Threads of two blocks meet in one element; no barrier orders blocks."""
    if seen.heard is not None:
        return _not_handed_on(words, seen, seen.heard)
    cause = f"{_both(words, seen)}; no barrier orders blocks."
    first, then = seen.site, seen.other
    alone = then is None or then is first
    if alone or (then is not None and (first.line, first.text) == (then.line, then.text)):
        return cause, (
            "Give every block an element of its own, or make it one atomic step: cuda.atomic.add, "
            "or another function of cuda.atomic."
        )
    assert then is not None
    stored, loads = (first, then) if first.kind == "store" else (then, first)
    signalled = _by_a_signal(words, seen, stored, loads)
    if signalled:
        return cause, signalled
    return cause, (
        f"Let the blocks signal each other: cuda.threadfence() after {words.line(stored)}, then an "
        "atomic of cuda.atomic, and an atomic on the same element before the other line."
        f"{TWO_LAUNCHES}"
    )


def _by_a_signal(words: Words, seen: Observation, stored: Site, loads: Site) -> str:
    """The cure where an atomic between the lines may be meant as a signal; "" where none is."""
    fence, signal = _signal_between(stored, loads)
    fence = fence if seen.detail.get("fences") else 0  # no thread runs it
    if signal and fence:
        return (
            f"If the fence of line {fence} and the atomic of line {signal} are to tell other "
            f"blocks that {words.line(stored)} is done: the thread that runs them must know of the "
            f"store, by cuda.syncthreads() between line {stored.line} and line {fence} where it is "
            f"another thread's, and line {loads.line} must come behind an atomic on the same "
            f"element.{TWO_LAUNCHES}"
        )
    if signal:
        return (
            f"If the atomic of line {signal} is to tell other blocks that {words.line(stored)} is "
            f"done, put cuda.threadfence() between the two: an atomic alone orders no other memory."
            f"{TWO_LAUNCHES}"
        )
    return ""


TWO_LAUNCHES = " Or split the kernel in two launches, one after the other."
"""The cure that needs no signal; an exercise is one launch."""


LAUNCH_OF_ITS_OWN = " Or move one of the lines to a launch of its own."
"""The same of one line."""


def _signal_between(stored: Site, loads: Site) -> tuple[int, int]:
    """The lines of the first atomic from a store on to a load, and of a fence before it.

    0 for none; what stands in another function counts as none.
    """
    if (stored.file, stored.function) != (loads.file, loads.function):
        return 0, 0
    lines, fence = shown_lines(stored.file), 0
    for number in range(stored.line + 1, min(loads.line, len(lines) + 1)):
        text = lines[number - 1].split("#")[0]
        if "threadfence(" in text:
            fence = number
        if "atomic." in text:
            return fence, number
    return 0, 0


def _not_handed_on(words: Words, seen: Observation, heard: HeardBy) -> tuple[str, str]:
    """One thread of the block knows that the other block is done, and this one does not."""
    here = heard.block == seen.block
    other = seen.thread if here else seen.other_thread
    mine = seen.site if here else seen.other or seen.site
    warp = seen.warp if here else seen.other_warp
    assert other is not None
    knows, not_yet = words.at(heard.thread), words.at(other)
    cause = (
        f"{_both(words, seen)}. Thread {knows} of that block knows by {words.line(heard.site)} that"
        f" the other block is done, and nothing orders thread {not_yet} behind thread {knows}."
    )
    barrier = "cuda.syncwarp()" if warp == heard.warp else "cuda.syncthreads()"
    cure = put_between(barrier, words, heard.site, mine)
    if warp == heard.warp:
        cure += " A shuffle hands on a value and orders no memory."
    return cause, cure


def race_atomic(words: Words, seen: Observation) -> tuple[str, str]:
    """One access is atomic, the other is not, and nothing orders them."""
    then = seen.other or seen.site
    plain = then if _is_atomic(seen.site) else seen.site
    cause = f"{_both(words, seen)}: one is atomic, the other is not, and nothing orders them."
    if plain.kind == "store":
        instead = "cuda.atomic.exch in place of the plain store"
    else:
        instead = "the value that the atomic returns"
    if seen.other_block is not None:
        ways = f"Use {instead}.{LAUNCH_OF_ITS_OWN}"
        if plain.kind != "store":
            added = seen.site if plain is then else then
            ways = _by_a_signal(words, seen, added, plain) or ways
    else:
        ways = broken_between(words, seen.site, then)
        if not ways:
            ways = put_between("cuda.syncthreads()", words, seen.site, then, passes(seen))
            ways = f"{ways[:-1]}; or use {instead}."
    return cause, ways


def race_flag(words: Words, seen: Observation) -> tuple[str, str]:
    """A plain load polls what another thread signals."""
    cause = (
        f"{_both(words, seen)}: a plain load polls what another thread signals; it works only as "
        "long as the compiler loads again each time."
    )
    return cause, (
        "Poll with an atomic that changes nothing, cuda.atomic.add of 0, and signal with "
        "cuda.atomic.exch."
    )


def _both(words: Words, seen: Observation) -> str:
    """Both accesses with thread, warp and block, and the element they meet in."""
    if seen.other_block is None:
        return words.both(seen)
    then = seen.other or seen.site
    here = _does(words, seen.site, seen, other=False)
    there = _does(words, then, seen, other=True)
    if then is seen.site:
        there = f"in {_thread(words, seen, other=True)}"
        here = f"{words.line(seen.site)} {act(seen.site)} in {_thread(words, seen, other=False)}"
    there = there.removeprefix(f"{words.line(seen.site)} ")
    return f"{here} and {there}: the same element {element(seen)}"


def _does(words: Words, site: Site, seen: Observation, other: bool) -> str:
    return f"{words.line(site)} {act(site)} ({_thread(words, seen, other)})"


def _thread(words: Words, seen: Observation, other: bool) -> str:
    assert seen.other_block is not None
    extent = tuple(map(max, seen.block, seen.other_block))
    block = seen.other_block if other else seen.block
    axes = (extent[0] + 1, extent[1] + 1, extent[2] + 1)
    return f"{words.thread(seen, other)}, block {place(block, axes)}"


def _is_atomic(site: Site) -> bool:
    return site.kind.startswith("atomic")
