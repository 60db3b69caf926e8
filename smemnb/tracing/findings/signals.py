"""Words of races between blocks, beside an atomic, and on flags."""

from __future__ import annotations

from ...lockstep.watch import Site
from ..model import Observation, place
from .races import broken_between, put_between
from .words import Words, act, element, passes


def race_between_blocks(words: Words, seen: Observation) -> tuple[str, str]:
    """Threads of two blocks meet in one element; no barrier orders blocks."""
    cause = f"{_both(words, seen)}; no barrier orders blocks."
    first, then = seen.site, seen.other
    alone = then is None or then is first
    if alone or (then is not None and (first.line, first.text) == (then.line, then.text)):
        return cause, (
            "Give every block an element of its own, or make it one atomic step: cuda.atomic.add, "
            "or another function of cuda.atomic."
        )
    stored = first if first.kind == "store" else then
    assert stored is not None
    return cause, (
        "Split the kernel in two launches, one after the other; or let the blocks signal each "
        f"other: cuda.threadfence() after {words.line(stored)}, then an atomic of cuda.atomic, and "
        "an atomic on the same element before the other line."
    )


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
        ways = f"Use {instead}, or move one of the lines to a launch of its own."
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
