"""Keeps the processes of one learner: starts the runner, watches all that comes of it, ends it.

A job of a worker process (`workers`). It adopts what the runner's processes leave behind, so that
none gets away, and looks at them fifty times a second: their memory together, how many they are,
what they have written, and for how long. Of what they say only texts are handed on: one line per
exercise, up to a length. When the grader ends or asks for it, the keeper ends them all first.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..limits import MEGABYTE, Limits
from ..processes import (
    LINUX,
    adopt_orphans,
    descendants,
    end_descendants,
    end_process,
    own_bytes,
    shared_out_bytes,
    waited_seconds,
)
from ..worker_process import Say
from .removal import remove
from .sandbox import BUBBLEWRAP, Level, Place

START_SECONDS = 120.0
LOOK_SECONDS = 0.02
WRITTEN_EVERY = 10
"""The folder is looked at once in so many looks at the processes."""

LINE_BYTES = 5 * MEGABYTE
SWEEP_SECONDS = 5.0
MOST_WAITING = 3.0
"""So many times its seconds at most may an exercise wait for a processor: it may keep it busy."""


@dataclass(frozen=True)
class Stopped(Exception):
    """An exercise that was stopped, with the word and the line that say why."""

    reason: str
    text: str


def keep(request: dict[str, Any], blobs: list[bytes], say: Say) -> None:
    """Run the kernels of one learner's exercises; say a program, or why there is none, for each."""
    adopt_orphans()
    signal.signal(signal.SIGTERM, _leave)
    limits = Limits(**request["limits"])
    left = list(request["exercises"])
    failures = 0
    while left and failures < 3:
        with _folder() as folder:
            kept = Level(*request["level"])
            much = limits.written_mb + sum(map(len, blobs)) // MEGABYTE + 1
            place = Place.make(kept, folder, request["user"], much, request["hidden"])
            runner = _Runner(place, limits, request["files"], blobs)
            try:
                began = len(left)
                runner.begin()
                while left and runner.lives():
                    name = left[0]
                    say(executing=name)
                    answer = runner.answer(name)
                    left.pop(0)
                    say(executed=name, **answer)
                failures = 0 if len(left) < began else failures + 1
            except Stopped as stopped:
                failures += 1
                if failures == 3:
                    for name in left:
                        say(executed=name, reason=stopped.reason, text=stopped.text)
            finally:
                runner.end()
    say(end=True)


def _leave(number: int, frame: object) -> None:
    """End everything at once; the folder goes too."""
    end_descendants(os.getpid())
    for folder in _folders:
        remove(folder)
    os._exit(0)


_folders: list[Path] = []


@contextmanager
def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="smemnb-execute-"))
    _folders.append(made)
    try:
        yield made
    finally:
        remove(made)
        _folders.remove(made)


