"""A kernel's twins as a table: pairs of lines that racecheck reported on an H200, and ours.

print(beside("sum_halving 2 x 128"))
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...errors import SmemnbError
from ...measure.verify.predicted import traced
from .recording import load
from .source import twins
from .verdicts import Pair, Verdict, reason, verdict

__all__ = ["beside", "seen"]


def seen(name: str, changes: tuple[str, ...] = ("removed",)) -> dict[str, Verdict]:
    """Both sides of the twins of a case, by change such as "barrier 1 removed".

    Args:
        name: of a case of the set with twins that racecheck looked at.
        changes: "removed", or moved "before" or "after" the neighbour statement.

    Raises:
        SmemnbError: there is no such case, or no verdict on it.
    """
    from ..corpus import CASES

    known = {case.name: case for case in CASES}
    kept, found = load().pairs, {}
    if name not in known or not any(twin.startswith(f"{name}: ") for twin in kept):
        raise SmemnbError(f"racecheck's verdicts hold no twins of {name!r}")
    with tempfile.TemporaryDirectory() as folder:
        for twin in twins(known[name], Path(folder)):
            if twin.change in changes and twin.name in kept:
                both = verdict(traced(twin.case), kept[twin.name], twin.case.kernel)
                found[twin.name.removeprefix(f"{name}: ")] = both
    return found


def beside(name: str, changes: tuple[str, ...] = ("removed",)) -> str:
    """The twins of a case with the pairs of lines that racecheck and we find.

    Lines are those of a twin's file: the function from its `def` on, without comments and blank
    lines. Below the table stands why racecheck does not report what we alone find.
    """
    rows, reasons = [f"{'twin':<19}{'lines':<9}{'racecheck':<11}ours"], dict[str, str]()
    for change, both in seen(name, changes).items():
        found = sorted(_rows(both, load().pairs[f"{name}: {change}"]))
        for lines, theirs, ours, why in found or [("none", "nothing", "nothing", "")]:
            mark = reasons.setdefault(why, " " + "*" * (1 + len(reasons))) if why else ""
            rows.append(f"{change:<19}{lines:<9}{theirs:<11}{ours}{mark}")
            change = ""
    return "\n".join([*rows, *(f"{mark.strip()} {why}" for why, mark in reasons.items())])


def _rows(both: Verdict, racecheck: tuple[Pair, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Lines of each pair, what racecheck says of it, what we say, why it says nothing."""
    for pair in both.both:
        yield _lines(pair), "race", "race", ""
    for pair in both.theirs:
        yield _lines(pair), "race", "nothing", ""
    for pair, kind in both.ours:
        yield _lines(pair), "nothing", kind.replace("_", " "), reason(pair, kind, racecheck)


def _lines(pair: Pair) -> str:
    """The two lines of a pair.

    >>> _lines((("twin", 9), ("twin", 17)))
    ' 9, 17'
    """
    (_, first), (_, second) = pair
    return f"{first:>2}, {second}"
