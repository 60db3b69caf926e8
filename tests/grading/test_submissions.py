"""Whose files lie in the folder, and what is copied of them."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.grading.submissions import LARGEST_BYTES, copy, learners

CHAPTERS = frozenset({"00_start_here", "01_shared_memory"})


def names(folder):
    return {
        one.name: [f.relative_to(folder).as_posix() for f in one.files] for one in folder_of(folder)
    }


def folder_of(folder):
    return learners(folder, CHAPTERS)[0]


def test_learners(folder):
    """A folder with all its kernel files is a learner, and so is a single file."""
    top = folder(
        {
            "zoe/b/k.py": "",
            "zoe/a.ipynb": [],
            "zoe/.ipynb_checkpoints/a-checkpoint.ipynb": [],
            "zoe/notes.txt": "",
            "zoe/__pycache__/k.py": "",
            "ada.py": "",
            "bo.ipynb": [],
            "bo.py": "",
        }
    )
    assert names(top) == {
        "ada": ["ada.py"],
        "bo.ipynb": ["bo.ipynb"],
        "bo.py": ["bo.py"],
        "zoe": ["zoe/a.ipynb", "zoe/b/k.py"],
    }


def test_left_aside(folder):
    """What is no submission is named; links are not followed."""
    top = folder({"ada.py": "", "marks.xlsx": ""})
    (top / "cy").symlink_to(top.parent)
    (top / "ada.py").with_name("bo").mkdir()
    ((top / "bo") / "far.py").symlink_to(top / "ada.py")
    found, aside = learners(top, CHAPTERS)
    assert [(one.name, len(one.files)) for one in found] == [("ada", 1), ("bo", 0)]
    assert aside == ["cy: a link", "marks.xlsx: neither a folder nor .py nor .ipynb"]


@pytest.mark.parametrize(
    ("files", "sub", "said"),
    [
        ({"ada.py": ""}, "nowhere", "nowhere is not there: name the folder"),
        ({"ada.py": ""}, "ada.py", "ada.py is a file: name the folder"),
        ({"a.txt": ""}, "", "holds no submission: .*left aside: a.txt"),
        (
            {"00_start_here.ipynb": [], "01_shared_memory.ipynb": []},
            "",
            "chapters of one learner: name the folder above",
        ),
    ],
)
def test_refused(folder, files, sub, said):
    """No folder, no submission, or one learner's own copy: each in its words."""
    with pytest.raises(SmemnbError, match=said):
        learners(folder(files) / sub, CHAPTERS)


def test_copy(folder, tmp_path):
    """A folder is copied with its data; a file without its neighbours; nothing too large."""
    top = folder({"zoe/k.py": "k", "zoe/data/t.txt": "t", "ada.py": "a", "zoe/z.py": ""})
    with (top / "zoe" / "z.py").open("wb") as stream:
        stream.truncate(LARGEST_BYTES + 1)
    ada, zoe = folder_of(top)
    for learner, kernels, expected in (
        (ada, ["ada.py"], ["ada.py"]),
        (zoe, ["k.py"], ["data/t.txt", "k.py"]),
    ):
        target = tmp_path / learner.name
        target.mkdir()
        assert copy(learner, target) == kernels
        found = [f.relative_to(target).as_posix() for f in sorted(target.rglob("*.*"))]
        assert found == expected
    assert (tmp_path / "zoe/data/t.txt").read_text() == "t"
