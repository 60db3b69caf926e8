"""What this machine has to keep learners' code apart, found by trial, and how to start it there.

From the best down:

    bubblewrap   files read-only, other submissions out of sight, no network, processes of its own
    landlock     it writes into its own folder alone, and reads what Python needs alone
    limits       of time, memory, processes and bytes; files as the user that runs it

Root never runs it as root: a user number that nobody has is taken, for each learner another one.
Without root it is run as whoever grades. Other systems than Linux have limits of time, and look at
the memory of its processes; nothing keeps it from the files of whoever grades.
"""

from __future__ import annotations

import functools
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import SmemnbError
from ..limits import MEGABYTE
from ..processes import LINUX
from ..workers import THREADS
from .landlock import version

BUBBLEWRAP, LANDLOCK, LIMITS = "bubblewrap", "landlock", "limits"
FIRST_USER, USERS = 60800, 300
"""Numbers that distributions give to nobody (systemd's table of them has 60706 to 61183)."""

TRIAL_SECONDS = 60
ROOT = str(Path(__file__).resolve().parents[3])
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_PACKAGES = ("numba", "numba_cuda", "llvmlite", "numpy", "matplotlib", "cuda")


@dataclass(frozen=True)
class Level:
    """What keeps learners' code apart here: `kind`, and whether it gets a user of its own."""

    kind: str
    own_user: bool

    @property
    def text(self) -> str:
        """In words, for `doctor` and for whoever grades."""
        user = "a user of its own" if self.own_user else "the user that grades"
        if self.kind == BUBBLEWRAP:
            return f"bubblewrap: files read-only, no network, processes of its own; as {user}"
        if self.kind == LANDLOCK:
            return f"landlock {version()}: it writes to its own folder alone; as {user}"
        if LINUX:
            return f"limits of time, memory, processes and bytes alone; as {user}"
        return f"limits of time and memory alone, looked at from outside; as {user}"


@functools.cache
def level() -> Level:
    """The best level that a trial shows to work here.

    Raises:
        SmemnbError: this is root, and no other user can start this Python.
    """
    own_user = bool(LINUX and os.geteuid() == 0)
    kinds = [BUBBLEWRAP] if shutil.which("bwrap") else []
    kinds += [LANDLOCK] if version() else []
    for kind in (*kinds, LIMITS):
        tried = Level(kind, own_user)
        if _works(tried):
            return tried
    if own_user:
        raise SmemnbError(
            f"--execute: learners' code is not run as root, and {sys.executable} cannot be started "
            f"by another user in {tempfile.gettempdir()}: put it where all may read it (or name "
            "another folder in TMPDIR), install bubblewrap, or grade as another user"
        )
    raise SmemnbError(f"--execute: {sys.executable} cannot be started in a process of its own")


