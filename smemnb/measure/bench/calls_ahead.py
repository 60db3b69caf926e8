"""Calls of operations made ready side by side, in processes, while the GPU times others.

Most of the time of a sweep goes into compiling: each shape may choose a kernel of its own. So
other processes make the same calls first. In them a call does all but launch: it chooses kernels,
compiles and loads them. What they compiled is kept as Numba would store it in its cache, under the
identity of the kernel and its types, and taken by whoever comes to the same kernel: the other
processes, and the one that times, which compiles by itself what did not come.

Other processes may have to fill inputs on the GPU that is timed. They do so only while nobody
times: who works on the GPU holds `alone()`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...operations import prepared
from .identity import identity

__all__ = ["Call", "CallsAhead", "processes_for"]

MOST = 14
LONGEST_S, POLL_S = 240.0, 0.05

Call = Callable[[], object]
"""A call of an operation, its inputs being there."""
Key = tuple[str, str]
"""A kernel's identity and the types of its arguments."""

_alone: Any = contextlib.nullcontext()
"""In a process that makes calls ahead: the lock of the GPU."""


def processes_for(wished: int | None) -> int:
    """How many processes make calls ahead: two processors are left to the one that times.

    >>> processes_for(0), processes_for(3)
    (0, 3)
    """
    return max(0, min(MOST, (os.cpu_count() or 1) - 2)) if wished is None else wished


class CallsAhead:
    """Calls in the making; at the end of the context no process goes on.

    Args:
        make: makes the call number `k` ready: `make(*words)(k)` is a `Call`. A function of a
            module, as processes import it.
        words: for `make`; can be pickled.
        order: numbers of calls, in the order in which they will be wanted.
        processes: that compile; with none, everything is compiled when it is called.

    Attributes:
        kernels: that other processes compile, each once: pickled, or the number of the process
            that is at it; empty where it failed.
        taken: how many of them came to this process.
        here: names of kernels that were compiled in this process, those that have no identity with
            a star behind them.
    """

    def __init__(
        self,
        make: Callable[..., Callable[[int], Call]],
        words: Sequence[Any],
        order: Sequence[int],
        processes: int,
    ) -> None:
        self.kernels: Any = {}
        self.taken = 0
        self.here: list[str] = []
        self._coming: dict[int, Any] = {}
        self._pool: Any = None
        self._manager: Any = None
        self._lock: Any = contextlib.nullcontext()
        if processes and order:
            spawn = multiprocessing.get_context("spawn")
            self._lock, self._manager = spawn.Lock(), spawn.Manager()
            self.kernels = self._manager.dict()
            own = self._lock, self.kernels, make, words
            self._pool = spawn.Pool(min(processes, len(order)), _begin, own)
            self._coming = {at: self._pool.apply_async(_made, (at,)) for at in order}

    def __enter__(self) -> CallsAhead:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._manager.shutdown()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process of these works on the GPU."""
        with self._lock:
            yield

    @contextmanager
    def ready(self, at: int) -> Iterator[None]:
        """Wait until a call was made elsewhere; within it operations take what was compiled."""
        self._await(at)
        with prepared.supplied(self._supply):
            yield

    def wait(self, progress: Callable[[int, int, str], object] = lambda *words: None) -> None:
        """Until all calls were made; then whoever measures has the processors to himself."""
        wanted = tuple(self._coming)
        for done, at in enumerate(wanted):
            progress(done, len(wanted), "compiled ahead")
            self._await(at)

    def words(self) -> str:
        """How many kernels came, and which ones did not.

        A kernel without an identity cannot be told from another one, so nobody compiles it ahead.
        """
        unnamed = sum(name.endswith("*") for name in self.here)
        said = f"{self.taken} kernels were compiled ahead, {len(self.here)} where they were called"
        names = ": " + ", ".join(self.here[:20]) if self.here else ""
        return f"{said} ({unnamed} of these without an identity){names}"

    def _await(self, at: int) -> None:
        coming = self._coming.pop(at, None)
        if coming is not None:
            # a process that died or is late: the call compiles, and says what is wrong
            with contextlib.suppress(Exception):
                coming.get(LONGEST_S)

    def _supply(self, kernel: Any, signature: tuple[Any, ...]) -> None:
        """Give a kernel the code that another process compiled for these types, if it is here."""
        if signature in kernel.overloads:
            return
        key = _key(kernel, signature)
        code = None if key is None else _code(self.kernels, key)
        if code:
            kernel.add_overload(pickle.loads(code), signature)
            self.taken += 1
        else:
            self.here.append(kernel.py_func.__name__ + "*" * (key is None))


def _key(kernel: Any, signature: tuple[Any, ...]) -> Key | None:
    said = identity(kernel)
    return None if said is None else (said, str(signature))


def _code(kernels: Any, key: Key) -> bytes | None:
    """A kernel out of those of all processes, once it is compiled; None if nobody is at it."""
    end = time.monotonic() + LONGEST_S
    while isinstance(found := kernels.get(key), int) and time.monotonic() < end:
        time.sleep(POLL_S)
    return None if isinstance(found, int) else found


# --- in the other processes ----------------------------------------------------------------------

_make: Callable[[int], Call]
_kernels: Any = {}
"""Those of all processes."""


def _begin(
    lock: Any, kernels: Any, make: Callable[..., Callable[[int], Call]], words: Sequence[Any]
) -> None:
    """A process begins: it is deaf to Ctrl-C, and its launches do nothing."""
    global _make, _alone, _kernels
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _alone, _kernels = lock, kernels
    for launch in (prepared.Launch, prepared.Zeros):
        launch.start = _not_launched  # type: ignore[method-assign, assignment]
    _make = make(*words)


def _not_launched(launch: Any, addresses: Any, numbers: Any, handle: int) -> None:
    """What a launch does here."""


def _made(at: int) -> None:
    """Make a call; what it compiles is then in `_kernels`."""
    # what fails here fails in the process that times, too, which reports it
    with contextlib.suppress(Exception):
        with _alone:
            call = _make(at)
        with prepared.supplied(_shared):
            call()


def _shared(kernel: Any, signature: tuple[Any, ...]) -> None:
    """Compile a kernel for all, or take what another process has compiled."""
    key = _key(kernel, signature)
    if key is None or signature in kernel.overloads:
        return
    if _kernels.setdefault(key, os.getpid()) == os.getpid():
        made = b""
        try:
            made = pickle.dumps(kernel.compile(signature))
        finally:
            _kernels[key] = made
    elif code := _code(_kernels, key):
        kernel.add_overload(pickle.loads(code), signature)
