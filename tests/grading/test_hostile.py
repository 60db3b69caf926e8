"""Hostile submissions beside honest ones: each row right, nothing changed, nothing left behind."""

import csv
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from smemnb.errors import SmemnbError
from smemnb.grading.executing import sandbox
from smemnb.grading.executing.removal import remove
from smemnb.grading.processes import descendants, shared_out_bytes
from tests.grading import hostile
from tests.grading import learners as made
from tests.grading.conftest import notebook
from tests.grading.test_grade import tagged

LINUX = sys.platform.startswith("linux")
MEMORY = 256
LIMITS = f"--seconds 3 --memory {MEMORY} --processes 12 --written 20".split()
NEEDS = "stopped needs --execute"
HONEST = {
    "ada.py": made.IMPORTS + made.SCALE + hostile.CHECK + hostile.REST,
    "zoe.ipynb": notebook([made.IMPORTS, made.SCALE, made.PLACE, hostile.CHECK]),
}
pytestmark = pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Folders that every user may write to: of a class, of somebody else, for temporary files."""
    top = Path(tempfile.mkdtemp(prefix="smemnb-hostile-"))
    folders = [top / name for name in ("class", "canary", "temporary", "grades")]
    for folder in (top, *folders):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
    (folders[1] / "mine.txt").write_text("mine")
    (folders[1] / "mine.txt").chmod(0o666)
    monkeypatch.setenv("TMPDIR", str(folders[2]))
    monkeypatch.setenv("SMEMNB_HOME", str(folders[3] / "home"))
    monkeypatch.setenv("TAG", str(tmp_path))
    monkeypatch.setenv("A_SECRET", "mine")
    yield folders
    remove(top)


def hand_in(top, files):
    """Put submissions there: a text, bytes, or a folder of them; others may write to each."""
    for name, content in files.items():
        if isinstance(content, dict):
            (top / name).mkdir()
            (top / name).chmod(0o777)
            hand_in(top / name, content)
            continue
        raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        path = top / name
        path.write_bytes(raw)
        path.chmod(0o666)


def snapshot(*folders):
    """What is in folders: the names, kinds, rights, targets of links, and what files hold."""
    found = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            about = path.lstat()
            held = about.st_mode, about.st_uid, about.st_nlink
            if path.is_symlink():
                held += (str(path.readlink()),)
            elif path.is_file():
                held += (about.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            found[str(path)] = held
    return found


def segments():
    """The shared memory of System V that is there: it outlives the process that made it."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}


def outside():
    """Names in the folders that everybody may write to that are a hostile submission's."""
    tops = map(Path, ("/tmp", "/var/tmp", "/dev/shm"))
    return [
        p
        for top in tops
        for p in top.glob("*")
        if p.name.startswith(("left-by-mal", "smemnb-hostile-")) and p.is_file()
    ]


class Watched:
    """A run of `smemnb grade` in a process of its own; all that came of it, and its memory."""

    def __init__(self, command):
        self.seen, self.most = {}, 0
        self.running = subprocess.Popen(
            [sys.executable, "-m", "smemnb.cli", "grade", *command],
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        thread = threading.Thread(target=self._watch)
        thread.start()
        self.out, self.err = self.running.communicate(timeout=1500)
        thread.join()

    def _watch(self):
        while self.running.poll() is None:
            below = [self.running.pid, *descendants(self.running.pid)]
            self.most = max(self.most, sum(map(shared_out_bytes, below)))
            for pid in below:
                if (began := began_at(pid)) is not None:
                    self.seen[pid] = began
            time.sleep(0.03)

    def left(self):
        """Those that still live."""
        return [pid for pid, began in self.seen.items() if began_at(pid) == began]


def began_at(pid):
    """When a process that has not ended began, by which its number is known to be its own."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def grade(folders, files, *options):
    """Grade a class of them and of honest learners; {learner: row of ex00_scale, of ex01_place}.

    What has to hold whatever is handed in is seen to here.
    """
    top, canary, temporary, grades = folders
    hand_in(top, {**files, **HONEST})
    before, memory = snapshot(top, canary), segments()
    file = grades / "g.csv"
    run = Watched(
        [str(top), "--exercises", "ex00_scale,ex01_place", "--csv", str(file), "--junit",
         str(grades / "g.xml"), "--jobs", "2", *LIMITS, *options]
    )  # fmt: skip
    assert run.running.returncode == 0, run.err.decode()[-3000:]
    found = {}
    for row in csv.DictReader(file.open(encoding="utf-8")):
        said = f"{row['grade']} {row['reason']}".strip()
        found.setdefault(row["learner"], []).append((said, row["text"]))
    for name in ("ada", "zoe"):
        assert [said for said, _ in found[name]] == ["accepted", "accepted"], found[name]
    late = time.monotonic() + 5
    while time.monotonic() < late and (run.left() or list(temporary.iterdir())):
        time.sleep(0.05)
    print(f"most memory of all processes: {run.most >> 20} MB")
    assert snapshot(top, canary) == before
    assert list(temporary.iterdir()) == []
    assert (run.left(), tagged(f"TAG={os.environ['TAG']}")[1:]) == ([], [])
    assert (outside(), segments() - memory) == ([], set())
    assert sorted(path.name for path in grades.iterdir()) == ["g.csv", "g.results.jsonl", "g.xml"]
    assert run.most < 2 * 2 * MEGABYTES, "two learners at a time"
    return found, run


MEGABYTES = MEMORY << 20


def table(found, wanted):
    """Print the rows; those that are not as wanted."""
    wrong = []
    for name, rights in wanted.items():
        (said, text), (beside, _) = found[name]
        print(f"{name[:24]!r:28} {said:26} {beside:26} {text[:90]!r}")
        if said not in rights:
            wrong.append((name, said, text))
    return wrong


def stem(name):
    """The learner's name that a file's name makes."""
    return name.removesuffix(".py").removesuffix(".ipynb")


def of_texts():
    """Files and right rows of what attacks the readers, Numba and the engine."""
    both = {**hostile.TEXTS, **hostile.KERNELS}
    files = {}
    for name, (content, _) in both.items():
        ending = "" if isinstance(content, dict) or name.endswith(".ipynb") else ".py"
        files[name + ending] = content
    return files, {stem(name): rights for name, (_, rights) in both.items()}


MODES = [
    pytest.param((), None, id="taken"),
    pytest.param(("--execute",), sandbox.BUBBLEWRAP, id="bubblewrap"),
    pytest.param(("--execute",), sandbox.LANDLOCK, id="landlock"),
]


def only(monkeypatch, kind):
    """Leave this machine one way to keep learners' code apart."""
    if kind is None:
        return
    if kind == sandbox.LANDLOCK:
        monkeypatch.setenv("PATH", "/nowhere")  # where no bubblewrap is
    if not sandbox._works(sandbox.Level(kind, os.geteuid() == 0)):
        pytest.skip(f"{kind} does not work here")


def require_a_level():
    """Skip where this machine has no way at all to keep learners' code apart."""
    try:
        sandbox.level()
    except SmemnbError as error:
        pytest.skip(str(error))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("options", "kind"), MODES)
