"""`warp_timeline`: the warps of one multiprocessor over its first cycles, in the model of time.

A row is a warp, a column a few cycles, a colour what the warp does or waits for in most of them: it
issues, it could and another one was taken, or it stands. The blocks begin as they do on a
multiprocessor that has nothing else to do. Taught in `41_latency`.

**Limits**: predicted, not recorded; the blocks that stand for the launch, not those of one
multiprocessor; at most `MOST_WARPS` warps are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .drawing import Drawing

if TYPE_CHECKING:
    from .sheet import Sheet

__all__ = ["Timeline", "alt", "measure", "text", "warp_timeline"]

MOST_WARPS, COLUMNS = 32, 256
LEFT, TOP, ROW, COLUMN, BELOW = 64, 62, 10, 2, 44

GROUPS: dict[str, tuple[str, ...]] = {
    "issues": ("selected",),
    "could issue": ("not_selected",),
    "global memory": ("long_scoreboard", "lg_throttle", "drain"),
    "shared memory, queue": ("short_scoreboard", "mio_throttle"),
    "barrier": ("barrier",),
    "fixed time, pipe, branch": (
        "wait",
        "math_pipe_throttle",
        "dispatch_stall",
        "branch_resolving",
    ),
}
"""What is told apart -> the reasons of `measure.stalls` in it."""


class Predicted(Protocol):
    """What `trace(kernel)[grid, block](*args).time()` returns."""

    @property
    def kernel(self) -> str: ...
    @property
    def gpu(self) -> str: ...
    def timeline(self, cycles: int) -> tuple[tuple[str, ...], Any]: ...


@dataclass(frozen=True)
class Timeline:
    """What each warp does most in each column of cycles.

    Attributes:
        kernel, gpu: names.
        cycles: of all columns together.
        per_column: cycles of a column.
        groups: place in `GROUPS` by warp and column, -1 where no warp is.
        shares: group -> share of the warps' cycles.
    """

    kernel: str
    gpu: str
    cycles: int
    per_column: int
    groups: tuple[tuple[int, ...], ...]
    shares: dict[str, float]


def warp_timeline(prediction: Predicted, cycles: int = 1024) -> Drawing:
    """The warps of a multiprocessor over so many cycles, drawn.

    Args:
        prediction: what `trace(kernel)[grid, block](*args).time()` returned.
        cycles: from the start of its first block, 64 to 65,536.

    Raises:
        ValueError: more or fewer cycles.
    """
    if not 64 <= cycles <= 1 << 16:
        raise ValueError(f"cycles is {cycles}; a timeline has 64 to 65,536")
    found = measure(prediction, cycles)
    width = LEFT + COLUMN * COLUMNS + 40
    return Drawing(text(found), alt(found), width, lambda: _png(found, width))


def measure(prediction: Predicted, cycles: int) -> Timeline:
    """The groups by warp and column, and their shares."""
    reasons, drawn = prediction.timeline(cycles)
    place = {reason: at for at, group in enumerate(GROUPS.values()) for reason in group}
    known = np.array([place.get(reason, -1) for reason in reasons] + [-1])
    groups = known[np.asarray(drawn)]  # -1, no warp, is the last one
    present = groups >= 0
    total = max(1, int(present.sum()))
    shares = {name: float((groups == at).sum()) / total for at, name in enumerate(GROUPS)}
    per_column = -(-cycles // COLUMNS)
    rows = []
    for warp in groups[:MOST_WARPS]:
        padded = np.full(per_column * COLUMNS, -1)
        padded[: len(warp)] = warp
        counted = [(padded.reshape(COLUMNS, per_column) == at).sum(axis=1) for at in range(-1, 6)]
        rows.append(tuple((np.argmax(counted, axis=0) - 1).tolist()))
    return Timeline(prediction.kernel, prediction.gpu, cycles, per_column, tuple(rows), shares)


def text(found: Timeline) -> str:
    """The shares of what the warps do, a line each."""
    head = f"{found.kernel} on {found.gpu}: the first {found.cycles} cycles of a multiprocessor"
    rows = [f"{head} (model)"]
    rows += [f"{share:7.1%}  {name}" for name, share in found.shares.items()]
    return "\n".join(rows)


def alt(found: Timeline) -> str:
    """What the picture shows, in a sentence."""
    largest = max(found.shares, key=lambda name: found.shares[name])
    return (
        f"{len(found.groups)} warps of {found.kernel} over {found.cycles} cycles in the model:"
        f" {found.shares[largest]:.0%} of their time is {largest}."
    )


def _png(found: Timeline, width: int) -> bytes:
    from .legend import heading
    from .sheet import EMPTY, FAINT, GRID, INK, SERIES, painted

    blue, orange, yellow, violet, _ = SERIES
    colours = (yellow, INK, blue, violet, orange, GRID)
    bottom = TOP + ROW * len(found.groups)

    def paint(sheet: Sheet) -> None:
        heading(sheet, LEFT, found.kernel, f"warps over {found.cycles} cycles, {found.gpu} (model)")
        for number, row in enumerate(found.groups):
            y = TOP + number * ROW
            sheet.box(LEFT, y, COLUMN * COLUMNS, ROW - 1, fill=EMPTY, edge=EMPTY)
            first = 0
            for at in range(1, COLUMNS + 1):
                if at < COLUMNS and row[at] == row[first]:
                    continue
                if row[first] >= 0:
                    fill, wide = colours[row[first]], COLUMN * (at - first)
                    sheet.box(LEFT + COLUMN * first, y, wide, ROW - 1, fill=fill, edge=fill)
                first = at
        sheet.write(LEFT, 52, "0", colour=FAINT, align="left")
        sheet.write(LEFT - 34, TOP + 6, "warp 0", colour=FAINT)
        for number, name in enumerate(GROUPS):
            x, y = LEFT + number % 3 * 180, bottom + 14 + number // 3 * 18
            sheet.box(x, y - 5, 10, 10, fill=colours[number], edge=colours[number])
            sheet.write(x + 16, y, name, colour=FAINT, align="left")

    return painted(width, bottom + BELOW, paint)
