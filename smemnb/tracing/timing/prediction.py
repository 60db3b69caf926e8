"""The predicted time of a launch: what it is, how sure the model is, and what its warps wait for.

A block or several stand for the launch (`streams`). The blocks that one multiprocessor gets are run
by `scheduler`, as many at a time as `rules.occupancy` says; where they are very many, some of them,
and the rest by the time that each further one took. Time is cycles over the clock.

The same is run again with other constants: latencies, rates, queue and ports at the ends of their
doubt, and other orders of warps. The spread of these times, and the error that the model has on
kernels whose times are recorded, are the uncertainty. A cause that is not the largest in all of
these runs is withheld.

Taught in `41_latency`.

**Limits**: the first launch after nothing else: L2 is cold, and the time of a launch itself, some
microseconds, is not in it. No instruction cache: straight loops of up to 96 KB were read to take
3 % longer at most. Of the pipe of uniform registers one rate was read, of sums and logical
instructions; where others of its instructions fill it (`matmul_naive`), the time is 20 % too short.
Atomics on few addresses wait for each other, which is not modelled; launches that mostly do
scattered atomics on global memory are refused. Nothing else runs at the same time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...compiled.lines import Build
from ...compiled.listing import Located
from ...compiled.warps.run import CodeLaunch, NotDetermined
from ...errors import SmemnbError
from ...hardware import limits
from ...lockstep.texts import shown_line
from ...rules.occupancy import Occupancy, occupancy
from .machine import Machine, Use, constants, machine
from .scheduler import REASONS
from .streams import Ran, Streams, streams

__all__ = ["CLASSES", "LineWaits", "Prediction", "fits_of", "predicted", "whole_launch"]

MODEL_ERROR: Final = 0.15
"""Relative error of the model by itself: what it is off by on kernels whose times are recorded (see
`measure.predictions`), rounded up. No prediction is surer than this."""

MOST_PARTLY: Final = 0.25
"""Share of the sectors that a launch moves by scattered atomics, beyond which it is refused."""
GLOBAL_ATOMICS: Final = ("ATOMG", "ATOM", "RED", "REDG")

MOST_WAVES: Final = 32
"""Waves of blocks beyond which the last one, where it is not full, is not felt."""

INSTRUCTIONS: Final = 400_000
"""Most instructions that are run one by one; beyond, blocks are taken to go on as before."""

CLASSES: Final = {
    "long_scoreboard": "global loads",
    "short_scoreboard": "shared loads and special functions",
    "mio_throttle": "queue of shared memory",
    "lg_throttle": "queue of global memory",
    "barrier": "barrier",
    "math_pipe_throttle": "pipe",
    "dispatch_stall": "dispatch",
    "wait": "fixed latency",
    "branch_resolving": "branch",
    "not_selected": "not selected",
    "selected": "issues",
}
"""Reason, as Nsight Compute calls it -> what is said."""
IDLE: Final = ("selected", "not_selected")

_LATENCIES = ("shared", "l1", "l2_near", "l2_far", "dram", "constant", "special", "exchange")
DOUBTS: Final[dict[str, tuple[str, ...]]] = {
    "latencies": (*(f"{name}_latency" for name in _LATENCIES), "barrier_latency", "branch_extra"),
    "queue": ("queue_places", "queue_delay", "read_release"),
    "ports": ("window",),
    "rates": ("l2_bytes_per_cycle", "packet_sectors", "dram_read", "dram_copied"),
    "blocks": ("block_start", "warp_start", "block_interval"),
}
"""What is changed together, to its low and to its high end."""


@dataclass(frozen=True)
class LineWaits:
    """What warps wait for at one source line.

    Attributes:
        line: of the kernel's file; 0 for instructions that the compiler gave no line.
        source: its text.
        share: of the time of all resident warps, in this line.
        waits: reason -> share of that time.
    """

    line: int
    source: str
    share: float
    waits: dict[str, float]

    @property
    def largest(self) -> str:
        """The reason for which warps stand here most; "" if they never do."""
        standing = {name: each for name, each in self.waits.items() if name not in IDLE and each}
        return max(standing, key=lambda name: standing[name], default="")


@dataclass(frozen=True, repr=False)
class Prediction:
    """A launch's time in the model.

    Attributes:
        kernel, gpu: names.
        grid, block: of the launch.
        ms: predicted.
        low_ms, high_ms: between which it lies in the model's own doubt.
        cycles: of a multiprocessor.
        issue: share of a scheduler's cycles in which it issues.
        occupancy: blocks and warps that are resident.
        waits: reason -> cycles that a warp spends so per instruction that it issues.
        lines: what warps wait for, by source line.
        causes: the largest reasons, as far as all runs agree; empty if they disagree.
        withheld: why a cause is not said; "" if it is.
        notes: what the prediction leaves out, for this kernel.
        doubts: what was changed -> time in ms.
        sampled: blocks that were executed.
        machine, made: the constants and the blocks, no part of equality.
    """

    kernel: str
    gpu: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    ms: float
    low_ms: float
    high_ms: float
    cycles: float
    issue: float
    occupancy: Occupancy
    waits: dict[str, float]
    lines: tuple[LineWaits, ...]
    causes: tuple[str, ...]
    withheld: str = ""
    notes: tuple[str, ...] = ()
    doubts: dict[str, float] = field(default_factory=dict)
    sampled: int = 1
    machine: Machine | None = field(default=None, compare=False)
    made: Streams | None = field(default=None, compare=False)

    def timeline(self, cycles: int) -> tuple[tuple[str, ...], Any]:
        """The reasons, and the place in them of each warp in each of the first cycles.

        A multiprocessor begins with as many blocks as are resident; -1 where no warp is.

        Raises:
            SmemnbError: a prediction that was read from a file, without its blocks.
        """
        if self.made is None or self.machine is None:
            raise SmemnbError("this prediction has not kept its blocks: predict the launch again")
        blocks = math.prod(self.grid)
        resident = max(1, min(self.occupancy.blocks, -(-blocks // self.machine.chip.sms)))
        busy = min(self.machine.chip.sms, blocks)
        return REASONS, self.made.timeline(self.machine, resident, 4 * resident, busy, cycles)

    @property
    def error(self) -> float:
        """Half of the range, relative to the time."""
        return (self.high_ms - self.low_ms) / 2 / self.ms

    @property
    def unread(self) -> tuple[str, ...]:
        """Constants that are published and were not yet read by microbenchmarks of smemnb."""
        return tuple(one.name for one in constants(self.gpu) if not one.recorded)

    def compared(self, other: Prediction) -> str:
        """Whether it is "faster" or "slower", or, within the error of either, "not told apart"."""
        if self.high_ms < other.low_ms:
            return "faster"
        return "slower" if self.low_ms > other.high_ms else "not told apart"

    def line(self, number: int) -> LineWaits | None:
        """What warps wait for at a line; None if no instruction is of it."""
        return next((one for one in self.lines if one.line == number), None)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, texts and lists."""
        plain = {
            name: getattr(self, name)
            for name in ("kernel", "gpu", "ms", "low_ms", "high_ms", "cycles", "issue", "withheld")
        }
        return {
            "numbers": "model",
            **plain,
            "grid": list(self.grid),
            "block": list(self.block),
            "waits": dict(self.waits),
            "causes": list(self.causes),
            "notes": list(self.notes),
            "doubts": dict(self.doubts),
            "lines": [
                {"line": one.line, "source": one.source, "share": one.share, "waits": one.waits}
                for one in self.lines
            ],
        }

    def __repr__(self) -> str:
        from .report import text

        return text(self)

    def _repr_html_(self) -> str:
        from .report import html

        return html(self)


