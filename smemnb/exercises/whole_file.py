"""Files that are there whole or not at all: written beside their place, then moved into it.

A reader never meets half a file, and a full disk or a killed process leaves the old one. What a
killed process leaves behind is a file with a name of its own (`leftovers`), which may be deleted.
A symbolic link stays one: the file that it leads to is replaced.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_END = ".part"


def write_whole(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Put `data` at `path` in one step; `mode` is that of a new file, before the umask.

    Raises:
        OSError: it cannot be written; nothing has changed then.
    """
    target = path.resolve()
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_END}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(part, flags, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(OSError):  # a new file, or a file system without modes
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def leftovers(path: Path) -> Iterator[Path]:
    """What killed processes have left of `path`; also of those that write it right now."""
    target = path.resolve()
    with suppress(OSError):
        for one in target.parent.iterdir():
            if one.name.startswith(f".{target.name}.") and one.name.endswith(_END):
                yield one


def is_plain(path: Path) -> bool:
    """Whether a file is there that can be read to its end; a named pipe or a device cannot."""
    return stat.S_ISREG(path.stat().st_mode)
