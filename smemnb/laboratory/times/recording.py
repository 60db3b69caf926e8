"""Times and stall reasons of the kernels of `cases`: made on a GPU, read without one.

Each launch follows a reading of other data that sweeps the L2 cache. A time is the median of rounds
between two CUDA events. Nsight Compute then runs each kernel once more for what its warps wait for;
where it may not read counters, the times stay.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import SmemnbError
from ...measure import stalls
from ..in_parts import held
from .cases import CASES, NAMES, Case

__all__ = ["COMMAND", "Timed", "launch_all", "load", "record"]

COMMAND = "python -m smemnb.laboratory.times record --out FILE"
SWEPT = 256 << 20
TRIES = 2  # of a kernel at which the process ends
ROUNDS = {"least": 7, "most": 31, "budget_ms": 600.0}


@dataclass(frozen=True)
class Timed:
    """What was read of one kernel.

    Attributes:
        ms, low_ms, high_ms: median and quartiles of its rounds.
        right: whether its result was that of NumPy, to the tolerance of its case.
        registers: of a thread.
        waits: its stall reasons; None where no counters could be read.
    """

    name: str
    ms: float
    low_ms: float
    high_ms: float
    right: bool
    registers: int
    waits: stalls.Waits | None


def load(path: Path) -> dict[str, Timed]:
    """A recorded file, by kernel.

    Raises:
        SmemnbError: it is none.
    """
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Timed(
                name=name,
                ms=read["ms"],
                low_ms=read["low_ms"],
                high_ms=read["high_ms"],
                right=read["right"],
                registers=read["registers"],
                waits=stalls.Waits.of(whole["waits"][name]) if name in whole["waits"] else None,
            )
            for name, read in whole["kernels"].items()
            if "failed" not in read
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SmemnbError(f"{path} holds no times of {COMMAND!r}: {error}") from None


def record(
    path: Path,
    *,
    cases: Sequence[Case] = CASES,
    raw: Path | None = None,
    counters: bool = True,
    lock: Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Time the kernels on this machine's GPU and write the file after each.

    A kernel that fails is recorded as failed, with the reason.

    Args:
        path: of the file; kernels that it holds are kept and not timed again.
        cases: which kernels.
        raw: where to keep what Nsight Compute printed.
        counters: whether Nsight Compute shall run them too.
        lock: a file that is held while something is timed.
        say: takes a line per kernel.
    """
    from ...measure.verify.recording import machine

    found: dict[str, Any] = {**machine(), "command": COMMAND, "l2": f"{SWEPT >> 20} MB swept"}
    found |= {"kernels": {}, "waits": {}}
    if path.exists():
        found |= json.loads(path.read_text(encoding="utf-8"))
    for case in cases:
        tried = found["kernels"].get(case.name, {"tries": 0}).get("tries", TRIES)
        if tried >= TRIES:
            continue
        found["kernels"][case.name] = {"failed": "the process ended", "tries": tried + 1}
        _write(path, found)
        try:
            read = _timed(case, lock)
        except Exception as error:  # whatever a compiler or a driver raises
            read = {"failed": f"{type(error).__name__}: {error}"}
        found["kernels"][case.name] = read
        told = f"{read['ms']:9.4f} ms" if "ms" in read else read["failed"]
        say(f"{case.name:24} {told}  {'right' if read.get('right') else 'WRONG'}")
        _write(path, found)
    if counters:
        _count(path, found, cases, raw, lock, say)


def _count(
    path: Path,
    found: dict[str, Any],
    cases: Sequence[Case],
    raw: Path | None,
    lock: Path | None,
    say: Callable[[str], None],
) -> None:
    command = [sys.executable, "-m", "smemnb.laboratory.times", "launch"]
    command += [case.name for case in cases]
    command += [] if lock is None else ["--lock", str(lock)]
    try:
        printed = stalls.printed(command, NAMES)
    except SmemnbError as error:
        say(f"no counters: {error}")
        return
    if raw is not None:
        raw.write_text(printed, encoding="utf-8")
    found["waits"] = {**found["waits"], **by_own_names(stalls.launches(printed))}
    _write(path, found)
    for name, waits in found["waits"].items():
        say(f"{name:24} issues {waits['issue']:.2f}, {stalls.Waits.of(waits).largest[:2]}")


def by_own_names(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """What ncu read, by the kernels' own names, to three digits behind the point.

    >>> by_own_names({"void timed_ways_32[abi:v1](...)": {"issue": 0.12345}})
    {'timed_ways_32': {'issue': 0.123}}
    """
    longest = sorted((case.name for case in CASES), key=len, reverse=True)
    named = {name: next((one for one in longest if one in name), name) for name in found}
    return {
        named[name]: {key: round(value, 3) for key, value in read.items()}
        for name, read in found.items()
    }


def launch_all(names: Sequence[str] = (), lock: Path | None = None) -> None:
    """Launch kernels once each; what Nsight Compute watches."""
    from numba import cuda

    from ..rates.recording import compiled

    for case in CASES:
        if not names or case.name in names:
            grid, arguments = case.launch(case.full)
            compiled(case.kernel, *arguments)
            on_device = [_on_device(value) for value in arguments]
            with held(lock):
                case.kernel[grid, case.block](*on_device)
                cuda.synchronize()


def equal(case: Case, found: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether the first argument holds what the case wants, of arguments as they were before."""
    with np.errstate(all="ignore"):
        wanted = case.wanted(*arguments)
    same = np.isclose(found, wanted, rtol=case.close, atol=case.close)
    return bool(np.shape(found) == np.shape(wanted) and 1 - same.mean() <= case.odd)


def _timed(case: Case, lock: Path | None) -> dict[str, Any]:
    from ...measure.bench.device import sweep
    from ...measure.bench.timing import GpuClock, in_rounds, spread
    from ..rates.recording import compiled

    grid, arguments = case.launch(case.full)
    compiled(case.kernel, *arguments)
    on_device = [_on_device(value) for value in arguments]
    with held(lock):
        case.kernel[grid, case.block](*on_device)
        first = on_device[0].copy_to_host()
    # a sum over all pairs of bodies would take NumPy gigabytes: the small launch stands for it
    right = _right(case, first, arguments)
    runs = [lambda: case.kernel[grid, case.block](*on_device)]
    with held(lock):
        rounds = list(in_rounds(runs, GpuClock(), between=sweep(SWEPT), **ROUNDS))  # type: ignore[arg-type]
    times = spread([one for one, *_ in rounds])
    registers = case.kernel.get_regs_per_thread()
    return {
        "ms": round(times.median, 5),
        "low_ms": round(times.low, 5),
        "high_ms": round(times.high, 5),
        "rounds": times.count,
        "right": right,
        "registers": int(statistics.median(registers.values())),
    }


def _right(case: Case, out: Any, arguments: tuple[Any, ...]) -> bool:
    if "bodies" not in case.name:
        return equal(case, out, arguments)
    grid, few = case.launch(case.small)
    on_device = [_on_device(value) for value in few]
    case.kernel[grid, case.block](*on_device)
    return equal(case, on_device[0].copy_to_host(), few)


def _on_device(value: Any) -> Any:
    from numba import cuda

    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def _write(path: Path, found: dict[str, Any]) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
