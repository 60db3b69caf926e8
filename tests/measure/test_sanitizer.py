"""The sweep of compute-sanitizer over the ladders: what runs, and how findings are reported."""

import sys

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure import sanitizer
from smemnb.measure.bench.case import LADDERS, Case
from smemnb.measure.sanitizer import TOOLS, Unit, examined, launched, main, summary, units
from tests.facts import facts


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("========= ERROR SUMMARY: 0 errors", 0),
        ("x\n========= ERROR SUMMARY: 13 errors\n", 13),
        ("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)", 1),
        ("========= COMPUTE-SANITIZER", None),
    ],
)
def test_summary(said, count):
    """The last line of each tool."""
    assert summary(said) == count


def test_every_rung_and_choice_is_examined():
    """Each rung once; the choice for every size of elements and every shape of products."""
    found = [unit.words for unit in units()]
    assert len(set(found)) == len(found)
    assert set(LADDERS["transpose"]) | set(LADDERS["matmul"]) <= set(found)
    for size in (1, 2, 4, 8, 16):
        assert f"fastest transpose, {size}-byte elements" in found
    assert "fastest matmul 1537x1539x9, 0 spare" in found
    assert {"transpose_shifted, 1-byte elements", "matmul_sliced, 4-byte elements"} <= set(found)


def test_further_kernels_are_launched():
    """Those that only large or whole shapes choose, by their name."""
    (line,) = launched(Unit("transpose_shifted", (Case("transpose", (40, 35), 2),), True))
    assert line.startswith("right: transpose_shifted")
    lines = list(launched(Unit("matmul_sliced", (Case("matmul", (64, 64, 32)),), True)))
    assert [one[:20] for one in lines] == ["right: matmul_sliced"]


def test_launched():
    """Values are compared; what a rung does not take is left out and said."""
    cases = Case("transpose", (8, 12)), Case("transpose", (5, 7), spare=2)
    assert [line[:9] for line in launched(Unit("transpose_wide", cases))] == [
        "right: tr",
        "left out:",
    ]
    assert [line[:6] for line in launched(Unit("fastest", cases))] == ["right:", "right:"]
    (line,) = launched(Unit("matmul_naive", (Case("matmul", (5, 6, 7), spare=1),)))
    assert line.startswith("right: matmul_naive")


def test_examined():
    """A process per unit and tool; findings as numbers, failures in words, in order."""
    asked = []

    def look(command, tool):
        asked.append((tuple(command), tool))
        if tool == "racecheck":
            raise SmemnbError("ended without a summary")
        return int(command[-1])

    wanted = units()[2:4]
    found = list(examined(wanted, ("memcheck", "racecheck"), 2, look))
    assert found == [
        (wanted[0], {"memcheck": 2, "racecheck": "ended without a summary"}),
        (wanted[1], {"memcheck": 3, "racecheck": "ended without a summary"}),
    ]
    launch = (sys.executable, "-m", "smemnb.measure.sanitizer", "--launch")
    assert {command for command, _ in asked} == {(*launch, "2"), (*launch, "3")}


SANITIZER = """#!/bin/sh
echo "========= COMPUTE-SANITIZER"
case "$2" in
  memcheck) echo "========= ERROR SUMMARY: 0 errors";;
  racecheck) echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors)"; exit 0;;
  initcheck) echo "========= ERROR SUMMARY: 0 errors"; echo "3 wrong results" >&2; exit 1;;
  synccheck) echo "no device";;
esac
"""


@pytest.fixture
def compute_sanitizer(tmp_path, monkeypatch):
    """A compute-sanitizer that prints a given text."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(SANITIZER)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_table(compute_sanitizer, capsys):
    """Findings, failures of the program and missing summaries each show, and end with 1."""
    assert main(["--rungs", "--only", "transpose_naive"]) == 1
    heads, row, initcheck, synccheck, total = capsys.readouterr().out.splitlines()
    assert heads.split() == ["memcheck", "racecheck", "initcheck", "synccheck"]
    assert row.split() == ["transpose_naive", "0", "2", "failed", "failed"]
    assert initcheck.strip().startswith("initcheck") and initcheck.endswith("3 wrong results")
    assert synccheck.strip().startswith("synccheck") and synccheck.endswith("no device")
    assert facts(total) == facts("1 3")
    assert main(["--rungs", "--only", "transpose_naive", "--tools", "memcheck"]) == 0


def test_missing(monkeypatch, tmp_path, capsys):
    """Without compute-sanitizer every cell fails and says so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--rungs", "--only", "transpose_naive", "--tools", "memcheck"]) == 1
    assert "`compute-sanitizer` is not on the PATH" in capsys.readouterr().out
    assert TOOLS == ("memcheck", "racecheck", "initcheck", "synccheck")


def test_misunderstood(capsys):
    """A name or a tool that is not there is refused."""
    for words in (["--rungs", "--only", "nothing"], ["--rungs", "--tools", "leakcheck"], []):
        with pytest.raises(SystemExit):
            main(words)
    assert sanitizer.__doc__ is not None
