"""The table measured: cycles by the multiprocessor's clock, rates by CUDA events."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import SmemnbError
from .table import COPIED, READINGS, Clocked, Loaded, Reading, Started, Streamed

__all__ = ["COMMAND", "add_loops", "load", "loop_of", "record"]

COMMAND = "python -m smemnb.laboratory.rates record --out FILE"
ROUNDS, REPEATS = 64, 5
LINE = 32
STEPS = 256
MAXIMUM_BLOCK = 1024


def load(path: Path) -> dict[str, Any]:
    """Readings of a recorded file, by name.

    Raises:
        SmemnbError: it is none.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["readings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SmemnbError(f"{path} holds no readings of {COMMAND!r}: {error}") from None
    return found


def record(
    path: Path, *, readings: Sequence[Reading] = READINGS, say: Callable[[str], None] = print
) -> None:
    """Measure the table on this machine's GPU and write the file after each reading."""
    from numba import cuda

    from ...measure.verify.recording import machine
    from ..latency.measuring import megahertz

    device = cuda.get_current_device()
    found: dict[str, Any] = {**machine(), "command": COMMAND, "readings": {}}
    found["multiprocessors"] = int(device.MULTIPROCESSOR_COUNT)
    found["megahertz"] = round(megahertz(), 1)
    for one in readings:
        found["readings"][one.name] = read = _measured(
            one, found["multiprocessors"], found["megahertz"]
        )
        say(f"{one.name:32} {read['read']} {one.unit}")
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def add_loops(
    path: Path, *, readings: Sequence[Reading] = READINGS, say: Callable[[str], None] = print
) -> None:
    """Put the machine code of the loops that were timed beside their readings, without a GPU.

    Raises:
        SmemnbError: the compiler libraries or nvdisasm are missing.
    """
    whole = json.loads(path.read_text(encoding="utf-8"))
    for one in readings:
        read = whole["readings"].get(one.name)
        if isinstance(one, Clocked) and read is not None:
            read["loop"] = loop_of(one)
            say(f"{one.name:32} {read['read']} {one.unit}  {read['loop']}")
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def loop_of(reading: Clocked, cc: tuple[int, int] = (9, 0)) -> dict[str, int]:
    """Instructions of the loop that is timed, by name without suffixes.

    It is the one with most of the instructions that the reading asks for. The compiler may have
    laid out several rounds in it: their number is that of these instructions over a round's.

    Besides `one_bank` counts FFMA that read three registers of one bank, and `reuse` operands that
    are kept for the next instruction.
    """
    from ...compiled import cubin
    from ...compiled.machine import instructions, one_bank_reads

    code = instructions(cubin(reading.make(), reading.arguments(1), cc))
    best: list[Any] = []

    def asked(inside: list[Any]) -> tuple[int, int]:
        return sum(one.name.startswith(reading.asked) for one in inside), -len(inside)

    for jump in code:
        target = re.search(r"0x([0-9a-f]+)$", jump.operands) if jump.name == "BRA" else None
        if target and int(target[1], 16) < jump.address:
            first = int(target[1], 16)
            inside = [one for one in code if first <= one.address <= jump.address]
            best = max(best, inside, key=asked)
    counts = Counter(one.name.split(".")[0] for one in best)
    counts["one_bank"] = one_bank_reads(best)
    counts["reuse"] = sum(one.operands.count(".reuse") for one in best)
    return {name: count for name, count in sorted(counts.items()) if count}


def _measured(one: Reading, multiprocessors: int, megahertz: float) -> dict[str, Any]:
    kept: dict[str, Any] = {"group": one.group, "tells": one.tells, "unit": one.unit}
    if isinstance(one, Clocked):
        kept |= {"warps": one.warps, "partitions": one.partitions}
        return kept | {"read": round(_clocked(one), 3)}
    if isinstance(one, Loaded):
        kept |= {"warps": one.warps, "bytes": one.size}
        return kept | {"read": _loaded(one, multiprocessors)}
    if isinstance(one, Started):
        kept |= {"threads": one.threads}
        return kept | {"read": round(_started(one, multiprocessors, megahertz), 2)}
    assert isinstance(one, Streamed)
    return kept | {"read": round(_streamed(one, multiprocessors), 1)}


def _clocked(one: Clocked) -> float:
    """Median cycles of a round: twice as many rounds less as many, so that the ends drop out."""
    from numba import cuda

    kernel = one.make()

    def run(rounds: int) -> float:
        out, times, *rest = one.arguments(rounds)
        on_device = cuda.to_device(times)
        kernel[1, 32 * one.warps](cuda.to_device(out), on_device, *rest)
        read = on_device.copy_to_host()
        return float(read[:, 1].max() - read[:, 0].min())

    run(ROUNDS)
    each = [(run(2 * ROUNDS) - run(ROUNDS)) / ROUNDS for _ in range(REPEATS)]
    return statistics.median(each)


def lines(size: int, seed: int = 20) -> Any:
    """A ring of lines: each element holds the place, in the next line, of its own lane.

    >>> ring = lines(4 * 128)
    >>> at = 5
    >>> for _ in range(4):
    ...     at = int(ring[at])
    >>> at
    5
    """
    count = size // (4 * LINE)
    order = np.random.default_rng(seed).permutation(count).astype(np.uint32)
    following = np.empty(count, np.uint32)
    following[order] = np.roll(order, -1)
    return (following[:, None] * np.uint32(LINE) + np.arange(LINE, dtype=np.uint32)).ravel()


def _loaded(one: Loaded, multiprocessors: int) -> list[float]:
    from numba import cuda

    kernel, ring = one.make(), cuda.to_device(lines(one.size))
    threads = min(32 * one.warps, MAXIMUM_BLOCK)
    grid = multiprocessors * (32 * one.warps // threads)
    out = cuda.to_device(np.zeros(grid * threads, np.uint32))
    waits = cuda.to_device(np.zeros((grid * threads // 32, 2), np.int64))
    for _ in range(3):  # the caches are filled as far as they hold the ring
        kernel[grid, threads](out, waits, ring, STEPS)
    read = waits.copy_to_host()
    mean = float(read[:, 0].mean()) / STEPS
    return [round(mean, 1), round(float(read[:, 1].mean()), 1), float(read[:, 1].max())]


def _started(one: Started, multiprocessors: int, megahertz: float) -> float:
    from numba import cuda

    from ...measure.bench.timing import GpuClock, in_rounds

    kernel, out = one.make(), cuda.to_device(np.zeros(1, np.uint32))
    few, many = (multiprocessors * count for count in (256, 2048))
    runs = [lambda: kernel[few, one.threads](out), lambda: kernel[many, one.threads](out)]
    times = list(in_rounds(runs, GpuClock(), least=5, most=15, budget_ms=300.0))
    beyond = statistics.median(two - one for one, two in times)
    return beyond * 1000 * megahertz * multiprocessors / (many - few)


def _streamed(one: Streamed, multiprocessors: int) -> float:
    from numba import cuda

    from ...measure.bench.device import sweep
    from ...measure.bench.timing import GpuClock, in_rounds

    kernel = one.make()
    grid: tuple[int, ...] = (multiprocessors * 8,)
    if one.words:
        rows, cols = COPIED
        inp = cuda.to_device(np.ones(COPIED, np.uint32))
        out = cuda.device_array(COPIED, np.uint32)
        grid = (cols // one.words, -(-rows // (256 // one.words * 16)))
        arguments: tuple[Any, ...] = (out, inp)
        moved = 2 * 4 * rows * cols
    elif one.name.startswith("write"):
        # one word of each sector, or all of them: the sectors count whole
        arguments, moved = (cuda.device_array(one.size // 4, np.uint32), np.uint32(1)), one.size
    else:
        threads = grid[0] * 256
        whole = np.ones(one.size // 4 // (4 * threads) * 4 * threads, np.uint32)
        out = cuda.device_array(threads, np.uint32)
        arguments, moved = (out, cuda.to_device(whole), one.rounds), whole.nbytes * one.rounds
    runs = [lambda: kernel[grid, 256](*arguments)]
    between = sweep(256 << 20) if one.group == "DRAM" else (lambda: None)
    times = list(in_rounds(runs, GpuClock(), least=5, most=15, budget_ms=300.0, between=between))
    return moved / statistics.median(ms for ms, *_ in times) / 1e6
