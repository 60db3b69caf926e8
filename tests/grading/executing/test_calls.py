"""System calls that neither limits nor Landlock cover are not to be had."""

import ctypes
import os

import pytest

from smemnb.grading.executing.calls import give_up_calls, known


@pytest.mark.skipif(not known(), reason="no seccomp for this machine")
@pytest.mark.parametrize("rights", [True, False])
def test_refused(tmp_path, rights):
    """Segments, semaphores and queues end in EPERM; rights of files stay where that is asked."""
    file = tmp_path / "mine"
    file.write_text("mine")
    file.chmod(0o640)
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        libc = ctypes.CDLL(None, use_errno=True)
        said = [give_up_calls(rights=rights)]
        for made in (
            libc.shmget(0, 4096, 0o1600),
            libc.semget(0, 1, 0o1600),
            libc.msgget(0, 0o1600),
        ):
            said.append((made, ctypes.get_errno()))
        file.chmod(0)
        os.utime(file, (1, 1))
        said.append(os.getpid() > 0)
        os.write(writer, repr(said).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        assert stream.read() == "[True, (-1, 1), (-1, 1), (-1, 1), True]"
    about = file.stat()
    assert (about.st_mode & 0o777, about.st_mtime > 1) == ((0o640, True) if rights else (0, False))
