"""Grades as text, CSV and JUnit XML, and the bar."""

import csv
import io
import xml.etree.ElementTree as ET

import pytest

from smemnb.exercises.grading.verdict import Part, Verdict
from smemnb.grading.bar import Bar
from smemnb.grading.outcome import Outcome, of_verdict
from smemnb.grading.tables import table, to_csv, to_junit

GRADES = {
    "ada": [Outcome("ex00_scale", "accepted", seconds=0.5), Outcome("ex00_bias", "not tried")],
    "=bo\x07": [
        Outcome(
            "ex00_scale", "wrong", "output", "out[0] is 3\x1b, <expected> 2", "all\x00 of it", 1.25
        ),
        Outcome("ex00_bias", "stopped", "time", "more than 9 s"),
        Outcome("ex00_rounds", "right values", "wavefronts", "8-way"),
    ],
    "cy": [Outcome("ex00_scale", "not tried", "source", "no .py and no .ipynb file")] * 2,
}


def test_table():
    """A row for what was tried or cannot be, counts below; control characters are shown."""
    assert table(GRADES).split("\n") == [
        "learner  exercise     grade         why",
        "ada      ex00_scale   accepted",
        "=bo\\x07  ex00_scale   wrong         output: out[0] is 3\\x1b, <expected> 2",
        "=bo\\x07  ex00_bias    stopped       time: more than 9 s",
        "=bo\\x07  ex00_rounds  right values  wavefronts: 8-way",
        "cy       ex00_scale   not tried     source: no .py and no .ipynb file",
        "",
        "learner  accepted  right values  wrong  not tried  stopped",
        "ada      1         0             0      1          0",
        "=bo\\x07  0         1             1      0          1",
        "cy       0         0             0      2          0",
    ]


def test_long_lines_are_cut():
    """A line of the table has at most 100 characters."""
    long = {"ada": [Outcome("ex00_scale", "wrong", "output", "x" * 200)]}
    row = table(long).split("\n")[1]
    assert (len(row), row[-4:]) == (100, "x...")


def test_csv():
    """Every learner and exercise has a line; no field begins a formula."""
    rows = list(csv.reader(io.StringIO(to_csv(GRADES))))
    assert rows[0] == ["learner", "exercise", "grade", "reason", "text", "seconds"]
    assert rows[1] == ["ada", "ex00_scale", "accepted", "", "", "0.500"]
    text = "out[0] is 3\x1b, <expected> 2"
    assert rows[3] == ["'=bo\x07", "ex00_scale", "wrong", "output", text, "1.250"]
    assert len(rows) == 8


def test_junit():
    """A suite per learner, a case per exercise; counts add up; nothing that XML cannot hold."""
    root = ET.fromstring(to_junit(GRADES))
    assert (root.tag, root.attrib) == (
        "testsuites",
        {"name": "smemnb grade", "tests": "7", "failures": "2", "errors": "1", "time": "1.750"},
    )
    ada, bo, cy = root
    assert [suite.tag for suite in root] == ["testsuite"] * 3
    assert ada.attrib == {
        "name": "ada",
        "tests": "2",
        "failures": "0",
        "errors": "0",
        "skipped": "1",
        "time": "0.500",
    }
    assert [[child.tag for child in case] for case in ada] == [[], ["skipped"]]
    assert [[child.tag for child in case] for case in bo] == [["failure"], ["error"], ["failure"]]
    assert bo.attrib["name"] == "=bo?"
    wrong = bo[0][0]
    assert bo[0].attrib == {"classname": "=bo?", "name": "ex00_scale", "time": "1.250"}
    assert wrong.attrib == {"message": "output: out[0] is 3?, <expected> 2", "type": "output"}
    assert wrong.text == "all? of it"
    assert cy[0][0].attrib == {"message": "source: no .py and no .ipynb file"}


@pytest.mark.parametrize(
    ("parts", "grade", "reason"),
    [
        ([("output", True), ("findings", True)], "accepted", ""),
        ([("output", True), ("findings", False)], "right values", "findings"),
        (
            [("output", True), ("wavefronts", False), ("sectors", False)],
            "right values",
            "wavefronts",
        ),
        ([("output", False), ("findings", False)], "wrong", "output"),
        ([("kernel", False, "place takes (a); this exercise wants (b)")], "wrong", "kernel"),
        ([("kernel", False, "this is the stub as it was given; ...")], "not tried", "stub"),
        ([("kernel", False, "the kernel stopped: MemoryError")], "stopped", "memory"),
        ([("kernel", False, "the loop in line 8 of k never ends: ...")], "stopped", "time"),
        ([("check", False, "the checker itself failed")], "stopped", "crash"),
    ],
)
def test_verdicts(parts, grade, reason):
    """What each verdict means as a grade, and the word that says why."""
    made = tuple(Part(name, *(text or ["said\nmore"]), ok=ok) for name, ok, *text in parts)
    outcome = of_verdict(Verdict("ex00_scale", made))
    assert (outcome.grade, outcome.reason) == (grade, reason)
    assert "\n" not in outcome.text


def test_bar_without_a_terminal():
    """A line whenever another tenth is done."""
    stream = io.StringIO()
    bar = Bar(stream, 20, "exercises")
    for _ in range(20):
        bar.step()
    bar.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[4].startswith(f"[{'#' * 15}{'.' * 15}] 10 of 20 exercises, ")


def test_bar_on_a_terminal():
    """One line that is written over, and ended."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    bar = Bar(stream, 3, "exercises")
    bar.step(2)
    bar.step()
    bar.close()
    text = stream.getvalue()
    assert text.startswith(f"\r[{'#' * 20}{'.' * 10}] 2 of 3 exercises")
    assert text.rstrip(" \n").split("\r")[-1].startswith(f"[{'#' * 30}] 3 of 3 exercises")
    assert text.endswith("\n")
