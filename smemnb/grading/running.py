"""The grades of each learner: starts workers, watches them, and keeps what they find.

A learner's files go to a worker as bytes. It takes the kernels out of the text and judges them;
where it is stopped, by time, memory or a crash, the exercise at work has the blame and another
worker does the rest. What cannot be taken from the text is executed only if that was asked for, in
a worker that keeps (`executing.keeper`) and hands out programs, which a third one judges.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..errors import SmemnbError
from .executing.sandbox import FIRST_USER, USERS, Level
from .limits import MEGABYTE, Limits
from .outcome import NOT_TRIED, STOPPED, WRONG, Outcome, bounded, stopped
from .processes import own_bytes, waited_seconds
from .results import Results
from .submissions import Learner, Texts, data, texts
from .workers import Worker, Workers, ending

READY_SECONDS = 120.0
LOOK_SECONDS = 0.1
MOST_UNREADABLE = 5
"""So many files of a learner may stop the worker that reads them; then none is read any more."""


@dataclass(frozen=True)
class Course:
    """What is graded and how: the same for all learners."""

    names: Sequence[str]
    limits: Limits
    level: Level | None = None
    """What learners' code is run in; None if none of it is run."""
    hidden: Sequence[str] = ()
    """Folders that it must not see."""


def grade_all(
    learners: Sequence[Learner],
    course: Course,
    workers: Workers,
    results: Results,
    jobs: int,
    step: Callable[[int], None],
) -> dict[str, list[Outcome]]:
    """The outcomes of each learner, in the order of the exercises; `jobs` learners at a time.

    `step` is called with how many exercises are done, as they are done. What an interrupted call
    has found is in the results.
    """
    halt = threading.Event()
    users = _users()

    def work(learner: Learner) -> list[Outcome]:
        user = next(users)
        try:
            return _Grading(learner, course, workers, results, step, halt, user).outcomes()
        except SmemnbError:
            halt.set()
            raise

    pool = ThreadPoolExecutor(jobs)
    try:
        found = list(pool.map(work, learners))
    except BaseException:  # of Ctrl-C too
        halt.set()
        pool.shutdown(wait=False, cancel_futures=True)
        workers.halt()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return {one.name: outcomes for one, outcomes in zip(learners, found, strict=True)}


def _users() -> Iterator[int]:
    """Numbers of users for learners' code, in no order that two gradings would share."""
    numbers = random.sample(range(FIRST_USER, FIRST_USER + USERS), USERS)
    taken = _user_numbers()
    free = [number for number in numbers if number not in taken] or numbers
    lock = threading.Lock()
    count = 0
    while True:
        with lock:
            number = free[count % len(free)]
            count += 1
        yield number


def _user_numbers() -> set[int]:
    try:
        import pwd
    except ImportError:  # Windows
        return set()
    return {one.pw_uid for one in pwd.getpwall()}


