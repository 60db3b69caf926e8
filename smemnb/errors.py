"""What smemnb refuses, and how it says so.

Every refusal happens before anything is launched or written, and its text names what came,
where, and what to do instead. Where such an error leaves the package, the frames inside the
package are cut off (`shortened`), so that a traceback ends at the caller's own line.
"""

from __future__ import annotations

import os
from typing import Any


class SmemnbError(Exception):
    """Any refusal by smemnb."""


class LaunchRefused(SmemnbError, ValueError):
    """A launch or an argument that no device would take. Nothing was launched."""


class TypingRefused(SmemnbError, TypeError):
    """A kernel that Numba's type inference refuses, in a learner's words.

    Attributes:
        numba_message: Numba's own text, whole.
    """

    def __init__(self, message: str, numba_message: str = "") -> None:
        super().__init__(message)
        self.numba_message = numba_message


class UnsupportedSyntax(SmemnbError, NotImplementedError):
    """A construct that the lockstep engine cannot run.

    Attributes:
        file: source file of the construct.
        line: its line in that file (in a notebook: in the cell).
        construct: what was met.
        instead: what to write in its place.
    """

    def __init__(self, file: str, line: int, construct: str, instead: str) -> None:
        super().__init__(f"line {line}: {construct}. {instead}")
        self.file, self.line = file, line
        self.construct, self.instead = construct, instead


class KernelStopped(SmemnbError, RuntimeError):
    """A kernel stopped while it ran: an endless wait or an exception of its own.

    Attributes:
        trace: under `trace`, what was counted and found until then; None otherwise.
    """

    trace: Any = None

    def attach_trace(self, trace: Any) -> None:
        """Keep the trace so far, and add its errors to the text: they may be the reason."""
        self.trace = trace
        found = [one for one in trace.all_findings if one.severity == "error"]
        if found:
            said = "\n".join(f"  {one.cause} {one.cure}" for one in found[:3])
            self.args = (f"{self}\nFound until then:\n{said}", *self.args[1:])


def shortened(error: BaseException) -> BaseException:
    """The error without the frames and causes inside smemnb, to be raised at a public entry.

    With SMEMNB_TRACEBACK=full in the environment it stays as it is.
    """
    if os.environ.get("SMEMNB_TRACEBACK") == "full":
        return error
    error.__cause__, error.__suppress_context__ = None, True
    return error.with_traceback(None)
