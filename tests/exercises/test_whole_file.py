"""A file is there whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from smemnb.exercises.whole_file import is_plain, leftovers, write_whole

SMALL = """
import resource, sys
from pathlib import Path
from smemnb.exercises.whole_file import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_whole(Path(sys.argv[1]), b"x" * 1000)
except OSError as error:
    print(type(error).__name__)
"""


def test_new_and_replaced(tmp_path):
    """A new file, then other contents at the same place, and nothing beside it."""
    path = tmp_path / "one.txt"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="limits and modes of POSIX")
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_no_room(tmp_path, before):
    """A write that does not fit leaves what was there, and no part of a file."""
    path = tmp_path / "one.txt"
    if before is not None:
        path.write_bytes(before)
    said = subprocess.run([sys.executable, "-c", SMALL, path], capture_output=True, text=True)
    assert said.stdout == "OSError\n"
    assert (path.read_bytes() if path.exists() else None) == before
    assert len(list(tmp_path.iterdir())) == (before is not None)


@pytest.mark.skipif(os.name != "posix", reason="limits and modes of POSIX")
def test_modes(tmp_path):
    """A file keeps its mode; a new one gets the one asked for."""
    path = tmp_path / "one.txt"
    write_whole(path, b"", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    write_whole(path, b"again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
@pytest.mark.parametrize("there", [True, False])
def test_links_stay(tmp_path, there):
    """A symbolic link stays one; the file that it leads to has the new contents."""
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.txt", tmp_path / "link.txt"
    if there:
        real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_leftovers(tmp_path):
    """What a killed writer left is found by the file that it was to be, and by no other."""
    path = tmp_path / "one.txt"
    left = tmp_path / ".one.txt.0123abcd.part"
    left.write_bytes(b"half")
    (tmp_path / ".other.txt.0123abcd.part").write_bytes(b"half")
    (tmp_path / "one.txt.part").write_bytes(b"a user's own")
    assert list(leftovers(path)) == [left]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_plain(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    assert is_plain(tmp_path / "file")
    assert not is_plain(tmp_path / "pipe")
    assert not is_plain(tmp_path)