@dataclass(frozen=True)
class _Plan:
    """Blocks of a launch on one multiprocessor, and how many of them are run."""

    resident: int
    busy: int
    each: float
    first: int
    second: int


def predicted(build: Build, launch: CodeLaunch, kernel: str, gpu: str = "H200") -> Prediction:
    """The time of a launch.

    Raises:
        SmemnbError: a GPU, a kernel or a launch that is not modelled; the text says why.
    """
    known = machine(gpu)
    if build.cc != known.chip.cc:
        raise SmemnbError(
            f"machine code for cc {build.cc[0]}.{build.cc[1]} does not run on {known.chip.name}"
        )
    fits = fits_of(build, launch)
    l1 = limits(build.cc).l1_and_shared_per_sm - fits.carveout
    try:
        made = streams(build, launch, l1 // fits.blocks)
    except NotDetermined as error:
        raise SmemnbError(f"the time of {kernel} is not predicted: {error}") from None
    atomics = any(one.name.split(".")[0] in GLOBAL_ATOMICS for one in build.code)
    if atomics and made.partly > MOST_PARTLY:
        raise SmemnbError(
            f"the time of {kernel} is not predicted: {made.partly:.0%} of the sectors that it moves"
            " are atomics on scattered addresses of global memory, and their rate was not read."
            " Add up in shared memory first"
        )
    return whole_launch(
        build, made, known, fits, kernel, launch.grid, launch.block, math.prod(launch.grid)
    )


def whole_launch(
    build: Build,
    made: Streams,
    known: Machine,
    fits: Occupancy,
    kernel: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    blocks: int,
    *,
    doubting: bool = True,
) -> Prediction:
    """The time of so many blocks of which some were executed.

    Without `doubting` the model runs once, and the range is its own error alone.
    """
    plan = _plan(made, known, fits, blocks)
    first = made.run(known, plan.resident, plan.second, plan.busy)
    base, cycles = _timed(made, known, plan, first.use)
    per_ms = known.chip.cycles_per_s / 1000
    doubts, rankings = {}, [_ranking(first)]
    for name, changed in _others(known) if doubting else ():
        # what a change does to the blocks that are run, it does to all
        ran = made.run(changed, plan.resident, plan.second, plan.busy)
        doubts[name] = cycles / per_ms * ran.cycles / first.cycles
        rankings.append(_ranking(ran))
    low, high = _range(cycles / per_ms, doubts)
    causes, withheld = _causes(rankings)
    notes = _notes(build, made)
    return Prediction(
        kernel=kernel,
        gpu=known.chip.name,
        grid=tuple(grid),
        block=tuple(block),
        ms=cycles / per_ms,
        low_ms=low,
        high_ms=high,
        cycles=cycles,
        issue=base.issued / base.cycles / 4,
        occupancy=fits,
        waits=_per_instruction(base),
        lines=_lines(build, base),
        causes=causes,
        withheld=withheld,
        notes=notes,
        doubts=doubts,
        sampled=made.samples,
        machine=known,
        made=made,
    )


def fits_of(build: Build, launch: CodeLaunch) -> Occupancy:
    """Blocks of a launch that are resident on a multiprocessor.

    Raises:
        SmemnbError: not even one is.
    """
    needs = build.resources
    shared = needs.shared_bytes + launch.shared_bytes
    fits = occupancy(build.cc, math.prod(launch.block), needs.registers, shared)
    if not fits.blocks:
        raise SmemnbError("no block of this launch fits on a multiprocessor: nothing would run")
    return fits


def _plan(made: Streams, known: Machine, fits: Occupancy, blocks: int) -> _Plan:
    sms = known.chip.sms
    busy = min(sms, blocks)
    most = max(2 * fits.blocks, int(INSTRUCTIONS / made.instructions))
    whole = -(-blocks // sms)
    if whole <= most:
        return _Plan(min(fits.blocks, whole), busy, float(whole), 0, whole)
    first = max(fits.blocks, most // 2)
    second = max(first + fits.blocks, most)
    return _Plan(fits.blocks, busy, float(whole), first, second)


def _timed(made: Streams, known: Machine, plan: _Plan, use: Use) -> tuple[Ran, float]:
    """A run, and the cycles of all blocks of a multiprocessor."""
    ran = made.run(known, plan.resident, plan.second, plan.busy, use)
    if ran.cycles < 0:
        raise SmemnbError("the warps of this launch wait for each other without end in the model")
    if not plan.first:
        return ran, ran.cycles
    before = made.run(known, plan.resident, plan.first, plan.busy, use)
    beyond = ran.less(before)
    each = beyond.cycles / (plan.second - plan.first)
    cycles = ran.cycles + (plan.each - plan.second) * each
    left = int(plan.each) % plan.resident
    if left and plan.each < MOST_WAVES * plan.resident:  # the last blocks are fewer, and slower
        alone = made.run(known, left, left, plan.busy, use).cycles
        cycles += max(0.0, alone - left * each)
    return beyond, cycles


def _others(known: Machine) -> list[tuple[str, Machine]]:
    ends = {one.name: (one.low, one.high) for one in constants(known.chip.name)}
    found = []
    for name, group in DOUBTS.items():
        for end, which in enumerate(("low", "high")):
            values = {one: ends[one][end] for one in group}
            found.append((f"{name}, {which}", known.changed(**values)))
    found.append(("the oldest warp first", known.changed(policy=1)))
    found.append(("warps in turn", known.changed(policy=2)))
    return found


def _range(ms: float, doubts: Mapping[str, float]) -> tuple[float, float]:
    """The time less and plus the doubts, which add up as squares."""
    groups: dict[str, list[float]] = defaultdict(list)
    for name, other in doubts.items():
        groups[name.partition(",")[0]].append(other - ms)
    below = math.hypot(MODEL_ERROR * ms, *(min(0.0, *each) for each in groups.values()))
    above = math.hypot(MODEL_ERROR * ms, *(max(0.0, *each) for each in groups.values()))
    return max(ms - below, ms / 10), ms + above


def _ranking(ran: Ran) -> list[str]:
    """Reasons for which warps stand, the largest first."""
    totals = dict(zip(REASONS, ran.waits.sum(axis=0).tolist(), strict=True))
    standing = {name: each for name, each in totals.items() if name not in IDLE and each > 0}
    return sorted(standing, key=lambda name: -standing[name])


def _causes(rankings: list[list[str]]) -> tuple[tuple[str, ...], str]:
    """The largest reasons in which all runs agree, and why there is none."""
    firsts = [ranking[0] for ranking in rankings if ranking]
    if not firsts:
        return (), ""
    if len(set(firsts)) > 1:
        names = ", ".join(CLASSES.get(one, one) for one in dict.fromkeys(firsts))
        return (), f"the largest cause depends on what the model is not sure of: {names}"
    seconds = {ranking[1] for ranking in rankings if len(ranking) > 1}
    return (firsts[0], *(seconds if len(seconds) == 1 else ())), ""


def _per_instruction(ran: Ran) -> dict[str, float]:
    totals = ran.waits.sum(axis=0)
    return {name: float(totals[at]) / ran.issued for at, name in enumerate(REASONS) if totals[at]}


def _lines(build: Build, ran: Ran) -> tuple[LineWaits, ...]:
    whole = max(1.0, float(ran.waits.sum()))
    by_line: dict[tuple[str, int], Any] = {}
    for one, row in zip(build.code, ran.waits, strict=True):
        if row.sum() > 0:
            place = one.places[-1] if one.places else None
            key = (place.file, place.line) if place else ("", 0)
            by_line[key] = by_line.get(key, 0) + row
    return tuple(
        LineWaits(
            line=line,
            source=shown_line(file, line) if line else "",
            share=float(row.sum()) / whole,
            waits={name: float(row[at]) / whole for at, name in enumerate(REASONS) if row[at]},
        )
        for (file, line), row in sorted(by_line.items(), key=lambda pair: pair[0][1])
    )


LOOP_BYTES: Final = 24 << 10


def _notes(build: Build, made: Streams) -> tuple[str, ...]:
    found = []
    spans = [_back(one) for one in build.code if one.name.split(".")[0] == "BRA"]
    if max(spans, default=0) > LOOP_BYTES:
        found.append(
            f"a loop of {max(spans) >> 10} KB of machine code: time for fetching it is left out"
        )
    if any(one.name.split(".")[0] in ("ATOMS", "ATOMG", "ATOM", "RED") for one in build.code):
        found.append("atomics on one address wait for each other, which is left out")
    if any(one.name.split(".")[0] in ("LDL", "STL") for one in build.code):
        found.append("accesses of local memory are taken to be in L1")
    return tuple(found)


def _back(jump: Located) -> int:
    """Bytes that a branch goes back; 0 if it goes forward."""
    target = jump.operands[-1] if jump.operands else ""
    return max(0, jump.address - int(target, 16)) if target.startswith("0x") else 0
