"""`smemnb grade --execute`: code of others, kept apart; the verdict is made outside."""

import csv
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from smemnb.cli import main
from smemnb.errors import SmemnbError
from smemnb.grading.executing import sandbox
from smemnb.grading.executing.removal import remove
from smemnb.grading.processes import descendants
from tests.grading import learners as made
from tests.grading.test_grade import rows, tagged

LINUX = sys.platform.startswith("linux")
SMALL = ["--seconds", "4", "--memory", "128", "--processes", "16", "--written", "20"]
CHILDREN = """import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        mine = bytearray(b"x") * (40 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(30)"""
DAEMON = """import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    os._exit(0)"""
FORGED = """import os
for line in (
    b'[1]', b'{"end": 3}', b'{"ended": 0}', b'{"done": {"exercise": "ex00_scale"}}', b'ready',
    b'{"exercise": "ex00_scale", "programs": [3, "x"], "reason": "accepted", "text": 3}',
    b'{"executed": "ex00_scale", "grade": "accepted", "seconds": 1' + b'0' * 400 + b'}',
):
    for fd in range(3, 30):
        try:
            os.write(fd, line + b'\\n')
        except OSError:
            pass"""
BEGINS = """import os, time
while True:
    for fd in range(3, 12):
        try:
            os.write(fd, b'{"begin": "ex00_scale"}\\n')
        except OSError:
            pass
    time.sleep(0.01)"""
PRANKS = {
    "begins": (BEGINS, "stopped", ("time",)),
    "bomb": (
        "import os, time\nwhile True:\n    try:\n        os.fork()\n"
        "    except OSError:\n        time.sleep(0.1)",
        "stopped",
        ("processes", "memory", "time"),
    ),
    "busy": (
        "import os, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'while 1: pass'])\nos._exit(7)",
        "stopped",
        ("crash",),
    ),
    "children": (CHILDREN, "stopped", ("memory",)),
    "closes": (
        "import os\nfor fd in range(3, 300):\n    try:\n        os.close(fd)\n"
        "    except OSError:\n        pass",
        "stopped",
        ("crash",),
    ),
    "daemon": (DAEMON, "accepted", ("",)),
    "exits": ("import sys\nsys.exit(3)", "stopped", ("crash",)),
    "floods": ("while True:\n    print('x' * 9999)", "stopped", ("time",)),
    "forged": (FORGED, "stopped", ("crash", "source")),
    "hog": (
        "cells = []\nwhile True:\n    cells.append(bytearray(1 << 24))",
        "stopped",
        ("memory",),
    ),
    "kills": (
        "import os\nfor p in (-1, 1, os.getppid()):\n    try:\n        os.kill(p, 9)\n"
        "    except OSError:\n        pass",
        "stopped",
        ("crash",),
    ),
    "memfd": (
        "import os, time\nkept = [os.memfd_create('x') for _ in range(8)]\n"
        "for fd in kept:\n    os.write(fd, b'x' * (10 << 20))\ntime.sleep(3)",
        "stopped",
        ("written", "memory"),
    ),
    "nests": (
        "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')",
        "accepted",
        ("",),
    ),
    "segfault": ("import ctypes\nctypes.string_at(0)", "stopped", ("crash",)),
    "shut": ("import os\nos.mkdir('d')\nopen('d/f', 'w')\nos.chmod('d', 0)", "accepted", ("",)),
    "stops": ("import os\nos.kill(os.getpid(), 19)", "stopped", ("time",)),
    "threads": (
        "import threading, time\nfor n in range(3000):\n"
        "    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
        "stopped",
        ("crash", "memory"),
    ),
    "wipes": (
        "import shutil\nshutil.rmtree('..', ignore_errors=True)",
        "stopped",
        ("source", "crash"),
    ),
    "writes": (
        "for n in range(60):\n    with open(f'f{n}', 'wb') as s:\n"
        "        s.write(b'x' * (10 << 20))",
        "stopped",
        ("written", "crash"),
    ),
    "writes_one": (
        "with open('f', 'wb') as s:\n    for n in range(600):\n        s.write(b'x' * (1 << 20))",
        "stopped",
        ("written", "crash"),
    ),
}


