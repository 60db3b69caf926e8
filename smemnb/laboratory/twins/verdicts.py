"""Who finds what in a twin: our races and racecheck's, as pairs of source lines.

Racecheck looks at shared memory alone, takes an atomic beside a plain access for no race, and
compares an access with the last one to the same word: of several races on a word it reports one.
What we find beyond its pairs has one of these reasons (`reason`), or is a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ...measure.hazards import Report
from ...measure.verify.predicted import calling_lines
from ...tracing import Trace

Place = tuple[str, int]
Pair = tuple[Place, Place]
TWIN = "twin"
"""In the place of the file name of the twin's kernel."""


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
    known = {pair for pairs in mine for pair in pairs}
    alone = {pairs[0]: kind for pairs, kind in mine.items() if not other & set(pairs)}
    return Verdict(
        both=tuple(sorted(known & other)),
        theirs=tuple(sorted(other - known)),
        ours=tuple(sorted(alone.items())),
    )


def reason(pair: Pair, kind: str, racecheck: Iterable[Pair]) -> str:
    """Why racecheck does not report a race that we find; "" if none of the reasons is one."""
    if kind == "race_atomic":
        return "an atomic beside a plain access is no race to it"
    if any(set(pair) & set(reported) for reported in racecheck):
        return "it compares with the last access to a word and tells another race"
    return ""


def races(found: Trace, kernel: Any) -> dict[tuple[Pair, ...], str]:
    """Our races, by pair of lines of the kernel: the most severe kind of each.

    An access in a device function may stand for any line of the kernel that comes to it: then the
    race has several pairs, of which one is meant.
    """
    calls = calling_lines(kernel)
    own = PurePath(kernel.py_func.__code__.co_filename).name
    kinds: dict[tuple[Pair, ...], str] = {}
    for race in found.races:  # the most severe first
        other = race.other_function or race.function, race.other_line or race.line
        pairs = set()
        for one in _places((race.function, race.line), found, calls):
            for two in _places(other, found, calls):
                first, second = sorted((labelled(one, own), labelled(two, own)))
                pairs.add((first, second))
        kinds.setdefault(tuple(sorted(pairs)), race.kind)
    return kinds


def labelled(place: Place, own: str) -> Place:
    """A place, with `TWIN` for the twin's own file, so that names of files do not matter."""
    return (TWIN if place[0] == own else place[0]), place[1]


def pair_of(report: Report, own: str) -> Pair:
    """The two places of a report of racecheck, in order; `own` is the twin's file."""
    first, second = sorted(labelled((spot.file, spot.line), own) for spot in report.spots)
    return first, second


def _places(access: tuple[str, int], found: Trace, calls: dict[str, set[Place]]) -> Iterable[Place]:
    """Where an access shows in the kernel: its own line, or the lines that call its function."""
    function, line = access
    return calls.get(function) or {(PurePath(found.files.get(function, "")).name, line)}
