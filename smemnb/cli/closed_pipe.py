"""Output that nobody reads: `smemnb trace ... | head -1` ends as if all of it had been read.

The reader of a pipe may go before the command has said everything. The rest is then thrown away;
the command still runs to its end, because its exit code is the answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class PatientStream:
    """A stream whose `write` and `flush` do not mind that its reader has gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or throw away."""
        self._unless_closed(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write, or throw away."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush, or throw away."""
        self._unless_closed(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _unless_closed(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            # on Windows a closed pipe is an invalid argument
            if not isinstance(error, BrokenPipeError) and sys.platform != "win32":
                raise
            _send_nowhere(self._stream)


@contextmanager
def patient_streams() -> Iterator[None]:
    """Let stdout and stderr outlive their readers, and leave nothing in them at the end."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        None if stream is None else PatientStream(stream) for stream in before
    )
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before


def _send_nowhere(stream: TextIO) -> None:
    """What is still in the stream's buffer, and what Python flushes when it ends, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
