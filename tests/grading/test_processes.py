"""The processes below one: found, measured and ended; what they wait does not count."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smemnb.grading import running
from smemnb.grading.limits import Limits
from smemnb.grading.processes import _said, from_ps, resident_bytes, waited_seconds

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
    watched = running._Watched(Limits(seconds=20), ["ex00_scale"], _until=100.0, _waited=1.0)
    assert watched._too_much() == (("time", "more than 20 s") if stopped else None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares /proc with ps")
def test_memory_in_use():
    """The watchdog's two readings of a process agree within a tenth, and see 64 MB more."""
    child = "input(); more = bytearray(b'x') * 2**26; print('more', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", f"print('ready', flush=True); {child}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:  # a process of its own: this one may have as much lying idle
        assert running.stdin is not None and running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        before = resident_bytes(running.pid)
        from_outside = from_ps(_said("ps", "-o", "rss=", "-p", str(running.pid)))
        assert abs(before - from_outside) < before / 10
        print(file=running.stdin, flush=True)
        assert running.stdout.readline() == "more\n"
        assert resident_bytes(running.pid) - before > 2**26 * 0.9
        running.communicate("\n")
    assert resident_bytes(subprocess.Popen([sys.executable, "-c", ""]).pid + 10**7) == 0


ORPHANS = """import os, time
from smemnb.grading.processes import adopt_orphans, descendants, end_descendants
adopt_orphans()
me = os.getpid()
for _ in range(3):
    middle = os.fork()
    if not middle:
        os.setsid()
        if not os.fork():
            os.setsid()
            time.sleep(60)
        os._exit(0)
    os.waitpid(middle, 0)
print(len(descendants(me)), end_descendants(me), descendants(me))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="nobody adopts orphans there")
def test_what_cuts_itself_off_is_ended():
    """Processes that fork twice and call setsid twice are found below their keeper, and ended."""
    done = subprocess.run(
        [sys.executable, "-c", ORPHANS], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("3 True []\n", "")
