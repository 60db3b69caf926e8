"""Limits of the processes that grade, and how a process sets its own.

What the system holds itself (`resource`, on Unix) is set by the process before it looks at a
submission; only Linux holds its limit of memory. The rest is watched from outside (`judges`,
`executing.keeper`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .processes import mapped_bytes

MEGABYTE = 1 << 20
OPEN_FILES = 64
"""Of a process that executes code of others: what waits in a pipe or socket, up to 200 KB in each,
is memory that no process is charged for."""


@dataclass(frozen=True)
class Limits:
    """Of one exercise (`seconds`), and of all processes of one learner (the others).

    What a process waits for a processor, on a busy machine, is not counted into its `seconds`
    (where the system reports it: Linux). `processes` and `written_mb` matter only where learners'
    code is executed.
    """

    seconds: float = 20.0
    memory_mb: int = 1024
    processes: int = 32
    written_mb: int = 64


def limit_memory(megabytes: int) -> None:
    """Limit the address space of this process to what it has now and so much more.

    The hard limit stays, so that it can be set anew for the next exercise.
    """
    mapped = mapped_bytes()
    if mapped:
        _set("RLIMIT_AS", mapped + megabytes * MEGABYTE, forever=False)


def limit_reading() -> None:
    """Limit a process that only reads and computes: it writes no file and starts no process."""
    _set("RLIMIT_CORE", 0)
    _set("RLIMIT_FSIZE", 0)


def limit_execution(limits: Limits, cpu_seconds: int, tasks: int) -> None:
    """Limit, for good, a process that executes code of others, and all that it will start.

    Args:
        limits: what one learner may take.
        cpu_seconds: processor time of each process.
        tasks: the most that this user may have, 0 for no limit.
    """
    mapped = mapped_bytes()
    if mapped:
        _set("RLIMIT_AS", mapped + limits.memory_mb * MEGABYTE)
    _set("RLIMIT_CORE", 0)
    _set("RLIMIT_CPU", cpu_seconds)
    _set("RLIMIT_FSIZE", limits.written_mb * MEGABYTE)
    _set("RLIMIT_NOFILE", OPEN_FILES)
    if tasks:
        _set("RLIMIT_NPROC", tasks)


def _set(name: str, value: int, *, forever: bool = True) -> None:
    """Set a limit of this process where the system has it; never above the one that holds."""
    try:
        import resource
    except ImportError:  # Windows
        return
    which = getattr(resource, name, None)
    if which is None:
        return
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value if forever else hard))
