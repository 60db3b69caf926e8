"""Where the time of a launch goes: what is said of one that takes long.

Every few rounds of any loop one look at the clock gives the time since the last one to the loop
that goes round. After `slow_after_s` seconds one line on stderr says where the time went and what
to do; after `patience_s` the launch is stopped.
"""

from __future__ import annotations

import sys
import time

from ..errors import KernelStopped


class Clock:
    """The time of one launch, by its loops."""

    def __init__(
        self,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        patience_s: float | None,
        slow_after_s: float | None,
    ) -> None:
        self._launch = f"{name}[{_short(grid)}, {_short(block)}]"
        self._patience_s, self._slow_after_s = patience_s, slow_after_s
        self._began = self._looked = time.monotonic()
        self._rounds = 0
        self._spent: dict[str, tuple[float, int]] = {}

    def look(self, where: str, rounds: int) -> None:
        """Give the time and the rounds since the last look to a loop.

        Args:
            where: the loop, as messages name it.
            rounds: of all loops of the launch, so far.

        Raises:
            KernelStopped: the time is over.
        """
        now = time.monotonic()
        spent, gone = self._spent.get(where, (0.0, 0))
        self._spent[where] = spent + now - self._looked, gone + rounds - self._rounds
        self._looked, self._rounds = now, rounds
        if self._patience_s is not None and now - self._began > self._patience_s:
            raise KernelStopped(
                f"{where} was still going round when the time was over. {self.account()}Either it "
                "never ends, or the kernel does far more work than it has to: look at what ends "
                "each loop."
            )
        self.tell(now)

    def tell(self, now: float, done: str = "") -> None:
        """Say on stderr, once, that the launch takes long; `done` is what it has behind it."""
        if self._slow_after_s is None or now - self._began < self._slow_after_s:
            return
        self._slow_after_s = None
        print(
            f"smemnb: {self._launch} has been running for {now - self._began:.0f} s in the engine, "
            f"on the CPU{done}. {self.account()}The engine runs all threads of a round together: "
            "the same work in more threads and fewer rounds is faster. Or take fewer elements, or "
            "trace a few blocks (blocks=..., others='skip'). Ctrl-C stops it.",
            file=sys.stderr,
            flush=True,
        )

    def account(self) -> str:
        """A sentence on the loop that took the most time; empty where none took any."""
        if not self._spent:
            return ""
        where, (spent, rounds) = max(self._spent.items(), key=lambda entry: entry[1][0])
        share = round(100 * spent / max(self._looked - self._began, 1e-9))
        return f"{share} % of the time went to {where}: {rounds:,} rounds so far. "


def _short(sizes: tuple[int, int, int]) -> str:
    """Sizes without ones at the end: (8, 1, 1) as 8."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return str(kept[0]) if len(kept) == 1 else str(tuple(kept))