class _Runner:
    """The runner in its place, and all that it has started."""

    def __init__(self, place: Place, limits: Limits, files: list[str], blobs: list[bytes]) -> None:
        self._place, self._limits = place, limits
        self._given = sum(map(len, blobs))
        self._looks = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._head = {
            "files": files,
            "sizes": [len(blob) for blob in blobs],
            "limits": vars(limits),
            "tasks": self._tasks(),
        }
        self._blobs = blobs
        self._process: subprocess.Popen[bytes] | None = None

    def _tasks(self) -> int:
        """How many tasks its user may have: what it has now, and the processes of the limits."""
        if not LINUX:
            return 0
        beside = 4  # the runner, and what bubblewrap takes
        if self._place.level.own_user:
            return self._limits.processes + beside
        mine = 0
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if entry.name.isdecimal() and entry.stat().st_uid == os.geteuid():
                    mine += len(os.listdir(entry / "task"))  # noqa: PTH208
        return mine + self._limits.processes + beside

    def begin(self) -> None:
        """Start it, and wait until it has imported everything; no learner's code runs by then."""
        self._process = subprocess.Popen(
            self._place.command("run"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._place.environment,
            cwd="/" if self._place.level.kind == BUBBLEWRAP else self._place.folder,
            start_new_session=True,
            **self._place.user_options,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        listener = threading.Thread(
            target=_listen, args=(self._process.stdout, self._lines), daemon=True
        )
        listener.start()
        self._send(json.dumps(self._head).encode() + b"\n", *self._blobs)
        late = time.monotonic() + START_SECONDS
        while time.monotonic() < late:
            with suppress(queue.Empty):
                if self._lines.get(timeout=0.1) != b"ready\n":
                    break
                self._ours = frozenset(descendants(os.getpid()))
                self._taken = self._memory(shared_out_bytes, self._ours)
                return
        raise Stopped("crash", "the process that runs kernels did not start")

    def lives(self) -> bool:
        """Whether it can be asked for another exercise."""
        return self._process is not None and self._process.poll() is None

    def answer(self, name: str) -> dict[str, Any]:
        """What an exercise comes to: programs as texts, or the reason why there is none."""
        try:
            return self._asked(name)
        except Stopped as stopped:
            return {"reason": stopped.reason, "text": stopped.text}
        finally:
            self._sweep()

    def _asked(self, name: str) -> dict[str, Any]:
        while not self._lines.empty():  # what the last one said too late
            self._lines.get_nowait()
        self._send(name.encode() + b"\n")
        began = time.monotonic()
        while True:
            try:
                line = self._lines.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self._look(began)
                continue
            said = _object(line)
            if line is None or "ended" in said:
                # of what was written too much or forked too often, this process may have died
                self._look(began, always=True)
                raise Stopped("crash", str(said.get("ended") or "the process has ended")[:500])
            if said.get("exercise") == name:
                programs = said.get("programs")
                return {
                    "programs": programs if isinstance(programs, list) else [],
                    "reason": str(said.get("reason", ""))[:40],
                    "text": str(said.get("text", ""))[:1000],
                    "problem": str(said.get("problem", ""))[:1000],
                }
            self._look(began)

    def _look(self, began: float, *, always: bool = False) -> None:
        """Raise `Stopped` if something is too much."""
        limits = self._limits
        theirs = self._theirs()
        late = time.monotonic() - began - limits.seconds
        if late > 0:
            waited = max((waited_seconds(one) for one in theirs), default=0.0)
            if late > min(waited, MOST_WAITING * limits.seconds):
                raise Stopped("time", f"more than {limits.seconds:g} s")
        if len(theirs) > limits.processes:
            raise Stopped("processes", f"more than {limits.processes} processes")
        everything = [*self._ours, *theirs]
        most = limits.memory_mb * MEGABYTE + self._taken
        if self._memory(own_bytes, everything) > most:
            if self._memory(shared_out_bytes, everything) > most:
                raise Stopped("memory", f"more than {limits.memory_mb} MB, its processes together")
        self._looks += 1
        if always or self._looks % WRITTEN_EVERY == 0:
            self._look_at_files(everything)

    def _memory(self, measure: Any, processes: Any) -> int:
        return sum(measure(one) for one in processes)

    def _look_at_files(self, processes: list[int]) -> None:
        most = self._limits.written_mb * MEGABYTE + self._given
        if _bytes_below(self._place.folder) + _bytes_unlinked(processes) > most:
            raise Stopped("written", f"more than {self._limits.written_mb} MB written")

    def _theirs(self) -> list[int]:
        """What an exercise has started and has not ended; what has is reaped."""
        found = [one for one in descendants(os.getpid()) if one not in self._ours]
        for one in found:
            with suppress(OSError):  # only what was adopted; not the runner, whose end is asked for
                os.waitpid(one, os.WNOHANG)
        return found

    def _sweep(self) -> None:
        """End all that an exercise has started, and leave the runner alone."""
        late = time.monotonic() + SWEEP_SECONDS
        while (theirs := self._theirs()) and time.monotonic() < late:
            for one in theirs:
                with suppress(OSError):
                    os.kill(one, signal.SIGKILL)
            time.sleep(0.002)

    def end(self) -> None:
        """End it and everything that came of it."""
        if self._process is None:
            return
        end_process(self._process.pid)
        self._process.wait()
        if LINUX:
            end_descendants(os.getpid())

    def _send(self, *parts: bytes) -> None:
        assert self._process is not None and self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.writelines(parts)
            self._process.stdin.flush()


def _listen(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Hand on what comes, line by line; a line that is too long is the last one."""
    with suppress(OSError, ValueError):
        while (line := stream.readline(LINE_BYTES)).endswith(b"\n"):
            lines.put(line)
    lines.put(None)


def _object(line: bytes | None) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        said = json.loads(line or b"{}")
        if isinstance(said, dict):
            return said
    return {}


def _bytes_below(folder: Path) -> int:
    """What the files below a folder take; what cannot be looked at is passed over."""
    total, unseen, seen = 0, [str(folder)], 0
    while unseen and seen < 100_000:
        with suppress(OSError), os.scandir(unseen.pop()) as entries:
            for one in entries:
                seen += 1
                with suppress(OSError):
                    total += 512 * getattr(one.stat(follow_symlinks=False), "st_blocks", 0)
                    if one.is_dir(follow_symlinks=False):
                        unseen.append(one.path)
    return total


def _bytes_unlinked(processes: list[int]) -> int:
    """What files take that processes hold open and no folder has any more (Linux)."""
    found: dict[tuple[int, int], int] = {}
    for one in processes:
        with suppress(OSError), os.scandir(f"/proc/{one}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    about = os.stat(entry.path)  # noqa: PTH116 - thousands of them
                    if about.st_nlink == 0:
                        found[about.st_dev, about.st_ino] = 512 * about.st_blocks
    return sum(found.values())
