"""Who finds what in a twin: our races and racecheck's, as pairs of source lines.

Racecheck looks at shared memory alone, and takes an atomic beside a plain access for no race; what
we find beyond its pairs is told with that reason where it is one, or else as a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ....tracing import Trace
from ...hazards import Report
from ..predicted import calling_lines

Place = tuple[str, int]
Pair = tuple[Place, Place]


@dataclass(frozen=True)
class Verdict:
    """A twin as both see it.

    Attributes:
        both: pairs of lines that we and racecheck find.
        theirs: pairs that racecheck alone finds.
        ours: pairs that we alone find, each with the kind of our finding.
    """

    both: tuple[Pair, ...]
    theirs: tuple[Pair, ...]
    ours: tuple[tuple[Pair, str], ...]


def verdict(found: Trace, racecheck: Iterable[Pair], kernel: Any) -> Verdict:
    """Both sides of a twin's launch; `kernel` is the twin's."""
    mine, other = races(found, kernel), set(racecheck)
    return Verdict(
        both=tuple(sorted(set(mine) & other)),
        theirs=tuple(sorted(other - set(mine))),
        ours=tuple(sorted((pair, kind) for pair, kind in mine.items() if pair not in other)),
    )


def races(found: Trace, kernel: Any) -> dict[Pair, str]:
    """Our races, by pair of lines of the kernel: the most severe kind of each.

    An access in a device function counts for every line of the kernel that comes to it.
    """
    calls = calling_lines(kernel)
    kinds: dict[Pair, str] = {}
    for race in found.races:  # the most severe first
        other = race.other_function or race.function, race.other_line or race.line
        for one in _places((race.function, race.line), found, calls):
            for two in _places(other, found, calls):
                first, second = sorted((one, two))
                kinds.setdefault((first, second), race.kind)
    return kinds


def pair_of(report: Report) -> Pair:
    """The two places of a report of racecheck, in order."""
    first, second = sorted((spot.file, spot.line) for spot in report.spots)
    return first, second


def _places(access: tuple[str, int], found: Trace, calls: dict[str, set[Place]]) -> Iterable[Place]:
    """Where an access shows in the kernel: its own line, or the lines that call its function."""
    function, line = access
    return calls.get(function) or {(PurePath(found.files.get(function, "")).name, line)}
