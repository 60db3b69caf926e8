"""The table measured: cycles by the multiprocessor's clock, rates by CUDA events.

A reading that fails is recorded as failed, with the reason, and the others go on; a file that was
begun is gone on with, so that a process whose GPU context is lost is started again.
"""

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
from ..in_parts import held
from .table import COPIED, READINGS, Clocked, Loaded, Reading, Started, Streamed

__all__ = ["COMMAND", "add_loops", "load", "loop_of", "record"]

COMMAND = "python -m smemnb.laboratory.rates record --out FILE"
ROUNDS, REPEATS = 64, 5
LINE = 32
STEPS = 256
MAXIMUM_BLOCK = 1024
TRIES = 2  # of a reading at which the process ends


def load(path: Path) -> dict[str, Any]:
    """Readings of a recorded file, by name.

    Raises:
        SmemnbError: it is none.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["readings"]
        return {name: one for name, one in found.items() if "failed" not in one}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmemnbError(f"{path} holds no readings of {COMMAND!r}: {error}") from None


def record(
    path: Path,
    *,
    readings: Sequence[Reading] = READINGS,
    lock: Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Measure the table on this machine's GPU and write the file after each reading.

    Args:
        path: of the file; readings that it holds are kept and not made again.
        readings: which.
        lock: a file that is held while something is timed.
        say: takes a line per reading.

    Raises:
        SmemnbError: the GPU context is lost; the same call goes on behind the reading that did it.
    """
    from numba import cuda

    from ...measure.verify.recording import machine
    from ..latency.measuring import megahertz

    device = cuda.get_current_device()
    found: dict[str, Any] = {**machine(), "command": COMMAND, "readings": {}}
    found["multiprocessors"] = int(device.MULTIPROCESSOR_COUNT)
    if path.exists():
        found["readings"] = json.loads(path.read_text(encoding="utf-8"))["readings"]
    with held(lock):
        found["megahertz"] = round(megahertz(), 1)
    for one in readings:
        tried = found["readings"].get(one.name, {"tries": 0}).get("tries", TRIES)
        if tried >= TRIES:
            continue
        found["readings"][one.name] = {"failed": "the process ended", "tries": tried + 1}
        _write(path, found)
        try:
            read = _measured(one, found["multiprocessors"], found["megahertz"], lock)
        except Exception as error:  # whatever a compiler or a driver raises
            read = {"failed": f"{type(error).__name__}: {error}"}
        found["readings"][one.name] = read
        say(f"{one.name:32} {read.get('read', read.get('failed'))} {one.unit}")
        _write(path, found)
        if "failed" in read:
            _still_there(one.name)


def _still_there(name: str) -> None:
    from numba import cuda

    try:
        cuda.to_device(np.zeros(1)).copy_to_host()
    except Exception as error:
        raise SmemnbError(f"{name} lost the GPU's context: {error}; call again") from None


def _write(path: Path, found: dict[str, Any]) -> None:
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


def _measured(
    one: Reading, multiprocessors: int, megahertz: float, lock: Path | None
) -> dict[str, Any]:
    kept: dict[str, Any] = {"group": one.group, "tells": one.tells, "unit": one.unit}
    if isinstance(one, Clocked):
        kept |= {"warps": one.warps, "partitions": one.partitions}
        timed: Callable[[], Any] = _clocked(one)
    elif isinstance(one, Loaded):
        kept |= {"warps": one.warps, "bytes": one.size}
        timed = _loaded(one, multiprocessors)
    elif isinstance(one, Started):
        kept |= {"threads": one.threads}
        timed = _started(one, multiprocessors, megahertz)
    else:
        assert isinstance(one, Streamed)
        timed = _streamed(one, multiprocessors)
    with held(lock):
        return kept | {"read": timed()}


def compiled(kernel: Any, *arguments: Any) -> Any:
    """The kernel, compiled for these arguments before it is launched."""
    kernel.compile(tuple(kernel.typeof_pyval(value) for value in arguments))
    return kernel


