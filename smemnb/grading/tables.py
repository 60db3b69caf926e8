"""Grades as text, as CSV and as JUnit XML.

Names and reasons are partly a submission's own words: no control character of theirs reaches a
terminal or a file, and none of them is so long that it pushes another grade out of sight.
"""

from __future__ import annotations

import csv
import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

from .outcome import ACCEPTED, GRADES, NOT_TRIED, RIGHT, STOPPED, TEXT_LETTERS, WRONG, Outcome, cut

WIDTH = 100
LONGEST_NAME = 28
COLUMNS = ("learner", "exercise", "grade", "reason", "text", "seconds", "likeness")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ELEMENT = {RIGHT: "failure", WRONG: "failure", STOPPED: "error", NOT_TRIED: "skipped"}

Grades = Mapping[str, Sequence[Outcome]]


def table(grades: Grades) -> str:
    """The two tables of `tables` as text."""
    return "\n\n".join(map(_lined, tables(grades)))


def tables(grades: Grades) -> tuple[list[list[str]], list[list[str]]]:
    """A row per learner and exercise that was tried, then a row of counts per learner.

    The first row of both names the columns. What was not tried has a row only where there is
    something to say of it. Control characters stand there as their code.
    """
    names = _short_names(grades)
    rows = [["learner", "exercise", "grade", "why"]]
    for learner, outcomes in grades.items():
        shown = _shown(outcomes)
        rows += [[names[learner], one.exercise, one.grade, why(one)] for one in shown]
    counts = [["learner", *GRADES]]
    for learner, outcomes in grades.items():
        seen = [one.grade for one in outcomes]
        counts.append([names[learner], *(str(seen.count(grade)) for grade in GRADES)])
    return _without_controls(rows), _without_controls(counts)


def _without_controls(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[printable(cell) for cell in row] for row in rows]


def _short_names(grades: Grades) -> dict[str, str]:
    """Each learner's name as it is shown: printable, not too long, and no two alike."""
    found: dict[str, str] = {}
    for learner in grades:
        name = printable(learner)
        short = name if len(name) <= LONGEST_NAME else f"{name[:16]}...{name[-9:]}"
        number = 2
        while short in found.values():
            short = f"{name[:16]}...#{number}"
            number += 1
        found[learner] = short
    return found


def _shown(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Every exercise that was tried; of the others the first that has a reason."""
    tried = [one for one in outcomes if one.grade != NOT_TRIED]
    silent = [one for one in outcomes if one.grade == NOT_TRIED and one.reason == "source"]
    return [*tried, *silent[:1]]


def why(outcome: Outcome) -> str:
    """Reason and text in one line."""
    parts = [part for part in (outcome.reason, outcome.text) if part]
    return ": ".join(" ".join(part.split()) for part in parts)


def to_csv(grades: Grades) -> str:
    """A line per learner and exercise, all of them.

    A field that a spreadsheet would take for a formula begins with an apostrophe; control
    characters stand there as their code.
    """
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for learner, outcomes in grades.items():
        for one in outcomes:
            texts = (learner, one.exercise, one.grade, one.reason, one.text)
            like = "" if one.likeness is None else f"{one.likeness:.2f}"
            writer.writerow([*map(_plain, texts), f"{one.seconds:.3f}", like])
    return stream.getvalue()


def _plain(text: str) -> str:
    text = cut(printable(text), TEXT_LETTERS)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _lined(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, lines cut at WIDTH."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines)


def printable(text: str, keep: str = "") -> str:
    r"""A text in which what has no shape of its own (control, format) stands as its code.

    >>> printable("a\x1b[2J")
    'a\\x1b[2J'
    """
    return "".join(c if c in keep or c.isprintable() else ascii(c)[1:-1] for c in text)


def to_junit(grades: Grades) -> str:
    """A suite per learner and a case per exercise: the whole XML document.

    Wrong values, and right ones with a fault, are failures; what was stopped is an error; what was
    not tried is skipped.
    """
    everything = [one for outcomes in grades.values() for one in outcomes]
    root = ET.Element("testsuites", {"name": "smemnb grade", **_counts(everything)})
    for learner, outcomes in grades.items():
        counts = {**_counts(outcomes), "skipped": str(_count(outcomes, NOT_TRIED))}
        suite = ET.SubElement(root, "testsuite", {"name": printable(learner), **counts})
        for one in outcomes:
            _case(suite, learner, one)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, learner: str, one: Outcome) -> None:
    exercise, seconds = printable(one.exercise), f"{one.seconds:.3f}"
    named = {"classname": printable(learner), "name": exercise, "time": seconds}
    case = ET.SubElement(suite, "testcase", named)
    if one.grade == ACCEPTED:
        return
    said = {"message": printable(why(one) or one.grade)}
    if one.grade != NOT_TRIED:
        said["type"] = printable(one.reason or one.grade)
    element = ET.SubElement(case, _ELEMENT[one.grade], said)
    element.text = printable(one.whole, keep="\n") or None


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(_count(outcomes, RIGHT, WRONG)),
        "errors": str(_count(outcomes, STOPPED)),
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    }


def _count(outcomes: Sequence[Outcome], *grades: str) -> int:
    return sum(one.grade in grades for one in outcomes)


def write(file: Path, text: str) -> None:
    """Write a file whole or not at all: under another name first, which then becomes its own.

    Raises:
        OSError: it cannot be written.
    """
    number, name = tempfile.mkstemp(prefix=f".{file.name[:40]}.", dir=file.absolute().parent)
    made = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(number)
        made.chmod(0o666 & ~_mask())
        made.replace(file)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
