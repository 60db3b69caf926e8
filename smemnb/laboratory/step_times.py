"""Times of the kernels of `34_fast_code` on an H200: `h200_steps.json`.

    python -m smemnb.laboratory.step_times FILE

makes the file on a GPU, below a minute: the product of 4096 x 4096 x 4096 in float32, each kernel
once per round by CUDA events, 15 rounds after 3 that warm up. `guarded_one_block` and
`unguarded_one_block` are those kernels with one block on a multiprocessor in place of two.

**Limits**: medians of one session.
"""

from __future__ import annotations

import json
import statistics
import sys
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["source", "step_rates"]

FILE = "h200_steps.json"
SIZE, WARM, ROUNDS = 4096, 3, 15
THREADS, EDGE = 256, 128
KERNELS = {
    "guarded": "ex34_guards",
    "unguarded": "ex34_guards",
    "with_offsets": "ex34_offsets",
    "computed_anew": "ex34_offsets",
    "laid_out": "ex34_steps",
    "by_quads": "ex34_quads",
}
"""Kernel -> the exercise in whose file it stands."""
ALONE = ("guarded", "unguarded")
"""Those that are timed with one block on a multiprocessor, too."""


@cache
def step_rates() -> dict[str, float]:
    """TFLOP/s of each kernel.

    >>> round(step_rates()["by_quads"], 1)
    38.6
    """
    return {name: 2 * SIZE**3 / one["ms"] / 1e9 for name, one in _file()["kernels"].items()}


def source() -> str:
    """Where the times were taken.

    >>> source()
    'measured (NVIDIA H200)'
    """
    return f"measured ({_file()['gpu']})"


@cache
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found


def timed_kernels() -> dict[str, Any]:
    """The kernels that are timed, by name."""
    from numba import cuda

    found = {}
    for name, exercise in KERNELS.items():
        kernel = getattr(import_module(f"smemnb.exercises.chapters.{exercise}"), name)
        if name in ALONE:
            found[f"{name}_one_block"] = cuda.jit(launch_bounds=(THREADS, 1))(kernel.py_func)
        found[name] = kernel
    return found


def _record(path: Path) -> None:
    from numba import cuda

    random = np.random.default_rng(1)
    a, b = (random.integers(-9, 10, (SIZE, SIZE)).astype(np.float32) for _ in range(2))
    args = cuda.device_array((SIZE, SIZE), np.float32), cuda.to_device(a), cuda.to_device(b)
    grid, kernels = (SIZE // EDGE, SIZE // EDGE), timed_kernels()
    right, about = a[:64].astype(np.float64) @ b.astype(np.float64), {}
    for name, kernel in kernels.items():
        kernel[grid, THREADS](*args)
        equal = bool(np.array_equal(args[0].copy_to_host()[:64], right))
        (registers,) = kernel.get_regs_per_thread().values()
        about[name] = {"equal": equal, "registers": registers}
    names, times = list(kernels), {name: list[float]() for name in kernels}
    for turn in range(WARM + ROUNDS):
        marks = []
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            before, after = cuda.event(timing=True), cuda.event(timing=True)
            before.record()
            kernels[name][grid, THREADS](*args)
            after.record()
            marks.append((name, before, after))
        cuda.synchronize()
        for name, before, after in marks if turn >= WARM else ():
            times[name].append(float(cuda.event_elapsed_time(before, after)))
    for name, some in times.items():
        low, ms, high = statistics.quantiles(some, n=4)
        about[name] |= {"ms": ms, "low_ms": low, "high_ms": high}
    gpu = cuda.get_current_device().name
    made = {
        "gpu": gpu.decode() if isinstance(gpu, bytes) else gpu,
        "size": SIZE,
        "rounds": ROUNDS,
        "command": f"python -m {__spec__.name} FILE",
        "kernels": about,
    }
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
