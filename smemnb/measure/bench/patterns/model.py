"""Readings of a room of patterns, and the file that keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from ....errors import SmemnbError
from ...results.model import Clocks, Gpu, Results
from ...results.store import read_fields, read_object, read_text, save_text

__all__ = ["OURS", "PatternReading", "PatternResults", "Time"]
__all__ += ["begun", "decode", "encode", "load", "recorded", "save"]

FORMAT: Final = "smemnb bench patterns"
VERSION: Final = 1
MAKE: Final = "smemnb bench patterns ROOM --out FILE.json"
OURS: Final = "smemnb"
COPY: Final = "copy"


@dataclass(frozen=True)
class Time:
    """Milliseconds of a contender's launch: median and quartiles over rounds."""

    ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True)
class PatternReading:
    """A case, measured.

    Attributes:
        operation: its name.
        words: size and dtype.
        moved: bytes that have to be read and written.
        times: by contender.
        left_out: contenders without a time -> why.
        launches: that a time was taken of.
        rounds: that a median is of.
        seed: of a case that was drawn; 0 of one that was chosen.
        not_captured: contenders that no CUDA graph could hold -> why.
    """

    operation: str
    words: str
    moved: int
    times: dict[str, Time]
    left_out: dict[str, str]
    launches: int = 0
    rounds: int = 0
    seed: int = 0
    not_captured: dict[str, str] | None = None

    def gb_per_s(self, name: str = OURS) -> float | None:
        """Bytes that have to be moved over a contender's time; None without a time.

        >>> times = {"smemnb": Time(1e-3, 0, 0)}
        >>> reading = PatternReading("sum", "8000 float32", 32_000, times, {})
        >>> reading.gb_per_s()
        32.0
        """
        time = self.times.get(name)
        return None if time is None else self.moved / time.ms / 1e6

    def beside(self, *names: str) -> float | None:
        """Our speed over that of the faster of these contenders; None where one side is missing."""
        ours = self.times.get(OURS)
        others = [self.times[name].ms for name in names if name in self.times]
        return min(others) / ours.ms if ours is not None and others else None


@dataclass(frozen=True)
class PatternResults:
    """The readings of a room.

    Attributes:
        gpu, driver, cuda, versions, libraries, date, command, l2: as of `results.Results`.
        room: whose they are.
        finished: False if the run was interrupted or out of time.
        clocks: before and at the end.
        readings: chosen cases first, then drawn ones.
    """

    gpu: Gpu
    driver: str
    cuda: str
    versions: dict[str, str]
    libraries: dict[str, str]
    date: str
    command: str
    l2: str
    room: str
    finished: bool = False
    clocks: tuple[Clocks, ...] = ()
    readings: tuple[PatternReading, ...] = ()

    def grown(self, readings: Sequence[PatternReading]) -> PatternResults:
        """With further readings."""
        return replace(self, readings=(*self.readings, *readings))

    def reading(self, operation: str, words: str) -> PatternReading:
        """The reading of a chosen case.

        Raises:
            SmemnbError: there is none.
        """
        for one in self.readings:
            if (one.operation, one.words, one.seed) == (operation, words, 0):
                return one
        there = ", ".join(f"{one.operation} {one.words}" for one in self.readings if not one.seed)
        raise SmemnbError(f"no reading of {operation} {words} for {self.room}; there are: {there}")


def begun(origin: Results, room: str) -> PatternResults:
    """Results without readings, of the place and time that `provenance.origin` gives."""
    return PatternResults(
        gpu=origin.gpu,
        driver=origin.driver,
        cuda=origin.cuda,
        versions=origin.versions,
        libraries=origin.libraries,
        date=origin.date,
        command=origin.command,
        l2=origin.l2,
        room=room,
    )


def encode(results: PatternResults) -> str:
    """The text of the file."""
    head = {"format": FORMAT, "version": VERSION}
    return json.dumps(head | asdict(results), indent=1, allow_nan=False) + "\n"


def decode(text: str, name: str) -> PatternResults:
    """Results from the text of a file.

    Raises:
        SmemnbError: not such a file (the message says why).
    """
    return read_fields(PatternResults, read_object(text, name, FORMAT, VERSION, MAKE), name)


def save(results: PatternResults, path: Path) -> None:
    """Write the file at once."""
    save_text(encode(results), path)


def load(path: str | Path) -> PatternResults:
    """The results of a file.

    Raises:
        SmemnbError: there is no such file, or it is another one.
    """
    return decode(read_text(path), str(path))


def recorded(room: str) -> PatternResults:
    """What an H200 did, as it comes with the package.

    Raises:
        SmemnbError: nothing was recorded for this room.
    """
    name = f"h200_{room}.json"
    source = files("smemnb.measure.recorded") / name
    if not source.is_file():
        raise SmemnbError(f"nothing is recorded for {room}; measure it on a GPU: {MAKE}")
    return decode(source.read_text(encoding="utf-8"), f"the recorded {name}")
