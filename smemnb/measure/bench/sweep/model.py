"""The file of a sweep: where it was measured, how, and a reading per problem.

One JSON object that names its format and version. It is read with reasons, and written beside the
old file and moved over it.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from ....errors import SmemnbError
from ...results.model import Clocks, Gpu, Origin
from ...results.store import read_fields, read_object, read_text, save_text
from .problems import ITEMSIZES, LAYOUTS, OPERATIONS, Problem

__all__ = ["STATUSES", "Reading", "Sweep", "begun", "decode", "encode", "load", "save"]

FORMAT: Final = "smemnb bench sweep"
VERSION: Final = 1
MAKE: Final = "smemnb bench sweep matmul --out FILE.json"

STATUSES: Final = ("timed", "refused", "wrong", "failed", "skipped")
"""Timed; refused by the operation; wrong values; another error; too large for the GPU's memory."""


@dataclass(frozen=True)
class Reading:
    """One problem. Times are milliseconds of one launch on the GPU, medians over rounds.

    Attributes:
        operation, shape, layout, itemsize: as of `Problem`.
        status: one of `STATUSES`; without "timed" there are no times.
        reason: why it was not timed.
        ms: of the operation, with both quartiles.
        low_ms: first quartile.
        high_ms: third quartile.
        launches: timed at once, as one graph; a time is that of all over their number.
        rounds: times behind a median.
        libraries: name -> median of each library that was timed in the same rounds.
        left_out: name of a library -> why it was not timed.
        copy_ms: of a device copy of a transpose's bytes.
        not_captured: contender -> why a CUDA graph could not hold its launches; those were queued
            behind a pause of the GPU in place of it, between the same two events.
        error: of a product, the largest error against float64.
        torch_error: that of torch's product.
        largest: the largest value of the true product.
        repeats: whether launches after all others (19; one in files before 2026-11-27) gave the
            same bits as the first.
        plan: what the operation says it does here; None if it does not say.
    """

    operation: str
    shape: tuple[int, ...]
    layout: str
    itemsize: int
    status: str
    reason: str | None = None
    ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    launches: int = 0
    rounds: int = 0
    libraries: dict[str, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    copy_ms: float | None = None
    not_captured: dict[str, str] = field(default_factory=dict)
    error: float | None = None
    torch_error: float | None = None
    largest: float | None = None
    repeats: bool | None = None
    plan: str | None = None

    @property
    def problem(self) -> Problem:
        """What was measured."""
        return Problem(self.operation, self.shape, self.layout, self.itemsize)

    @property
    def ratio(self) -> float | None:
        """Time of the fastest library over ours: above 1 ours is faster. None without either."""
        if self.ms is None or not self.libraries:
            return None
        return min(self.libraries.values()) / self.ms

    @property
    def copy_ratio(self) -> float | None:
        """Time of the copy over ours."""
        return None if self.ms is None or self.copy_ms is None else self.copy_ms / self.ms

    @property
    def error_ratio(self) -> float | None:
        """Largest error over that of torch; 1 if both have none, infinite if torch alone has none.

        >>> Reading("matmul", (1, 1, 1), "NN", 4, "timed", error=3e-7, torch_error=1e-7).error_ratio
        3.0
        """
        if self.error is None or self.torch_error is None:
            return None
        if self.torch_error == 0:
            return 1.0 if self.error == 0 else math.inf
        return self.error / self.torch_error

    @property
    def roundings(self) -> float | None:
        """The error in roundings of the largest value to float32, each 2^-24 of it.

        A result cannot be expected to be better than one.
        """
        return None if self.error is None or not self.largest else self.error * 2**24 / self.largest


@dataclass(frozen=True)
class Sweep:
    """A file of readings.

    Attributes:
        gpu, driver, cuda, versions, libraries, date, command, l2: as of `results.Results`.
        operation: one of `problems.OPERATIONS`.
        seed: of the problems.
        count: how many problems were asked for.
        finished: False if the sweep was interrupted or out of time.
        clocks: before and at the end, of each run that added readings.
        readings: in the order of the problems.
    """

    gpu: Gpu
    driver: str
    cuda: str
    versions: dict[str, str]
    libraries: dict[str, str]
    date: str
    command: str
    l2: str
    operation: str
    seed: int
    count: int
    finished: bool = False
    clocks: tuple[Clocks, ...] = ()
    readings: tuple[Reading, ...] = ()

    def grown(self, *readings: Reading) -> Sweep:
        """With further readings."""
        return replace(self, readings=self.readings + readings)

    def clocked(self, *clocks: Clocks) -> Sweep:
        """With further readings of the clocks."""
        return replace(self, clocks=self.clocks + clocks)


def begun(origin: Origin, operation: str, seed: int, count: int) -> Sweep:
    """A sweep without readings, of the place and time that `provenance.origin` gives."""
    return Sweep(
        gpu=origin.gpu,
        driver=origin.driver,
        cuda=origin.cuda,
        versions=origin.versions,
        libraries=origin.libraries,
        date=origin.date,
        command=origin.command,
        l2=origin.l2,
        operation=operation,
        seed=seed,
        count=count,
    )


def encode(sweep: Sweep) -> str:
    """The text of the file."""
    head = {"format": FORMAT, "version": VERSION}
    return json.dumps(head | asdict(sweep), indent=1, allow_nan=False) + "\n"


def save(sweep: Sweep, path: Path) -> None:
    """Write the file at once: until it is whole, what was there stays."""
    save_text(encode(sweep), path)


def load(path: str | Path) -> Sweep:
    """The sweep in a file.

    Raises:
        SmemnbError: there is no such file, or it is not one of a sweep (the message says why).
    """
    return decode(read_text(path), str(path))


def decode(text: str, name: str) -> Sweep:
    """A sweep from the text of a file; `name` is how messages call it.

    Raises:
        SmemnbError: not a file of a sweep, another version, or a field that is not as it was
            written.
    """
    sweep = read_fields(Sweep, read_object(text, name, FORMAT, VERSION, MAKE), name)
    if sweep.operation not in OPERATIONS:
        raise SmemnbError(f"{name}.operation is {sweep.operation!r}, not {' or '.join(OPERATIONS)}")
    for number, reading in enumerate(sweep.readings):
        _sound(reading, sweep.operation, f"{name}: readings[{number}]")
    return sweep


def _sound(reading: Reading, operation: str, where: str) -> None:
    """What types alone do not say of a reading."""
    if reading.operation != operation:
        raise SmemnbError(f"{where}.operation is {reading.operation!r}, the file's is {operation}")
    extents = 3 if operation == "matmul" else 2
    if len(reading.shape) != extents or min(reading.shape) < 1:
        raise SmemnbError(f"{where}.shape is {reading.shape}, not {extents} extents of at least 1")
    layouts, sizes = (LAYOUTS, (4,)) if operation == "matmul" else (("",), ITEMSIZES)
    if reading.layout not in layouts:
        raise SmemnbError(f"{where}.layout is {reading.layout!r}, not one of {layouts}")
    if reading.itemsize not in sizes:
        raise SmemnbError(f"{where}.itemsize is {reading.itemsize}, not one of {sizes}")
    if reading.status not in STATUSES:
        raise SmemnbError(f"{where}.status is {reading.status!r}, not one of {STATUSES}")
    if reading.status != "timed" and (reading.reason is None or reading.ms is not None):
        raise SmemnbError(f"{where} is {reading.status}, and has a time (ms) or no reason")
    times = {"ms": reading.ms, "low_ms": reading.low_ms, "high_ms": reading.high_ms}
    if reading.status == "timed":
        times |= reading.libraries
        times |= {} if reading.copy_ms is None else {"copy_ms": reading.copy_ms}
        for name, ms in times.items():
            if ms is None or not (math.isfinite(ms) and ms > 0):
                raise SmemnbError(f"{where}.{name} is {ms}, which is no time")
