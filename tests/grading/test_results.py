"""Grades as they come: kept, gone on with, and never another run's."""

import json

import pytest

from smemnb.errors import SmemnbError
from smemnb.grading.outcome import Outcome
from smemnb.grading.results import begun

HOW = {
    "folder": "/class",
    "exercises": ["ex00_scale", "ex00_bias"],
    "version": "0.1",
    "execute": False,
    "limits": {"seconds": 20.0},
}
SCALE = Outcome("ex00_scale", "wrong", "output", "3 and not 2\x1b", "whole\n", 0.5)


def begin(path, how=HOW, seed=None, *, force=False, named=False, fresh=11):
    return begun(path, how, seed, fresh, force=force, named=named)


@pytest.fixture
def stopped(tmp_path):
    """The file of a run that was stopped after one grade."""
    path = tmp_path / "class.results.jsonl"
    with begin(path, seed=5) as results:
        results.add("ada", "d1", SCALE)
    return path


def test_each_line_is_there_at_once(stopped):
    """A grade can be read by others before the run ends; half a line is none."""
    with begin(stopped) as results:
        assert (results.seed, results.of("ada", "d1"), results.of("ada", "d2")) == (5, [SCALE], [])
        results.add("bo", "d3", SCALE)
        lines = stopped.read_bytes().splitlines()
        assert [json.loads(line).get("learner") for line in lines] == [None, "ada", "bo"]
    stopped.write_bytes(stopped.read_bytes()[:-20])
    with begin(stopped) as results:
        assert (results.of("ada", "d1"), results.of("bo", "d3")) == ([SCALE], [])
        results.add("bo", "d3", SCALE)
    assert [len(begin(stopped).of(*one)) for one in (("ada", "d1"), ("bo", "d3"))] == [1, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"folder": "/other"}, "folder"),
        ({"exercises": ["ex00_scale"]}, "exercises"),
        ({"version": "0.2"}, "version"),
        ({"execute": True}, "--execute"),
        ({"limits": {"seconds": 21.0}}, "limits"),
    ],
)
def test_another_run(stopped, change, said):
    """What is graded or how is not the same: refused with what differs, and nothing is lost."""
    before = stopped.read_bytes()
    with pytest.raises(SmemnbError, match=said):
        begin(stopped, {**HOW, **change})
    assert stopped.read_bytes() == before
    with begin(stopped, {**HOW, **change}, force=True) as results:
        assert (results.seed, results.done) == (11, {})


def test_another_seed(stopped):
    """A run goes on with its own seed; the same one may be named, another one is refused."""
    with pytest.raises(SmemnbError, match="seed"):
        begin(stopped, seed=6)
    with begin(stopped, seed=5) as results:
        assert results.of("ada", "d1") == [SCALE]


def test_finished(stopped):
    """A run that is done is begun anew; not under a name that was given."""
    with begin(stopped) as results:
        results.finish()
    with pytest.raises(SmemnbError, match="is there already"):
        begin(stopped, named=True)
    with begin(stopped) as results:
        assert (results.seed, results.done) == (11, {})


@pytest.mark.parametrize("content", ["mine", '{"kind": "other"}\n', '[3]\n{"kind": 3}\n'])
def test_no_results(tmp_path, content):
    """A file that holds something else is not touched."""
    path = tmp_path / "mine"
    path.write_text(content)
    with pytest.raises(SmemnbError, match="holds no grades"):
        begin(path)
    assert path.read_text() == content


def test_forged_lines(stopped):
    """Lines that are no grades are passed over."""
    with stopped.open("a") as stream:
        stream.write('[1]\n{}\nnull\n{"learner": 3, "files": "d"}\n' + "[" * 10**5 + "\n")
        stream.write(json.dumps({"learner": "bo", "files": "d", "exercise": "e", "grade": "?"}))
        stream.write("\n")
    assert begin(stopped).done == {"ada": {"d1": [SCALE]}}


def test_a_link_is_replaced(stopped, tmp_path):
    """--force never empties a file that a link leads to."""
    (tmp_path / "mine").write_text("mine")
    stopped.unlink()
    stopped.symlink_to(tmp_path / "mine")
    begin(stopped, force=True)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not stopped.is_symlink()
