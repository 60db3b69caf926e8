"""One file of waits: `h200_latency.json`, made on a GPU and read by the chapter on latency."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...errors import SmemnbError
from ...measure import stalls

__all__ = ["Flight", "Latencies", "load", "record"]

FILE = "h200_latency.json"
COMMAND = "python -m smemnb.laboratory.latency record --out FILE"


@dataclass(frozen=True)
class Flight:
    """A run of independent loads out of DRAM.

    Attributes:
        warps: per multiprocessor.
        loads: under way per thread.
        held: bytes under way per multiprocessor, by these two.
        gb_per_s: measured, of the whole GPU.
    """

    warps: int
    loads: int
    held: int
    gb_per_s: float


@dataclass(frozen=True)
class Latencies:
    """What was measured of waits on one GPU. Times are cycles of its multiprocessors.

    Attributes:
        source: "measured (GPU)".
        megahertz: cycles per microsecond.
        multiply_add: of a multiply-add that needs the one before it.
        shared: of a load from shared memory whose address is the load's before it.
        footprints: bytes over which a chase through global memory goes -> cycles of its step.
        multiply_adds: (warps of a block, chains of a thread) -> cycles of a step of all of them.
        shared_by_warps: warps of a block -> cycles of a step of all of them.
        walks: walks of one thread through a ring in the L2 cache -> cycles of a step of each.
        flights: bytes per second by what is under way.
        waits: kernel of `waiting` -> its stall reasons and branches under Nsight Compute.
    """

    source: str
    megahertz: float
    multiprocessors: int
    multiply_add: float
    shared: float
    footprints: dict[int, float]
    multiply_adds: dict[tuple[int, int], float]
    shared_by_warps: dict[int, float]
    walks: dict[int, float]
    flights: tuple[Flight, ...]
    waits: dict[str, stalls.Waits]


def load(path: Path | None = None) -> Latencies:
    """The recorded file, by default the one that comes with the package."""
    return _shipped() if path is None else _from(json.loads(path.read_text(encoding="utf-8")))


@cache
def _shipped() -> Latencies:
    text = (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    return _from(json.loads(text))


def _from(record: dict[str, Any]) -> Latencies:
    chains = record["multiply_adds"]
    return Latencies(
        source=f"measured ({record['gpu']})",
        megahertz=record["megahertz"],
        multiprocessors=record["multiprocessors"],
        multiply_add=next(row[2] for row in chains if row[:2] == [1, 1]),
        shared=record["shared"][0][1],
        footprints=dict(record["footprints"]),
        multiply_adds={(warps, count): cycles for warps, count, cycles in chains},
        shared_by_warps=dict(record["shared"]),
        walks=dict(record["walks"]),
        flights=tuple(Flight(**row) for row in record["flights"]),
        waits={name: stalls.Waits.of(read) for name, read in record["waits"].items()},
    )


def record(path: Path, *, raw: Path | None = None, say: Callable[[str], None] = print) -> None:
    """Measure all on this machine's GPU and write the file; times stay if counters are forbidden.

    `raw` keeps what Nsight Compute printed.
    """
    from numba import cuda

    from ...measure.verify.recording import machine
    from . import measuring
    from .waiting import NAMES

    found: dict[str, Any] = {**machine(), "command": COMMAND}
    device = cuda.get_current_device()
    found["multiprocessors"] = int(device.MULTIPROCESSOR_COUNT)
    found["l2_bytes"] = int(getattr(device, "L2_CACHE_SIZE", 0))
    found["megahertz"] = round(measuring.megahertz(), 1)
    say(f"{found['gpu']}, {found['megahertz']} MHz")
    found["multiply_adds"] = [
        [warps, chains, round(measuring.multiply_add_cycles(warps, chains), 2)]
        for chains in (1, 2, 4)
        for warps in measuring.WARPS
    ]
    say(f"multiply-adds: {found['multiply_adds']}")
    found["shared"] = [[one, round(measuring.shared_cycles(one), 2)] for one in measuring.WARPS]
    say(f"shared: {found['shared']}")
    found["walks"] = [[one, round(measuring.chase_cycles(one), 1)] for one in measuring.WALKS]
    say(f"walks of one thread: {found['walks']}")
    found["footprints"] = []
    for size in measuring.FOOTPRINTS:
        found["footprints"].append([size, round(measuring.footprint_cycles(size), 1)])
        say(f"{size >> 10:9,} KB {found['footprints'][-1][1]:7.1f} cycles")
    found["flights"] = measuring.flights()
    for flight in found["flights"]:
        say("  ".join(f"{name} {value}" for name, value in flight.items()))
    found["waits"] = {}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "smemnb.laboratory.latency", "launch"]
    try:
        printed = stalls.printed(command, NAMES)
        if raw is not None:
            raw.write_text(printed, encoding="utf-8")
        found["waits"] = rounded(stalls.launches(printed))
    except SmemnbError as error:
        say(f"no counters: {error}")
        return
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for name, read in found["waits"].items():
        say(f"{name}: {read}")


def rounded(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The launches of `waiting`, by the kernels' own names, to three digits behind the point."""
    from .waiting import KERNELS

    named = {name: next((one for one in KERNELS if one in name), name) for name in found}
    return {
        named[name]: {key: round(value, 3) for key, value in read.items()}
        for name, read in found.items()
    }
