"""The processes that grade, as their grader sees them: started, listened to, and ended.

On Linux one process imports everything and proves that it can grade (`worker_process`); each job is
a fork of it, so that no job pays for an import. Elsewhere each job is a process of its own. A job
gets a request and some bytes, and says what it finds, a line of JSON each.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..errors import SmemnbError
from .processes import LINUX, end_process

START_SECONDS = 120.0
"""Until the first process has imported everything; nothing of a learner's is read by then."""

END_SECONDS = 15.0
"""Until a job that was told to end has done so, with what it keeps."""

SAID_BYTES = 64 << 20
_ROOT = str(Path(__file__).resolve().parents[2])
_START = (
    "import sys; sys.argv[1] in sys.path or sys.path.insert(0, sys.argv[1]); "
    "from smemnb.grading.worker_process import main; main(sys.argv[2:])"
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """One job in its process: what it says comes out of `heard`, None is the end.

    The last thing before the end is `{"ended": code}`, the exit code or minus the signal.
    """

    def __init__(
        self,
        workers: Workers,
        stream: IO[bytes],
        *,
        process: subprocess.Popen[bytes] | None = None,
        end: socket.socket | None = None,
    ) -> None:
        self.process, self._socket = process, end
        self.pid = None if process is None else process.pid
        self._workers = workers
        self._stream = stream
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def hear(self, timeout: float) -> dict[str, Any] | None:
        """The next thing it says, {} if there is none in this time, None after the last one."""
        try:
            said = self._heard.get(timeout=timeout)
        except queue.Empty:
            return {}
        if said and "started" in said:
            self.pid = said["started"]
        return said

    def end(self) -> None:
        """End it and what it has started; nothing of it runs when this returns (Linux)."""
        self._workers.end(self)
        self._listener.join(END_SECONDS)
        if self._socket is not None:
            with suppress(OSError):  # nobody has it any more, and nobody will say so
                self._socket.shutdown(socket.SHUT_RDWR)
            self._listener.join()
            self._socket.close()
        self._stream.close()

    def _listen(self) -> None:
        room = SAID_BYTES
        with suppress(OSError, ValueError):
            while room > 0 and (line := self._stream.readline(room)):
                room -= len(line)
                with suppress(ValueError, RecursionError):
                    said = json.loads(line)
                    if isinstance(said, dict):
                        self._heard.put(said)
        self._heard.put(None)


class Workers:
    """Starts jobs; a context, at whose end none of them runs any more.

    Raises:
        SmemnbError: the processes cannot grade here, with the reason.
    """

    def __enter__(self) -> Workers:
        """Start the process that jobs are forks of, and have it prove that it can grade."""
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        if LINUX:
            mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [*_command("serve"), str(its.fileno()), str(os.getpid())]
            with its:
                self._server = subprocess.Popen(
                    command,
                    pass_fds=[its.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=environment(),
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for the grader, which ends its workers
                )
            self._control = mine
        try:
            self._prove()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every job: the process that they are forks of ends them when nobody listens."""
        if self._server is None:
            return
        self._control.close()
        try:
            self._server.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            end_process(self._server.pid)
            self._server.wait()
        if self._server.stderr:
            self._server.stderr.close()

    def halt(self) -> None:
        """End every job at once; no other can be started."""
        if self._server is not None:
            with self._lock, suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)

    def start(self, job: str, request: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> Worker:
        """A process at work on this job; it gets the request, then the bytes.

        Raises:
            SmemnbError: it cannot be started.
        """
        head = json.dumps({**request, "sizes": [len(blob) for blob in blobs]}).encode() + b"\n"
        if self._server is not None:
            return self._forked(job, [head, *blobs])
        process = subprocess.Popen(
            _command(job),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        with suppress(OSError), process.stdin as stream:
            stream.writelines([head, *blobs])
        return Worker(self, process.stdout, process=process)

    def _forked(self, job: str, parts: Sequence[bytes]) -> Worker:
        mine, its = socket.socketpair()
        with its, self._lock:
            try:
                socket.send_fds(self._control, [f"start {job}".encode()], [its.fileno()])
            except OSError:
                mine.close()
                raise SmemnbError(self._why()) from None
        worker = Worker(self, mine.makefile("rb"), end=mine)
        with suppress(OSError):
            for part in parts:
                mine.sendall(part)
            mine.shutdown(socket.SHUT_WR)
        return worker

    def end(self, worker: Worker) -> None:
        """End a worker, by way of the process that reaps it: its number is never another's."""
        if worker.process is not None:
            end_process(worker.process.pid)
            worker.process.wait()
            return
        late = time.monotonic() + END_SECONDS
        while worker.pid is None and time.monotonic() < late and not self._dead():
            if worker.hear(0.1) is None:
                break
        if worker.pid is not None:
            with self._lock, suppress(OSError):
                self._control.send(f"end {worker.pid}".encode())

    def _prove(self) -> None:
        """Have a worker grade a solution; one that cannot must never say that others are wrong."""
        worker = self.start("prove", {})
        late = time.monotonic() + START_SECONDS
        problem: str | None = None
        while problem is None and time.monotonic() < late and not self._dead():
            said = worker.hear(0.2)
            if said is None:
                break
            problem = said.get("proved")
        problem = self._why() if problem is None else str(problem)
        worker.end()
        if problem:
            raise SmemnbError(f"nothing can be graded here: {problem}; smemnb doctor says more")

    def _dead(self) -> bool:
        return self._server is not None and self._server.poll() is not None

    def _why(self) -> str:
        """What the process said last, if it has ended."""
        said = b""
        if self._server is not None and self._server.stderr is not None:
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(1)
                said = self._server.stderr.read()
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "the process that grades has ended"


def _command(job: str) -> list[str]:
    return [sys.executable, "-P", "-c", _START, _ROOT, job]


def environment() -> dict[str, str]:
    """The environment of a process that grades: no progress file, one thread, Numba as it is.

    Variables of Numba's are left out: with NUMBA_ENABLE_CUDASIM or NUMBA_DISABLE_JIT, which are
    common where tests run without a GPU, right kernels could not be graded.
    """
    mine = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA_") and name != "PYTHONSTARTUP"
    }
    return {
        **mine,
        **dict.fromkeys(THREADS, "1"),
        "SMEMNB_PROGRESS": "off",
        "SMEMNB_DEVICE": "lockstep",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def ending(code: int) -> str:
    """How a process ended, in words.

    >>> ending(3), ending(-11)
    ('the process ended by itself, exit code 3', 'the process was ended by SIGSEGV')
    """
    if code >= 0:
        return f"the process ended by itself, exit code {code}"
    try:
        return f"the process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was ended by signal {-code}"
