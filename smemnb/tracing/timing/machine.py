"""The constants of a multiprocessor, each with its doubt, its unit and its source.

`CONSTANTS` and `MEMORY` are the only places where a number of the hardware stands in this room. A
constant either follows from a reading of smemnb's own microbenchmarks that is recorded, and
`source` says how, or it is published: then `recorded` is "". `reading` names the microbenchmark, of
`smemnb.laboratory.rates` or `smemnb.laboratory.latency`. None was fitted to a kernel that is
predicted: products, transposes and the kernels of `laboratory.times` are the test.

H100 and H200 have the same multiprocessors and L2, so `CONSTANTS` are of both; what is read of one
of them is taken for the other. `MEMORY` has what differs.

`low` and `high` are what the constant may as well be; `prediction` runs the model with them too,
and what changes then is not said.

**Limits**: two chips, H100 SXM and H200. Latencies of the H100's L2 and DRAM are those of the H200,
with a wider doubt. Rates of DRAM and L2 are those of long runs of whole lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ...errors import SmemnbError
from ...hardware import SECTOR_BYTES, Chip, chip

__all__ = [
    "CONSTANTS",
    "MEMORY",
    "ORDER",
    "UNREAD",
    "WHOLE",
    "Constant",
    "Machine",
    "Use",
    "constants",
    "machine",
]

UNREAD: Final = "published, not yet read by smemnb's own microbenchmarks"
_LATENCY = "h200_latency.json"
_RATES, _LATER = "h100_rates.json", "h200_rates.json"
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
        20,
        "cycles",
        "a step of a chase is 29.03 cycles, of which 6 are the instruction that makes "
        "the address, 4 the way into the queue and 1 the wavefront",
        "shared_followed_4",
        _LATENCY,
    ),
    Constant(
        "l1_latency",
        27,
        26,
        28,
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
        "constant_latency",
        27,
        26,
        28,
        "cycles",
        "a step of a chase is 34.25 cycles (548.03 per 16), less 6 for the address and "
        "1 of the pipe",
        "constants",
        _RATES,
    ),
    Constant(
        "special_latency",
        9,
        8,
        10,
        "cycles",
        "behind the 8 cycles of the pipe: a power of two is followed after 23.0 cycles "
        "(368.0 per 16), less 8 and 6 of the product before it; a count of bits after "
        "23.1",
        "power_1x1",
        _RATES,
    ),
    Constant(
        "exchange_latency",
        19,
        18,
        20,
        "cycles",
        "a step of a chain of shuffles is 24.03 cycles (384.5 per 16), less 4 and 1 as "
        "for shared memory",
        "exchanged_1x1",
        _RATES,
    ),
    Constant(
        "barrier_each",
        2.0,
        2,
        2.1,
        "cycles",
        "a barrier of 32 warps is 78.5 cycles (1256.719 per 16), of 16 warps 45.4: 2.07"
        " for each warp",
        "barriers_32",
        _RATES,
    ),
    Constant(
        "barrier_latency",
        11,
        10,
        12,
        "cycles",
        "a barrier of one warp is 15.1 cycles (241.25 per 16), less 2 for its turn and "
        "2 of its stall",
        "barriers_1",
        _RATES,
    ),
    Constant(
        "branch_extra",
        5,
        4,
        6,
        "cycles",
        "a loop whose instructions stall for 30 cycles, with its jump, is 35.0 cycles "
        "(560.0 per 16)",
        "branches",
        _LATER,
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
        "multiply-adds of three registers of few banks: of windows from 2 to 6 cycles, "
        "2 and 3 predict the eight loops within 10 % (440.1 cycles of 64 by 4 warps: "
        f"448 and 412); {_HUERTA} says 3",
        "outer_8_apart_9_16",
        _RATES,
    ),
    Constant(
        "policy",
        0,
        0,
        2,
        "",
        "the warp that issued last, then the youngest: 369 cycles predicted, in turn "
        f"448, read are 360.0; {_HUERTA}; 1: the oldest; 2: in turn",
        "outer_8_apart_1_16",
        _RATES,
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
        "l2_bytes_per_cycle",
        2202,
        2140,
        2280,
        "bytes per cycle of the chip",
        "16 MB are read at 4360.3 GB/s, at 1.98 GHz",
        "read_l2",
        _RATES,
    ),
    Constant(
        "packet_sectors",
        1.2,
        0.9,
        1.5,
        "sectors",
        "a store's line with one sector takes 1 / 31.7 of a cycle of the chip (251.1 "
        "GB/s by words), with four 1 / 13.5 (3408.6 GB/s): a head of 1.2 sectors goes "
        "before each",
        "write_columns",
        _RATES,
    ),
    Constant(
        "block_start",
        290,
        240,
        340,
        "cycles",
        "a block of 256 threads that lasts for 8192 cycles is followed 8622 cycles "
        "after its start (1077.73 by 8 resident), of 1024 threads 8636 (4318.24 by 2): "
        "430 and 444 beyond, of which some 120 and 170 are instructions, the clock's "
        "step and the barrier",
        "lasting_of_256",
        _LATER,
    ),
    Constant(
        "warp_start",
        0,
        0,
        1,
        "cycles",
        "1024 threads take no longer to start than 256: 444 and 430 cycles",
        "lasting_of_1024",
        _LATER,
    ),
    Constant(
        "block_interval",
        157,
        150,
        165,
        "cycles",
        "a block that does nothing is followed by the next one after 157.1 cycles, of "
        "32 threads as of 256 (157.12): with 132 multiprocessors 0.84 blocks per cycle "
        "of the chip",
        "blocks_of_32",
        _RATES,
    ),
)
"""Of the multiprocessors and L2 of every chip here."""

MEMORY: Final = {
    "H200": (
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
            "dram_read",
            4.319e12 / 1.98e9,
            4.25e12 / 1.98e9,
            4.36e12 / 1.98e9,
            "bytes per cycle of the chip",
            "reads reach 4319 GB/s (flights)",
            "read_dram",
            _LATENCY,
        ),
        Constant(
            "dram_copied",
            4.263e12 / 1.98e9,
            4.19e12 / 1.98e9,
            4.32e12 / 1.98e9,
            "bytes per cycle of the chip",
            "copy_wide of 1 GiB reaches 4263 GB/s (`hardware.CHIPS`)",
            "copy_by_1024_bytes",
            "h200_bench.json",
        ),
    ),
    "H100 SXM": (
        Constant(
            "dram_latency",
            656,
            560,
            760,
            "cycles",
            "that of the H200, not read on an H100",
            "dram_slowest_1",
        ),
        Constant(
            "dram_read",
            2.7398e12 / 1.98e9,
            2.69e12 / 1.98e9,
            2.86e12 / 1.98e9,
            "bytes per cycle of the chip",
            "1 GB is read at 2739.8 GB/s; it is written at 2857.9",
            "read_dram",
            _RATES,
        ),
        Constant(
            "dram_copied",
            2.5401e12 / 1.98e9,
            2.49e12 / 1.98e9,
            2.59e12 / 1.98e9,
            "bytes per cycle of the chip",
            "256 MB are copied at 2540.1 GB/s, both ways together, by rows of 512 bytes",
            "copy_by_512_bytes",
            _RATES,
        ),
    ),
}
"""What the memory of a chip does; reads and copies differ, because a bus turns round."""

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
    "sector_in",
    "packet_in",
    "block_start",
    "warp_start",
    "block_interval",
    "barrier_each",
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


PORT_BYTES: Final = 64
"""Per cycle between a multiprocessor and L2 (NVIDIA A100 whitepaper, p. 35)."""


@dataclass(frozen=True)
class Use:
    """Shares of the rates of L2, for loads and for stores, and of DRAM that a launch uses."""

    loads: float
    stores: float
    dram: float


WHOLE: Final = Use(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Machine:
    """A chip whose constants are known.

    Attributes:
        chip: of `hardware.CHIPS`.
        constants: name -> value, as `constants` or with some of them changed.
    """

    chip: Chip
    constants: dict[str, float]

    def row(
        self, busy: int, stored: float = 0.5, use: Use = WHOLE
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """What the scheduler takes, where so many multiprocessors share L2 and DRAM.

        Multiprocessors do not ask at the same moments. Where all of them together use a share of a
        rate, one of them gets that much sooner what it asks for, down to the width of its port.

        Args:
            busy: multiprocessors at work.
            stored: share of stores in what goes to DRAM and comes from there. With as many as loads
                its rate is that of copies, with none or nothing else that of reads.
            use: shares of the rates of L2 and DRAM that are used.
        """
        known = dict(self.constants)
        port = SECTOR_BYTES / PORT_BYTES
        l2 = SECTOR_BYTES * busy / known["l2_bytes_per_cycle"]
        turning = 4 * stored * (1 - stored)
        rate = known["dram_read"] + (known["dram_copied"] - known["dram_read"]) * turning
        known["sector_l2"] = max(l2 * use.loads, port)
        known["sector_in"] = max(l2 * use.stores, port)
        known["packet_in"] = known["packet_sectors"] * known["sector_in"]
        known["sector_dram"] = max(SECTOR_BYTES * busy / rate * use.dram, port)
        known["block_interval"] *= busy / self.chip.sms
        return np.array([known[name] for name in ORDER], np.float64)

    def changed(self, **values: float) -> Machine:
        """The same with other constants."""
        unknown = set(values) - set(self.constants)
        if unknown:
            raise SmemnbError(f"no constants of these names: {', '.join(sorted(unknown))}")
        return Machine(self.chip, {**self.constants, **values})


def constants(gpu: str) -> tuple[Constant, ...]:
    """The constants of a GPU.

    Raises:
        SmemnbError: those of this GPU are not known.
    """
    try:
        found = chip(gpu)
    except ValueError as error:
        raise SmemnbError(str(error)) from None
    if found.name not in MEMORY:
        raise SmemnbError(
            f"the model of time has the constants of {' and '.join(MEMORY)}, not of {found.name}."
            " Those of another chip are not a safe guess: its latencies and rates differ"
        )
    return (*CONSTANTS, *MEMORY[found.name])


def machine(gpu: str) -> Machine:
    """The machine of a GPU.

    >>> machine("H200").constants["shared_latency"]
    18

    Raises:
        SmemnbError: constants of this GPU are not known.
    """
    known = constants(gpu)
    return Machine(chip(gpu), {one.name: one.value for one in known})
