"""`smemnb tune` without a GPU: candidates, results that are there, what is refused."""

import pytest

from smemnb import simulator
from smemnb.cli import main
from smemnb.measure.tuning import outcome as outcomes
from tests.measure.tuning.test_search import Priced, apart, found

without_gpu = pytest.mark.skipif(simulator.device() != "lockstep", reason="there is a GPU")


@without_gpu
def test_candidates(capsys):
    """They are listed, and that a GPU is needed for the rest."""
    assert main(["tune", "transpose", "--steps", "threads", "--source"]) == 0
    said = capsys.readouterr().out
    assert "threads=256" in said
    assert "takes a GPU" in said


def test_show(tmp_path, capsys):
    """A file of a search as text."""
    path = tmp_path / "tuned.json"
    outcomes.save(found(Priced(apart)), path)
    assert main(["tune", "--show", str(path)]) == 0
    assert "tiling = Tiling(" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tune"], "say what: transpose or matmul"),
        (["tune", "--show", "nowhere.json"], "nowhere.json cannot be read"),
        (["tune", "matmul", "--steps", "tiles"], "the steps are tile, resident"),
        (["tune", "transpose", "--itemsize", "3"], "1, 2, 4 or 8 bytes are tuned"),
    ],
)
def test_refused(words, said, capsys):
    """Each with its reason, and exit code 2."""
    assert main(words) == 2
    assert said in capsys.readouterr().err


@without_gpu
def test_no_file_without_times(tmp_path, capsys):
    """--out is refused where nothing is timed."""
    assert main(["tune", "matmul", "--out", str(tmp_path / "a.json")]) == 2
    assert not (tmp_path / "a.json").exists()
    assert "--out keeps times" in capsys.readouterr().err