def _works(tried: Level) -> bool:
    with tempfile.TemporaryDirectory(prefix="smemnb-trial-") as folder:
        place = Place.make(tried, Path(folder), FIRST_USER + USERS, 1, ())
        try:
            done = subprocess.run(
                place.command("trial"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRIAL_SECONDS,
                env=place.environment,
                cwd=place.folder,
                **place.user_options,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return bool(done.stdout.strip() == b"works")


@dataclass(frozen=True)
class Place:
    """Where one learner's code is run: a folder, a user, a level."""

    level: Level
    folder: Path
    user: int
    written_mb: int
    hidden: tuple[str, ...]

    @classmethod
    def make(
        cls, kept: Level, folder: Path, user: int, written_mb: int, hidden: Sequence[str]
    ) -> Place:
        """Prepare a folder; `hidden` are folders of others, such as that of the submissions."""
        if kept.own_user:
            os.chown(folder, user, user)
        return cls(kept, folder, user, written_mb, tuple(hidden))

    @property
    def user_options(self) -> dict[str, Any]:
        """What `Popen` needs to start it as its user; in bubblewrap the runner takes it itself.

        Root sets up what is to be seen there, a Python in /root too, and gives up being root then.
        """
        if not self.level.own_user or self.level.kind == BUBBLEWRAP:
            return {}
        return {"user": self.user, "group": self.user, "extra_groups": []}

    @property
    def home(self) -> str:
        """Its folder, as it sees it."""
        return "/tmp/smemnb-home" if self.level.kind == BUBBLEWRAP else str(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        """A small one: no variable of whoever grades is in it."""
        windows = {n: os.environ[n] for n in ("SYSTEMROOT", "PATH") if n in os.environ}
        return {
            **(windows if sys.platform == "win32" else {"PATH": os.defpath}),
            **dict.fromkeys(THREADS, "1"),
            **dict.fromkeys(("HOME", "USERPROFILE", "SMEMNB_HOME"), self.home),
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self.home),
            "PYTHONUSERBASE": site.getuserbase(),  # it would go with the home
            "LANG": "C.UTF-8",
            "SMEMNB_PROGRESS": "off",
            "SMEMNB_DEVICE": "lockstep",
            "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, job: str) -> list[str]:
        """The command that starts the runner there."""
        paths = [str(Path(one).resolve()) for one in sys.path if one and Path(one).is_dir()]
        start = (
            f"import sys; sys.path[:] = {[*paths, ROOT]!r}; "
            "from smemnb.grading.executing.runner import main; main(sys.argv[1:])"
        )
        drop = self.level.own_user and self.level.kind == BUBBLEWRAP
        about = [job, self.level.kind, str(self.user if drop else 0)]
        python = [sys.executable, "-P", "-c", start, *about, *readable()]
        return [*self._bubblewrap(), *python] if self.level.kind == BUBBLEWRAP else python

    def _bubblewrap(self) -> list[str]:
        size = ["--size", str(self.written_mb * MEGABYTE), "--perms", "1777"]
        command = ["bwrap", "--die-with-parent", "--new-session"]
        command += [f"--unshare-{one}" for one in ("ipc", "pid", "net", "uts", "cgroup-try")]
        if self.level.own_user:
            command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            command += ["--unshare-user", "--cap-drop", "ALL"]
        command += [*size, "--tmpfs", "/tmp"]  # first: Python itself may lie in there
        for way in dict.fromkeys(str(one) for path in readable() for one in _above(path)):
            command += ["--perms", "0755", "--dir", way]  # a way to what lies in /root too
        for path in readable():
            command += ["--ro-bind-try", path, path]
        for path in self.hidden:
            if any(Path(path).is_relative_to(one) for one in readable()):
                command += ["--perms", "0000", "--tmpfs", path]
        command += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm"]
        command += ["--remount-ro", "/dev"]
        return [*command, "--perms", "0777", "--dir", self.home, "--chdir", self.home]


def readable() -> list[str]:
    """Files and folders that Python, Numba and smemnb are read from."""
    found = [*_SYSTEM, *_SETTINGS, sys.prefix, sys.base_prefix, sys.exec_prefix]
    found += [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    found.append(str(Path(sys.executable).parent))
    found.append(str(Path(sys.executable).resolve().parent))
    for name in _PACKAGES:
        with suppress(ImportError, ValueError):
            spec = find_spec(name)
            for folder in (spec.submodule_search_locations or ()) if spec else ():
                found.append(str(Path(folder).resolve().parent))
    found += [str(Path(ROOT, one)) for one in ("smemnb", "notebooks", "GLOSSARY.md")]
    seen = dict.fromkeys(str(one) for one in found if Path(one).exists())
    outer = [one for one in seen if one != "/"]
    return [one for one in outer if not any(_inside(one, other) for other in outer)]


def _above(path: str) -> list[Path]:
    """The folders that a path lies in, from the outermost."""
    return list(reversed(Path(path).parents))[1:]


def _inside(path: str, other: str) -> bool:
    return path != other and Path(path).is_relative_to(other) and not Path(other).is_symlink()
