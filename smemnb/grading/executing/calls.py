"""Give up the system calls that neither limits nor Landlock cover: Linux's seccomp, for any user.

Segments, semaphores and queues of System V outlive whoever made them and are counted to no process:
a submission could fill the machine's memory, for good. And Landlock says who may read and write a
file, but not who may change its rights, owner or times: a submission that runs as whoever grades
could shut another one. The calls of the first kind are refused; those of the second do nothing and
say that they have, because copying a file asks for them too.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from contextlib import suppress

from ..processes import LINUX

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOWED, _NOTHING_DONE, _NOT_PERMITTED = 0x7FFF0000, 0x00050000, 0x00050001
_NUMBER_AT, _MACHINE_AT = 0, 4
_OTHER_CALLS = 0x40000000
"""From here x86 has the same calls once more, for programs with short pointers (x32)."""

_URING = 425  # io_uring_setup: it makes calls that no filter sees
_CHMOD_2 = 452  # fchmodat2
_MACHINES = {
    # as seccomp names it; shmget, semget, msgget, mq_open; then chmod, chown, utime, setxattr,
    # removexattr in all their forms
    "x86_64": (
        0xC000003E,
        (29, 64, 68, 240, _URING),
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, _CHMOD_2),
    ),
    "aarch64": (
        0xC00000B7,
        (194, 190, 186, 180, _URING),
        (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, _CHMOD_2),
    ),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def known() -> bool:
    """Whether the numbers of these calls are known for this machine."""
    return LINUX and platform.machine() in _MACHINES


def give_up_calls(*, rights: bool) -> bool:
    """Refuse these calls to this process and all that it starts, for good; whether it is so.

    `rights`: the rights, owners and times of files stay as they are.
    """
    if not known():
        return False
    machine, refused, without_effect = _MACHINES[platform.machine()]
    steps = _steps(machine, refused, without_effect if rights else ())
    program = _Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return int(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)) == 0
    return False


def _steps(
    machine: int, refused: tuple[int, ...], without_effect: tuple[int, ...]
) -> list[tuple[int, int, int, int]]:
    """The filter: (code, steps to skip if it holds, and if it does not, number)."""
    calls = [*((one, 2) for one in refused), *((one, 1) for one in without_effect)]
    count = len(calls)
    return [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 0, count + 4, machine),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, count + 2, 0, _OTHER_CALLS),
        *((_EQUAL, count - 1 - place + end, 0, call) for place, (call, end) in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOWED),
        (_RETURN, 0, 0, _NOTHING_DONE),
        (_RETURN, 0, 0, _NOT_PERMITTED),
    ]
