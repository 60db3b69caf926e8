"""Starts and watches the processes that grade; what a submission does ends with its process.

Each process has a folder of its own with a fresh copy of the submission, a home in it, a time
limit per exercise and a limit of memory. What it leaves running is ended with its group.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .limits import MEGABYTE, resident_bytes, waited_seconds
from .outcome import GRADES, NOT_TRIED, STOPPED, Outcome
from .submissions import Learner, copy

START_SECONDS = 60.0
"""Until a process has imported everything; none of a learner's code has run by then."""

PIPE_SECONDS = 2.0
LOOK_SECONDS = 0.1
SAID_BYTES = 4 * MEGABYTE
_ROOT = str(Path(__file__).resolve().parents[2])
_START = "import sys; sys.path.append(sys.argv[1]); from smemnb.grading.child import main; main()"


@dataclass(frozen=True)
class Limits:
    """Of one exercise, and of the process.

    What a process waits for a processor, on a busy machine, is not counted into its `seconds`
    (where the system reports it: Linux).
    """

    seconds: float = 20.0
    memory_mb: int = 1024


def grade_all(
    learners: Sequence[Learner],
    names: Sequence[str],
    limits: Limits,
    jobs: int,
    step: Callable[[int], None],
) -> dict[str, list[Outcome]]:
    """The outcomes of each learner, in the order of `names`; `jobs` learners at a time.

    `step` is called with how many exercises are done, as they are done.
    """
    halt = threading.Event()

    def work(learner: Learner) -> list[Outcome]:
        return grade(learner, names, limits, step, halt)

    pool = ThreadPoolExecutor(jobs)
    try:
        results = list(pool.map(work, learners))
    finally:  # of Ctrl-C too
        halt.set()
        pool.shutdown(cancel_futures=True)
    return {one.name: outcomes for one, outcomes in zip(learners, results, strict=True)}


def grade(
    learner: Learner,
    names: Sequence[str],
    limits: Limits,
    step: Callable[[int], None] = lambda count: None,
    halt: threading.Event | None = None,
) -> list[Outcome]:
    """The outcomes of one learner, in the order of `names`."""
    done: dict[str, Outcome] = {}
    halt = halt or threading.Event()
    while left := [name for name in names if name not in done]:
        if halt.is_set():
            break
        if not learner.files:
            news = [Outcome(n, NOT_TRIED, "source", "no .py and no .ipynb file") for n in left]
        else:
            news = _one_process(learner, left, limits, halt, step)
        done.update((one.exercise, one) for one in news)
        if not learner.files:
            step(len(news))
    return [done[name] for name in names if name in done]


def _one_process(
    learner: Learner,
    left: list[str],
    limits: Limits,
    halt: threading.Event,
    step: Callable[[int], None],
) -> list[Outcome]:
    """What one process comes to; at least one outcome."""
    with tempfile.TemporaryDirectory(prefix="smemnb-grade-", ignore_cleanup_errors=True) as top:
        work, home = Path(top) / "submission" / "work", Path(top) / "home"
        work.mkdir(parents=True)
        home.mkdir()
        try:
            files = copy(learner, work)
        except OSError as error:
            text = f"cannot be copied: {error.strerror or type(error).__name__}"
            step(len(left))
            return [Outcome(name, STOPPED, "source", text, text) for name in left]
        request = {
            "exercises": left,
            "files": files,
            "memory_mb": limits.memory_mb,
            "cpu_seconds": int(START_SECONDS + 4 * limits.seconds * (len(left) + 1)),
        }
        watched = _Watched(request, work, home, limits, halt, step)
        try:
            return watched.outcomes()
        finally:
            watched.end()


@dataclass
class _State:
    """Where a process is: its exercise, until when, and what it has reported."""

    left: list[str]
    until: float
    waited: float = 0.0
    ready: bool = False
    current: str | None = None
    done: list[Outcome] = field(default_factory=list)
    ended: bool = False