@pytest.fixture(scope="module")
def level():
    """What this machine has; nothing is executed where it has nothing."""
    try:
        return sandbox.level()
    except SmemnbError as error:
        pytest.skip(str(error))


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that other users can enter, seen to be empty again."""
    made_folder = Path(tempfile.mkdtemp(prefix="smemnb-test-"))
    made_folder.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(made_folder))
    monkeypatch.setenv("TAG", str(tmp_path))
    yield made_folder
    remove(made_folder)


def users_processes():
    """Processes of the users that learners' code gets."""
    users = range(sandbox.FIRST_USER, sandbox.FIRST_USER + sandbox.USERS + 1)
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdecimal() and path.stat().st_uid in users:
                found.append(path.name)
        except OSError:
            continue
    return found


def memory_of(tag, stop, most):
    """Note the most memory that the processes with a tag, and of learners' users, have together."""
    from smemnb.grading.processes import shared_out_bytes

    while not stop.wait(0.05):
        pids = {*tagged(tag), *map(int, users_processes())}
        most.append(sum(map(shared_out_bytes, pids)))


def grade(top, tmp_path, *options):
    file = tmp_path / "g.csv"
    command = ["grade", str(top), "--exercises", "ex00_scale,ex01_place", "--execute", "--force"]
    assert main([*command, "--csv", str(file), *SMALL, *options]) == 0
    return rows(file.read_text()), file


@pytest.mark.skipif(not LINUX, reason="limits of a group of processes hold on Linux")
def test_execute(level, folder, tmp_path, temporary, capsys):
    """A factory's kernel is accepted; what children take is counted, and all of them are ended."""
    top = folder({"ada.py": made.FACTORY, "mal.py": made.hostile(f"{DAEMON}\n{CHILDREN}")})
    found, _ = grade(top, tmp_path)
    assert found == {
        ("ada", "ex00_scale"): ("accepted", ""),
        ("ada", "ex01_place"): ("not tried", ""),
        ("mal", "ex00_scale"): ("stopped", "memory"),
        ("mal", "ex01_place"): ("accepted", ""),
    }
    assert level.text in capsys.readouterr().err
    assert list(temporary.iterdir()) == []
    assert (users_processes() if level.own_user else [], tagged(f"TAG={tmp_path}")[1:]) == ([], [])


@pytest.mark.exhaustive
@pytest.mark.skipif(not LINUX, reason="limits of a group of processes hold on Linux")
@pytest.mark.parametrize("kind", [sandbox.BUBBLEWRAP, sandbox.LANDLOCK, sandbox.LIMITS])
def test_pranks(folder, tmp_path, temporary, monkeypatch, kind):
    """Each has a row that says what happened, costs itself alone, and leaves nothing behind."""
    tried = sandbox.Level(kind, os.geteuid() == 0)
    if not sandbox._works(tried):
        pytest.skip(f"{kind} does not work here")
    monkeypatch.setattr(sandbox, "level", lambda: tried)
    if kind == sandbox.LIMITS and os.geteuid() != 0:
        monkeypatch.delitem(PRANKS, "kills")  # nothing keeps it from the processes of its user
    top = folder({f"{name}.py": made.hostile(body) for name, (body, *_) in PRANKS.items()})
    before = {path.name: path.read_bytes() for path in top.iterdir()}
    stop, most = threading.Event(), [0]
    watch = threading.Thread(target=memory_of, args=(f"TAG={tmp_path}", stop, most))
    watch.start()
    try:
        found, file = grade(top, tmp_path, "--jobs", "2")
    finally:
        stop.set()
        watch.join()
    texts = {(r["learner"], r["exercise"]): r["text"] for r in csv.DictReader(file.open())}
    for name, (_, grade_, reasons) in PRANKS.items():
        got = found[name, "ex00_scale"]
        assert got[0] == grade_ and got[1] in reasons, (name, got, texts[name, "ex00_scale"])
        assert found[name, "ex01_place"] == ("accepted", ""), name
    assert {path.name: path.read_bytes() for path in top.iterdir()} == before
    assert list(temporary.iterdir()) == []
    assert (users_processes() if tried.own_user else [], tagged(f"TAG={tmp_path}")) == ([], [])
    assert max(most) < (2 * 2 * 128 + 800) << 20  # two learners at a time, and the grader's own


