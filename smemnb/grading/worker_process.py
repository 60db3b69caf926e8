"""The process that jobs run in; started by `workers`, never by hand.

`serve` imports everything once and forks a process for each job that the grader asks for over a
socket; when nobody is at its other end any more, it ends them all and itself. It has one thread and
never sees a submission. Any other argument is a job that this process does itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, NoReturn

from .processes import tell_when_parent_dies

Say = Callable[..., None]
"""Reports to the grader: what is named, as a line of JSON."""

Job = Callable[[dict[str, Any], list[bytes], Say], None]


def main(arguments: Sequence[str]) -> None:
    """Serve on the socket of that number, or do the job of that name."""
    if arguments[0] == "serve":
        tell_when_parent_dies(int(arguments[2]), signal.SIGKILL)
        _Server(socket.socket(fileno=int(arguments[1]))).run()
    else:
        channel = os.fdopen(os.dup(1), "wb")
        _to_nowhere()
        _work(arguments[0], sys.stdin.buffer, channel)


def jobs() -> dict[str, Job]:
    """What a worker can be asked to do, by its name."""
    from .executing.keeper import keep
    from .jobs import judge, prove

    return {"judge": judge, "execute": keep, "prove": prove}


class _Server:
    """Forks a process for each job, reaps it, and says to the grader how it ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._ends: dict[int, socket.socket] = {}  # of the running ones, by their number
        self._awake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._awake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._wake = wake
        jobs()
        from .jobs import proved

        proved()

    def run(self) -> NoReturn:
        while True:
            control = self._control.fileno()
            ready, _, _ = select.select([control, self._awake], [], [])
            if self._awake in ready:
                with suppress(BlockingIOError):
                    os.read(self._awake, 4096)
            if control in ready and not self._obey():
                self._leave()
            self._reap()

    def _obey(self) -> bool:
        """Do what the grader says; whether it is still there."""
        try:
            said, sockets, _, _ = socket.recv_fds(self._control, 4096, 1)
        except OSError:
            return False
        what, _, which = said.decode().partition(" ")
        if what == "start":
            self._fork(which, socket.socket(fileno=sockets[0]))
        elif what == "end" and int(which) in self._ends:
            _end(int(which))
        return bool(said)

    def _fork(self, job: str, end: socket.socket) -> None:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            _say(end, failed=f"no process could be started: {error.strerror}")
            end.close()
            return
        if pid:
            _say(end, started=pid)
            self._ends[pid] = end
            return
        with suppress(BaseException):
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            tell_when_parent_dies(parent, signal.SIGTERM)
            for other in (self._control, *self._ends.values()):
                other.close()
            os.close(self._awake)
            os.close(self._wake)
            _to_nowhere()
            with end, end.makefile("rb") as request, end.makefile("wb") as channel:
                _work(job, request, channel)
        os._exit(1)

    def _reap(self) -> None:
        for pid in list(self._ends):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                end = self._ends.pop(pid)
                _say(end, ended=os.waitstatus_to_exitcode(status))
                end.close()

    def _leave(self) -> NoReturn:
        """End every job and then this process: the grader is gone."""
        for pid in self._ends:
            _end(pid)
        for pid in self._ends:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os._exit(0)


def _end(pid: int) -> None:
    """Ask a job to end: one that keeps others ends them first, the rest dies of it at once."""
    with suppress(OSError):
        os.kill(pid, signal.SIGTERM)


def _work(job: str, request: IO[bytes], channel: IO[bytes]) -> NoReturn:
    """Read the request, do the job, and end without waiting for anything."""

    def say(**what: Any) -> None:
        channel.write(json.dumps(what).encode() + b"\n")
        channel.flush()

    head = json.loads(request.readline())
    blobs = [request.read(size) for size in head["sizes"]]
    jobs()[job](head, blobs, say)
    with suppress(OSError):
        channel.flush()
    os._exit(0)


def _say(end: socket.socket, **what: Any) -> None:
    with suppress(OSError):
        end.send(json.dumps(what).encode() + b"\n", socket.MSG_DONTWAIT)


def _to_nowhere() -> None:
    """Lead stdout and stderr nowhere: what a library prints is not for the grader."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
