"""Grades as text, CSV and JUnit XML, and the bar."""

import csv
import io
import xml.etree.ElementTree as ET

import pytest

from smemnb.exercises.grading.verdict import Part, Verdict
from smemnb.grading.bar import Bar
from smemnb.grading.outcome import TEXT_LETTERS, Outcome, bounded, of_verdict
from smemnb.grading.tables import table, to_csv, to_junit, write

GRADES = {
    "ada": [
        Outcome("ex00_scale", "accepted", seconds=0.5, likeness=0.75),
        Outcome("ex00_bias", "not tried"),
    ],
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
    assert rows[0] == ["learner", "exercise", "grade", "reason", "text", "seconds", "likeness"]
    assert rows[1] == ["ada", "ex00_scale", "accepted", "", "", "0.500", "0.75"]
    text = "out[0] is 3\\x1b, <expected> 2"
    assert rows[3] == ["'=bo\\x07", "ex00_scale", "wrong", "output", text, "1.250", ""]
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
    assert bo.attrib["name"] == "=bo\\x07"
    wrong = bo[0][0]
    assert bo[0].attrib == {"classname": "=bo\\x07", "name": "ex00_scale", "time": "1.250"}
    assert wrong.attrib == {"message": "output: out[0] is 3\\x1b, <expected> 2", "type": "output"}
    assert wrong.text == "all\\x00 of it"
    assert cy[0][0].attrib == {"message": "source: no .py and no .ipynb file"}


def test_long_field():
    """A text of 200,000 letters is cut: Python's csv reads no field of more than 131,072."""
    long = {"ada": [Outcome("ex00_scale", "wrong", "kernel", "x" * 200_000)]}
    rows = list(csv.reader(io.StringIO(to_csv(long))))
    assert len(rows) == 2
    assert len(rows[1][4]) == TEXT_LETTERS


def test_long_names():
    """One long name hides no other learner's grade; two that are long and alike stay two."""
    names = ["ada", "n" * 200, "n" * 201]
    text = table({name: [Outcome("ex00_scale", "wrong", "output")] for name in names})
    rows = [line for line in text.split("\n") if "ex00_scale" in line]
    assert [row.split()[1:] for row in rows] == [["ex00_scale", "wrong", "output"]] * 3
    assert len({row.split()[0] for row in rows}) == 3


@pytest.mark.parametrize(
    "forged", ["\x1b[2J\x07", "\x85\x9b2J", "\u202eadcb", "\ufffe\ud800", "\r\n"]
)
def test_control_characters(forged):
    """None reaches a terminal, a CSV file or XML, wherever it stands; names stay different."""
    grades = {
        f"a{forged}": [Outcome(f"ex{forged}", "wrong", f"r{forged}", f"t{forged}", f"w{forged}")],
        "a": [Outcome("ex", "accepted")],
    }
    root = ET.fromstring(to_junit(grades).encode())
    assert len({suite.attrib["name"] for suite in root}) == 2
    for text in (table(grades), to_csv(grades), to_junit(grades)):
        assert all(c == "\n" or c.isprintable() for c in text)


def test_write(tmp_path):
    """A file is written whole or not at all, and nothing else is left."""
    file = tmp_path / "g.csv"
    write(file, "one\n")
    write(file, "two\ud800\n")
    assert (file.read_text(), [one.name for one in tmp_path.iterdir()]) == (
        "two\\ud800\n",
        ["g.csv"],
    )
    with pytest.raises(TypeError):
        write(file, None)
    assert (file.read_text(), len(list(tmp_path.iterdir()))) == ("two\\ud800\n", 1)


@pytest.mark.parametrize("seconds", [10**400, -1, float("nan"), float("inf"), "3", None])
def test_forged_seconds(seconds):
    """A number of seconds that is none counts as 0; the grade stays."""
    outcome = bounded({"exercise": "ex00_scale", "grade": "wrong", "seconds": seconds})
    assert (outcome.grade, outcome.seconds) == ("wrong", 0.0)


@pytest.mark.parametrize(
    "forged", [3, {}, {"exercise": 3, "grade": "wrong"}, {"exercise": "a", "grade": "best"}]
)
def test_no_outcome(forged):
    """What is no outcome is none."""
    assert bounded(forged) is None


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