def test_texts(places, monkeypatch, options, kind):
    """Bombs for the parser, the evaluator of constants, Numba's inference and the engine."""
    only(monkeypatch, kind)
    files, wanted = of_texts()
    found, _ = grade(places, files, *options)
    if options:  # what the text does not say is executed
        more = hostile.ANY_STOP | hostile.REFUSED | {"stopped processes"}
        wanted = {
            name: (rights | more if NEEDS in rights else rights) - {NEEDS}
            for name, rights in wanted.items()
        }
    assert table(found, wanted) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("options", "kind"), MODES)
def test_bodies(places, monkeypatch, options, kind):
    """Statements that attack who runs them; without `--execute` none of them is run."""
    only(monkeypatch, kind)
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = {
            "{canary!r}": repr(str(places[1])),
            "{top!r}": repr(str(places[0])),
            "{port}": str(server.getsockname()[1]),
        }
        files, wanted = {}, {}
        for name, (body, rights) in hostile.BODIES.items():
            for word, meant in words.items():
                body = body.replace(word, meant)
            lies = body.startswith(hostile.WRONG_TOO)
            text = made.hostile(hostile.BASE + body.removeprefix(hostile.WRONG_TOO))
            files[f"{name}.py"] = (
                text.replace("FACTOR * inp", "(FACTOR + 1) * inp") if lies else text
            )
            wanted[name] = rights if options else {NEEDS}
        found, _ = grade(places, files, *options)
    assert table(found, wanted) == []
    for name in wanted:
        assert found[name][1][0] == "accepted", (name, found[name])


@pytest.mark.exhaustive
def test_names(places):
    """Names of files that would forge rows, hide the table, or be another learner's."""
    files = {name: content for name, (content, _) in hostile.NAMES.items()}
    found, run = grade(places, files)
    said = sorted(rows[0][0] for rows in found.values())
    assert said == sorted([*(row for _, row in hostile.NAMES.values()), "accepted", "accepted"])
    assert [rows[0][0] for name, rows in found.items() if name == "ada"] == ["accepted"]
    shown = run.out.decode()
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [(), ("--execute",)])
def test_folders(places, options):
    """Links out of a folder, links to others, pipes, and modules that hide ours."""
    if options:
        require_a_level()
    top, canary = places[:2]
    ok = HONEST["ada.py"]
    bad = "import os\nos.abort()\n"
    names = ("numba", "numpy", "smemnb", "json", "sitecustomize", "os", "ast", "conftest")
    hand_in(
        top,
        {
            "shadows": {"k.py": made.FACTORY, **{f"{name}.py": bad for name in names}},
            "linked": {"note.txt": "x"},
            "pipes": {"k.py": ok},
            "loops": {"k.py": ok},
        },
    )
    (top / "linked" / "k.py").symlink_to(top / "ada.py")
    (top / "linked" / "all").symlink_to(top)
    (top / "whole").symlink_to(canary)
    os.mkfifo(top / "pipes" / "a.py")
    os.mkfifo(top / "pipes" / "data.txt")
    (top / "loops" / "l.py").symlink_to("l.py")
    (top / "loops" / "here").symlink_to(".")
    found, _ = grade(places, {}, *options)
    wanted = {
        "shadows": {"accepted"} if options else {NEEDS},
        "linked": {"not tried source"},
        "pipes": {"accepted"},
        "loops": {"accepted"},
    }
    assert "whole" not in found
    assert table(found, wanted) == []
