"""Roofline: the least time that a launch can take, and which part of the chip allows no less.

A launch has work for six parts of a GPU. Each of them works off so much per cycle at most; the
slowest of them is the limiter, and no launch that does this work is faster than its time.

    dram      distinct bytes / the memory's rate; nothing if all of them fit the L2 cache, where a
              repeated launch finds them
    l2        bytes between L2 and the SMs: at most 64 per cycle into an SM, and 64 out of it
    l1        passes through the data pipe of an SM, one per cycle: the wavefronts of shared
    shared    memory and the passes of global memory go through the same pipe. The row has the
              name of those that are more.
    fma       float32 multiply-adds / what an SM begins per cycle
    issue     instructions of warps: 4 schedulers per SM, one instruction per cycle each
    latency   bytes that must be on the way (rate x latency, Little's law) against those that the
              resident warps can have on the way

SMs take whole blocks: where all blocks are alike, the last SM to finish has ceil(blocks / SMs) of
them, and the rows of SMs count with that.

Sources: one wavefront per SM and cycle, sectors and instruction counts are the rules of `bank` and
`sector`; schedulers and lanes per cycle the CUDA Programming Guide ("Arithmetic Instructions").
4 tags per cycle: NVIDIA's developer forum on Volta's L1. That loads of words of one bank in
different lines take a pass each: a product without coalescing takes 17 passes per step and 140.07
ms on an H200, which is 1.00 of the row `l1`. Measured latencies of DRAM are above 400 cycles
(arXiv:2402.13499).

Taught in the chapter on rooflines. **Limits**: a bound, not a prediction. What is left out only
costs more time: conflicts of register banks, instructions that are issued at half rate, waiting at
barriers, DRAM that turns from reading to writing, the launch itself. Counts of the source may be
above those of the machine code, where the compiler merges loads: see `Work.source_counts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..hardware import SECTOR_BYTES, WARP_LANES, Chip, limits

__all__ = ["Bound", "Row", "Work", "bound", "bytes_on_the_way", "global_passes"]

SCHEDULERS = 4
L2_BYTES_PER_CYCLE = 64  # into an SM, and as many out of it
TAGS_PER_CYCLE = 4
LATENCY_CYCLES = 400  # of a load that DRAM serves, at least


@dataclass(frozen=True)
class Work:
    """What a launch has to do, summed over its blocks unless said otherwise.

    Attributes:
        name: of the launch.
        blocks: of the grid.
        threads: of a block.
        resident: blocks that an SM holds at once (`rules.occupancy`).
        loaded_bytes, stored_bytes: distinct bytes of global memory that are read, and written.
        block_loads: distinct bytes that one block reads.
        store_sectors: sectors of all store requests; every store goes on to L2.
        global_passes: passes of global requests through L1.
        wavefronts: of shared memory.
        fma: float32 multiply-adds, one per lane.
        instructions: of warps, as many as are known; at least the fma count anyway.
        warp_loads: bytes that a warp has on the way at most, None if that is not known.
        alike: whether all blocks do the same.
        estimated: whether only some blocks were looked at.
        source_counts: whether requests are those of the source, not of the machine code.
    """

    name: str
    blocks: int
    threads: int
    resident: int = 1
    loaded_bytes: int = 0
    stored_bytes: int = 0
    block_loads: int = 0
    store_sectors: int = 0
    global_passes: int = 0
    wavefronts: int = 0
    fma: int = 0
    instructions: int = 0
    warp_loads: int | None = None
    alike: bool = True
    estimated: bool = False
    source_counts: bool = True


@dataclass(frozen=True)
class Row:
    """One part of the chip: how much it has to do, how much it does per second, how long."""

    resource: str
    amount: float
    unit: str
    per_second: float

    @property
    def seconds(self) -> float:
        """The least time."""
        return self.amount / self.per_second if self.amount else 0.0


@dataclass(frozen=True, repr=False)
class Bound:
    """The least time of a launch on a chip, by resource.

    Attributes:
        rows: one per resource, in the order of the module's docstring.
        busy_sms: SMs that have work on average while the launch runs.
        reached: seconds if DRAM gave only what a copy was seen to reach; None if unknown.
    """

    work: Work
    chip: Chip
    rows: tuple[Row, ...]
    busy_sms: float
    reached: float | None = None

    @property
    def _slowest(self) -> Row:
        return max(self.rows, key=lambda row: row.seconds)

    @property
    def limiter(self) -> str:
        """The resource that allows no less: "dram", "l2", "l1", "shared", "fma", "issue"..."""
        return self._slowest.resource

    @property
    def seconds(self) -> float:
        """The least time."""
        return self._slowest.seconds

    @property
    def ms(self) -> float:
        """The least time in milliseconds."""
        return self.seconds * 1e3

    def of(self, resource: str) -> Row:
        """The row of a resource.

        Raises:
            KeyError: there is no such row; the pipe of L1 is called "l1" or "shared".
        """
        rows = {row.resource: row for row in self.rows}
        if resource not in rows:
            raise KeyError(f"no row {resource!r}; there are {', '.join(rows)}")
        return rows[resource]

    def ratio(self, seconds: float) -> float:
        """Measured over bound: 1 would be perfect, below 1 the bound would be wrong."""
        return seconds / self.seconds if self.seconds else float("inf")

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def bound(work: Work, chip: Chip) -> Bound:
    """The least time of `work` on `chip`.

    Why the naive product waits for L1 and not for arithmetic: for each multiply-add a warp of 2
    rows of 16 threads loads an element of a (2 rows, whose words share a bank: 2 passes) and one of
    b (16 neighbours: 1 pass). L1 takes a pass per cycle; in that cycle the SM could begin the
    multiply-adds of 4 warps. So L1 takes 12 times as long as arithmetic would.

    >>> from smemnb.hardware import chip
    >>> n, per_warp = 4096, 4096**3 // 32
    >>> naive = Work("naive", n * n // 256, 256, fma=n**3, global_passes=3 * per_warp)
    >>> found = bound(naive, chip("H200"))
    >>> found.limiter, round(found.of("l1").seconds / found.of("fma").seconds, 3)
    ('l1', 12.0)

    With 8x8 results per thread, a step has 64 multiply-adds for 16 words read: by 16 bytes at a
    time, where pairs of lanes share what they read, that is 8 wavefronts. They fill half of the
    pipe, and arithmetic is left as the limit:

    >>> wide = Work("8x8", n * n // 128**2, 256, fma=n**3, wavefronts=per_warp * 8 // 64)
    >>> print(bound(wide, chip("H200")))
    8x8: at least 2.118 ms on H200, limited by fma (model of the source)
      dram                   0 B            4.8 TB/s      0.000 ms
      l2                     0 B           16.2 TB/s      0.000 ms
      shared        268 M passes      253 G passes/s      1.059 ms
      fma             68.7 G fma        32.4 T fma/s      2.118 ms  <
      issue         2.15 G instr      1.01 T instr/s      2.118 ms
      latency                0 B           5.23 GB/s      0.000 ms
      1024 blocks, 1 at once per SM; 97.0% of 132 SMs busy

    Raises:
        ValueError: no block, or none that an SM can hold.
    """
    if work.blocks < 1 or work.resident < 1:
        raise ValueError(
            f"{work.name} has {work.blocks} blocks, and an SM holds {work.resident} of them;"
            " a bound needs at least one of each"
        )
    busy = _busy_sms(work, chip)
    rows = tuple(_rows(work, chip, busy))
    slower = [row.seconds for row in rows if row.resource != "dram"]
    reached = None
    if chip.dram_reached is not None:
        reached = max(*slower, rows[0].amount / chip.dram_reached)
    return Bound(work, chip, rows, busy, reached)


def bytes_on_the_way(chip: Chip) -> float:
    """Bytes that must be on the way from DRAM at any time to use all of its rate.

    Little's law, rate x latency. Of an H200's 132 SMs each needs 7346 bytes: 58 warps with one load
    of 4 bytes per lane each, or 15 with four of them:

    >>> from smemnb.hardware import chip
    >>> per_sm = bytes_on_the_way(chip("H200")) / 132
    >>> round(per_sm), int(-(-per_sm // 128)), int(-(-per_sm // 512))
    (7346, 58, 15)
    """
    return chip.dram_bytes_per_s * LATENCY_CYCLES / chip.cycles_per_s


def global_passes(wavefronts: int, lines: int) -> int:
    """Passes of a global request through L1: one word of each bank, 4 lines, at a time.

    Args:
        wavefronts: what the bank rule says of its addresses.
        lines: distinct lines of 128 bytes.

    >>> global_passes(1, 1), global_passes(16, 16), global_passes(1, 32)
    (1, 16, 8)
    """
    return max(wavefronts, -(-lines // TAGS_PER_CYCLE))


def _busy_sms(work: Work, chip: Chip) -> float:
    """SMs over which work of SMs is spread at best; blocks are not divided."""
    if work.alike:
        return work.blocks / -(-work.blocks // chip.sms)
    return min(work.blocks, chip.sms)


def _rows(work: Work, chip: Chip, busy: float) -> Iterator[Row]:
    cycles = busy * chip.cycles_per_s
    distinct = work.loaded_bytes + work.stored_bytes
    from_dram = distinct > chip.l2_bytes
    yield Row("dram", distinct if from_dram else 0, "B", chip.dram_bytes_per_s)
    yield _l2(work, chip, cycles)
    passes = work.wavefronts + work.global_passes
    pipe = "shared" if work.wavefronts > work.global_passes else "l1"
    yield Row(pipe, passes, "passes", cycles)
    yield Row("fma", work.fma, "fma", chip.fp32_lanes * cycles)
    instructions = max(work.instructions, -(-work.fma // WARP_LANES))
    yield Row("issue", instructions, "instr", SCHEDULERS * cycles)
    yield _latency(work, chip, from_dram=from_dram)


def _l2(work: Work, chip: Chip, cycles: float) -> Row:
    """The busier direction between L2 and the SMs."""
    own = work.block_loads - limits(chip.cc).l1_and_shared_per_sm
    loads = max(work.loaded_bytes, work.blocks // work.resident * max(own, 0))
    stores = max(work.stored_bytes, work.store_sectors * SECTOR_BYTES)
    rate = L2_BYTES_PER_CYCLE * cycles
    if chip.l2_bytes_per_cycle is not None and loads >= stores:
        rate = min(rate, chip.l2_bytes_per_cycle * chip.cycles_per_s)
    return Row("l2", max(loads, stores), "B", rate)


def _latency(work: Work, chip: Chip, *, from_dram: bool) -> Row:
    """Loads from DRAM at the rate at which resident warps can ask for them."""
    loaded = work.loaded_bytes if from_dram and work.warp_loads else 0
    warps = -(-work.threads // WARP_LANES)
    held = min(work.resident * chip.sms, work.blocks) * warps * (work.warp_loads or 1)
    return Row("latency", loaded, "B", held * chip.cycles_per_s / LATENCY_CYCLES)


def _lines(found: Bound) -> Iterator[str]:
    work, chip = found.work, found.chip
    said = "an estimate, " if work.estimated else ""
    said += "model" if not work.source_counts else "model of the source"
    yield (
        f"{work.name}: at least {found.ms:.3f} ms on {chip.name}, limited by {found.limiter}"
        f" ({said})"
    )
    for row in found.rows:
        amount, rate = _short(row.amount, row.unit), f"{_short(row.per_second, row.unit)}/s"
        mark = "  <" if row.resource == found.limiter else ""
        yield f"  {row.resource:8}{amount:>18}{rate:>20}{row.seconds * 1e3:11.3f} ms{mark}"
    busy = found.busy_sms / chip.sms
    yield (
        f"  {work.blocks} blocks, {work.resident} at once per SM; {busy:.1%} of {chip.sms} SMs busy"
    )
    if found.reached is not None and found.limiter == "dram":
        rate = _short(chip.dram_reached or 0, "B")
        yield f"  a copy was seen to reach {rate}/s of DRAM: {found.reached * 1e3:.3f} ms"


def _short(number: float, unit: str) -> str:
    """Three digits, a letter and the unit: 1.07 GB, 537 M passes."""
    letter, size = next(
        (one for one in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)) if number >= one[1]),
        ("", 1.0),
    )
    return " ".join(f"{number / size:.3g} {letter}{'' if unit == 'B' else ' '}{unit}".split())
