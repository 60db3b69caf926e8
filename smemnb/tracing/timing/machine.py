"""The constants of a multiprocessor, each with its doubt, its unit and its source.

`CONSTANTS` is the only place where a number of the hardware stands in this room. A constant either
follows from a reading of smemnb's own microbenchmarks that is recorded, or it is published and not
yet read: then `recorded` is "" and `reading` names the microbenchmark of
`smemnb.laboratory.rates` that will replace it. None was fitted to a kernel that is predicted.

`low` and `high` are what the constant may as well be; `prediction` runs the model with them too,
and what changes then is not said.

**Limits**: one chip, the H200. Rates of DRAM and L2 are those of long runs of whole lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...errors import SmemnbError
from ...hardware import SECTOR_BYTES, Chip, chip

__all__ = ["CONSTANTS", "ORDER", "UNREAD", "Constant", "Machine", "machine"]

UNREAD: Final = "published, not yet read by smemnb's own microbenchmarks"
_LATENCY = "h200_latency.json"
_HUERTA = "Huerta et al., Analyzing Modern NVIDIA GPU cores, arXiv 2503.20481"
_GUIDE = "CUDA C++ Programming Guide, Arithmetic Instructions, results per cycle of cc 9.0"


@dataclass(frozen=True)
class Constant:
    """A number of the hardware.

    Attributes:
        name: as the model calls it.
        value: what the model takes.
        low, high: what it may as well be.
        unit: of the three.
        source: where it comes from.
        reading: microbenchmark that gives it, of `laboratory.rates` or `laboratory.latency`.
        recorded: file of the recorded reading; "" where there is none yet.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    reading: str
    recorded: str = ""

    @property
    def standing(self) -> str:
        """Where the number stands: read by us, or published."""
        return f"read ({self.recorded})" if self.recorded else UNREAD


CONSTANTS: Final = (
    Constant(
        "shared_latency",
        18,
        17,
        22,
        "cycles",
        "a step of a chase is 29.03 cycles, of which 6 are the instruction that makes the address,"
        " 4 the way into the queue and 1 the wavefront",
        "shared_followed_4",
        _LATENCY,
    ),
    Constant(
        "l1_latency",
        27,
        24,
        30,
        "cycles",
        "a step of a chase within 32 KB is 39.1 cycles, less 6 for the address (64 bits), 4 and 1",
        "l1_slowest_1",
        _LATENCY,
    ),
    Constant(
        "l2_near_latency",
        276,
        260,
        290,
        "cycles",
        "a step of a chase within 1 to 24 MB is 287.5 cycles, less 11 as for L1",
        "l2_slowest_1",
        _LATENCY,
    ),
    Constant(
        "l2_far_latency",
        511,
        276,
        560,
        "cycles",
        "a step of a chase within 40 to 58 MB is 522 cycles, less 11: the other half of L2",
        "l2_slowest_16",
        _LATENCY,
    ),
    Constant(
        "dram_latency",
        656,
        600,
        740,
        "cycles",
        "a step of a chase beyond 64 MB is 667 cycles, less 11",
        "dram_slowest_1",
        _LATENCY,
    ),
    Constant(
        "constant_latency",
        26,
        20,
        40,
        "cycles",
        "Jia et al., Dissecting the NVIDIA Volta GPU Architecture, arXiv 1804.06826: 27 cycles of"
        " the constant cache's first level",
        "constants",
    ),
    Constant(
        "special_latency",
        20,
        14,
        28,
        "cycles",
        f"{_HUERTA}: instructions of variable latency; behind the 8 cycles that its pipe is busy",
        "root_1x1",
    ),
    Constant(
        "exchange_latency",
        19,
        17,
        24,
        "cycles",
        "as a load from shared memory, whose path a shuffle takes",
        "exchanged_1x1",
    ),
    Constant(
        "barrier_latency",
        6,
        3,
        20,
        "cycles",
        "Luo et al., Dissecting the NVIDIA Hopper Architecture, arXiv 2501.12084: a barrier of few"
        " warps costs some 20 cycles, with the stall of 5 to 6 that its machine code says",
        "barriers_8",
    ),
    Constant(
        "branch_extra",
        2,
        0,
        8,
        "cycles",
        f"{_HUERTA}: a taken branch, beyond the stall that its machine code says",
        "branches",
    ),
    Constant(
        "queue_places",
        8,
        5,
        12,
        "accesses",
        f"{_HUERTA}: accesses of a quarter that wait for the common path",
        "shared_loads_4_1_partitions",
    ),
    Constant(
        "queue_delay",
        4,
        2,
        8,
        "cycles",
        f"{_HUERTA}: from issue to the common path, with the making of addresses",
        "shared_followed_4",
    ),
    Constant(
        "window",
        3,
        2,
        4,
        "cycles",
        f"{_HUERTA}: sources are read within 3 cycles, one register of each of 2 banks per cycle",
        "outer_8_apart_5_16",
    ),
    Constant(
        "policy",
        0,
        0,
        2,
        "",
        f"{_HUERTA}: the warp that issued last, then the youngest; 1: the oldest; 2: in turn",
        "multiply_add_16x4",
    ),
    Constant(
        "l2_bytes_per_cycle",
        5120,
        4000,
        6000,
        "bytes per cycle of the chip",
        "NVIDIA A100 whitepaper, p. 35; the H100 whitepaper names no other",
        "read_l2",
    ),
    Constant(
        "dram_bytes_per_cycle",
        4.263e12 / 1.98e9,
        4.19e12 / 1.98e9,
        4.32e12 / 1.98e9,
        "bytes per cycle of the chip",
        "copy_wide of 1 GiB reaches 4263 GB/s (`hardware.CHIPS`), reads 4319 (flights)",
        "read_dram",
        _LATENCY,
    ),
    Constant(
        "read_release",
        8,
        4,
        16,
        "cycles",
        f"{_HUERTA}: until the sources of an access have been read, after its turn on the path",
        "shared_stores_4",
    ),
    Constant(
        "partly_l2_cycles",
        0.0,
        0,
        0,
        "cycles of L2 for each sector that a store fills in part",
        "",
        "write_apart_l2",
    ),
    Constant("block_start", 6, 3, 400, "cycles", "", "blocks_of_1024"),
    Constant("warp_start", 0, 0, 4, "cycles", "", "blocks_of_1024"),
)
"""All of them, in the order in which `ORDER` names what the scheduler takes."""

