"""Predictions of many launches of the set, in processes side by side.

The machine code of a launch is run in NumPy, on one core, for seconds; the set has hundreds of
launches. Processes are started afresh: one that has a GPU's context must not be forked.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

Result = TypeVar("Result")
Read = TypeVar("Read")

FEW = 8
"""So many launches take no longer than processes take to start."""

MOST = 12
"""Processes, each of which needs up to 1 GB."""


def processes(launches: int, cores: int | None = None) -> int:
    """How many processes to start; 1 stands for this one.

    >>> processes(8, cores=16), processes(213, cores=16), processes(213, cores=2)
    (1, 12, 2)
    """
    cores = cores or os.cpu_count() or 1
    return 1 if launches <= FEW else min(cores, MOST, launches)


def each(
    made: Callable[[str, Read], Result],
    names: Sequence[str],
    read: Sequence[Read],
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """`made(name, what was read)` of every launch, in their order.

    Args:
        made: a function of a module, so that another process finds it.
        names: of the launches.
        read: what belongs to each.
        say: is told how far it is, now and then.
    """
    pairs = list(zip(names, read, strict=True))
    count = processes(len(pairs))
    if count == 1:
        return [made(*pair) for pair in pairs]
    say(f"{len(pairs)} launches to predict, {count} at once")
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        return pool.starmap(made, pairs, chunksize=1)
