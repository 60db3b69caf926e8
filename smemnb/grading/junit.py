"""Grades as JUnit XML: a suite per learner, a case per exercise.

Wrong values, and right ones with a fault, are failures; what was stopped is an error; what was
not tried is skipped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from .outcome import ACCEPTED, NOT_TRIED, RIGHT, STOPPED, WRONG, Outcome
from .tables import Grades, why

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = {RIGHT: "failure", WRONG: "failure", STOPPED: "error", NOT_TRIED: "skipped"}


def to_junit(grades: Grades) -> str:
    """The whole document, declaration and end of line included."""
    everything = [one for outcomes in grades.values() for one in outcomes]
    root = ET.Element("testsuites", {"name": "smemnb grade", **_counts(everything)})
    for learner, outcomes in grades.items():
        counts = {**_counts(outcomes), "skipped": str(_count(outcomes, NOT_TRIED))}
        suite = ET.SubElement(root, "testsuite", {"name": _legal(learner), **counts})
        for one in outcomes:
            _case(suite, learner, one)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, learner: str, one: Outcome) -> None:
    named = {"classname": _legal(learner), "name": one.exercise, "time": f"{one.seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", named)
    if one.grade == ACCEPTED:
        return
    said = {"message": _legal(why(one) or one.grade)}
    if one.grade != NOT_TRIED:
        said["type"] = one.reason or one.grade
    element = ET.SubElement(case, _ELEMENT[one.grade], said)
    element.text = _legal(one.whole) or None


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(_count(outcomes, RIGHT, WRONG)),
        "errors": str(_count(outcomes, STOPPED)),
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    }


def _count(outcomes: Sequence[Outcome], *grades: str) -> int:
    return sum(one.grade in grades for one in outcomes)


def _legal(text: str) -> str:
    """Text with a question mark for what XML 1.0 cannot hold."""
    return _NO_XML.sub("?", text)
