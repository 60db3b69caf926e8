"""Jupyter kernels of chapters, forked from one process that has imported what all of them import.

A kernel needs NumPy, Numba, IPython and matplotlib, 3 to 4 seconds of a core before its first cell.
`Forked.start` keeps one process per process of pytest that has them, and has it fork each kernel.
Of smemnb it has imported nothing, so that a chapter imports smemnb itself, after `numba.cuda`, as
for a reader. A kernel whose command is not as expected is started as usual.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from typing import Any

LAUNCHER = "ipykernel_launcher"
SHARED = (
    "numpy",
    "numba",
    "numba.cuda",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "IPython.core.completer",
)
"""No pyplot and no backend for notebooks: these look for the running IPython while imported."""
OWN = ("JPY_PARENT_PID", "JPY_SESSION_NAME", "PYTEST_CURRENT_TEST")
"""Variables that differ from kernel to kernel, and of which no import takes notice."""


class Forked:
    """A kernel, as `jupyter_client` handles a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int, alive: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._alive = alive  # reads the end of a pipe whose other end the kernel holds

    @classmethod
    def start(
        cls,
        command: list[str],
        *,
        env: dict[str, str],
        cwd: Any = None,
        stderr: Any = None,
        **more: Any,
    ) -> Forked:
        """Have the process of this environment fork a kernel.

        Raises:
            ValueError: it is no kernel of this Python, or more is asked for than is done here.
        """
        if more:
            raise ValueError(f"not known here: {sorted(more)}")
        arguments = arguments_of(command)
        folder = os.path.abspath(cwd or ".")  # noqa: PTH100
        request = json.dumps({"arguments": arguments, "env": env, "cwd": folder}).encode()
        alive, held = os.pipe()
        with open(os.devnull, "r+b") as null:  # noqa: PTH123
            files = [null.fileno(), *(1, 2)]
            if stderr is not None:
                files[2] = stderr.fileno()
            pid = server(env).fork(request, [*files, held])
        os.close(held)
        return cls(pid, alive)

    def poll(self) -> int | None:
        """None while the kernel runs, then 0: how it ended is not asked for."""
        if self.returncode is None and select.select([self._alive], [], [], 0)[0]:
            os.close(self._alive)
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the kernel has ended."""
        if self.returncode is None and not select.select([self._alive], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(LAUNCHER, timeout or 0)
        self.poll()
        return 0

    def send_signal(self, number: int) -> None:
        """Signal the kernel unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def arguments_of(command: list[str]) -> list[str]:
    """What a kernel's command says after its module.

    Raises:
        ValueError: the command is another one.
    """
    executable, *options = command
    while options and options[0].startswith("-X"):
        del options[0]
    if executable != sys.executable or options[:2] != ["-m", LAUNCHER]:
        raise ValueError(f"not a kernel of this Python: {command}")
    return options[2:]


class Server:
    """The process that forks kernels, seen from the process that asks for them."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = shared(env)
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=self.env,
            )
        atexit.register(self.close)

    def fork(self, request: bytes, files: list[int]) -> int:
        """Have a kernel forked with these files as 0, 1, 2 and the end of a pipe; its pid."""
        self._socket.sendall(len(request).to_bytes(8, "big"))
        self._socket.sendall(request)
        socket.send_fds(self._socket, [b"f"], files)
        return int.from_bytes(received(self._socket, 8), "big")

    def close(self) -> None:
        """End the process, and with it what it forked."""
        self._socket.close()
        self._process.wait()


_servers: list[Server] = []


def server(env: dict[str, str]) -> Server:
    """The one whose environment is this."""
    for known in _servers:
        if known.env == shared(env):
            return known
    _servers.append(Server(env))
    return _servers[-1]


def shared(env: dict[str, str]) -> dict[str, str]:
    """The environment without what differs from kernel to kernel."""
    return {name: value for name, value in env.items() if name not in OWN}


def received(source: socket.socket, count: int) -> bytes:
    """So many bytes; fewer at the end of what is sent."""
    got = b""
    while len(got) < count and (more := source.recv(count - len(got))):
        got += more
    return got


def serve(requests: socket.socket) -> None:
    """Import what is shared, then fork what is asked for until the other end is closed."""
    sys.path[0] = os.getcwd()  # noqa: PTH109
    for name in SHARED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is never freed need not be looked at, nor copied
    children = set()
    while length := received(requests, 8):
        request = json.loads(received(requests, int.from_bytes(length, "big")))
        _, files, _, _ = socket.recv_fds(requests, 1, 4)
        pid = os.fork()
        if pid == 0:
            become(request, list(files), requests)
        for file in files:
            os.close(file)
        children.add(pid)
        children = {child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0}
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(child, 0)


def become(request: dict[str, Any], files: list[int], requests: socket.socket) -> None:
    """Be the kernel, in the forked process; never returns."""
    status = 1
    try:
        os.setsid()
        for number in range(3):
            os.dup2(files[number], number)
            os.close(files[number])
        requests.sendall(os.getpid().to_bytes(8, "big"))  # now a signal to its group arrives
        requests.close()
        os.chdir(request["cwd"])
        os.environ.clear()
        # the kernel ends when its parent does
        os.environ.update({**request["env"], "JPY_PARENT_PID": str(os.getppid())})
        sys.argv = [LAUNCHER, *request["arguments"]]
        sys.path[0] = request["cwd"]
        runpy.run_module(LAUNCHER, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        serve(given)
