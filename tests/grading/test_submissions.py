"""Whose files lie in the folder, and what is copied of them."""

import os

import pytest

from smemnb.errors import SmemnbError
from smemnb.grading.executing.removal import remove
from smemnb.grading.limits import MEGABYTE
from smemnb.grading.submissions import LARGEST_MB, MOST_FILES, data, learners, texts

CHAPTERS = frozenset({"10_threads", "12_shared_memory"})


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
            {"10_threads.ipynb": [], "12_shared_memory.ipynb": []},
            "",
            "chapters of one learner: name the folder above",
        ),
    ],
)
def test_refused(folder, files, sub, said):
    """No folder, no submission, or one learner's own copy: each in its words."""
    with pytest.raises(SmemnbError, match=said):
        learners(folder(files) / sub, CHAPTERS)


def test_one_name_each(folder):
    """A stem that could be meant for another entry's name is not used: no two share a name."""
    top = folder({"eve.py": "", "eve.ipynb": [], "eve.py.ipynb": [], "bo.py": "", "cy.py.py": ""})
    (top / "bo.ipynb").mkdir()
    (top / "cy.py").mkdir()
    assert [one.name for one in folder_of(top)] == [
        "bo.ipynb",
        "bo",
        "cy.py",
        "cy.py.py",
        "eve.ipynb",
        "eve.py",
        "eve.py.ipynb",
    ]


def test_texts(folder):
    """Of a folder the kernel files are read as they are, and its other files as data."""
    top = folder({"zoe/k.py": "k", "zoe/data/t.txt": "t", "ada.py": "a", "zoe/z.py": ""})
    ada, zoe = folder_of(top)
    assert texts(ada).files == (("ada.py", b"a"),)
    assert texts(zoe).files == (("k.py", b"k"), ("z.py", b""))
    assert (data(ada), data(zoe)) == ([], [("data/t.txt", b"t")])


def test_digest(folder):
    """Other files, other names or another order give another digest; the same give the same."""
    top = folder({"a/k.py": "k", "b/k.py": "k", "c/l.py": "k", "d/k.py": "l", "e/k.py": "k"})
    (top / "e" / "z.py").write_text("")
    digests = [texts(one).digest for one in folder_of(top)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4


def test_too_large(folder):
    """A notebook with large figures is read; a file beyond the bound is told by its name."""
    top = folder({"zoe/a.py": "a", "zoe/b.ipynb": ""})
    with (top / "zoe" / "b.ipynb").open("wb") as stream:
        stream.truncate(17 * MEGABYTE)
    (zoe,) = folder_of(top)
    assert [name for name, _ in texts(zoe).files] == ["a.py", "b.ipynb"]
    with (top / "zoe" / "b.ipynb").open("wb") as stream:
        stream.truncate(LARGEST_MB * MEGABYTE + 1)
    read = texts(zoe)
    assert [name for name, _ in read.files] == ["a.py"]
    assert read.problems == (f"b.ipynb is larger than {LARGEST_MB} MB and was not read",)


def test_too_many(folder):
    """Which file is the first that is not read is told."""
    top = folder({f"zoe/k{number:04}.py": "" for number in range(MOST_FILES + 3)})
    (zoe,) = folder_of(top)
    assert len(zoe.files) == MOST_FILES
    assert [("k1000.py" in said, "2 more" in said) for said in zoe.problems] == [(True, True)]


def test_nested(folder):
    """Twelve hundred folders inside each other end nothing; what lies too deep is told."""
    top = folder({"mal/k.py": "", "ada.py": ""})
    inner = os.open(top / "mal", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("a", dir_fd=inner)
        inner, outer = os.open("a", os.O_RDONLY, dir_fd=inner), inner
        os.close(outer)
    os.close(inner)
    _, mal = folder_of(top)
    assert [file.name for file in mal.files] == ["k.py"]
    assert len(mal.problems) == 1
    assert remove(top / "mal")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_no_regular_file(folder):
    """A pipe that nobody writes into is not waited for; nor is a link followed."""
    top = folder({"ada.py": "", "zoe/k.py": ""})
    os.mkfifo(top / "zoe" / "a.py")
    _, zoe = folder_of(top)
    assert [file.name for file in zoe.files] == ["k.py"]
    (top / "zoe" / "k.py").unlink()
    os.mkfifo(top / "zoe" / "k.py")
    assert texts(zoe).problems == ("k.py cannot be read: not a regular file",)
    (top / "zoe" / "k.py").unlink()
    (top / "zoe" / "k.py").symlink_to(top / "ada.py")
    assert len(texts(zoe).problems) == 1