class _Watched:
    """A process that grades, from its start to its end."""

    def __init__(
        self,
        request: dict[str, Any],
        work: Path,
        home: Path,
        limits: Limits,
        halt: threading.Event,
        step: Callable[[int], None],
    ) -> None:
        self._limits, self._halt, self._step = limits, halt, step
        self._state = _State(list(request["exercises"]), time.monotonic() + START_SECONDS)
        self._base = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, _ROOT],
            cwd=work,
            env=_environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(request).encode())
            self._process.stdin.close()
        self._listener = threading.Thread(
            target=_listen, args=(self._process.stdout, self._lines), daemon=True
        )
        self._listener.start()

    def outcomes(self) -> list[Outcome]:
        """Wait for the end, or bring it about; what was reported, and who stopped."""
        state = self._state
        while not self._halt.is_set():
            try:
                line = self._lines.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                line = None if self._nothing_comes() else b""
            if line is None:
                return self._after_the_end()
            self._hear(line)
            too_much = self._too_much()
            if too_much:
                return self._stopped(*too_much)
        return state.done

    def _nothing_comes(self) -> bool:
        """Whether the process has ended and all that it reported has been read.

        What it said last may still be on its way. If it has left something running, that holds the
        pipe open for ever, so it is not waited for longer than `PIPE_SECONDS`.
        """
        if self._process.poll() is None:
            return False
        self._listener.join(PIPE_SECONDS)
        return self._lines.empty()

    def end(self) -> None:
        """End the process and what it has started."""
        if hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()
        self._process.wait()

    def _hear(self, line: bytes) -> None:
        """Take one report in; what is none of ours is passed over."""
        try:
            said = json.loads(line) if line else {}
        except (ValueError, RecursionError):
            return
        state = self._state
        if not isinstance(said, dict):
            return
        if "ready" in said:
            state.ready, self._base = True, resident_bytes(self._process.pid)
        if "begin" in said and said["begin"] in (None, *state.left):
            state.current = said["begin"]
            state.until = time.monotonic() + self._limits.seconds
            state.waited = waited_seconds(self._process.pid)
        outcome = _reported(said.get("done"))
        if outcome is not None and outcome.exercise == state.current:
            self._take(outcome)
        state.ended = state.ended or "end" in said

    def _take(self, outcome: Outcome) -> None:
        state = self._state
        state.left.remove(outcome.exercise)
        state.done.append(outcome)
        state.current = None
        self._step(1)

    def _too_much(self) -> tuple[str, str] | None:
        late = time.monotonic() - self._state.until
        if late > 0 and late > waited_seconds(self._process.pid) - self._state.waited:
            return "time", f"more than {self._limits.seconds:g} s"
        used = resident_bytes(self._process.pid) - self._base
        if self._state.ready and used > self._limits.memory_mb * MEGABYTE:
            return "memory", f"more than {self._limits.memory_mb} MB"
        return None

    def _after_the_end(self) -> list[Outcome]:
        state = self._state
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return self._stopped("crash", "the process cut itself off")
        if state.done and state.current is None:
            return state.done  # the rest, if any, is for the next process
        return self._stopped("crash", _ending(code))

    def _stopped(self, reason: str, text: str) -> list[Outcome]:
        """The exercise at work was stopped; with none at work, all that were left."""
        state = self._state
        if state.current is None:
            text += " while the files were read" if state.ready else " before the files were read"
        for name in [state.current] if state.current else list(state.left):
            self._take(Outcome(name, STOPPED, reason, text, text))
        return state.done


def _listen(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Hand on what a process says, line by line, up to a number of bytes; None at the end."""
    room = SAID_BYTES
    with suppress(OSError, ValueError):
        while room > 0 and (line := stream.readline(room)):
            room -= len(line)
            lines.put(line)
    lines.put(None)


def _reported(said: Any) -> Outcome | None:
    if not isinstance(said, dict):
        return None
    try:
        outcome = Outcome(**said)
    except TypeError:
        return None
    texts = (outcome.exercise, outcome.reason, outcome.text, outcome.whole)
    right = outcome.grade in GRADES and isinstance(outcome.seconds, (int, float))
    return outcome if right and all(isinstance(text, str) for text in texts) else None


def _ending(code: int) -> str:
    if code >= 0:
        return f"the process ended by itself, exit code {code}"
    try:
        return f"the process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was ended by signal {-code}"


def _environment(home: Path) -> dict[str, str]:
    """The environment of a process: no progress file, a home of its own, one thread each."""
    mine = dict(os.environ)
    mine.pop("PYTHONSTARTUP", None)
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {
        **mine,
        **dict.fromkeys(threads, "1"),
        "PYTHONUSERBASE": site.getuserbase(),  # it would go with the home
        "HOME": str(home),
        "USERPROFILE": str(home),
        "SMEMNB_HOME": str(home),
        "SMEMNB_PROGRESS": "off",
        "SMEMNB_DEVICE": "lockstep",
        "TMPDIR": str(home),
        "TEMP": str(home),
        "TMP": str(home),
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
