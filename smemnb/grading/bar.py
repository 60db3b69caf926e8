"""How far a long run is: a bar on a terminal, a line per tenth where there is none."""

from __future__ import annotations

import threading
import time
from typing import TextIO

WIDTH = 30
SECONDS_BETWEEN = 0.1


class Bar:
    """Counts steps of a total and shows them on a stream; threads may step at once."""

    def __init__(self, stream: TextIO, total: int, what: str) -> None:
        self._stream, self._total, self._what = stream, total, what
        self._terminal = stream.isatty()
        self._lock = threading.Lock()
        self._done, self._shown, self._last = 0, 0, 0.0
        self._began = time.monotonic()

    def step(self, count: int = 1) -> None:
        """Note that `count` more are done."""
        with self._lock:
            self._done += count
            tenths = 10 * self._done // max(1, self._total)
            now = time.monotonic()
            if self._terminal and (self._done == self._total or now - self._last > SECONDS_BETWEEN):
                self._last = now
                print(f"\r{self.text()}", end="", file=self._stream, flush=True)
            elif not self._terminal and tenths > self._shown:
                print(self.text(), file=self._stream, flush=True)
            self._shown = tenths

    def text(self) -> str:
        """The bar as it is now."""
        full = WIDTH * self._done // max(1, self._total)
        bar = "#" * full + "." * (WIDTH - full)
        seconds = time.monotonic() - self._began
        return f"[{bar}] {self._done} of {self._total} {self._what}, {seconds:.0f} s"

    def close(self) -> None:
        """End the line."""
        if self._terminal:
            print(file=self._stream, flush=True)
