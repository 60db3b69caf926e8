"""Calls of operations made ready side by side, in processes, while the GPU times others.

Most of the time of a sweep goes into compiling: each shape may choose a kernel of its own. So
other processes make the same calls first. In them a call does all but launch: it chooses kernels,
compiles and loads them. What they compiled comes back as Numba would store it in its cache, under
the identity of the kernel and its types. When the process that times comes to the same kernel, it
takes that, and compiles by itself what did not come.

Other processes may have to fill inputs on the GPU that is timed. They do so only while nobody
times: who works on the GPU holds `alone()`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...operations import prepared
from .identity import identity

__all__ = ["Call", "CallsAhead", "processes_for"]

MOST = 14
LONGEST_S = 240.0

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
    """

    def __init__(
        self,
        make: Callable[..., Callable[[int], Call]],
        words: Sequence[Any],
        order: Sequence[int],
        processes: int,
    ) -> None:
        self.found: dict[Key, bytes] = {}
        self.taken = 0
        self._coming: dict[int, Any] = {}
        self._pool: Any = None
        self._lock: Any = contextlib.nullcontext()
        if processes and order:
            spawn = multiprocessing.get_context("spawn")
            self._lock = spawn.Lock()
            self._pool = spawn.Pool(min(processes, len(order)), _begin, (self._lock, make, words))
            self._coming = {at: self._pool.apply_async(_made, (at,)) for at in order}

    def __enter__(self) -> CallsAhead:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it no other process of these works on the GPU."""
        with self._lock:
            yield

    @contextmanager
    def ready(self, at: int) -> Iterator[None]:
        """Wait until a call was made elsewhere; within it operations take what was compiled."""
        coming = self._coming.pop(at, None)
        if coming is not None:
            # a process that died or is late: the call compiles, and says what is wrong
            with contextlib.suppress(Exception):
                self.found |= coming.get(LONGEST_S)
        with prepared.supplied(self._supply):
            yield

    def _supply(self, kernel: Any, signature: tuple[Any, ...]) -> None:
        """Give a kernel the code that another process compiled for these types, if it is here."""
        if signature in kernel.overloads:
            return
        found = self.found.get(_key(kernel, signature) or ("", ""))
        if found is not None:
            kernel.add_overload(pickle.loads(found), signature)
            self.taken += 1


def _key(kernel: Any, signature: tuple[Any, ...]) -> Key | None:
    said = identity(kernel)
    return None if said is None else (said, str(signature))


# --- in the other processes ----------------------------------------------------------------------

_make: Callable[[int], Call]
_sent: set[Key] = set()


def _begin(lock: Any, make: Callable[..., Callable[[int], Call]], words: Sequence[Any]) -> None:
    """A process begins: it is deaf to Ctrl-C, and its launches do nothing."""
    global _make, _alone
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _alone = lock
    for launch in (prepared.Launch, prepared.Zeros):
        launch.start = _not_launched  # type: ignore[method-assign, assignment]
    _make = make(*words)


def _not_launched(launch: Any, addresses: Any, numbers: Any, handle: int) -> None:
    """What a launch does here."""


def _made(at: int) -> dict[Key, bytes]:
    """Make a call; what it compiled that this process has not sent yet."""
    asked: list[tuple[Any, tuple[Any, ...]]] = []
    # what fails here fails in the process that times, too, which reports it
    with contextlib.suppress(Exception):
        with _alone:
            call = _make(at)
        with prepared.supplied(lambda kernel, signature: asked.append((kernel, signature))):
            call()
    return _compiled(asked)


def _compiled(asked: Sequence[tuple[Any, tuple[Any, ...]]]) -> dict[Key, bytes]:
    found = {}
    for kernel, signature in asked:
        key = _key(kernel, signature)
        if key is not None and key not in _sent:
            with contextlib.suppress(Exception):
                found[key] = pickle.dumps(kernel.compile(signature))
                _sent.add(key)
    return found
