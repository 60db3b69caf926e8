"""What a search found: its file, one JSON object, and the same as text.

The file names the GPU, what every step tried and kept, the best choices, and how to use them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ...errors import SmemnbError
from ..results.model import Gpu
from ..results.store import read_fields, read_object, read_text, save_text
from ..results.table import shape_words
from ..rows import Row

__all__ = ["Attempt", "Outcome", "Timed", "Trial", "load", "save", "usage"]

FORMAT: Final = "smemnb tune"
VERSION: Final = 1
MAKE: Final = "smemnb tune matmul --out FILE.json"

Value = int | bool | None


@dataclass(frozen=True)
class Timed:
    """Median and quartiles of a candidate in milliseconds; without them, `failed` says why."""

    ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    registers: int | None = None
    local_bytes: int | None = None
    failed: str | None = None


@dataclass(frozen=True)
class Attempt:
    """A candidate: what it changed against the best of its step, and its time."""

    changes: dict[str, Value]
    timed: Timed


@dataclass(frozen=True)
class Trial:
    """A step: the time of the best before it, the others, what was kept, libraries beside them."""

    step: str
    best: Timed
    attempts: tuple[Attempt, ...]
    kept: dict[str, Value]
    beside: dict[str, Timed]


@dataclass(frozen=True)
class Outcome:
    """A search.

    Attributes:
        gpu, driver, versions, date, command: where and when.
        operation: "transpose" or "matmul".
        shape: rows and columns of the input; of a product rows, columns and depth.
        itemsize: bytes per element.
        start: the choices at the beginning.
        best: those at the end.
        trials: the steps in their order.
        finished: False if the search was interrupted or out of time.
    """

    gpu: Gpu
    driver: str
    versions: dict[str, str]
    date: str
    command: str
    operation: str
    shape: tuple[int, ...]
    itemsize: int
    start: dict[str, Value]
    best: dict[str, Value]
    trials: tuple[Trial, ...] = ()
    finished: bool = False

    def grown(
        self,
        trial: Trial | None = None,
        *,
        best: Mapping[str, Any] | None = None,
        finished: bool = False,
    ) -> Outcome:
        """The outcome with one more step, the best after it, and whether that was the last."""
        trials = self.trials if trial is None else (*self.trials, trial)
        kept = self.best if best is None else dict(best)
        return replace(self, trials=trials, best=kept, finished=finished or self.finished)


def save(outcome: Outcome, path: Path) -> None:
    """Write the file at once: until it is whole, what was there stays."""
    head = {"format": FORMAT, "version": VERSION}
    save_text(json.dumps(head | asdict(outcome), indent=1, allow_nan=False) + "\n", path)


def load(path: str | Path) -> Outcome:
    """The outcome in a file.

    Raises:
        SmemnbError: there is no such file, or it is not one of a search.
    """
    found = read_object(read_text(path), str(path), FORMAT, VERSION, MAKE)
    outcome = read_fields(Outcome, found, str(path))
    if outcome.operation not in ("transpose", "matmul"):
        raise SmemnbError(f"{path}.operation is {outcome.operation!r}, not transpose or matmul")
    return outcome


def lines(outcome: Outcome) -> Iterator[str]:
    """All of it, a line at a time; how to use the best comes last."""
    gpu = outcome.gpu
    shape = shape_words(outcome.operation, outcome.shape, outcome.itemsize)
    yield f"{outcome.operation} {shape}, measured ({gpu.name}, driver {outcome.driver})"
    for trial in outcome.trials:
        yield from trial_lines(trial)
    yield ""
    if not outcome.finished:
        yield "not finished: the search was interrupted or out of time; the best so far:"
    yield from summary(outcome)
    yield ""
    yield from usage(outcome)


def trial_lines(trial: Trial) -> Iterator[str]:
    """A step: the present best, the others fastest first, what was kept."""
    yield ""
    yield f"{trial.step}"
    yield _timed("as it is", trial.best)
    ranked = sorted(trial.attempts, key=lambda one: one.timed.ms or float("inf"))
    for one in ranked:
        yield _timed(words(one.changes), one.timed)
    for name, timed in trial.beside.items():
        yield _timed(f"beside: {name}", timed)
    yield f"  kept: {words(trial.kept) if trial.kept else 'what was there'}"


def summary(outcome: Outcome) -> Iterator[str]:
    """What the search gained, and how the best stands beside the libraries."""
    timed = [trial for trial in outcome.trials if trial.best.ms is not None]
    if timed:
        first, last = timed[0], timed[-1]
        best = next((a.timed for a in last.attempts if a.changes == last.kept), last.best)
        if first.best.ms and best.ms:
            yield f"{first.best.ms:.4f} ms at the start, {best.ms:.4f} ms at the end"
        for name, other in last.beside.items():
            if other.ms and best.ms:
                yield f"{other.ms / best.ms:.3f} times {name}'s speed"
    gained = {
        name: value for name, value in outcome.best.items() if outcome.start.get(name) != value
    }
    yield f"changed: {words(gained) if gained else 'nothing; the start is the best'}"


def usage(outcome: Outcome) -> Iterator[str]:
    """How the best is used: as Python."""
    said = ", ".join(f"{name}={value}" for name, value in outcome.best.items())
    if outcome.operation == "matmul":
        yield "from smemnb.kernels.matmul.tiling import Tiling"
        yield "from smemnb.kernels.matmul.variants.whole import matmul_of"
        yield f"tiling = Tiling({said})"
        yield "kernel = matmul_of(tiling)  # whole tiles; exact=False for any other shape"
        yield "# kernel[grid, tiling.threads](out, a, b, 1.0, 0.0), a block per tile of the result"
        yield "# for every call of smemnb.matmul: VARIED in smemnb/kernels/matmul/ladder.py"
        return
    best = outcome.best
    yield "from smemnb.kernels.transpose.ladder import TYPES"
    yield "from smemnb.kernels.transpose.variants.wide import transpose_fastest_of"
    yield (
        f"kernel = transpose_fastest_of(TYPES[{best['itemsize']}], ({best['rows']},"
        f" {best['cols']}), {best['threads']}, {best['blocks']})"
    )
    yield f"# kernel[grid, {best['threads']}](out, inp), a block per tile of the input"
    yield "# for every call of smemnb.transpose: the numbers at the top of"
    yield "#   smemnb/kernels/transpose/rungs/transpose_fastest.py, and TILES in variants/wide.py"


def words(changes: Mapping[str, Any]) -> str:
    """Choices as they are written in Python.

    >>> words({"rows": 64, "pinned": True})
    'rows=64, pinned=True'
    """
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def _timed(name: str, timed: Timed) -> str:
    """The line of a candidate or a library."""
    if timed.ms is None:
        return f"  {name:<58} not timed: {timed.failed}"
    ms, quartiles = f"{timed.ms:.4f}", f"{timed.low_ms:.4f}-{timed.high_ms:.4f}"
    line = f"  {name:<58}{ms:>10} ms ({quartiles})"
    registers = "" if timed.registers is None else str(timed.registers)
    line += f"  {registers} registers" if registers else ""
    local = str(timed.local_bytes) if timed.local_bytes else ""
    line += f", {local} bytes of local memory" if local else ""
    names = "", "ms", "quartiles", "registers", "local bytes"
    return Row(line, (name, ms, quartiles, registers, local), names)
