"""`smemnb tune` without a GPU: candidates, results that are there, what is refused."""

import pytest

from smemnb import simulator
from smemnb.cli import main
from smemnb.kernels.matmul import ladder
from smemnb.kernels.matmul.tiling import Tiling
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


@pytest.mark.exhaustive
def test_choices_of_ones_own(capsys):
    """What can be said of them without timing them, beside the package's."""
    given = "rows=64, cols=64, warp_rows=16, warp_cols=64, lanes_down=4, resident=1, turn=2"
    assert main(["tune", "matmul", "--choices", given, "--source"]) == 0
    own, yours = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    # threads, bytes of shared memory, no registers, blocks, wavefronts
    tiling = Tiling(64, 64, 8, 16, 64, lanes_down=4, resident=1, turn=2)
    assert yours[:5] == ["yours", "128", f"{tiling.shared_bytes}", "-", "16"]
    assert own[2] == str(ladder.VARIED.threads)
    assert main(["tune", "transpose", "--choices", "threads=128", "--source"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:3] == ["yours", "128", "16384"]


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
        (["tune", "matmul", "--choices", "row=64"], "the choices are rows, cols, depth"),
        (["tune", "matmul", "--choices", "rows"], "write rows=NUMBER"),
        (["tune", "matmul", "--choices", "rows=100"], "Tiling: rows=100"),
        (["tune", "matmul", "--choices", "rows=64", "--chip", "X"], "known: H200"),
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
