"""Words of races: two threads touch one element, one writes, and nothing orders them."""

from __future__ import annotations

from dataclasses import replace

from ...lockstep.batch import DYNAMIC_BASE
from ...lockstep.watch import Site
from ..model import Observation
from ..subscript import subscript
from .loops import around
from .words import Words, element, passes


def race(words: Words, seen: Observation) -> tuple[str, str]:
    """Two threads of a block meet in one element, one stores, and no barrier orders them."""
    cause = f"{words.both(seen)}, and no barrier orders them."
    return cause, _ordered_by(_BLOCK, words, seen) + _parts_of_dynamic(seen)


def _parts_of_dynamic(seen: Observation) -> str:
    """Of two names for one element of dynamic memory: they may be parts that overlap by mistake."""
    then, array = seen.other, seen.array
    if then is None or array is None or then.function != seen.site.function:
        return ""
    names = [subscript(site.text)[0] for site in (seen.site, then)]
    if array.space != "shared" or array.base < DYNAMIC_BASE or "" in names:
        return ""
    if names[0] == names[1]:
        return ""
    return (
        f" If {names[0]} and {names[1]} are two parts of the dynamic memory, they overlap: let one "
        "begin where the other ends."
    )


_BLOCK = "cuda.syncthreads()"


def _ordered_by(barrier: str, words: Words, seen: Observation) -> str:
    first, then = seen.site, seen.other
    if then is None or then is first:
        return (
            "Let one thread store it, give every thread an element of its own, or use "
            "cuda.atomic.add if the values are to be added up."
        )
    broken = broken_between(words, first, then)
    if broken:
        return broken
    met = passes(seen)
    if only_from_pass_to_pass(met):
        return put_between(barrier, words, first, then, met)
    if (first.file, first.line) == (then.file, then.line):
        if first.text == then.text:
            return (
                "Make it one step that no other thread comes between: cuda.atomic.add, or "
                "another function of cuda.atomic."
            )
        branch = around(first, then).branch
        outside = f" outside of the {branch}" if branch else ""
        return (
            f"Load into a variable first, then {barrier}{outside}, then store on a line of its "
            f"own.{_again_at_the_end(barrier, words, first, then, met)}"
        )
    return put_between(barrier, words, first, then, met)


def only_from_pass_to_pass(met: frozenset[str]) -> bool:
    """Whether the two meet when a loop comes back and never within a pass, as with two buffers."""
    return "back" in met and "within" not in met


def broken_between(words: Words, first: Site, then: Site) -> str:
    """To repair the barrier that stands between two lines and that some miss; "" without one."""
    broken = words.broken_barrier(first, then)
    if broken is None:
        return ""
    return (
        f"Repair the barrier of {words.line(broken)} first: not every thread reaches it, so it "
        "orders nothing."
    )


def put_between(
    barrier: str, words: Words, first: Site, then: Site, met: frozenset[str] = frozenset()
) -> str:
    """Where a barrier goes: between two lines, or at the end of the loop that comes back, or both.

    `met` says in which passes of a loop the two race: "within" one, in a "later" one, or "back".
    """
    same = first.file == then.file and first.function == then.function
    found = around(first, then)
    if same and (first.line > then.line or (only_from_pass_to_pass(met) and found.loop)):
        back = then if met == {"back"} or first.line > then.line else first
        return (
            f"Put {barrier} {_loop_end(words, first, then)}: the next "
            f"pass comes back to {words.line(back)} while other threads are still there."
        )
    outside = f", outside of the {found.branch}" if found.branch else ""
    return (
        f"Put {barrier} between {words.line(first)} and {words.line(then)}{outside}."
        f"{_again_at_the_end(barrier, words, first, then, met)}"
    )


def _loop_end(words: Words, first: Site, then: Site) -> str:
    """The place behind all that a pass does, for all threads."""
    found = around(first, then)
    last = replace(first, line=found.end) if found.loop else first
    said = f"after {words.line(last)}, at the end of the loop body"
    return said + (f" and outside of the {found.left}" if found.left else "")


def _again_at_the_end(
    barrier: str, words: Words, first: Site, then: Site, met: frozenset[str]
) -> str:
    """Of a pair that races when the loop comes back, too."""
    if "back" not in met or not around(first, then).loop:
        return ""
    return (
        f" Put another one {_loop_end(words, first, then)}, for the next pass comes back to "
        f"{words.line(first)}."
    )


def race_in_warp(words: Words, seen: Observation) -> tuple[str, str]:
    """The two threads are lanes of one warp, which need not run in step."""
    cause = f"{words.both(seen)}, inside one warp, and no cuda.syncwarp() orders them."
    return cause, (
        _ordered_by("cuda.syncwarp()", words, seen)[:-1]
        + "; on GPUs since 2017 the lanes of a warp need not run in step."
    )


_ATOMICS = {
    "+": ("addition", "cuda.atomic.add"),
    "-": ("subtraction", "cuda.atomic.sub"),
    "|": ("update", "cuda.atomic.or_"),
    "&": ("update", "cuda.atomic.and_"),
    "^": ("update", "cuda.atomic.xor"),
    "max": ("update", "cuda.atomic.max"),
    "min": ("update", "cuda.atomic.min"),
}
"""What an operator does, and the function of cuda.atomic that does it in one step."""


def lost_update(words: Words, seen: Observation) -> tuple[str, str]:
    """Lanes of one request update one element; all of them load before one of them stores."""
    noun, atomic = _ATOMICS.get(str(seen.detail["update"]), ("update", ""))
    lanes = int(seen.detail["lanes"])
    others = [words.at(one) for one in (seen.thread, seen.other_thread) if one is not None]
    cause = (
        f"{words.line(seen.site)} updates {seen.site.text} in {lanes} lanes of warp {seen.warp} at "
        f"once (thread {' and thread '.join(others)}{', and others' if lanes > 2 else ''}): the "
        f"same element {element(seen)}. All of them load it before one of them stores it, so one "
        f"{noun} is kept and the others are lost."
    )
    alone = "or let one lane do it, or give every lane an element of its own."
    if not atomic:
        return cause, "Use cuda.atomic.cas in a loop, " + alone
    return cause, f"Use {atomic}, which loses none, " + alone


def race_same_value(words: Words, seen: Observation) -> tuple[str, str]:
    """Several threads store the same value into one element."""
    cause = f"{words.both(seen)}, every time with the same value, and no barrier orders them."
    return cause, (
        "Harmless on a GPU as it stands; let one thread store it, so that it does not become "
        "a race on the day the values differ."
    )
