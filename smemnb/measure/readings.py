"""Readings of the finished kernels on a GPU, beside what the model says: one file of results.

    python -m smemnb.measure.readings record FILE

runs every kernel on ragged and degenerate shapes against NumPy, reads its counters under Nsight
Compute, runs compute-sanitizer's tools, times it against a copy, and writes FILE with the GPU,
driver, versions, date and command. `recorded/h200_kernels.json` was made so.

Times are ratios to the copy of the same run: they depend little on clocks.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SmemnbError
from . import nsight, sanitizer

Array = np.ndarray[Any, np.dtype[Any]]
COUNTED = {"transpose": (1024, 1024), "matmul": (256, 256)}
RAGGED = ((64, 64), (1, 70), (70, 1), (40, 35), (97, 3), (1000, 513))
TIMED = {"transpose": (16384, 16384), "matmul": (2048, 2048)}
REPEATS = 15


def _kernels() -> dict[str, Any]:
    from ..kernels import matmul, transpose

    return {
        name: kernel
        for module in (transpose, matmul)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "py_func")
    }


def _arguments(name: str, shape: tuple[int, int]) -> tuple[Array, list[Array], Array]:
    """out, inputs and expected result of a kernel for matrices of this shape."""
    random = np.random.default_rng(shape[0] * 7919 + shape[1])

    def scattered(*extents: int) -> Array:
        return random.integers(-9, 10, extents).astype(np.float32)

    rows, cols = shape
    if name.startswith("transpose"):
        inp = scattered(rows, cols)
        return np.full((cols, rows), np.nan, np.float32), [inp], inp.T
    a, b = scattered(rows, cols), scattered(cols, rows + 3)
    return np.full((rows, rows + 3), np.nan, np.float32), [a, b], a @ b


def _launch(name: str, out: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Grid and block of a kernel for its arguments."""
    edge = 32 if name.startswith("transpose") else 16
    rows, cols = inputs[0].shape if edge == 32 else out.shape
    return (-(-cols // edge), -(-rows // edge)), (edge, edge)


def wrong_shapes(name: str) -> list[tuple[int, int]]:
    """The shapes for which the kernel's result on the GPU differs from NumPy's."""
    wrong = []
    for shape in RAGGED:
        out, inputs, expected = _arguments(name, shape)
        grid, block = _launch(name, out, inputs)
        _kernels()[name][grid, block](out, *inputs)
        if not np.array_equal(out, expected):
            wrong.append(shape)
    return wrong


def predicted(name: str) -> dict[str, int]:
    """The model's counts for the launch whose counters are read, named as in `nsight.METRICS`."""
    from ..tracing import trace

    out, inputs, _ = _arguments(name, COUNTED[name.split("_")[0]])
    grid, block = _launch(name, out, inputs)
    totals = dict.fromkeys(nsight.METRICS, 0)
    for row in trace(_kernels()[name])[grid, block](out, *inputs).lines:
        what = f"{row.space}_{row.kind}"
        totals[f"{what}_requests"] += row.requests
        unit, count = (
            ("wavefronts", row.wavefronts) if row.space == "shared" else ("sectors", row.sectors)
        )
        totals[f"{what}_{unit}"] += count
    return totals


def _median_ms(run: Callable[[], None]) -> float:
    """Median time of several runs on the GPU, by events."""
    from numba import cuda

    run()
    times: list[float] = []
    for _ in range(REPEATS):
        start, stop = cuda.event(), cuda.event()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(float(cuda.event_elapsed_time(start, stop)))
    return statistics.median(times)


def time_against_copy(name: str) -> float:
    """Time of the kernel over the time of a device copy of as many bytes as its result has."""
    from numba import cuda

    shape = TIMED[name.split("_")[0]]
    inp = cuda.to_device(np.ones(shape, np.float32))
    out, copy = cuda.device_array(shape, np.float32), cuda.device_array(shape, np.float32)
    inputs = [inp] if name.startswith("transpose") else [inp, inp]
    grid, block = _launch(name, out, inputs)
    kernel = _kernels()[name]
    ours: float = _median_ms(lambda: kernel[grid, block](out, *inputs))
    return ours / _median_ms(lambda: copy.copy_to_device(inp))


def launch_once(name: str) -> None:
    """The launch whose counters are read; run in a process under Nsight Compute."""
    out, inputs, _ = _arguments(name, COUNTED[name.split("_")[0]])
    grid, block = _launch(name, out, inputs)
    _kernels()[name][grid, block](out, *inputs)


def _provenance() -> dict[str, str]:
    from importlib.metadata import version

    asked = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    gpu, driver, capability = (word.strip() for word in said.splitlines()[0].split(","))
    versions = {name: version(name) for name in ("numba", "numba-cuda", "numpy")}
    return {
        "gpu": gpu,
        "driver": driver,
        "compute_capability": capability,
        "python": sys.version.split()[0],
        **versions,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": "python -m smemnb.measure.readings record FILE",
    }


def reading(name: str) -> dict[str, Any]:
    """Everything that is recorded of one kernel."""
    once = [sys.executable, "-m", "smemnb.measure.readings", "launch", name]
    found: dict[str, Any] = {"wrong_shapes": wrong_shapes(name), "predicted": predicted(name)}
    found["measured"] = nsight.counters(once, name)
    found["sanitizer"] = {tool: sanitizer.findings(once, tool) for tool in sanitizer.TOOLS}
    found["time_over_copy"] = round(time_against_copy(name), 3)
    return found


def record(path: Path) -> dict[str, Any]:
    """Read all kernels and write the file of results.

    Raises:
        SmemnbError: a tool is missing or failed; nothing is written.
    """
    results: dict[str, Any] = {**_provenance(), "counted_shapes": COUNTED, "timed_shapes": TIMED}
    results["kernels"] = {}
    for name in _kernels():
        results["kernels"][name] = found = reading(name)
        differs = {
            key: (value, found["measured"][key])
            for key, value in found["predicted"].items()
            if value != found["measured"][key]
        }
        print(
            f"{name:<20} {found['time_over_copy']:>8.2f} copies  wrong {found['wrong_shapes']}  "
            f"sanitizer {sum(found['sanitizer'].values())}  differs: {differs or 'nowhere'}",
            flush=True,
        )
    path.write_text(json.dumps(results, indent=1) + "\n")
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """The command: record FILE, or launch KERNEL once."""
    parser = argparse.ArgumentParser(prog="python -m smemnb.measure.readings")
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("record").add_argument("file", type=Path)
    what.add_parser("launch").add_argument("kernel")
    options = parser.parse_args(argv)
    if options.what == "launch":
        launch_once(options.kernel)
        return 0
    try:
        record(options.file)
    except SmemnbError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
