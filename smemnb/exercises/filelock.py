"""A lock between processes, held while the file is open; it ends with its process."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PATIENCE_SECONDS = 5.0


@contextmanager
def locked(path: Path, patience_s: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Let one process at a time in.

    Raises:
        TimeoutError: someone else held it for so many seconds.
    """
    with path.open("a+b") as stream:
        deadline = time.monotonic() + patience_s
        while not _taken(stream):
            if time.monotonic() > deadline:
                raise TimeoutError(errno.EAGAIN, "another process is writing it")
            time.sleep(0.01)
        yield


if sys.platform == "win32":
    import msvcrt

    def _taken(stream: IO[bytes]) -> bool:
        stream.seek(0)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(stream: IO[bytes]) -> bool:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
