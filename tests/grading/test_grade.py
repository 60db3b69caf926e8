"""`smemnb grade`: many learners, some of them hostile, and nothing of theirs is executed."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from smemnb.cli import main
from smemnb.grading import workers
from tests.grading import learners as made
from tests.grading.conftest import notebook

NAMES = ",".join(made.THREE)
NOTEBOOK = [made.IMPORTS, made.SCALE, 'print(check("ex00_scale", scale))', "trace(scale)[1, 2](0)"]
LINUX = sys.platform.startswith("linux")


def rows(text):
    """{(learner, exercise): (grade, reason)} of a CSV text."""
    return {
        (row["learner"], row["exercise"]): (row["grade"], row["reason"])
        for row in csv.DictReader(io.StringIO(text))
    }


def test_nothing_is_executed(folder, tmp_path, capsys, home):
    """What a constant would have to be run for is told with its line; the rest is graded."""
    proof = tmp_path / "executed"
    evil = made.hostile(f"open({str(proof)!r}, 'w').write('x')")
    top = folder({"ada.ipynb": NOTEBOOK, "mal.py": evil, "bo.py": made.FACTORY})
    home.mkdir()
    (home / "progress.json").write_text("mine")
    before = {path.name: path.read_bytes() for path in top.iterdir()}
    file, xml = tmp_path / "grades.csv", tmp_path / "grades.xml"
    command = ["grade", str(top), "--exercises", "ex00_scale,ex01_place", "--jobs", "2"]
    assert main([*command, "--csv", str(file), "--junit", str(xml)]) == 0
    assert rows(file.read_text()) == {
        ("ada", "ex00_scale"): ("accepted", ""),
        ("ada", "ex01_place"): ("not tried", ""),
        ("bo", "ex00_scale"): ("stopped", "needs --execute"),
        ("bo", "ex01_place"): ("not tried", ""),
        ("mal", "ex00_scale"): ("stopped", "needs --execute"),
        ("mal", "ex01_place"): ("accepted", ""),
    }
    assert not proof.exists()
    assert "mal.py, line 1" in next(
        row["text"]
        for row in csv.DictReader(file.open())
        if row["reason"] == "needs --execute" and row["learner"] == "mal"
    )
    assert "6 of 6 exercises" in capsys.readouterr().err
    suites = ET.parse(xml).getroot()
    found = [(suite.get("name"), suite.get("errors")) for suite in suites]
    assert found == [("ada", "0"), ("bo", "1"), ("mal", "1")]
    assert {path.name: path.read_bytes() for path in top.iterdir()} == before
    assert {path.name: path.read_bytes() for path in home.iterdir()} == {"progress.json": b"mine"}


def test_grades(folder, tmp_path, monkeypatch):
    """Race, conflict, wrong, stub, no kernel, no file; a stub in a later file hides no answer.

    Variables that test runs without a GPU have, under which no kernel can be graded, do no harm.
    """
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    wrong = made.SCALE_WRONG + made.PLACE_RACE + made.PITCH_CONFLICT
    top = folder(
        {
            "ada/k.py": made.IMPORTS + wrong + made.CHECKS,
            "ada/z.py": made.IMPORTS + made.SCALE_STUB + "check('ex00_scale', scale)",
            "bo.py": made.IMPORTS + made.SCALE_STUB + made.PLACE,
            "eve.py": made.IMPORTS + made.SCALE_WRONG,
            "eve.ipynb": NOTEBOOK,
            "eve.py.ipynb": NOTEBOOK,
            "lat.py": "",
            f"{'n' * 200}.py": made.IMPORTS + made.SCALE.replace("(out, inp)", f"({'x' * 99_999})"),
        }
    )
    latin = "# -*- coding: latin-1 -*-\n# caf\xe9\n" + made.IMPORTS + made.SCALE
    (top / "lat.py").write_bytes(latin.encode("latin-1"))
    (top / "di").mkdir()
    file = tmp_path / "grades.csv"
    assert main(["grade", str(top), "--exercises", NAMES, "--csv", str(file)]) == 0
    found = rows(file.read_text())
    assert [[found[name, one] for one in made.THREE] for name in ("ada", "bo", "di")] == [
        [("wrong", "output"), ("right values", "findings"), ("right values", "wavefronts")],
        [("not tried", "stub"), ("accepted", ""), ("not tried", "")],
        [("not tried", "source")] * 3,
    ]
    scales = {name: grade for (name, one), (grade, _) in found.items() if one == "ex00_scale"}
    assert {name: scales[name] for name in ("eve.py", "eve.ipynb", "eve.py.ipynb", "lat")} == {
        "eve.py": "wrong",
        "eve.ipynb": "accepted",
        "eve.py.ipynb": "accepted",
        "lat": "accepted",
    }
    assert scales["n" * 200] != "accepted"


def test_a_grader_that_cannot_grade(folder, monkeypatch, capsys):
    """Where a solution of ours is not accepted, nobody is told to be wrong: exit code 2."""
    top = folder({"ada.py": made.ANSWERS})
    environment = workers.environment()
    monkeypatch.setattr(
        workers, "environment", lambda: {**environment, "NUMBA_ENABLE_CUDASIM": "1"}
    )
    assert main(["grade", str(top), "--exercises", "ex00_scale"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "nothing can be graded here" in said.err
    assert [path.name for path in top.parent.iterdir() if "results" in path.name] == []


def test_files_that_stop_their_reader(folder, tmp_path, monkeypatch):
    """What no worker can read costs the exercises that no other file answers, and is named."""
    monkeypatch.setattr("smemnb.grading.submissions.LARGEST_MB", 1)
    deep = "x = " + "(" * 150 + "0" + ")" * 150 + "\ny = " + "-" * 20_000 + "1\n"
    top = folder({"ada/a.py": made.IMPORTS + made.SCALE, "ada/b.py": deep, "ada/c.ipynb": []})
    with (top / "ada" / "c.ipynb").open("wb") as stream:
        stream.truncate(1 << 21)
    file = tmp_path / "g.csv"
    assert (
        main(["grade", str(top), "--exercises", "ex00_scale,ex01_place", "--csv", str(file)]) == 0
    )
    found = list(csv.DictReader(file.open()))
    assert [row["grade"] for row in found] == ["accepted", "not tried"]
    assert (found[1]["reason"], "c.ipynb" in found[1]["text"]) == ("source", True)


@pytest.mark.exhaustive
def test_a_loop_and_a_hog_without_running_them(folder, tmp_path):
    """A kernel that never ends and one that wants all memory cost their exercises alone."""
    hog = made.SCALE.replace("    i =", "    big = cuda.local.array(1 << 22, float32)\n    i =", 1)
    top = folder(
        {
            "spins.py": made.SPINNING + made.PLACE,
            "hog.py": made.IMPORTS + hog.replace("inp[i]", "inp[i] + big[i]") + made.PLACE,
        }
    )
    file = tmp_path / "g.csv"
    command = ["grade", str(top), "--exercises", "ex00_scale,ex01_place", "--seconds", "5"]
    assert main([*command, "--memory", "128", "--csv", str(file)]) == 0
    found = rows(file.read_text())
    assert found["spins", "ex00_scale"] == ("stopped", "time")
    assert found["hog", "ex00_scale"][0] in ("stopped", "wrong")
    assert [found[name, "ex01_place"] for name in ("spins", "hog")] == [("accepted", "")] * 2


@pytest.mark.exhaustive
def test_goes_on(folder, tmp_path, capsys):
    """A run that was stopped is gone on with: the same seed, nothing is graded twice."""
    top = folder({"ada.py": made.ANSWERS, "bo.py": made.IMPORTS + made.SCALE_WRONG})
    file, kept = tmp_path / "g.csv", tmp_path / "g.results.jsonl"
    command = ["grade", str(top), "--exercises", NAMES, "--csv", str(file)]
    assert main([*command, "--seed", "7"]) == 0
    first = file.read_text()
    lines = kept.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[0])["seed"] == 7
    assert json.loads(lines[-1]) == {"finished": True}
    forged = json.loads(lines[1]) | {"text": "as it was kept"}
    kept.write_bytes(lines[0] + json.dumps(forged).encode() + b"\n" + lines[2] + lines[3][:20])
    file.unlink()
    capsys.readouterr()
    assert main(command) == 0
    assert "seed 7" in capsys.readouterr().err
    second = {(row["learner"], row["exercise"]): row for row in csv.DictReader(file.open())}
    assert rows(file.read_text()) == rows(first)
    assert second[forged["learner"], forged["exercise"]]["text"] == "as it was kept"
    more = kept.read_bytes().splitlines(keepends=True)
    assert (len(more), more[-1]) == (len(lines), lines[-1])


def tagged(tag):
    """Processes whose environment has a tag, those that have ended left out."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            alive = b") Z " not in (path / "stat").read_bytes() if path.name.isdecimal() else False
            if alive and tag.encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("name", "code"),
    [("SIGKILL", -9), pytest.param("SIGTERM", 2, marks=pytest.mark.exhaustive)],
)
def test_the_grader_ends(folder, tmp_path, name, code):
    """Killed or told to end, it leaves no process and has kept what was graded."""
    top = folder({"ada.py": made.ANSWERS, "bo.py": made.SPINNING})
    kept, tag = tmp_path / "g.results.jsonl", f"TAG={tmp_path}"
    command = [sys.executable, "-m", "smemnb.cli", "grade", str(top), "--exercises", "ex00_scale"]
    with subprocess.Popen(
        [*command, "--csv", str(tmp_path / "g.csv"), "--jobs", "1"],
        env={**os.environ, "TAG": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        late = time.monotonic() + 100
        while kept.exists() is False or kept.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < late and running.poll() is None
            time.sleep(0.02)
        running.send_signal(getattr(signal, name))
        said = running.communicate(timeout=60)[1]
    assert running.returncode == code
    if code == 2:
        assert str(kept) in said
    late = time.monotonic() + 30
    while tagged(tag) and time.monotonic() < late:
        time.sleep(0.02)
    assert tagged(tag) == []
    outcome = json.loads(kept.read_bytes().splitlines()[1])
    assert (outcome["learner"], outcome["grade"]) == ("ada", "accepted")
    assert not (tmp_path / "g.csv").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [3, 30])
def test_class(folder, tmp_path, count):
    """Copies and 2 that end in a loop or are no Python: the right table within two minutes."""
    good = {f"learner{n:02}.ipynb": notebook_of_three(n) for n in range(count)}
    top = folder({**good, "spins.py": made.SPINNING, "broken.py": "check('ex00_scale', ("})
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
    assert found["spins", "ex00_scale"] == ("stopped", "time")
    assert found["broken", "ex00_scale"] == ("stopped", "source")
    assert len(found) == 3 * (count + 2)
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
        (["--processes", "0"], "--processes 0: 1 or more is wanted"),
        (["--written", "0"], "--written 0: 1 or more is wanted"),
        (["--seed", "-1"], "--seed -1: 0 or more is wanted"),
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
