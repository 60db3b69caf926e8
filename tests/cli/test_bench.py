"""`smemnb bench`: refused without a GPU, tables, charts and comparisons with any machine."""

import shlex
from dataclasses import replace

import pytest

from smemnb.cli import main
from smemnb.errors import SmemnbError
from smemnb.measure.bench.command import Wish, measure
from smemnb.measure.results import save
from tests.measure.results.test_reports import LADDER, RUNG, TABLE


@pytest.fixture
def results(tmp_path):
    save(LADDER, tmp_path / "a.json")
    return tmp_path / "a.json"


@pytest.mark.parametrize("what", ["transpose", "matmul", "all", "overhead"])
def test_no_gpu(what, tmp_path, capsys, monkeypatch):
    """Refused before anything else: no file is made, nothing is asked of the options."""
    out = tmp_path / "new.json"
    monkeypatch.setenv("SMEMNB_DEVICE", "lockstep")
    assert main(["bench", what, "--sizes", "nonsense", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "SMEMNB_DEVICE=lockstep asks for the engine; times are measured on a GPU" in said
    assert "`smemnb bench --show FILE.json`" in said
    assert not out.exists()


def test_no_gpu_that_numba_can_use(monkeypatch, capsys):
    """Without a wish for the engine the refusal says what a measurement takes."""
    monkeypatch.delenv("SMEMNB_DEVICE")
    assert main(["bench", "transpose"]) == 2
    assert "it takes the GPU, its driver, and the compiler libraries" in capsys.readouterr().err


def test_bounds_without_a_gpu(capsys):
    """2 x 64 MiB over 4.8 TB/s, and what a rung does not take."""
    words = ["--sizes", "4096,4097", "--rungs", "transpose_wide", "--bounds", "H200"]
    assert main(["bench", "transpose", *words]) == 0
    head, first, _, second = capsys.readouterr().out.splitlines()
    assert head == "transpose 4096 x 4096 on H200 (model)"
    assert first.split() == ["transpose_wide", "0.0280", "ms", "4800", "GB/s", "dram"]
    assert "rows that begin at multiples of 4 elements" in second


def test_show(results, capsys):
    """The table of a file."""
    assert main(["bench", "--show", str(results)]) == 0
    assert capsys.readouterr().out == TABLE


@pytest.mark.parametrize("what", ["transpose", "matmul"])
def test_show_an_operation(what, capsys):
    """An operation is no file: the message says what shows its times."""
    assert main(["bench", "--show", what]) == 2
    said = capsys.readouterr().err
    assert f"{what} is what can be measured" in said
    assert "smemnb bench --show\n" in said


@pytest.mark.parametrize("form", ["png", "svg"])
def test_chart(results, tmp_path, capsys, form):
    """A chart of a file, in the form that its name ends with."""
    path = tmp_path / f"chart.{form}"
    assert main(["bench", "--show", str(results), "--chart", str(path)]) == 0
    assert path.read_bytes()[:5] == {"png": b"\x89PNG\r", "svg": b"<?xml"}[form]
    assert capsys.readouterr().out == f"{TABLE}chart: {path}\n"


def test_compare(results, tmp_path, capsys):
    """Two files, row by row."""
    save(
        replace(LADDER, rows=(replace(RUNG, ms=1.0, low_ms=0.9, high_ms=1.1),)), tmp_path / "b.json"
    )
    assert main(["bench", "--compare", str(results), str(tmp_path / "b.json")]) == 0
    said = capsys.readouterr().out
    assert "1 row in both, 1 changed by more than the spread" in said
    assert "speedup 2.000" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "say what: transpose, matmul, all, overhead, engine, sweep, patterns, tensor; or"),
        ("--show none.json", "none.json cannot be read: No such file"),
        ("--compare none.json none.json", "none.json cannot be read"),
        ("--show FILE --chart chart.pdf", "--chart chart.pdf: the name ends with .png or .svg"),
        ("all --bounds GT710", "--bounds GT710: no figures of a chip called 'GT710'"),
        ("matmul --sizes 4x4 --bounds", "--sizes 4x4: a size of a matmul"),
        ("engine --beside none.py", "--beside none.py: there is no such file"),
    ],
)
def test_refused(results, capsys, words, said):
    """Options that cannot be meant so."""
    assert main(["bench", *shlex.split(words.replace("FILE", str(results)))]) == 2
    assert said in capsys.readouterr().err


def test_wishes_are_refused_before_the_file_is_made(tmp_path):
    """A wrong wish leaves no file behind; a file that is there stays."""
    out = tmp_path / "a.json"
    with pytest.raises(SmemnbError, match="--sizes 0"):
        measure(Wish(("transpose",), False, sizes=["0"]), out=out, force=False)
    with pytest.raises(SmemnbError, match="--against nvidia"):
        measure(Wish(("transpose",), False, against=["nvidia"]), out=out, force=False)
    assert not out.exists()
    out.write_text("kept")
    with pytest.raises(SmemnbError, match="the file is there already"):
        measure(Wish((), False), out=out, force=False)
    assert out.read_text() == "kept"
