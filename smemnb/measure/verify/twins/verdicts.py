"""Who finds what in a twin: our races and racecheck's, as pairs of source lines.

Racecheck looks at shared memory alone, and takes an atomic beside a plain access for no race; what
we find beyond its pairs is told with that reason where it is one, or else as a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from ....tracing import Finding, Trace
from ...hazards import Report

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


def verdict(found: Trace, racecheck: Iterable[Pair]) -> Verdict:
    """Both sides of a twin's launch."""
    mine = races(found)
    other = set(racecheck)
    return Verdict(
        both=tuple(sorted(set(mine) & other)),
        theirs=tuple(sorted(other - set(mine))),
        ours=tuple(sorted((pair, kind) for pair, kind in mine.items() if pair not in other)),
    )


def races(found: Trace) -> dict[Pair, str]:
    """Our races, by pair of lines: the most severe kind of each."""
    kinds: dict[Pair, str] = {}
    for race in found.races:  # the most severe first
        kinds.setdefault(_pair(race, found), race.kind)
    return kinds


def pair_of(report: Report) -> Pair:
    """The two places of a report of racecheck, in order."""
    first, second = sorted((spot.file, spot.line) for spot in report.spots)
    return first, second


def _pair(race: Finding, found: Trace) -> Pair:
    there = (race.function, race.line)
    other = (race.other_function or race.function, race.other_line or race.line)
    first, second = sorted(
        (PurePath(found.files.get(function, "")).name, line) for function, line in (there, other)
    )
    return first, second