def _clocked(one: Clocked) -> Callable[[], float]:
    """Median cycles of a round: twice as many rounds less as many, so that the ends drop out."""
    from numba import cuda

    kernel = compiled(one.make(), *one.arguments(ROUNDS))

    def run(rounds: int) -> float:
        out, times, *rest = one.arguments(rounds)
        on_device = cuda.to_device(times)
        kernel[1, 32 * one.warps](cuda.to_device(out), on_device, *rest)
        read = on_device.copy_to_host()
        return float(read[:, 1].max() - read[:, 0].min())

    def timed() -> float:
        run(ROUNDS)
        each = [(run(2 * ROUNDS) - run(ROUNDS)) / ROUNDS for _ in range(REPEATS)]
        return round(statistics.median(each), 3)

    return timed


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


def _loaded(one: Loaded, multiprocessors: int) -> Callable[[], list[float]]:
    from numba import cuda

    threads = min(32 * one.warps, MAXIMUM_BLOCK)
    grid = multiprocessors * (32 * one.warps // threads)
    ring = lines(one.size)
    out, waits = np.zeros(grid * threads, np.uint32), np.zeros((grid * threads // 32, 2), np.int64)
    kernel = compiled(one.make(), out, waits, ring, STEPS)
    on_device = [cuda.to_device(each) for each in (out, waits, ring)]

    def timed() -> list[float]:
        for _ in range(3):  # the caches are filled as far as they hold the ring
            kernel[grid, threads](*on_device, STEPS)
        read = on_device[1].copy_to_host()
        mean = float(read[:, 0].mean()) / STEPS
        return [round(mean, 1), round(float(read[:, 1].mean()), 1), float(read[:, 1].max())]

    return timed


def _started(one: Started, multiprocessors: int, megahertz: float) -> Callable[[], float]:
    from numba import cuda

    from ...measure.bench.timing import GpuClock, in_rounds

    nothing = np.zeros(1, np.uint32)
    kernel, out = compiled(one.make(), nothing), cuda.to_device(nothing)
    few, many = (multiprocessors * count for count in (256, 2048))
    runs = [lambda: kernel[few, one.threads](out), lambda: kernel[many, one.threads](out)]

    def timed() -> float:
        times = list(in_rounds(runs, GpuClock(), least=5, most=15, budget_ms=300.0))
        beyond = statistics.median(two - one for one, two in times)
        return round(beyond * 1000 * megahertz * multiprocessors / (many - few), 2)

    return timed


def _streamed(one: Streamed, multiprocessors: int) -> Callable[[], float]:
    from numba import cuda

    from ...measure.bench.device import sweep
    from ...measure.bench.timing import GpuClock, in_rounds

    grid: tuple[int, ...] = (multiprocessors * 8,)
    if one.words:
        rows, cols = COPIED
        grid = (cols // one.words, -(-rows // (256 // one.words * 16)))
        arguments: tuple[Any, ...] = (np.zeros(COPIED, np.uint32), np.ones(COPIED, np.uint32))
        moved = 2 * 4 * rows * cols
    elif one.name == "write_columns":
        rows = one.size // 4 // COPIED[1]
        grid = (COPIED[1] // 32, rows // 32)
        arguments, moved = (np.zeros((rows, COPIED[1]), np.uint32), np.uint32(1)), one.size
    elif one.name.startswith("write"):
        # one word of each sector, or all of them: the sectors count whole
        arguments = (np.zeros(one.size // 4, np.uint32), np.uint32(1), one.rounds)
        moved = one.size * one.rounds
    else:
        threads = grid[0] * 256
        whole = np.ones(one.size // 4 // (4 * threads) * 4 * threads, np.uint32)
        arguments = (np.zeros(threads, np.uint32), whole, one.rounds)
        moved = whole.nbytes * one.rounds
    kernel = compiled(one.make(), *arguments)
    on_device = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in arguments]
    runs = [lambda: kernel[grid, 256](*on_device)]

    def timed() -> float:
        between = sweep(256 << 20) if one.group == "DRAM" else (lambda: None)
        times = list(
            in_rounds(runs, GpuClock(), least=5, most=15, budget_ms=300.0, between=between)
        )
        return round(moved / statistics.median(ms for ms, *_ in times) / 1e6, 1)

    return timed
