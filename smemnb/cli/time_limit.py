"""`--seconds N`: the end of a kernel, or of the program around it, that does not end by itself.

Launches in the engine are stopped by their own clock (`lockstep/clock.py`), which knows the loop
that took the time. What a file does besides, while it is imported or in the function that
launches, is interrupted as by Ctrl-C, `GRACE_S` after the limit so that a launch can stop first.
`places` then finds file, line and source of the loops for either.

**Limits**: a launch on a GPU, a call of C that does not come back and a program that catches
Ctrl-C go on; `HARD_S` after the interrupt the process is ended, with exit code 1 all the same.
"""

from __future__ import annotations

import _thread
import argparse
import ast
import linecache
import math
import os
import re
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from ..errors import KernelStopped
from ..session import raw_traceback

GRACE_S = 1.0
"""From the limit to the interrupt."""
HARD_S = 5.0
"""From the interrupt to the end of a process that went on all the same."""


class Place(NamedTuple):
    """A line of a file, and the function that it is in ("<module>" outside of all)."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.file}:{self.line}, in {self.function}: {source}"


class ProgramStopped(KernelStopped):
    """The time was over outside of every launch; `frames` are those of the program, inner first."""

    frames: tuple[Place, ...] = ()


def add_option(parser: argparse.ArgumentParser) -> None:
    """Give a command the option `--seconds`."""
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="N",
        help="stop what does not end within N seconds, and name its loop",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Stop what the block does when it takes longer; None waits for ever.

    Raises:
        KernelStopped: the time was over.
    """
    if seconds is None:
        yield
        return
    from ..simulator.deadline import launches_end_within

    watch = _Watch(seconds)
    try:
        with watch, launches_end_within(seconds):
            yield
    except KeyboardInterrupt as interrupt:
        if not watch.over:
            raise
        stopped = ProgramStopped(f"not at its end after {seconds:g} s. {interrupt}".rstrip())
        stopped.frames = watch.frames
        raise stopped from None


def places(error: KernelStopped) -> list[Place]:
    """Where a program was stopped, from the inside out: the loop of the kernel, then the program.

    Of each function of the program, the line it was at, and the loops around that line.
    """
    found = [] if (loop := _loop_of_launch(error)) is None else [loop]
    for place in _frames(error):
        found += [place, *loops_around(place)]
    return list(dict.fromkeys(found))


def loops_around(place: Place) -> list[Place]:
    """Each `for` and `while` of the same function that the line is in, the innermost first."""
    try:
        tree = ast.parse("".join(linecache.getlines(place.file)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found: list[Place] = []
    node: ast.AST | None = tree
    while node is not None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            found = []
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            found.insert(0, place._replace(line=node.lineno))
        node = next((one for one in ast.iter_child_nodes(node) if _holds(one, place.line)), None)
    return found


def _holds(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last


_LOOP = re.compile(r"the loop in line (\d+) of (\S+)")


def _loop_of_launch(error: KernelStopped) -> Place | None:
    """The loop that the engine names by line and function, with its file."""
    from ..lockstep.lifetime import kept_in

    named = _LOOP.search(str(error))
    if named is None or error.kernel is None:
        return None
    line, name = int(named[1]), named[2]
    for library in kept_in(error.kernel, "programs").values():
        for function in library.programs:
            code = function.__code__
            if code.co_name == name and line in {at for *_, at in code.co_lines()}:
                return Place(code.co_filename, line, name)
    return None


def _frames(error: KernelStopped) -> list[Place]:
    """The frames of the user's program that an error came through, the innermost first."""
    if isinstance(error, ProgramStopped):
        return list(error.frames)
    parts = traceback.extract_tb(raw_traceback(error))
    return _users([Place(one.filename, one.lineno or 0, one.name) for one in reversed(parts)])


def _users(frames: list[Place]) -> list[Place]:
    """Those below this command that are of no library, at most six, the innermost first."""
    own = str(Path(__file__).parent)
    began = max((at for at, one in enumerate(frames) if one.file.startswith(own)), default=0)
    paths = sysconfig.get_paths()
    libraries = (str(Path(own).parent), *(paths[name] for name in ("stdlib", "purelib", "platlib")))
    kept = [one for one in frames[:began] if not one.file.startswith((*libraries, "<"))]
    return kept[:6]


class _Watch:
    """A thread that interrupts the main thread when the time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.over = False
        self.frames: tuple[Place, ...] = ()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._before: Any = None
        self._main = threading.main_thread()
        self._thread = threading.Thread(target=self._run, name="smemnb --seconds", daemon=True)

    def __enter__(self) -> _Watch:
        # only the main thread can be interrupted; elsewhere the clock of launches has to do
        if threading.current_thread() is self._main:
            self._before = signal.signal(signal.SIGINT, self._interrupted)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with self._lock:
                self._done.set()
        finally:
            if self._thread.ident is not None:
                self._thread.join()
                signal.signal(signal.SIGINT, self._before)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """SIGINT: the end of the time; before it, what SIGINT did without a limit."""
        if self.over:
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(number, frame)

    def _run(self) -> None:
        if self._done.wait(self._seconds + GRACE_S):
            return
        with self._lock:
            if self._done.is_set():
                return
            self.over = True
            self.frames = tuple(_users(self._now()))
            if hasattr(signal, "pthread_kill"):  # wakes it from a wait too
                signal.pthread_kill(self._main.ident or 0, signal.SIGINT)
            else:
                _thread.interrupt_main()
        if not self._done.wait(HARD_S):
            said = f"smemnb: not at its end after {self._seconds:g} s, and went on when interrupted"
            stopped = ProgramStopped(said)
            stopped.frames = tuple(_users(self._now()))
            os.write(2, "\n  ".join([said, *map(str, places(stopped)), ""]).encode())
            os._exit(1)

    def _now(self) -> list[Place]:
        """Where the main thread is, the innermost frame first."""
        frame = sys._current_frames().get(self._main.ident or 0)
        found = []
        while frame is not None:
            found.append(Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return found
