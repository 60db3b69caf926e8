"""Words of asynchronous copies: what happens to shared memory while they are under way."""

from __future__ import annotations

from ..model import Observation
from . import bulk
from .races import put_between
from .words import Words, element

_WAIT = "groups_awaited(0)()"


def _copies(words: Words, seen: Observation) -> str:
    """The copy: "line 9 runs copy16(...) (thread 3, warp 0)"."""
    return words.does(seen)


def _meets(words: Words, seen: Observation) -> str:
    """The copy, what meets it, and where."""
    then = words.does(seen, other=True)
    return f"{_copies(words, seen)} and {then}: the same element {element(seen)}"


def _wait(words: Words, seen: Observation) -> str:
    """The wait that came between, as it is said."""
    return f"line {seen.detail.get('wait')} ({seen.detail.get('wait_text')})"


def _by(words: Words, seen: Observation) -> str:
    return f"thread {words.at(seen.thread)}"


def _array(seen: Observation) -> str:
    return "the tile" if seen.array is None else seen.array.name


def _same_thread(seen: Observation) -> bool:
    return seen.thread == seen.other_thread


def _then_a_barrier(seen: Observation) -> str:
    return _WAIT if _same_thread(seen) else f"{_WAIT} and then cuda.syncthreads()"


def read_before_arrival(words: Words, seen: Observation) -> tuple[str, str]:
    """Shared memory is loaded while a copy into it is under way."""
    if seen.detail.get("bulk"):
        return bulk.read_before_arrival(words, seen)
    then = seen.other or seen.site
    if seen.detail.get("landed"):
        cause = (
            f"{_meets(words, seen)}. {_by(words, seen)} has waited for its copy at "
            f"{_wait(words, seen)}, and no barrier tells the other thread that it has arrived."
        )
        return cause, (
            f"Put cuda.syncthreads() between line {seen.detail.get('wait')} and "
            f"{words.line(then)}: a wait is about the copies of its own thread only."
        )
    cause = (
        f"{_meets(words, seen)}, and {_by(words, seen)} has not waited for its copy, which may "
        "arrive later."
    )
    return cause, (
        f"See that close_group() follows {words.line(seen.site)}, and put {_then_a_barrier(seen)} "
        f"before {words.line(then)}; or send to a stage that nobody reads in this round."
    )


def missing_commit(words: Words, seen: Observation) -> tuple[str, str]:
    """Copies that no group holds: nobody can wait for them."""
    if seen.detail.get("bulk"):
        return bulk.missing_commit(words, seen)
    if seen.other is None:
        cause = (
            f"{_copies(words, seen)} for {element(seen)}, and the kernel ends with these copies in "
            "no group: nobody has waited for them, and nobody can."
        )
        return cause, (
            f"Call close_group() after {words.line(seen.site)} in every round, and wait for the "
            "groups before their elements are read; or leave these copies out."
        )
    cause = (
        f"{_meets(words, seen)}. {_wait(words, seen)[0].upper()}{_wait(words, seen)[1:]} waits for "
        "closed groups only, and no close_group() had put this copy into one: it may arrive later."
    )
    return cause, (
        f"Call close_group() after {words.line(seen.site)} and before line "
        f"{seen.detail.get('wait')}, in every round."
    )


def wrong_group(words: Words, seen: Observation) -> tuple[str, str]:
    """A wait leaves the very group under way whose elements are read."""
    pending = int(seen.detail.get("pending", 0))
    last = "the last group" if pending == 1 else f"the last {pending} groups"
    cause = (
        f"{_meets(words, seen)}. {_wait(words, seen)[0].upper()}{_wait(words, seen)[1:]} waits for "
        f"all groups of {_by(words, seen)} but {last}, and this copy is in one of these: it may "
        "arrive later."
    )
    return cause, (
        "Let as many groups come after it as the wait leaves: call close_group() in every round, "
        "also in the last ones, which copy nothing any more; or wait there with a smaller number, "
        f"at the end {_WAIT}."
    )


def overwritten_stage(words: Words, seen: Observation) -> tuple[str, str]:
    """A copy goes into elements that another thread may not have read yet."""
    if seen.detail.get("bulk"):
        return bulk.overwritten_stage(words, seen)
    then = seen.other or seen.site
    cause = (
        f"{_meets(words, seen)}, and no barrier comes between: the copy may arrive before "
        f"{words.line(seen.site)} has read what it overwrites."
    )
    cure = put_between("cuda.syncthreads()", words, seen.site, then)
    if seen.warp == seen.other_warp:
        cure += " Where only lanes of one warp share the stage, cuda.syncwarp() is enough."
    return cause, cure


def store_under_way(words: Words, seen: Observation) -> tuple[str, str]:
    """A store or a second copy into an element whose copy is under way."""
    if seen.detail.get("bulk"):
        return bulk.store_under_way(words, seen)
    then = seen.other or seen.site
    if seen.detail.get("beside"):
        cause = (
            f"{words.both(seen)}, and both copies are under way at once: which of the two is there "
            "in the end is not determined."
        )
        return cause, (
            f"Let one thread copy into it: see that the offsets into {_array(seen)} in "
            f"{words.line(then)} differ from thread to thread by what a copy moves."
        )
    if seen.detail.get("after"):
        cause = (
            f"{_meets(words, seen)}, and no barrier comes between: which of the two is there in "
            "the end is not determined."
        )
        return cause, put_between("cuda.syncthreads()", words, seen.site, then)
    if seen.detail.get("landed"):
        cause = (
            f"{_meets(words, seen)}. {_by(words, seen)} has waited for its copy at "
            f"{_wait(words, seen)}, and no barrier tells the other thread that it has arrived."
        )
        return cause, (
            f"Put cuda.syncthreads() between line {seen.detail.get('wait')} and {words.line(then)}."
        )
    cause = (
        f"{_meets(words, seen)}, while the copy is under way: which of the two is there in the end "
        "is not determined."
    )
    return cause, (
        f"Put {_then_a_barrier(seen)} before {words.line(then)}, so that the copy has arrived, or "
        "use another stage."
    )


def overwritten_source(words: Words, seen: Observation) -> tuple[str, str]:
    """A store to what a copy reads, which may still be to be read."""
    then = seen.other or seen.site
    if seen.detail.get("landed"):
        cause = (
            f"{_meets(words, seen)}. {_by(words, seen)} has waited for its copy at "
            f"{_wait(words, seen)}, and no barrier tells the other thread that it has been read."
        )
        return cause, (
            f"Put cuda.syncthreads() between line {seen.detail.get('wait')} and "
            f"{words.line(then)}: a wait is about the copies of its own thread only."
        )
    cause = (
        f"{_meets(words, seen)}, while the copy is under way: it may read what was there before or "
        "what is stored."
    )
    return cause, (
        f"Put {_then_a_barrier(seen)} before {words.line(then)}, so that the copy has been made, "
        "or store to another array."
    )