class _Grading:
    """One learner, from the files to the outcomes."""

    def __init__(
        self,
        learner: Learner,
        course: Course,
        workers: Workers,
        results: Results,
        step: Callable[[int], None],
        halt: threading.Event,
        user: int,
    ) -> None:
        self._learner, self._course, self._workers = learner, course, workers
        self._results, self._step, self._halt, self._user = results, step, halt, user
        self._done: dict[str, Outcome] = {}

    def outcomes(self) -> list[Outcome]:
        """The outcomes in the order of the exercises; fewer if it was halted."""
        held = texts(self._learner)
        self._digest = held.digest
        names = self._course.names
        for outcome in self._results.of(self._learner.name, held.digest):
            if outcome.exercise in names and outcome.exercise not in self._done:
                self._done[outcome.exercise] = outcome
                self._step(1)
        if not held.files:
            text = (*held.problems, "no .py and no .ipynb file")[0]
            for name in self._left(names):
                self._take(Outcome(name, NOT_TRIED, "source", text, "\n".join(held.problems)))
        needed = self._judge_texts(held) if self._left(names) else []
        if needed and not self._halt.is_set():
            self._execute(held, needed)
        return [self._done[name] for name in names if name in self._done]

    def _left(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name not in self._done]

    def _take(self, outcome: Outcome) -> None:
        self._done[outcome.exercise] = outcome
        self._results.add(self._learner.name, self._digest, outcome)
        self._step(1)

    def _request(self, names: Sequence[str], **more: Any) -> dict[str, Any]:
        return {
            "exercises": list(names),
            "memory_mb": self._course.limits.memory_mb,
            "seed": self._results.seed,
            "execute": self._course.level is not None,
            **more,
        }

    def _judge_texts(self, held: Texts) -> list[str]:
        """Judge what can be taken from the files; the exercises that are to be executed."""
        files, problems = dict(held.files), list(held.problems)
        needed: list[str] = []
        stops: dict[str, tuple[str, str]] = {}
        one_by_one = False
        while left := [name for name in self._left(self._course.names) if name not in needed]:
            request = self._request(
                left, files=list(files), problems=problems, one_by_one=one_by_one
            )
            watched = self._watch(request, list(files.values()), left)
            needed += watched.needs
            for outcome in watched.done:
                if outcome.grade == NOT_TRIED and stops:
                    # it may have stood in the file that could not be read
                    name, (reason, text) = next(iter(stops.items()))
                    outcome = stopped(outcome.exercise, reason, f"{text} while {name} was read")
                self._take(outcome)
            if self._halt.is_set():
                break
            if watched.stop is None:
                if not watched.done and not watched.needs:
                    self._all_stopped(left, "crash", "the process ended without a word")
            elif watched.reading in files:
                stops[str(watched.reading)] = watched.stop
                del files[str(watched.reading)]
                if len(stops) == MOST_UNREADABLE:
                    self._all_stopped(left, *watched.stop, "while the files were read")
            elif watched.current is None:
                if one_by_one or not watched.ready:
                    self._all_stopped(left, *watched.stop, "while the files were read")
                one_by_one = True
        return needed

    def _all_stopped(self, names: Sequence[str], reason: str, text: str, when: str = "") -> None:
        for name in self._left(names):
            self._take(stopped(name, reason, f"{text} {when}".rstrip()))

    def _execute(self, held: Texts, names: list[str]) -> None:
        """Have the kernels of these exercises executed, and judge what comes of it."""
        recorded: dict[str, dict[str, Any]] = {}
        level = self._course.level
        assert level is not None
        beside = data(self._learner)
        files = [*held.files, *beside]
        worker = self._workers.start(
            "execute",
            {
                "exercises": names,
                "files": [name for name, _ in files],
                "limits": asdict(self._course.limits),
                "level": [level.kind, level.own_user],
                "user": self._user,
                "hidden": list(self._course.hidden),
            },
            [content for _, content in files],
        )
        try:
            while not self._halt.is_set() and (said := worker.hear(LOOK_SECONDS)) is not None:
                if said.get("executed") in names:
                    recorded[said["executed"]] = _told(said)
        finally:
            worker.end()
        if self._halt.is_set():
            return
        for name in names:
            told = recorded.setdefault(name, _told({"reason": "crash", "text": "nothing came"}))
            if not told["programs"]:
                grade = WRONG if told["reason"] == "kernel" else STOPPED
                outcome = stopped(name, told["reason"], told["text"])
                reason = told["reason"] if grade == WRONG else outcome.reason
                kept = bounded(asdict(replace(outcome, grade=grade, reason=reason)))
                assert kept is not None
                self._take(kept)
        while left := self._left(names):
            programs = {name: recorded[name] for name in left}
            watched = self._watch(self._request(left, programs=programs, execute=False), [], left)
            for outcome in watched.done:
                self._take(outcome)
            if self._halt.is_set():
                return
            if watched.current is None and not watched.done:
                reason, text = watched.stop or ("crash", "the process ended without a word")
                self._all_stopped(left, reason, text)

    def _watch(self, request: dict[str, Any], blobs: list[bytes], names: list[str]) -> _Watched:
        """What one judging worker comes to."""
        watched = _Watched(self._course.limits, names)
        worker = self._workers.start("judge", request, blobs)
        try:
            watched.follow(worker, self._halt)
        finally:
            worker.end()
        return watched


def _told(said: dict[str, Any]) -> dict[str, Any]:
    """What a keeper said of an exercise; the texts are the learner's."""
    programs = said.get("programs", [])
    return {
        "programs": [one for one in programs if isinstance(one, str)],
        "reason": str(said.get("reason", "")),
        "text": str(said.get("text", "")),
        "problem": str(said.get("problem", "")),
    }


@dataclass
class _Watched:
    """A judging worker: what it has done, where it is, until when; why it was stopped."""

    limits: Limits
    names: list[str]
    done: list[Outcome] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    ready: bool = False
    reading: str | None = None
    current: str | None = None
    stop: tuple[str, str] | None = None
    _until: float = 0.0
    _waited: float = 0.0
    _base: int = 0
    _pid: int = 0

    def follow(self, worker: Worker, halt: threading.Event) -> None:
        """Listen until it ends; end it if it takes too much."""
        self._until = time.monotonic() + READY_SECONDS
        ended = False
        while not halt.is_set():
            said = worker.hear(LOOK_SECONDS)
            if said is None:
                break
            if "ended" in said and not ended:
                self.stop = ("crash", ending(int(said["ended"])))
            if "failed" in said:
                raise SmemnbError(str(said["failed"]))
            self._hear(said)
            ended = ended or "end" in said
            self.stop = self.stop or self._too_much()
            if self.stop:
                break
        if ended or (self.done and self.current is None and self.done[-1].grade == STOPPED):
            self.stop = None  # it left by itself, after an exercise that went wrong
        if self.stop and self.current is not None:
            self.done.append(stopped(self.current, *self.stop))

    def _hear(self, said: dict[str, Any]) -> None:
        if "ready" in said:
            self.ready, self._pid = True, int(said["ready"])
            self._base = own_bytes(self._pid)
        if "reading" in said:
            self.reading = said["reading"]
        if "begin" in said:
            self.current = said["begin"]
        if {"ready", "reading", "begin"} & said.keys():
            self._until = time.monotonic() + self.limits.seconds
            self._waited = waited_seconds(self._pid)
        outcome = bounded(said.get("done"))
        if outcome is not None and outcome.exercise == self.current:
            self.done.append(outcome)
            self.current = None
        if "needs" in said:
            self.needs.append(said["needs"])
            self.current = None

    def _too_much(self) -> tuple[str, str] | None:
        late = time.monotonic() - self._until
        if late > 0 and late > waited_seconds(self._pid) - self._waited:
            return "time", f"more than {self.limits.seconds:g} s"
        used = own_bytes(self._pid) - self._base if self.ready else 0
        if used > self.limits.memory_mb * MEGABYTE:
            return "memory", f"more than {self.limits.memory_mb} MB"
        return None


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