OUTSIDE = """import os, socket
seen = []
for path in ({submissions!r}, {temporary!r}, "/tmp", "/var/tmp", "/dev/shm"):
    try:
        with open(os.path.join(path, "left-by-mal"), "w") as stream:
            stream.write("x")
    except OSError:
        pass
try:
    seen.append(open({other!r}).read())
except OSError:
    pass
try:
    socket.create_connection(("127.0.0.1", {port}), 1)
    seen.append("network")
except OSError:
    pass
for name in os.environ:
    if "SECRET" in name:
        seen.append(name)
if seen:
    raise ValueError(seen)"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not LINUX, reason="bubblewrap and landlock are Linux's")
@pytest.mark.parametrize("kind", [sandbox.BUBBLEWRAP, sandbox.LANDLOCK])
def test_what_is_outside(folder, tmp_path, temporary, monkeypatch, kind):
    """Code of a learner neither writes outside nor reads others' answers, nor gets at secrets."""
    import socket

    tried = sandbox.Level(kind, os.geteuid() == 0)
    if not sandbox._works(tried):
        pytest.skip(f"{kind} does not work here")
    monkeypatch.setattr(sandbox, "level", lambda: tried)
    monkeypatch.setenv("A_SECRET", "mine")
    top = folder({"zoe.py": made.ANSWERS})
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = OUTSIDE.format(
            submissions=str(top),
            temporary=str(temporary),
            other=str(top / "zoe.py"),
            port=server.getsockname()[1],
        )
        folder({"mal.py": made.hostile(body)})
        found, file = grade(top, tmp_path)
    assert found["mal", "ex00_scale"] == ("accepted", ""), file.read_text()
    assert sorted(path.name for path in top.iterdir()) == ["mal.py", "zoe.py"]
    for path in (temporary, Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")):
        assert not (path / "left-by-mal").exists()


@pytest.mark.exhaustive
@pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_the_grader_ends(level, folder, tmp_path, temporary, name):
    """Killed or told to end, it leaves none of a learner's processes and no folder."""
    import signal
    import subprocess

    top = folder({"mal.py": made.hostile(f"{DAEMON}\nimport time\ntime.sleep(600)")})
    command = [sys.executable, "-m", "smemnb.cli", "grade", str(top), "--exercises", "ex00_scale"]
    with subprocess.Popen(
        [*command, "--execute", "--seconds", "300"], env=dict(os.environ), stderr=subprocess.DEVNULL
    ) as running:
        late = time.monotonic() + 100
        # the server, a keeper, the runner, the exercise, its daemon; bubblewrap has two of its own
        wanted = 7 if level.kind == sandbox.BUBBLEWRAP else 5
        while len(theirs := descendants(running.pid)) < wanted:
            assert time.monotonic() < late and running.poll() is None
            time.sleep(0.05)
        running.send_signal(getattr(signal, name))
        running.wait(60)
    late = time.monotonic() + 30
    while time.monotonic() < late and (living(theirs) or list(temporary.iterdir())):
        time.sleep(0.05)
    assert (living(theirs), list(temporary.iterdir())) == ([], [])


def living(pids):
    """Those of some processes that have not ended."""
    found = []
    for pid in pids:
        try:
            if b") Z " not in Path(f"/proc/{pid}/stat").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
