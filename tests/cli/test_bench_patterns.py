"""`smemnb bench patterns`: refused without a GPU; shows files with any machine."""

import shlex

import pytest

from smemnb.cli import main
from smemnb.measure.bench.patterns.model import PatternReading, PatternResults, Time, save
from smemnb.measure.bench.patterns.report import lines
from smemnb.measure.results import Gpu

GPU = Gpu("NVIDIA H200", "9.0", 132, 150_000_000_000, 62_914_560)
TIMES = {"smemnb": Time(1.0, 0.9, 1.1), "torch": Time(2.0, 1.9, 2.1)}
RESULTS = PatternResults(
    GPU, "580", "13.0", {}, {}, "2026-11-27", "smemnb bench patterns", "warm", "reduction"
).grown([PatternReading("sum", "2^28 float32", 4 << 28, TIMES, {})])


def patterns(words, folder):
    return main(["bench", "patterns", *shlex.split(words.replace("DIR", str(folder)))])


def test_no_gpu(tmp_path, capsys, monkeypatch):
    """Refused in a line before anything else; no file is made."""
    monkeypatch.setenv("SMEMNB_DEVICE", "lockstep")
    assert patterns("reduction --out DIR/a.json", tmp_path) == 2
    said = capsys.readouterr().err
    assert "SMEMNB_DEVICE=lockstep" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "a.json").exists()


def test_show(tmp_path, capsys):
    """What is in a file."""
    save(RESULTS, tmp_path / "a.json")
    assert patterns("--show DIR/a.json", tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == list(lines(RESULTS))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "a room"),
        ("reduction --show reduction", "a room"),
        ("--show DIR/none.json", "none.json cannot be read"),
        ("--show tiles", "tiles"),
    ],
)
def test_refused(words, said, tmp_path, capsys):
    """In a line that says what is wrong."""
    assert patterns(words, tmp_path) == 2
    assert said in capsys.readouterr().err
