"""What smemnb refuses, and how it says so.

Every refusal happens before anything is launched or written, and its text names what came,
where, and what to do instead. Where such an error leaves the package, the causes and frames inside
the package are cut off (`shortened`); the last of them, of the function that was called, is left
out where the error is shown, so that a traceback ends at the caller's own line.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .session import raw_traceback, rendered, users_frames, whole


class SmemnbError(Exception):
    """Any refusal by smemnb."""

    @property
    def __traceback__(self) -> TracebackType | None:
        """The caller's frames; all with SMEMNB_TRACEBACK=full in the environment.

        What shows an error asks for this one, where it is the cause of another error.
        """
        frames = raw_traceback(self)
        return frames if whole() else users_frames(frames)

    @__traceback__.setter
    def __traceback__(self, frames: TracebackType | None) -> None:
        self.with_traceback(frames)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of the error: it asks for this method."""
        return rendered(self)


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


class SourceChanged(UserWarning):
    """The file of a kernel has changed since it was imported; what runs is what was imported."""


class KernelStopped(SmemnbError, RuntimeError):
    """A kernel stopped while it ran: an endless wait or an exception of its own.

    Attributes:
        trace: under `trace`, what was counted and found until then; None otherwise.
        kernel: the Python function that was launched; None where no launch is known.
    """

    trace: Any = None
    kernel: Any = None

    def attach_trace(self, trace: Any) -> None:
        """Keep the trace so far, and add its errors to the text: they may be the reason."""
        self.trace = trace
        found = [one for one in trace.all_findings if one.severity == "error"]
        if found:
            said = "\n".join(f"  {one.cause} {one.cure}" for one in found[:3])
            self.args = (f"{self}\nFound until then:\n{said}", *self.args[1:])


class MisalignedAddress(KernelStopped):
    """A move of several bytes at an address that is not a multiple of their number.

    Attributes:
        elements: how many a move has: offsets are multiples of it.
    """

    def __init__(self, message: str, elements: int) -> None:
        super().__init__(message)
        self.elements = elements


class UnassignedVariable(RuntimeWarning):
    """A thread reads a variable to which it has assigned nothing; a GPU says nothing of it."""


def shortened(error: BaseException) -> BaseException:
    """The error without the frames and causes inside smemnb, to be raised at a public entry.

    With SMEMNB_TRACEBACK=full in the environment it stays as it is.
    """
    if whole():
        return error
    error.__cause__, error.__suppress_context__ = None, True
    return error.with_traceback(None)
