"""Remove a folder whatever a submission has made of it: five thousand folders inside each other."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def remove(folder: Path) -> bool:
    """Remove a folder and all in it, links as links; whether nothing is left.

    No recursion and no long paths: it goes down into a folder and up again, one step at a time.
    Nothing may be at work in there any more.
    """
    if os.open not in os.supports_dir_fd:  # Windows
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()
    with suppress(OSError):
        _empty(os.open(folder, _FOLDER))
        folder.rmdir()
    return not folder.exists()


def _empty(here: int) -> None:
    """Remove what is in an open folder, and close it; what cannot be removed is left."""
    way: list[tuple[str, list[str]]] = [("", _without_files(here))]
    while True:
        name, folders = way[-1]
        if folders:
            inner = folders.pop()
            with suppress(OSError):
                os.chmod(inner, 0o700, dir_fd=here)  # it may be shut
            try:
                below = os.open(inner, _FOLDER, dir_fd=here)
            except OSError:
                continue
            os.close(here)
            here = below
            way.append((inner, _without_files(here)))
            continue
        way.pop()
        if not way:
            os.close(here)
            return
        above = os.open("..", _FOLDER, dir_fd=here)
        os.close(here)
        here = above
        with suppress(OSError):
            os.rmdir(name, dir_fd=here)


def _without_files(here: int) -> list[str]:
    """Remove the files of an open folder; the names of the folders in it."""
    folders = []
    for name in os.listdir(here):
        with suppress(OSError):
            mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                folders.append(name)
            else:
                os.unlink(name, dir_fd=here)
    return folders
