"""One chunk of programs, checked in a process of its own (`__main__` cannot be imported there)."""

from __future__ import annotations

from typing import Any


def check(first: int, last: int, gpu: bool) -> list[dict[str, Any]]:
    """The verdicts of these seeds, as plain dictionaries."""
    if gpu:
        from . import gpu as way
    else:
        from . import checking as way  # type: ignore[no-redef]
    return [vars(verdict) for verdict in way.check_seeds(range(first, last))]
