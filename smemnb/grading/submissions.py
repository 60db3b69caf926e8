"""Whose files lie in the folder, and a fresh copy of them for each process.

An entry of the folder is a learner: a folder with all kernel files (.py) and notebooks (.ipynb)
below it, or one such file. Links are never followed, hidden folders and checkpoints left out.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import SmemnbError
from .limits import MEGABYTE

KINDS = (".py", ".ipynb")
LARGEST_BYTES, MAX_BYTES, MAX_FILES = 16 * MEGABYTE, 64 * MEGABYTE, 1000
"""Of one file, and of all that are copied with a submission."""


@dataclass(frozen=True)
class Learner:
    """A name, the files that may hold kernels, and the folder they are relative to.

    `alone` is true where the submission is one file: its neighbours are other learners.
    """

    name: str
    folder: Path
    files: tuple[Path, ...]
    alone: bool


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
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "__")))
    taken = [entry for entry in entries if _usable(entry)]
    _check_not_one_learner(folder, taken, chapters)
    aside = [f"{entry.name}: {_why_not(entry)}" for entry in entries if entry not in taken]
    if not taken:
        raise SmemnbError(
            f"{folder} holds no submission: one folder, one .py or one .ipynb per learner is "
            f"wanted{'; left aside: ' + aside[0] if aside else ''}"
        )
    stems = [_stem(entry) for entry in taken]
    found = []
    for entry, stem in zip(taken, stems, strict=True):
        name = stem if stems.count(stem) == 1 else entry.name
        files = tuple(_kernel_files(entry)) if entry.is_dir() else (entry,)
        home = entry if entry.is_dir() else folder
        found.append(Learner(name, home, files, not entry.is_dir()))
    return found, aside


def copy(learner: Learner, target: Path) -> list[str]:
    """Copy a submission into an empty folder; the names of what can hold kernels, in order."""
    room, names = MAX_BYTES, []
    kernels = set(learner.files)
    others = [] if learner.alone else [f for f in _files(learner.folder) if f not in kernels]
    for path in [*learner.files, *others][:MAX_FILES]:
        size = path.stat().st_size
        if size > min(room, LARGEST_BYTES):
            continue
        room -= size
        name = path.relative_to(learner.folder)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / name, follow_symlinks=False)
        if path in kernels:
            names.append(name.as_posix())
    return names


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


def _kernel_files(folder: Path) -> Iterator[Path]:
    return (path for path in _files(folder) if path.suffix in KINDS)


def _files(folder: Path) -> Iterator[Path]:
    """Every regular file below a folder, in the order of names; no links, nothing hidden."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(names):
            path = Path(here) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path
