"""Folders of submissions are removed whatever is in them."""

import os
import sys

import pytest

from smemnb.grading.executing.landlock import give_up, version
from smemnb.grading.executing.removal import remove


@pytest.mark.skipif(os.rename not in os.supports_dir_fd, reason="Windows removes by long paths")
def test_nested(tmp_path):
    """Three thousand folders inside each other, closed folders, and links that are not followed."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (top / "shut" / "in").mkdir(parents=True)
    (top / "shut" / "in" / "f").write_text("")
    (top / "link").symlink_to(outside)
    (top / "shut" / "link").symlink_to(outside)
    inner = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=inner)
        inner, outer = os.open("d", os.O_RDONLY, dir_fd=inner), inner
        os.close(outer)
    os.symlink(outside, "link", dir_fd=inner)
    os.close(inner)
    (top / "shut" / "in").chmod(0)
    (top / "shut").chmod(0)
    assert remove(top)
    assert [path.name for path in tmp_path.rglob("*")] == ["outside", "mine"]
    assert remove(top)


@pytest.mark.skipif(not version(), reason="this system has no Landlock")
def test_landlock(tmp_path):
    """Another process that has given up all but one folder reads, writes and lists there alone."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    (other / "secret").write_text("secret")
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        said = []
        give_up([sys.prefix], [str(mine)])
        for act in (
            lambda: (mine / "a").write_text("a"),
            lambda: (mine / "a").read_text(),
            lambda: (other / "secret").read_text(),
            lambda: (other / "b").write_text("b"),
            lambda: list(other.iterdir()),
            lambda: (other / "secret").unlink(),
        ):
            try:
                act()
                said.append("yes")
            except OSError:
                said.append("no")
        os.write(writer, " ".join(said).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reader, 100) == b"yes yes no no no no"
    os.close(reader)
    os.close(writer)
    assert (other / "secret").read_text() == "secret"
