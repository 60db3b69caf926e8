"""The processes below one process: which there are, what memory they hold, how all are ended.

Linux shows them in /proc. There a process can also adopt what its descendants leave behind
(`adopt_orphans`), so that one that calls setsid or forks twice is still found below it, and can ask
to be told when its own parent dies (`tell_when_parent_dies`). Elsewhere `ps` or `tasklist` are
asked, and what has cut itself off is not found again.
"""

from __future__ import annotations

import csv
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
END_SECONDS = 10.0
"""The longest that is waited for killed processes to be gone."""


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def tell_when_parent_dies(parent: int, signal_number: int) -> None:
    """Have this signal sent to this process when its parent dies (Linux); end if it has already."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)
    if LINUX and os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if LINUX:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Every process below one, by the parents that the system knows."""
    below: dict[int, list[int]] = {}
    for one, parent in _parents():
        below.setdefault(parent, []).append(one)
    found, unseen = [], [pid]
    while unseen:
        more = below.get(unseen.pop(), [])
        found += more
        unseen += more
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of every process of the machine."""
    if LINUX:
        for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib makes an object of each
            if entry.isdecimal():
                with suppress(OSError, ValueError, IndexError):
                    stat = Path(f"/proc/{entry}/stat").read_bytes()
                    yield int(entry), int(stat[stat.rindex(b")") + 2 :].split()[1])
    elif sys.platform != "win32":
        for line in _said("ps", "-A", "-o", "pid=,ppid=").splitlines():
            numbers = line.split()
            if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
                yield int(numbers[0]), int(numbers[1])


def end_descendants(pid: int) -> bool:
    """Kill every process below one until there is none; whether that succeeded.

    What is forked meanwhile is found in the next round. Only the process itself can reap what it
    has adopted, so this is called by it.
    """
    late = time.monotonic() + END_SECONDS
    while found := descendants(pid):
        for one in found:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        _reap()
        if time.monotonic() > late:
            return False
    _reap()
    return True


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def end_process(pid: int) -> None:
    """Kill a process and, where the system has them, its group and what was started by it."""
    if sys.platform == "win32":
        _said("taskkill", "/f", "/t", "/pid", str(pid))
        return
    below = [] if LINUX else descendants(pid)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    for one in (pid, *below):
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Memory that a process has in use; 0 where it has ended or cannot be looked at."""
    if LINUX:
        return _statm(pid, 1)
    if sys.platform == "win32":
        return from_tasklist(_said("tasklist", "/fi", f"PID eq {pid}", "/fo", "csv", "/nh"))
    return from_ps(_said("ps", "-o", "rss=", "-p", str(pid)))


def own_bytes(pid: int) -> int:
    """Memory that a process has filled itself: of libraries' files nothing counts (Linux)."""
    found = _counted(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:"))
    return resident_bytes(pid) if found is None else found


def shared_out_bytes(pid: int) -> int:
    """Like `own_bytes`, but a page that several processes share counts in parts (Linux)."""
    found = _counted(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:"))
    return own_bytes(pid) if found is None else found


def _counted(file: str, names: tuple[str, ...]) -> int | None:
    """The sum of some lines of a file that counts kilobytes; None if it has none of them."""
    found = None
    with suppress(OSError, ValueError, IndexError):
        for line in Path(file).read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(names):
                found = (found or 0) + int(line.split()[1]) * 1024
    return found


def mapped_bytes() -> int:
    """Address space of this process; 0 where the system does not report it."""
    return _statm(os.getpid(), 0) if LINUX else 0


def waited_seconds(pid: int) -> float:
    """How long a process has stood ready and waited for a processor; 0 where that is not known.

    The second number of Linux's /proc/PID/schedstat, in nanoseconds, is that of its main thread.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


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


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _statm(pid: int, field: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[field]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
