"""Whose files lie in the folder, and what they hold.

An entry of the folder is a learner: a folder with all kernel files (.py) and notebooks (.ipynb)
below it, or one such file. Links are never followed, hidden folders and checkpoints left out. What
is beyond the bounds is told with the learner's grades. No file is read as more than bytes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..errors import SmemnbError
from .limits import MEGABYTE

KINDS = (".py", ".ipynb")
LARGEST_MB, MOST_MB, MOST_FILES, DEEPEST, MOST_ENTRIES = 64, 256, 1000, 32, 20_000
"""Of one file and of all of a learner; files, folders inside each other, names looked at."""

DATA_MB = 32
"""Of the other files, which only code that is executed can read."""


@dataclass(frozen=True)
class Learner:
    """A name, the files that may hold kernels, and the folder they are relative to.

    `problems` says in words what was left out. `alone` is true where the submission is one file:
    its neighbours are other learners.
    """

    name: str
    folder: Path
    files: tuple[Path, ...]
    alone: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """What the files of a learner hold, by their names, and what could not be had of them."""

    files: tuple[tuple[str, bytes], ...]
    problems: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A number for all of it: the same for the same files only."""
        made = hashlib.sha256()
        for name, content in self.files:
            made.update(f"{len(os.fsencode(name))} {len(content)} ".encode())
            made.update(os.fsencode(name) + content)
        made.update(os.fsencode("\n".join(self.problems)))
        return made.hexdigest()


def learners(folder: Path, chapters: frozenset[str]) -> tuple[list[Learner], list[str]]:
    """The learners in a folder, by name, and what was left aside, in words.

    `chapters` are the names of the workbook's notebooks: two of them side by side are one
    learner's copy and not two learners.

    Raises:
        SmemnbError: no such folder, nothing in it, or it is one learner's.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise SmemnbError(f"{folder} {what}: name the folder that holds the submissions")
    try:
        entries = sorted(one for one in folder.iterdir() if not one.name.startswith((".", "__")))
    except OSError as error:
        raise SmemnbError(f"{folder} cannot be read: {error.strerror}") from None
    taken = [entry for entry in entries if _usable(entry)]
    _check_not_one_learner(folder, taken, chapters)
    aside = [f"{entry.name}: {_why_not(entry)}" for entry in entries if entry not in taken]
    if not taken:
        raise SmemnbError(
            f"{folder} holds no submission: one folder, one .py or one .ipynb per learner is "
            f"wanted{'; left aside: ' + aside[0] if aside else ''}"
        )
    names = _names(taken)
    return [_learner(entry, names[entry], folder) for entry in taken], aside


def _names(entries: list[Path]) -> dict[Path, str]:
    """A name for each entry, its own: without the ending where no other could be meant by it."""
    claimed = Counter(name for one in entries for name in {one.name, _stem(one)})
    return {one: _stem(one) if claimed[_stem(one)] == 1 else one.name for one in entries}


def _learner(entry: Path, name: str, folder: Path) -> Learner:
    if not entry.is_dir():
        return Learner(name, folder, (entry,), alone=True)
    problems: list[str] = []
    files = []
    for path in _files(entry, problems):
        if path.suffix in KINDS:
            files.append(path)
    if len(files) > MOST_FILES:
        first = files[MOST_FILES].relative_to(entry).as_posix()
        left = len(files) - MOST_FILES
        problems.append(f"more than {MOST_FILES} kernel files: {first} and {left - 1} more unread")
    return Learner(name, entry, tuple(files[:MOST_FILES]), alone=False, problems=tuple(problems))


def texts(learner: Learner) -> Texts:
    """The files of a learner as bytes; what is too large or cannot be read is told."""
    room = MOST_MB * MEGABYTE
    found: list[tuple[str, bytes]] = []
    problems = list(learner.problems)
    for path in learner.files:
        name = path.relative_to(learner.folder).as_posix()
        largest = min(room, LARGEST_MB * MEGABYTE)
        try:
            content = _read(path, largest + 1)
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror or type(error).__name__}")
            continue
        if len(content) > largest:
            much = f"{LARGEST_MB} MB" if room > largest else f"{MOST_MB} MB, with the others,"
            problems.append(f"{name} is larger than {much} and was not read")
            continue
        room -= len(content)
        found.append((name, content))
    return Texts(tuple(found), tuple(problems))


def data(learner: Learner) -> list[tuple[str, bytes]]:
    """The other files of a learner, for code that is executed: as many as there is room for."""
    if learner.alone:
        return []
    room = DATA_MB * MEGABYTE
    found: list[tuple[str, bytes]] = []
    for path in _files(learner.folder, []):
        if path.suffix in KINDS or len(found) == MOST_FILES:
            continue
        try:
            content = _read(path, room + 1)
        except OSError:
            continue
        if len(content) <= room:
            room -= len(content)
            found.append((path.relative_to(learner.folder).as_posix(), content))
    return found


def _read(path: Path, most: int) -> bytes:
    """The beginning of a regular file: no link, no pipe that would be waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(number, "rb") as stream:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(0, "not a regular file")
        return stream.read(most)


def _check_not_one_learner(folder: Path, taken: list[Path], chapters: frozenset[str]) -> None:
    known = [entry for entry in taken if entry.suffix == ".ipynb" and entry.stem in chapters]
    if len(known) > 1:
        raise SmemnbError(
            f"{folder} holds {known[0].name} and {known[1].name}, chapters of one learner: name "
            "the folder above it, in which each learner has a folder"
        )


def _usable(entry: Path) -> bool:
    return not entry.is_symlink() and (
        entry.is_dir() or (entry.is_file() and entry.suffix in KINDS)
    )


def _why_not(entry: Path) -> str:
    return "a link" if entry.is_symlink() else "neither a folder nor .py nor .ipynb"


def _stem(entry: Path) -> str:
    return entry.name if entry.is_dir() else entry.stem


def _files(folder: Path, problems: list[str]) -> Iterator[Path]:
    """Every regular file below a folder, in the order of names; no links, nothing hidden.

    A loop and no recursion: somebody may hand in a thousand folders inside each other.
    """
    unseen, count = [(folder, 0)], 0
    while unseen:
        here, depth = unseen.pop()
        try:
            with os.scandir(here) as entries:
                some = islice(entries, MOST_ENTRIES + 1 - count)
                found = sorted(some, key=lambda one: one.name)
        except OSError as error:
            name = _shown(here, folder)
            problems.append(f"{name} cannot be read: {error.strerror or type(error).__name__}")
            continue
        folders = []
        for one in found:
            count += 1
            if one.name.startswith(".") or one.is_symlink():
                continue
            if one.is_dir(follow_symlinks=False):
                if not one.name.startswith("__pycache__"):
                    folders.append(Path(one.path))
            elif one.is_file(follow_symlinks=False):
                yield Path(one.path)
        if count > MOST_ENTRIES:
            problems.append(f"more than {MOST_ENTRIES} files and folders: the rest is unread")
            return
        if folders and depth >= DEEPEST:
            name = _shown(here, folder)
            problems.append(f"more than {DEEPEST} folders inside each other: {name} is unread")
            continue
        unseen += [(one, depth + 1) for one in reversed(folders)]


def _shown(path: Path, folder: Path) -> str:
    name = path.relative_to(folder).as_posix()
    return name if len(name) <= 60 else f"{name[:40]}...{name[-17:]}"
