"""`smemnb bench sweep`: refused without a GPU; shows, compares and draws files with any machine."""

import shlex
from dataclasses import replace

import pytest

from smemnb.cli import main
from smemnb.errors import SmemnbError
from smemnb.measure.bench.sweep import command
from smemnb.measure.bench.sweep.command import Wish
from smemnb.measure.bench.sweep.model import save
from smemnb.measure.bench.sweep.report import lines
from tests.measure.bench.sweep.sample import SWEEP, TRANSPOSES, timed


@pytest.fixture
def files(tmp_path):
    save(SWEEP, tmp_path / "new.json")
    save(TRANSPOSES, tmp_path / "transposes.json")
    save(replace(SWEEP, readings=(timed((16, 16, 16), 1.0, ms=0.001),)), tmp_path / "old.json")
    return tmp_path


def sweep(words, files):
    return main(["bench", "sweep", *shlex.split(words.replace("DIR", str(files)))])


@pytest.mark.parametrize("what", ["matmul", "transpose"])
def test_no_gpu(what, files, capsys, monkeypatch):
    """Refused in a line before anything else; no file is made."""
    monkeypatch.setenv("SMEMNB_DEVICE", "lockstep")
    assert sweep(f"{what} --count 0 --out DIR/a.json", files) == 2
    said = capsys.readouterr().err
    assert "SMEMNB_DEVICE=lockstep" in said and len(said.splitlines()) == 1
    assert not (files / "a.json").exists()


def test_show(files, capsys):
    assert sweep("--show DIR/new.json", files) == 0
    assert capsys.readouterr().out.splitlines() == list(lines(SWEEP))


@pytest.mark.parametrize("form", ["svg", "png"])
def test_chart(files, capsys, form):
    assert sweep(f"--show DIR/transposes.json --chart DIR/a.{form}", files) == 0
    assert (files / f"a.{form}").read_bytes()[:5] == {"png": b"\x89PNG\r", "svg": b"<?xml"}[form]
    assert capsys.readouterr().out.endswith(f"a.{form}\n")


def test_compare(files, capsys):
    """The report of the new file, then what became slower."""
    assert sweep("--show DIR/new.json --compare DIR/old.json", files) == 0
    said = capsys.readouterr().out
    assert "4.000  NN 16 x 16, depth 16: 1.00 -> 4.00 us" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "--show"),
        ("--compare DIR/old.json", "--show"),
        ("--show none.json", "none.json cannot be read"),
        ("--show DIR/new.json --compare none.json", "none.json cannot be read"),
        ("--show DIR/new.json --compare DIR/transposes.json", "transpose"),
        ("--show DIR/new.json --chart a.pdf", "--chart a.pdf"),
        ("--show DIR/new.json --count 3", "--count"),
        ("--show DIR/new.json --seed 0", "--seed"),
        ("--show DIR/new.json --resume", "--resume"),
        ("--show DIR/new.json --out DIR/new.json", "--out"),
    ],
)
def test_refused(files, capsys, words, said):
    """Options that cannot be meant so, by their names."""
    assert sweep(words, files) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("matmul --count 0", "--count 0"),
        ("transpose --seconds 0", "--seconds 0"),
        ("matmul --seconds nan", "--seconds nan"),
        ("matmul --resume", "--out"),
        ("matmul --resume --force --out a.json", "--force"),
        ("matmul --show DIR/new.json", "--show"),
        ("matmul --chart a.txt", "--chart a.txt"),
    ],
)
def test_refused_where_there_is_a_gpu(files, words, said):
    """What is asked of a measurement is refused before torch is imported or a file is made."""
    from smemnb.cli import bench_sweep

    options = bench_sweep._parser().parse_args(shlex.split(words.replace("DIR", str(files))))
    with pytest.raises(SmemnbError) as refusal:
        bench_sweep._check(options)
    assert said in str(refusal.value)


@pytest.mark.parametrize("words", ["matmul --count many", "matmul --seed 1.5", "softmax"])
def test_words_that_are_no_numbers(files, capsys, words):
    with pytest.raises(SystemExit):
        sweep(words, files)
    assert words.split()[-1] in capsys.readouterr().err


@pytest.mark.parametrize("against", [("nvidia",), ("torch", "cublas"), ()])
def test_unknown_libraries(against, tmp_path):
    """Refused before the file is made."""
    wish = Wish("matmul", 3, 1, against=against)
    with pytest.raises(SmemnbError, match="--against"):
        command.measure(wish, out=tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
