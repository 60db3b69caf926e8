"""What many ratios come to: geometric mean, quartiles, shares, and the worst of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import geometric_mean

from ..timing import spread
from .model import Reading, Sweep
from .problems import ITEMSIZES, LAYOUTS

__all__ = ["Summary", "groups", "summary", "worst"]


@dataclass(frozen=True)
class Summary:
    """Ratios of several problems.

    Attributes:
        problems: how many there are.
        timed: how many have a ratio; the rest reaches no share.
        mean: geometric mean of the ratios.
        least: the smallest.
        low: first quartile.
        median: of the ratios.
        high: third quartile.
        shares: of all problems, those whose ratio is at least each mark that was asked for.
    """

    problems: int
    timed: int
    mean: float
    least: float
    low: float
    median: float
    high: float
    shares: tuple[float, ...]


def summary(ratios: Iterable[float | None], marks: Sequence[float] = (0.9, 1.0)) -> Summary | None:
    """The summary of ratios, None standing for a problem without one; None if there are none.

    >>> found = summary([0.5, 2.0, None, 1.0], marks=[0.9])
    >>> found.mean, found.low, found.median, found.high, found.shares
    (1.0, 0.75, 1.0, 1.5, (0.5,))
    """
    every = list(ratios)
    known = [ratio for ratio in every if ratio is not None]
    if not known:
        return None
    middle = spread(known)
    return Summary(
        problems=len(every),
        timed=len(known),
        mean=geometric_mean(known),
        least=min(known),
        low=middle.low,
        median=middle.median,
        high=middle.high,
        shares=tuple(sum(ratio >= mark for ratio in known) / len(every) for mark in marks),
    )


def groups(sweep: Sweep) -> dict[str, tuple[Reading, ...]]:
    """Readings by size, all of them, and by layout or bytes per element; those that there are.

    What did not fit into the GPU's memory is in none.
    """
    every = tuple(one for one in sweep.readings if one.status != "skipped")
    product = sweep.operation == "matmul"
    large, small = (
        ("above 1 GFLOP", "up to 1 GFLOP") if product else ("above 100 MB", "up to 100 MB")
    )
    found = {
        large: tuple(one for one in every if one.problem.is_large),
        small: tuple(one for one in every if not one.problem.is_large),
        "all": every,
    }
    if product:
        found |= {name: tuple(one for one in every if one.layout == name) for name in LAYOUTS}
    else:
        for size in ITEMSIZES:
            name = "1 byte" if size == 1 else f"{size} bytes"
            found[name] = tuple(one for one in every if one.itemsize == size)
    return {name: readings for name, readings in found.items() if readings}


def worst(
    readings: Sequence[Reading],
    ratio: Callable[[Reading], float | None] = attrgetter("ratio"),
    count: int = 10,
) -> tuple[Reading, ...]:
    """The readings of the smallest ratios, smallest first; without a ratio they are none."""
    known = [(found, at) for at, one in enumerate(readings) if (found := ratio(one)) is not None]
    return tuple(readings[at] for _, at in sorted(known)[:count])
