"""Give up the files, and more, that are not needed: Linux's Landlock, for any user.

What a process has given up is gone for it and for all that it starts. Landlock is asked which
version it is; an old one takes less. It knows no UDP, and nothing of it is there below Linux 5.13.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..processes import LINUX

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, the same on all processors
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # by version: how many rights on files it knows
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP, _SIGNALS_AND_ABSTRACT_SOCKETS = 0b11, 0b11


def version() -> int:
    """The version of Landlock here, 0 if there is none."""
    if not LINUX:
        return 0
    with suppress(OSError, AttributeError):
        return max(0, int(_call(_CREATE, None, 0, 1)))
    return 0


def give_up(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Keep these files and folders alone, for good; whether the system took it.

    Of version 4 and later: no connection by TCP; of 6: no signal to a process outside.
    """
    known = version()
    if not known:
        return False
    files = (1 << _RIGHTS.get(known, 16)) - 1
    net = _TCP if known >= 4 else 0
    scope = _SIGNALS_AND_ABSTRACT_SOCKETS if known >= 6 else 0
    sizes = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = int(_call(_CREATE, struct.pack("=QQQ", files, net, scope), sizes, 0))
    if rules < 0:
        return False
    try:
        for path in readable:
            _allow(rules, path, _READ & files)
        for path in writable:
            _allow(rules, path, files)
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return int(_call(_RESTRICT_SELF, rules, 0)) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not Path(path).is_dir():
            rights &= _OF_FILES
        _call(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, number), 0)
    finally:
        os.close(number)


def _call(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
