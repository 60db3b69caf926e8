"""A whole search as on a GPU, with kernels in the engine; clock and machine stand in."""

from dataclasses import replace

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.tuning import on_gpu
from smemnb.measure.tuning import outcome as outcomes
from smemnb.measure.tuning.on_gpu import Wish, search
from smemnb.measure.tuning.space import Chunks, steps_named
from tests.measure.bench.test_run import HERE, Steps


@pytest.fixture
def machine(monkeypatch):
    """A machine that says what it is, and a clock that goes on by itself."""
    monkeypatch.setattr(on_gpu.provenance, "origin", lambda command, said, l2: HERE)
    monkeypatch.setattr(on_gpu, "GpuClock", Steps)
    monkeypatch.setattr(on_gpu, "sweep", lambda size: lambda: None)


def test_search(machine, tmp_path, capsys):
    """Steps are printed as they come, the file holds them, the best and its use come last."""
    start, path = Chunks(), tmp_path / "tuned.json"
    steps = steps_named(start, ["blocks"])
    wish = Wish("transpose", "64x64", 4, start, steps, rounds=1, processes=0, command="tune")
    found = search(wish, out=path, force=False)
    assert outcomes.load(path) == found
    assert found.finished
    assert {trial.step for trial in found.trials} == {"blocks"}
    tried = {tuple(one.changes) for trial in found.trials for one in trial.attempts}
    assert ("blocks",) in tried
    said = capsys.readouterr().out
    assert "transpose_fastest_of(" in said
    assert list(found.trials[0].beside) == ["copy_wide"]
    with pytest.raises(SmemnbError, match="the file is there already"):
        search(wish, out=path, force=False)


def test_bad_sizes(machine):
    """A size that is none is refused before anything runs."""
    wish = Wish("matmul", "64x128", 4, Chunks(), ())
    with pytest.raises(SmemnbError, match="a size of a matmul"):
        search(replace(wish), out=None, force=False)
