"""Limits of a process: set by itself where the system can, and watched from outside everywhere.

`resource` has RLIMIT_AS on every Unix, but only Linux holds it; so the parent also looks at the
memory in use (`resident_bytes`) a few times a second and ends what has too much.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

MEGABYTE = 1 << 20
FILE_BYTES = 64 * MEGABYTE
"""The most that a submission may write into one file."""


def set_own(memory_bytes: int, cpu_seconds: int) -> None:
    """Limit this process: memory beyond what it has now, processor time, sizes of files."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {"RLIMIT_CPU": cpu_seconds, "RLIMIT_FSIZE": FILE_BYTES, "RLIMIT_CORE": 0}
    mapped = _mapped_bytes()
    if mapped:
        wanted["RLIMIT_AS"] = mapped + memory_bytes
    for name, value in wanted.items():
        which = getattr(resource, name)
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def resident_bytes(pid: int) -> int:
    """Memory that a process has in use; 0 where it has ended or cannot be looked at."""
    if sys.platform.startswith("linux"):
        return _statm(pid, 1)
    if sys.platform == "win32":
        return from_tasklist(_said("tasklist", "/fi", f"PID eq {pid}", "/fo", "csv", "/nh"))
    return from_ps(_said("ps", "-o", "rss=", "-p", str(pid)))


def from_ps(text: str) -> int:
    r"""Bytes from the answer of `ps -o rss=`, in kilobytes.

    >>> from_ps(" 2048\n"), from_ps("")
    (2097152, 0)
    """
    return int(text) * 1024 if text.strip().isdecimal() else 0


def from_tasklist(text: str) -> int:
    r"""Bytes from a line of `tasklist /fo csv /nh`, whose last field is in kilobytes.

    >>> from_tasklist('"python.exe","4242","Console","1","210,004 K"\n')
    215044096
    >>> from_tasklist("INFO: No tasks are running")
    0
    """
    rows = list(csv.reader(text.splitlines()))
    if not rows or len(rows[0]) < 5:
        return 0
    return int("".join(c for c in rows[0][-1] if c.isdecimal()) or 0) * 1024


def waited_seconds(pid: int) -> float:
    """How long a process has stood ready and waited for a processor; 0 where that is not known.

    The second number of Linux's /proc/PID/schedstat, in nanoseconds, is that of its main thread.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _mapped_bytes() -> int:
    """Address space of this process; 0 where the system does not report it."""
    return _statm(os.getpid(), 0) if sys.platform.startswith("linux") else 0


def _statm(pid: int, field: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[field]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
