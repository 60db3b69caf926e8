"""Words of barriers that some threads miss."""

from __future__ import annotations

from ..model import Observation, place
from .words import Words


def divergent_barrier(words: Words, seen: Observation) -> tuple[str, str]:
    """Some threads of a block reach a barrier, others do not."""
    where = "elsewhere"
    if seen.other is not None and seen.other is not seen.site:
        where = f"at {words.line(seen.other)}"
    one = seen.detail.get("missing") == 1
    others = f"that {'has' if one else 'have'} not returned {'is' if one else 'are'} {where}"
    return _some_at_a_barrier(words, seen, others), (
        "Move cuda.syncthreads() out of the if or the loop, so that every thread of the block "
        "reaches the same one; only the work stays inside."
    )


def exited_before_barrier(words: Words, seen: Observation) -> tuple[str, str]:
    """Some threads of a block returned before a barrier."""
    others = "has" if seen.detail.get("missing") == 1 else "have"
    return _some_at_a_barrier(words, seen, f"{others} returned before it"), (
        "From compute capability 7.0 on a barrier waits only for threads that have not returned, "
        "and all is well; on older GPUs the result is undefined. To be safe there, put the work "
        "under an if in place of the early return, and leave cuda.syncthreads() outside it."
    )


def exited_before_grid_barrier(words: Words, seen: Observation) -> tuple[str, str]:
    """Threads or whole blocks returned before a barrier of the grid."""
    cure = (
        "Turn the early return into a guard: put the work under an if, and leave the barrier "
        "of the grid outside it, where every thread of every block passes."
    )
    waits = "A block that does not come is waited for without end"
    if seen.other_block is None:
        others = "has" if seen.detail.get("missing") == 1 else "have"
        return (
            f"{_some_at_a_barrier(words, seen, f'{others} returned before it')} {waits}, and the "
            "first thread of a block is the one that counts.",
            cure,
        )
    blocks = seen.detail["blocks"]
    absent = "1 block has" if blocks == 1 else f"{blocks} blocks have"
    return (
        f"{absent} returned before the barrier of the grid in {words.line(seen.site)} "
        f"(first block {_block(seen)}). {waits}.",
        cure,
    )


def _block(seen: Observation) -> str:
    """The other block of an observation, with as many coordinates as blocks here have."""
    assert seen.other_block is not None
    x, y, z = map(max, seen.block, seen.other_block)
    return place(seen.other_block, (x + 1, y + 1, z + 1))


def _some_at_a_barrier(words: Words, seen: Observation, others: str) -> str:
    """How many threads of the first such block reach a barrier, and what the others do."""
    arrived, missing = (seen.detail.get(name, "some") for name in ("arrived", "missing"))
    absent = "" if seen.other_thread is None else f" (first {words.thread(seen, other=True)})"
    reach = "thread of the block reaches" if arrived == 1 else "threads of the block reach"
    return (
        f"{arrived} {reach} the barrier of {words.line(seen.site)} "
        f"(first {words.thread(seen)}) and {missing} {others}{absent}."
    )


def divergent_syncwarp(words: Words, seen: Observation) -> tuple[str, str]:
    """Some lanes reach cuda.syncwarp(), others that it waits for do not."""
    arrived, missing = seen.detail["arrived"], seen.detail["missing"]
    return (
        f"{arrived} lanes of a warp reach {seen.site.text} in {words.line(seen.site)} (first "
        f"{words.thread(seen)}), which waits for {missing} more that are elsewhere (first "
        f"{words.thread(seen, other=True)}).",
        "Move cuda.syncwarp() to where every lane passes, or name the lanes that come in its mask.",
    )


def stray_shuffle(words: Words, seen: Observation) -> tuple[str, str]:
    """A shuffle reads a lane that takes no part in it."""
    reads = (
        f"{words.line(seen.site)} runs {seen.site.text}: {words.thread(seen)}, reads lane "
        f"{seen.detail['source']}"
    )
    if words.leaves_out(seen.site):
        return (
            f"{reads}, which the mask leaves out, so the value is undefined.",
            "Name every lane that runs the line in the mask: 0xffffffff where all do.",
        )
    return (
        f"{reads}, which takes no part in it, so the value is undefined.",
        "Let every lane that is read run the same line: move the shuffle out of the if, or out of "
        "a loop that lanes leave at different times, and keep or drop its result inside.",
    )


def unnamed_lane(words: Words, seen: Observation) -> tuple[str, str]:
    """A lane runs a warp function whose mask does not name it."""
    return (
        f"{words.line(seen.site)} runs {seen.site.text} in {words.thread(seen)}, lane "
        f"{seen.detail['lane']}, which its own mask does not name: what comes back is undefined.",
        "Name every lane that runs the line: 0xffffffff where all do.",
    )


def missing_lane(words: Words, seen: Observation) -> tuple[str, str]:
    """The mask of a warp function names a lane that is elsewhere."""
    return (
        f"{words.line(seen.site)} runs {seen.site.text}, whose mask names lane "
        f"{seen.detail['lane']} ({words.thread(seen)}), which is elsewhere: a GPU waits for it, or "
        "what comes back is undefined.",
        "Move the line to where all named lanes pass, or name only those that come: "
        "cuda.ballot_sync(0xffffffff, condition) before the if gives that mask.",
    )
