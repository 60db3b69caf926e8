"""`smemnb grade`: many learners, some of them hostile, each in a process of its own."""

import csv
import io
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest

from smemnb.cli import main
from smemnb.grading.limits import _said, from_ps, resident_bytes
from tests.grading import learners as made
from tests.grading.conftest import notebook

NAMES = ",".join(made.THREE)
NOTEBOOK = [made.IMPORTS, made.SCALE, 'print(check("ex00_scale", scale))', "trace(scale)[1, 2](0)"]


def rows(text):
    """{(learner, exercise): (grade, reason)} of a CSV text."""
    return {
        (row["learner"], row["exercise"]): (row["grade"], row["reason"])
        for row in csv.DictReader(io.StringIO(text))
    }


def test_four(folder, tmp_path, capsys, home):
    """An endless loop, a memory hog and an exit; a notebook beside them is graded all the same."""
    top = folder(
        {"bo.py": made.ENDLESS, "cy.py": made.HOG, "di.py": made.EXIT, "ada.ipynb": NOTEBOOK}
    )
    home.mkdir()
    (home / "progress.json").write_text("mine")
    before = {path.name: path.read_bytes() for path in top.iterdir()}
    file, xml = tmp_path / "grades.csv", tmp_path / "grades.xml"
    command = ["grade", str(top), "--exercises", "ex00_scale", "--seconds", "3", "--memory", "256"]
    assert main([*command, "--csv", str(file), "--junit", str(xml), "--jobs", "2"]) == 0
    assert rows(file.read_text()) == {
        ("ada", "ex00_scale"): ("accepted", ""),
        ("bo", "ex00_scale"): ("stopped", "time"),
        ("cy", "ex00_scale"): ("stopped", "memory"),
        ("di", "ex00_scale"): ("stopped", "crash"),
    }
    said = capsys.readouterr()
    assert (
        "di       ex00_scale  stopped   crash: the process ended by itself, exit code 0" in said.out
    )
    assert "4 of 4 exercises" in said.err
    suites = ET.parse(xml).getroot()
    assert [(suite.get("name"), suite.get("errors")) for suite in suites] == [
        ("ada", "0"),
        ("bo", "1"),
        ("cy", "1"),
        ("di", "1"),
    ]
    assert {path.name: path.read_bytes() for path in top.iterdir()} == before
    assert {path.name: path.read_bytes() for path in home.iterdir()} == {"progress.json": b"mine"}


def test_grades(folder, tmp_path):
    """Race, conflict, wrong, stub, no kernel, no file; a stub in a later file hides no answer."""
    wrong = made.SCALE_WRONG + made.PLACE_RACE + made.PITCH_CONFLICT
    top = folder(
        {
            "ada/k.py": made.IMPORTS + wrong + made.CHECKS,
            "ada/z.py": made.IMPORTS + made.SCALE_STUB + "check('ex00_scale', scale)",
            "bo.py": made.IMPORTS + made.SCALE_STUB + made.PLACE,
        }
    )
    (top / "di").mkdir()
    file = tmp_path / "grades.csv"
    assert main(["grade", str(top), "--exercises", NAMES, "--csv", str(file)]) == 0
    found = rows(file.read_text())
    assert [[found[name, one] for one in made.THREE] for name in ("ada", "bo", "di")] == [
        [("wrong", "output"), ("right values", "findings"), ("right values", "wavefronts")],
        [("not tried", "stub"), ("accepted", ""), ("not tried", "")],
        [("not tried", "source")] * 3,
    ]


BUSY = "import os, subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'while 1: pass'])\n"
FORGED = """import os
for fd in range(3, 30):
    try:
        os.write(fd, b'[1]\\n{"end": 3}\\n{"done": {"exercise": 3}}\\n{"begin": [2]}\\n')
    except OSError:
        pass"""
PRANKS = {
    "busy": (BUSY + "os._exit(7)", "crash", "the process ended by itself, exit code 7"),
    "exits": ("import sys\nsys.exit(3)", "crash", "exits.py, line 10: SystemExit: 3"),
    "floods": ("while True:\n    print('x' * 9999)", "time", "more than 4 s"),
    "segfault": ("import ctypes\nctypes.string_at(0)", "crash", "the process was ended by SIGSEGV"),
    "spins": ("try:\n    while True: pass\nfinally:\n    pass", "time", "more than 4 s"),
    "talks": (FORGED, "", ""),
    "wipes": (
        "import shutil\nshutil.rmtree('..', ignore_errors=True)",
        "crash",
        "it has deleted files of its own folder",
    ),
}


