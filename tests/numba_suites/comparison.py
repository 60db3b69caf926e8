"""Baseline and plug side by side, against the accepted exceptions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from .runner import Result

GOOD = ("ok", "expected failure")
EXCEPTIONS = Path(__file__).parent / "exceptions"


@dataclass(frozen=True)
class Row:
    """One test in both halves, and the reason if it need not pass."""

    test: str
    baseline: str
    plug: Result
    reason: str


@dataclass(frozen=True)
class Comparison:
    """A whole run: rows by name, and what is wrong with it, in words."""

    suite: str
    rows: tuple[Row, ...]
    problems: tuple[str, ...]

    def table(self) -> str:
        """Every test: name, baseline, plug, launches, seconds, reason; tab-separated."""
        lines = ["test\tbaseline\tplug\tlaunches\tseconds\treason"]
        for row in self.rows:
            plug = row.plug
            cells = (row.test, row.baseline, plug.outcome, plug.launches, plug.seconds)
            lines.append("\t".join(map(str, cells)) + f"\t{row.reason or _said(plug.why)}")
        return "\n".join(lines) + "\n"


def _said(why: str) -> str:
    """The line of a traceback that names the error; else its last line."""
    lines = [line for line in why.splitlines() if line.strip()]
    named = [
        line
        for line in lines
        if re.match(r"[\w.]*(Error|Refused|Syntax|Stopped|Iteration)\b", line)
    ]
    return (named or lines or [""])[-1].strip()


@dataclass(frozen=True)
class Exceptions:
    """The tests that need not pass, by name or pattern.

    Attributes:
        reasons: pattern -> why.
        left_out: tests that are not even run, because they never end without a GPU.
        elsewhere: patterns of tests that pass on other machines (with the CUDA toolkit, say).
    """

    reasons: dict[str, str]
    left_out: frozenset[str]
    elsewhere: frozenset[str]


def exceptions(suite: str) -> Exceptions:
    """What `exceptions/all.txt` and `exceptions/SUITE.txt` say.

    A line that begins with `#` is a reason; the names below it are the tests it is for, without
    the leading `numba.cuda.tests.`. `!` before a name: not to be run; `?`: may pass elsewhere.
    """
    found = Exceptions({}, frozenset(), frozenset())
    for path in (EXCEPTIONS / "all.txt", EXCEPTIONS / f"{suite}.txt"):
        reason = ""
        for line in path.read_text().splitlines():
            if line.startswith("#"):
                reason = line.lstrip("# ")
            elif line.strip():
                name = f"numba.cuda.tests.{line.strip().lstrip('!?')}"
                found.reasons[name] = reason
                if line.startswith("!"):
                    found = replace(found, left_out=found.left_out | {name})
                if line.startswith("?"):
                    found = replace(found, elsewhere=found.elsewhere | {name})
    return found


def compare(
    suite: str, baseline: Mapping[str, Result], plug: Mapping[str, Result], *, whole: bool = True
) -> Comparison:
    """Rows and problems; one is an exception that nothing needs, of all or of those that ran."""
    accepted = exceptions(suite)
    rows, problems, used, met = [], [], set(), set()
    for test in sorted({*baseline, *plug}):
        before = baseline[test].outcome if test in baseline else "absent"
        after = plug.get(test, Result(test, "absent"))
        matching = [pattern for pattern in accepted.reasons if fnmatchcase(test, pattern)]
        reason = accepted.reasons[matching[0]] if matching else ""
        rows.append(Row(test, before, after, reason))
        met.update(matching)
        fine = after.outcome in GOOD or (after.outcome == "skip" and before not in GOOD)
        if not fine:
            used.update(matching)
        if not fine and not matching:
            problems.append(f"{test}: {before} under Numba's simulator, {after.outcome} here")
    stale = (set(accepted.reasons) if whole else met) - used - accepted.elsewhere
    problems += [f"stale exception: {pattern}" for pattern in sorted(stale)]
    return Comparison(suite, tuple(rows), tuple(problems))


def _needs(row: Row) -> bool:
    """Whether a test did not pass, so that its reason counts."""
    if row.plug.outcome == "skip":
        return row.baseline in GOOD
    return row.plug.outcome not in GOOD


def report(compared: Comparison) -> str:
    """Counts, launches and problems, as text."""
    counts = Counter((row.baseline, row.plug.outcome) for row in compared.rows)
    lines = [f"{compared.suite}: {len(compared.rows)} tests"]
    lines += [
        f"{number:6} {before} under Numba's simulator, {after} through the plug"
        for (before, after), number in sorted(counts.items())
    ]
    lines.append(f"{sum(row.plug.launches for row in compared.rows)} launches reached the engine")
    reasons = Counter(row.reason for row in compared.rows if _needs(row))
    lines += [f"{number:6} excused: {reason}" for reason, number in reasons.most_common() if reason]
    lines += [f"  {problem}" for problem in compared.problems]
    return "\n".join(lines)
