"""What can be said of candidates without a GPU: threads, memory, registers, wavefronts.

Wavefronts are counted in the engine, on one block. Registers, how many blocks they leave room for,
the share of FFMA in the main loop, and FFMA that wait for a bank of registers come from the machine
code, where the compiler's wheels are installed. None of it is a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...compiled.machine import count, one_bank_reads
from ...hardware import WARP_LANES, Chip
from ...kernels.matmul.tiling import Tiling
from ...rules.occupancy import occupancy
from ..bounds.counts import counts
from ..bounds.machine_code import machine_code
from ..rows import Row, head, row
from .outcome import words
from .search import candidates
from .space import Choices, Step, differences, rung_of

__all__ = ["Estimate", "beside", "estimate", "lines"]


@dataclass(frozen=True)
class Estimate:
    """What is known of a candidate before it runs.

    Attributes:
        threads: of a block.
        shared_bytes: of a block.
        wavefronts: of a product, of a warp's reads of both tiles for one step of the depth; of a
            transpose, of all requests to the tile of one block.
        least_wavefronts: the fewest that move so many distinct bytes through 32 banks; 0 of a
            product, where lanes share what they read.
        registers: per thread; None where nothing was compiled.
        resident: blocks of a multiprocessor at once; without registers, what threads and shared
            memory leave room for.
        ffma_percent: of the main loop; None without one.
        bank_waits: FFMA of the main loop whose three sources lie in one bank of registers.
        local: loads and stores of local memory in the main loop: spills, mostly.
    """

    threads: int
    shared_bytes: int
    wavefronts: int
    least_wavefronts: int
    registers: int | None
    resident: int
    ffma_percent: int | None = None
    bank_waits: int | None = None
    local: int | None = None


def estimate(choices: Choices, chip: Chip, *, compiled: bool = True) -> Estimate:
    """What can be said of some choices on a chip."""
    rung = rung_of(choices)
    threads = rung.block[0] * rung.block[1]
    wavefronts, least = _wavefronts(choices)
    if isinstance(choices, Tiling):
        types = f"void({', '.join(['float32[:, ::1]'] * 3)}, float32, float32)"
    else:
        types = f"void({', '.join([f'{choices.dtype}[:, ::1]'] * 2)})"
    code = machine_code(rung.kernel, types, chip.cc) if compiled else None
    registers = None if code is None else code.registers
    held = occupancy(chip.cc, threads, registers or 0, choices.shared_bytes)
    found = Estimate(threads, choices.shared_bytes, wavefronts, least, registers, held.blocks)
    if code is None or not code.loop_fma:
        return found
    return Estimate(
        threads,
        choices.shared_bytes,
        wavefronts,
        least,
        registers,
        held.blocks,
        100 * count(code.loop, "FFMA") // len(code.loop),
        one_bank_reads(code.loop),
        count(code.loop, "LDL") + count(code.loop, "STL"),
    )


def _wavefronts(choices: Choices) -> tuple[int, int]:
    """Wavefronts of one block, and the fewest; of a product per warp and step of the depth."""
    rung = rung_of(choices)
    rows, cols = rung.tile
    if not isinstance(choices, Tiling):
        kind = np.dtype(str(choices.dtype))
        arrays = np.zeros((cols, rows), kind), np.zeros((rows, cols), kind)
        seen = counts(rung.kernel, ((1, 1), rung.block), arrays)
        moved = 2 * choices.shared_bytes // (WARP_LANES * 4)
        return seen.load_wavefronts + seen.store_wavefronts, moved
    found = []
    for tiles in (1, 2):  # what the second pair of tiles adds
        depth = tiles * rung.depth
        out, a, b = (
            np.zeros(shape, np.float32) for shape in ((rows, cols), (rows, depth), (depth, cols))
        )
        scaled = np.float32(1), np.float32(0)
        seen = counts(rung.kernel, ((1, 1), rung.block), (out, a, b, *scaled))
        found.append(seen.load_wavefronts)
    warps = choices.threads // WARP_LANES
    return (found[1] - found[0]) // (warps * choices.depth), 0


def lines(
    best: Choices, steps: Sequence[Step], chip: Chip, *, compiled: bool = True
) -> Iterator[str]:
    """A line per candidate as it is found, step by step; refused ones with their reason."""
    yield from _heading(best)
    yield _line("as it is", estimate(best, chip, compiled=compiled))
    for step in steps:
        yield f"{step.name}: {step.why}"
        made, refused = candidates(step, best)
        for one in made:
            yield _line(_name(one, best), estimate(one, chip, compiled=compiled))
        for attempt in refused:
            yield f"  {words(attempt.changes)}: refused. {attempt.timed.failed}"


def beside(best: Choices, yours: Choices, chip: Chip, *, compiled: bool = True) -> Iterator[str]:
    """A line for the package's choices, and one for somebody's own."""
    yield from _heading(best)
    yield _line("the package's", estimate(best, chip, compiled=compiled))
    yield _line("yours", estimate(yours, chip, compiled=compiled))


def _heading(best: Choices) -> Iterator[str]:
    product = isinstance(best, Tiling)
    last = (f"{'FFMA %':>8}", f"{'waits':>7}", f"{'local':>7}") if product else (f"{'least':>7}",)
    common = f"{'threads':>8}", f"{'shared':>8}", f"{'regs':>6}", f"{'blocks':>7}"
    yield head(" " * 44, *common, f"{'wavefronts':>11}", *last)


def _name(choices: Choices, best: Choices) -> str:
    return words(differences(choices, best))


def _line(name: str, found: Estimate) -> Row:
    registers = "-" if found.registers is None else str(found.registers)
    label = f"  {name:<42}" if len(name) <= 42 else f"  {name}\n{'':44}"
    parts = [f"{found.threads:>8}", f"{found.shared_bytes:>8}", f"{registers:>6}"]
    parts += [f"{found.resident:>7}", f"{found.wavefronts:>11}"]
    if found.least_wavefronts:
        return row(label, *parts, f"{found.least_wavefronts:>7}")
    percent = "-" if found.ffma_percent is None else str(found.ffma_percent)
    waits = "-" if found.bank_waits is None else str(found.bank_waits)
    local = "-" if found.local is None else str(found.local)
    return row(label, *parts, f"{percent:>8}", f"{waits:>7}", f"{local:>7}")
