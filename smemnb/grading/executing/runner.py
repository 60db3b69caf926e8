"""Runs what a kernel needs of a file, and hands out the kernel as a Program; started by `keeper`.

It has given up what the level of its place (`sandbox`) lets it give up before it imports anything.
It gets the files as bytes and then names of exercises, one at a time. Each is a fork with the
limits of the learner and a fresh copy of the files, in which no other exercise has been at work.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from ..limits import Limits, limit_execution
from ..processes import LINUX, tell_when_parent_dies
from ..submissions import KINDS
from .calls import give_up_calls
from .landlock import give_up
from .removal import remove
from .sandbox import BUBBLEWRAP, FIRST_USER, LANDLOCK, USERS

MOST_STUBS = 4
"""So many files at most are run for an exercise: an untouched stub gives way to the one before."""

_ALSO_READ = ("/proc", "/sys/devices/system", "/etc", "/dev/urandom", "/dev/random", "/dev/zero")


def main(arguments: Sequence[str]) -> None:
    """Try whether it can be done here ("trial"), or run what stdin asks for ("run")."""
    job, kind, user, *readable = arguments
    if int(user):
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    if LINUX and kind != BUBBLEWRAP:  # which has this done by its own first process
        tell_when_parent_dies(os.getppid(), signal.SIGKILL)
    if kind == LANDLOCK and not give_up([*readable, *_ALSO_READ], [os.getcwd(), "/dev/null"]):  # noqa: PTH109
        sys.exit("landlock refused")
    own_user = FIRST_USER <= os.getuid() <= FIRST_USER + USERS if LINUX else False
    give_up_calls(rights=kind != BUBBLEWRAP and not own_user)
    from ...exercises import check, registry  # all that has to be imported, before any limit
    from . import recorder

    registry.exercises()
    assert check and recorder
    if job == "trial":
        Path(tempfile.mkdtemp(dir=Path.cwd())).rmdir()  # its folder can be reached by its path
        print("works")
        return
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    head = json.loads(sys.stdin.buffer.readline())
    blobs = [sys.stdin.buffer.read(size) for size in head["sizes"]]
    os.write(channel, b"ready\n")
    while name := sys.stdin.buffer.readline().decode().strip():
        folder = Path(tempfile.mkdtemp(prefix="submission_", dir=Path.cwd()))
        if not hasattr(os, "fork") or not LINUX:
            os.dup2(nowhere, 0)
            _child(name, head, blobs, folder, channel)
        pid = os.fork()
        if not pid:
            with suppress(BaseException):
                os.dup2(nowhere, 0)
                tell_when_parent_dies(os.getppid(), signal.SIGKILL)
                _child(name, head, blobs, folder, channel)
            os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        remove(folder)
        from ..workers import ending

        os.write(channel, json.dumps({"ended": ending(status)}).encode() + b"\n")


def _child(
    name: str, head: dict[str, Any], blobs: list[bytes], folder: Path, channel: int
) -> NoReturn:
    """Say what an exercise comes to, and end; no learner's code has run in this process yet."""
    files = []
    for file, blob in zip(head["files"], blobs, strict=True):
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)
        files.append(path)
    limits = Limits(**head["limits"])
    os.chdir(folder)
    sys.path.append(str(folder))
    limit_execution(limits, int(4 * limits.seconds) + 1, head["tasks"])
    answer = {"exercise": name, **_answers(name, [one for one in files if one.suffix in KINDS])}
    line = json.dumps(answer).encode() + b"\n"
    with suppress(OSError):
        while line:
            line = line[os.write(channel, line) :]
    os._exit(0)


def _answers(name: str, files: list[Path]) -> dict[str, Any]:
    """The programs that answer an exercise, the last file first, and why there is no other."""
    from ...exercises.check import plain, refused
    from ...exercises.registry import find
    from ..kernel_names import known_names
    from ..program import NotAProgram
    from .recorder import program_of
    from .statements import read

    exercise = find(name)
    assert exercise is not None
    programs: list[str] = []
    problem = ""
    place, what = "the file", {}
    try:
        known = known_names()
        cells = Path(tempfile.mkdtemp(prefix="cells_", dir=Path.cwd()))
        for reading in (read(file, cells, known) for file in reversed(files)):
            answer = reading.answers.get(name)
            if answer is None:
                if name in reading.unreadable:
                    what = {"reason": "source", "text": reading.unreadable[name]}
                    break
                continue
            place = answer.place
            names: dict[str, Any] = {"__name__": "submission"}
            problems = [said for one in reading.needed(answer) if (said := _run(one, names))]
            try:
                kernel = eval(_expression(answer.expression), names)
            except MemoryError:
                raise
            except BaseException as error:
                problems = problems or [f"{place}: {plain(error)}", *reading.problems]
                what = {"reason": "source", "text": "; ".join(problems[:2])}
                break
            if refusal := refused(exercise, kernel):
                reason = "crash" if problems else "kernel"
                what = {"reason": reason, "text": problems[0] if problems else refusal}
                break
            programs.append(program_of(kernel, reading.places).to_json())
            problem = problem or "".join(problems[:1])
            if len(programs) == MOST_STUBS:
                break
    except NotAProgram as error:
        what = {"reason": "source", "text": f"{place}: {error}"}
    except MemoryError:
        what = {"reason": "memory", "text": f"{place}: more memory than allowed"}
    except BaseException as error:  # whatever a learner's code can raise
        what = {"reason": "crash", "text": f"{place}: {plain(error)}"}
    return {"programs": programs, "problem": problem, **what}


def _run(one: Any, names: dict[str, Any]) -> str:
    """Run a statement; "", or what it raised: as in a notebook, the next one runs anyway."""
    from ...exercises.check import plain

    try:
        exec(one.code, names)
    except MemoryError:
        raise
    except BaseException as error:
        return f"{one.place}, line {one.node.lineno}: {plain(error)}"
    return ""


def _expression(expression: ast.expr) -> CodeType:
    return compile(ast.Expression(expression), "<check>", "eval", dont_inherit=True)
