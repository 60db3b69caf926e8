"""Grades, kept as they come: a file of JSON lines that a stopped run is gone on with.

The first line says what is graded and how: the folder, the exercises, the limits, the seed of the
fresh cases, the version. Then comes a line per grade, with a digest of the learner's files, and a
last one when all are done. Lines are added and never changed; a line that was cut off counts as
not written.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import SmemnbError
from .outcome import Outcome, bounded

KIND = "smemnb grade"
SYNC_SECONDS = 1.0
"""So often at most is the disk waited for; another program sees each line at once."""

_HOW = {
    "folder": "the folder",
    "exercises": "the exercises",
    "version": "the version of smemnb",
    "execute": "--execute",
    "limits": "the limits",
}


@dataclass
class Results:
    """The file of a run, open for more; a context, at whose end all of it is on the disk."""

    path: Path
    seed: int
    done: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._stream = self.path.open("ab", buffering=0)
        self._synced = 0.0

    def of(self, learner: str, digest: str) -> list[Outcome]:
        """What is known of these files of a learner."""
        return list(self.done.get(learner, {}).get(digest, []))

    def add(self, learner: str, digest: str, outcome: Outcome) -> None:
        """Keep one grade.

        Raises:
            SmemnbError: the file cannot be written any more.
        """
        with self._lock:
            self.done.setdefault(learner, {}).setdefault(digest, []).append(outcome)
            self._write({"learner": learner, "files": digest, **asdict(outcome)})

    def finish(self) -> None:
        """Note that all is graded."""
        with self._lock:
            self._write({"finished": True})

    def head(self, how: dict[str, Any]) -> None:
        """Write the first line."""
        self._write({"kind": KIND, **how, "seed": self.seed})

    def _write(self, what: dict[str, Any]) -> None:
        try:
            self._stream.write(json.dumps(what).encode() + b"\n")
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise SmemnbError(f"{self.path} cannot be written: {error.strerror}") from error

    def __enter__(self) -> Results:
        """The results themselves."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        with self._lock, suppress(OSError):
            os.fsync(self._stream.fileno())
        self._stream.close()


def begun(
    path: Path, how: dict[str, Any], seed: int | None, fresh_seed: int, *, force: bool, named: bool
) -> Results:
    """The file of this run: begun, or gone on with where one of the same kind was stopped.

    Args:
        path: the file.
        how: what is graded and how, without the seed.
        seed: the one that was asked for, None if none was.
        fresh_seed: the one of a run that is begun without.
        force: begin anew, whatever the file has.
        named: whether it was named on the command line; one that was not is written over if all
            that is in it was done.

    Raises:
        SmemnbError: the file is there and is another's, or it cannot be written.
    """
    first, outcomes, finished = _read(path)
    if first is None and path.exists() and path.stat().st_size and not force:
        raise SmemnbError(f"{path} is there and holds no grades: name another with --results")
    if first is not None and finished and named and not force:
        raise SmemnbError(f"{path} is there already: name another, or add --force")
    try:
        if first is not None and not finished and not force:
            _check_same(path, first, how, seed)
            _drop_half_a_line(path)
            results = Results(path, int(first["seed"]))
            for learner, digest, outcome in outcomes:
                results.done.setdefault(learner, {}).setdefault(digest, []).append(outcome)
            return results
        path.unlink(missing_ok=True)  # not emptied: it may be a link to what is not ours
        results = Results(path, fresh_seed if seed is None else seed)
        results.head(how)
    except OSError as error:
        raise SmemnbError(f"{path} cannot be written: {error.strerror}") from error
    return results


def _check_same(path: Path, first: dict[str, Any], how: dict[str, Any], seed: int | None) -> None:
    other = [words for name, words in _HOW.items() if first.get(name) != how.get(name)]
    if seed is not None and seed != first.get("seed"):
        other.append("the seed")
    if not isinstance(first.get("seed"), int):
        other.append("a seed that is none")
    if other:
        raise SmemnbError(
            f"{path} has the grades of a run that was stopped, with another {_named(other)}: "
            "run that command again to go on, add --force to begin anew, or name another file "
            "with --results"
        )


def _named(what: list[str]) -> str:
    return " and ".join(one.removeprefix("the ") for one in what)


def _read(path: Path) -> tuple[dict[str, Any] | None, list[tuple[str, str, Outcome]], bool]:
    """First line, grades, and whether all were done; (None, [], False) if it is no such file."""
    found: list[tuple[str, str, Outcome]] = []
    first: dict[str, Any] | None = None
    finished = False
    for said in _objects(path):
        if first is None:
            if said.get("kind") != KIND:
                break
            first = said
        elif said.get("finished"):
            finished = True
        else:
            learner, digest = said.pop("learner", None), said.pop("files", None)
            outcome = bounded(said)
            if outcome and isinstance(learner, str) and isinstance(digest, str):
                found.append((learner, digest, outcome))
    return first, found, finished


def _objects(path: Path) -> Iterable[dict[str, Any]]:
    try:
        if not path.is_file():
            return
        content = path.read_bytes()
    except OSError:
        return
    for line in content.splitlines(keepends=True):
        if line.endswith(b"\n"):
            with suppress(ValueError, RecursionError):
                said = json.loads(line)
                if isinstance(said, dict):
                    yield said


def _drop_half_a_line(path: Path) -> None:
    with path.open("r+b") as stream:
        content = stream.read()
        stream.truncate(content.rfind(b"\n") + 1)