ORDER: Final = (
    "shared_latency",
    "l1_latency",
    "l2_near_latency",
    "l2_far_latency",
    "dram_latency",
    "constant_latency",
    "special_latency",
    "exchange_latency",
    "barrier_latency",
    "branch_extra",
    "queue_places",
    "queue_delay",
    "window",
    "policy",
    "sector_l2",
    "sector_dram",
    "read_release",
    "partly_l2",
    "block_start",
    "warp_start",
)
"""What `scheduler.simulate` is given, in order; sectors are cycles for 32 bytes."""

RATES: Final = {
    "fma": (1, _GUIDE + ": 128 multiply-adds, 32 for a quarter", "multiply_add_16x4"),
    "heavy": (2, _GUIDE + ": 64 products of integers, 16 for a quarter", "multiply_add_int_16x4"),
    "alu": (2, _GUIDE + ": 64 sums, comparisons, shifts of integers", "xor_add_16x4"),
    "uniform": (2, _HUERTA + ": one per 2 cycles", "multiply_add_beside_xor_add"),
    "special": (8, _GUIDE + ": 16 special functions, 4 for a quarter", "root_16x4"),
    "double": (2, _GUIDE + ": 64 multiply-adds of float64", "multiply_add64_16x4"),
    "popc": (8, _GUIDE + ": 16 counts of bits", "bits_set_16x4"),
    "wide": (4, "two passes of the pipe of products, for 64 bits", "multiply_add_wide_16x4"),
}
"""Pipe or group -> cycles that an instruction occupies it, source, reading to replace it."""

_CHIPS = ("H200",)


@dataclass(frozen=True)
class Machine:
    """A chip whose constants are known.

    Attributes:
        chip: of `hardware.CHIPS`.
        constants: name -> value, as `CONSTANTS` or with some of them changed.
    """

    chip: Chip
    constants: dict[str, float]

    def row(self, busy: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """What the scheduler takes, where so many multiprocessors share L2 and DRAM."""
        known = dict(self.constants)
        known["sector_l2"] = SECTOR_BYTES * busy / known["l2_bytes_per_cycle"]
        known["sector_l2"] = max(known["sector_l2"], SECTOR_BYTES / 64)  # a port has 64 bytes
        known["sector_dram"] = SECTOR_BYTES * busy / known["dram_bytes_per_cycle"]
        known["partly_l2"] = busy * known["partly_l2_cycles"]
        return np.array([known[name] for name in ORDER], np.float64)

    def changed(self, **values: float) -> Machine:
        """The same with other constants."""
        unknown = set(values) - set(self.constants)
        if unknown:
            raise SmemnbError(f"no constants of these names: {', '.join(sorted(unknown))}")
        return Machine(self.chip, {**self.constants, **values})


def machine(gpu: str) -> Machine:
    """The machine of a GPU.

    >>> machine("H200").constants["shared_latency"]
    18

    Raises:
        SmemnbError: constants of this GPU are not known.
    """
    try:
        found = chip(gpu)
    except ValueError as error:
        raise SmemnbError(str(error)) from None
    if found.name not in _CHIPS:
        raise SmemnbError(
            f"the model of time has the constants of {', '.join(_CHIPS)}, not of {found.name}."
            " Those of another chip are not a safe guess: its latencies and rates differ"
        )
    return Machine(found, {one.name: one.value for one in CONSTANTS})
