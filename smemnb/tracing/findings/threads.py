"""Words of threads that an exception ends, and of variables that a thread never assigned."""

from __future__ import annotations

from ..model import Observation
from .words import Words


def ended_by_exception(words: Words, seen: Observation) -> tuple[str, str]:
    """An exception ends threads, and nobody is informed."""
    threads = "1 thread" if seen.count == 1 else f"{seen.count:,} threads"
    exception, said = seen.detail["exception"], seen.detail["said"]
    what = f"{exception}({said!r})" if said else f"{exception}"
    ends = "it ends there and stores" if seen.count == 1 else "they end there and store"
    return (
        f"{words.line(seen.site)} raises {what} in {threads} (first {words.thread(seen)}): {ends} "
        "nothing more, and a launch says nothing of it unless the kernel has debug=True.",
        "Find out what brings a thread to this line. If it is meant to be reached, return in place "
        "of raising, and store what tells the host.",
    )


def unassigned(words: Words, seen: Observation) -> tuple[str, str]:
    """A thread reads a variable to which it has assigned nothing."""
    name = seen.detail["name"]
    times = "once" if seen.count == 1 else f"{seen.count:,} times"
    return (
        f"{words.line(seen.site)} reads {name} {times} where the thread has assigned nothing to it "
        f"(first {words.thread(seen)}). Numba does not object, and goes on with 0 or with what "
        "another thread would have there; it promises neither.",
        f"Assign {name} on every way to this line, for instance once before the if or the loop "
        "that assigns it.",
    )