@pytest.mark.slow
def test_pranks(folder, tmp_path):
    """Each has a row that says what happened, and the learner's other exercise is graded."""
    top = folder({f"{name}.py": made.hostile(body) for name, (body, *_) in PRANKS.items()})
    file = tmp_path / "grades.csv"
    command = ["grade", str(top), "--exercises", "ex00_scale,ex01_place", "--seconds", "4"]
    assert main([*command, "--csv", str(file)]) == 0
    found = {(r["learner"], r["exercise"]): r for r in csv.DictReader(file.open())}
    for name, (_, reason, text) in PRANKS.items():
        row = found[name, "ex00_scale"]
        grade = "stopped" if reason else "accepted"
        assert (row["grade"], row["reason"], row["text"]) == (grade, reason, text)
        assert found[name, "ex01_place"]["grade"] == "accepted", name


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [3, 30])
def test_class(folder, tmp_path, count):
    """Copies and 3 hostile ones: the right table; 30 well within two minutes on two cores."""
    good = {f"learner{n:02}.ipynb": notebook_of_three(n) for n in range(count)}
    bad = {"endless.py": made.ENDLESS, "hog.py": made.HOG, "leaves.py": made.EXIT}
    top = folder({**good, **bad})
    file = tmp_path / "grades.csv"
    began = time.monotonic()
    command = ["grade", str(top), "--exercises", NAMES, "--csv", str(file), "--seconds", "10"]
    assert main(command) == 0
    found = rows(file.read_text())
    expected = [
        [("accepted", "")] * 3,
        [("wrong", "output"), ("accepted", ""), ("accepted", "")],
        [("accepted", ""), ("right values", "findings"), ("right values", "wavefronts")],
    ]
    for n in range(count):
        assert [found[f"learner{n:02}", one] for one in made.THREE] == expected[n % 3], n
    for name, reason in (("endless", "time"), ("hog", "memory"), ("leaves", "crash")):
        assert found[name, "ex00_scale"] == ("stopped", reason)
        assert [found[name, one] for one in made.THREE[1:]] == [("accepted", "")] * 2
    assert len(found) == 3 * (count + 3)
    assert time.monotonic() - began < 120


def notebook_of_three(n):
    """The notebook of learner n: all right, a wrong factor, or a race and a conflict."""
    scale = made.SCALE_WRONG if n % 3 == 1 else made.SCALE
    place = made.PLACE_RACE if n % 3 == 2 else made.PLACE
    sums = made.PITCH_CONFLICT if n % 3 == 2 else made.PITCH
    return notebook([made.IMPORTS, scale, place, sums, made.CHECKS])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--exercises", "ex00_scal"],
            'there is no exercise "ex00_scal"; did you mean ex00_scale?',
        ),
        (["--exercises", ","], "--exercises names none"),
        (["--seconds", "0"], "--seconds 0: more than 0 is wanted"),
        (["--seconds", "inf"], "--seconds inf: more than 0 is wanted"),
        (["--jobs", "0"], "--jobs 0: 1 or more is wanted"),
        (["--memory", "1"], "--memory 1: 64 or more is wanted"),
        (["--csv", "taken"], "taken is there already: name another, or add --force"),
        (["--junit", "no/such.xml"], "no/such.xml cannot be written: there is no folder no"),
        (["--csv", "."], ". is a folder: name a file in it"),
        (["--csv", "x", "--junit", "x"], "--csv and --junit both name x"),
    ],
)
def test_bad_options(folder, monkeypatch, capsys, options, said):
    """What cannot be meant is refused before anything is graded or written."""
    top = folder({"in/ada.py": "", "taken": "mine"})
    monkeypatch.chdir(top)
    assert main(["grade", "in", *options]) == 2
    assert said in capsys.readouterr().err
    assert (top / "taken").read_text() == "mine"
    assert sorted(path.name for path in top.iterdir()) == ["in", "taken"]


def test_no_folder(tmp_path, capsys):
    """A folder that is not there is named."""
    assert main(["grade", str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not there: name the folder" in capsys.readouterr().err


def test_force(folder, tmp_path):
    """--force writes over a file that is there."""
    (tmp_path / "g.csv").write_text("mine")
    top = folder({"ada.txt": ""})
    (top / "ada").mkdir()
    command = ["grade", str(top), "--exercises", "ex00_scale", "--csv", str(tmp_path / "g.csv")]
    assert main([*command, "--force"]) == 0
    assert list(rows((tmp_path / "g.csv").read_text())) == [("ada", "ex00_scale")]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares /proc with ps")
def test_memory_in_use():
    """The watchdog's two readings of a process agree within a tenth, and see 64 MB more."""
    child = "input(); more = bytearray(b'x') * 2**26; print('more', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", f"print('ready', flush=True); {child}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:  # a process of its own: this one may have as much lying idle
        assert running.stdin is not None and running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        before = resident_bytes(running.pid)
        from_outside = from_ps(_said("ps", "-o", "rss=", "-p", str(running.pid)))
        assert abs(before - from_outside) < before / 10
        print(file=running.stdin, flush=True)
        assert running.stdout.readline() == "more\n"
        assert resident_bytes(running.pid) - before > 2**26 * 0.9
        running.communicate("\n")
    assert resident_bytes(subprocess.Popen([sys.executable, "-c", ""]).pid + 10**7) == 0
