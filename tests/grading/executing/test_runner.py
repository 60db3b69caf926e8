"""What comes of a file that is run, in this process: files that never get that far."""

import pytest

from smemnb.grading.executing.runner import _answers
from tests.grading import learners as made

CHECK = '\ncheck("ex00_scale", scale)\n'


@pytest.mark.parametrize("line", ["return 3", "x = = 3"])
def test_unreadable(tmp_path, monkeypatch, line):
    """A file that Python does not compile has a reason with its line, and no program."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "k.py"
    file.write_text(f"{line}\n{made.IMPORTS}{made.SCALE}{CHECK}")
    found = _answers("ex00_scale", [file])
    assert (found["programs"], found["reason"]) == ([], "source")
    assert "k.py" in found["text"] and "line 1" in found["text"]


def test_long_number(tmp_path, monkeypatch):
    """A number that Python would not write in decimal stands beside a kernel."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "k.py"
    file.write_text(f"{made.IMPORTS}LONG = 0x{'f' * 5000}\n{made.SCALE}{CHECK}")
    found = _answers("ex00_scale", [file])
    assert len(found["programs"]) == 1
