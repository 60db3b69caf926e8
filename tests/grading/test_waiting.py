"""What a process waits for a processor does not count into its time."""

import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from smemnb.grading import running
from smemnb.grading.limits import waited_seconds

SPIN = "import os, time; os.sched_setaffinity(0, {%d}); print('on', flush=True)\nwhile True: pass"


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not tell how long"
)
def test_two_on_one_processor():
    """Two processes that spin on one processor wait for each other about half of the time."""
    processor = min(os.sched_getaffinity(0))
    spinning = [
        subprocess.Popen([sys.executable, "-c", SPIN % processor], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for one in spinning:
            assert one.stdout.readline() == b"on\n"
        before = [waited_seconds(one.pid) for one in spinning]
        began = time.monotonic()
        while min(waited_seconds(one.pid) for one in spinning) < max(before) + 0.2:
            assert time.monotonic() - began < 20
        spent = time.monotonic() - began
        for one, waited in zip(spinning, before, strict=True):
            assert 0 < waited_seconds(one.pid) - waited < spent * 1.1 + 0.1
    finally:
        for one in spinning:
            one.kill()
            one.communicate()


def test_nobody_tells():
    """A process that has ended, or a system without the file: nothing was waited."""
    with subprocess.Popen([sys.executable, "-c", ""]) as done:
        done.wait()
    assert waited_seconds(done.pid) == 0


@pytest.mark.parametrize(
    ("waited", "now", "stopped"),
    [
        (1.0, 99.9, False),  # within its time
        (1.0, 100.1, True),  # late, and it has waited for nothing since it began
        (4.0, 102.9, False),  # 2.9 s late, of which it waited 3
        (4.0, 103.1, True),
    ],
)
def test_late_by_more_than_it_waited(monkeypatch, waited, now, stopped):
    """Begun with 1 s of waiting behind it, and 100 as the end of its time."""
    monkeypatch.setattr(running, "waited_seconds", lambda pid: waited)
    monkeypatch.setattr(running.time, "monotonic", lambda: now)
    watched = object.__new__(running._Watched)
    watched._limits, watched._base = running.Limits(seconds=20), 0
    watched._state = running._State(["ex00_scale"], until=100.0, waited=1.0)
    watched._process = SimpleNamespace(pid=os.getpid())
    assert watched._too_much() == (("time", "more than 20 s") if stopped else None)


def test_the_last_report_is_read():
    """A process that has ended may have said more than was read until then."""
    watched = object.__new__(running._Watched)
    watched._lines = queue.Queue()
    watched._process = subprocess.Popen([sys.executable, "-c", ""])
    watched._process.wait()
    watched._listener = threading.Timer(0.05, watched._lines.put, [b"last"])
    watched._listener.start()
    assert not watched._nothing_comes()
    assert watched._lines.get_nowait() == b"last"
    assert watched._nothing_comes()
