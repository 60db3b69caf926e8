"""How fast the lockstep engine is: beside Numba's simulator, and against the size of the work.

`smemnb bench engine` prints what `report` yields. Times are the best of several runs after one
warm-up, in milliseconds, on this machine; the simulator, thousands of times slower, runs once, in
a process of its own. "Watched" means everything a trace does: counts, races, initialisation,
barriers, bounds, and the report's records.

Another engine can stand beside them: `--beside FILE.py` names a file with a function
`run(function, grid, block, args)` that runs a kernel's Python function on NumPy arrays.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .rows import head, row

Run = Callable[[Any, tuple[int, int, int], tuple[int, int, int], tuple[Any, ...]], object]
SIMULATOR_LIMIT_S = 300


@dataclass(frozen=True)
class Work:
    """A kernel on work of a size: matrices with so many elements per side, rows, or values."""

    kernel: str
    size: int

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.kernel} {self.size}"

    def launch(self) -> tuple[Any, tuple[int, int, int], tuple[int, int, int], tuple[Any, ...]]:
        """The kernel, its grid and block, and fresh arguments."""
        from ..kernels import matmul, transpose
        from .bench_kernels import MAKERS

        if self.kernel in MAKERS:
            return MAKERS[self.kernel](self.size)

        random = np.random.default_rng(self.size)
        inputs = random.random((2, self.size, self.size), dtype=np.float32)
        out = np.zeros((self.size, self.size), np.float32)
        if self.kernel.startswith("transpose"):
            blocks = -(-self.size // transpose.TILE)
            args: tuple[Any, ...] = (out, inputs[0].copy())
            block = (transpose.TILE, transpose.TILE, 1)
            return getattr(transpose, self.kernel), (blocks, blocks, 1), block, args
        blocks = -(-self.size // matmul.TILE)
        args = (out, inputs[0].copy(), inputs[1].copy())
        block = (matmul.TILE, matmul.TILE, 1)
        return getattr(matmul, self.kernel), (blocks, blocks, 1), block, args


BESIDE = (
    Work("transpose_tiled", 128),
    Work("transpose_padded", 128),
    Work("matmul_tiled", 128),
    Work("csr_matvec", 8192),
    Work("mandelbrot", 128),
    Work("histogram", 65536),
)
SIZES = (64, 128, 256, 512, 1024)


def best_ms(run: Callable[[], object], least_s: float = 0.3, most_s: float = 3.0) -> float:
    """The shortest of several runs after one that warms up, in milliseconds.

    At least five runs and `least_s` seconds of them, unless that takes more than `most_s`.
    """
    run()
    times: list[float] = []
    while (len(times) < 5 or sum(times) < least_s) and sum(times) < most_s:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def watched_ms(work: Work) -> float:
    """A whole trace: launch, counts, every check, the records."""
    from ..tracing import trace

    kernel, grid, block, args = work.launch()
    return best_ms(lambda: trace(kernel)[grid, block](*args))


def bare_ms(work: Work) -> float:
    """A plain launch in the engine, nothing watched."""
    from ..lockstep import launch

    kernel, grid, block, args = work.launch()
    return best_ms(lambda: launch(kernel.py_func, grid, block, args))


def beside_ms(work: Work, run: Run) -> float:
    """The same launch in another engine."""
    kernel, grid, block, args = work.launch()
    return best_ms(lambda: run(kernel.py_func, grid, block, args))


def simulator_ms(work: Work) -> float | None:
    """The same launch, once, in Numba's simulator; None if it takes longer than five minutes."""
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1", SMEMNB_DEVICE="off")
    command = [sys.executable, "-m", __name__, work.kernel, str(work.size)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SIMULATOR_LIMIT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    return float(json.loads(done.stdout.splitlines()[-1]))


def other_engine(path: str) -> Run:
    """The function `run` of a Python file.

    Raises:
        ValueError: there is no such file, or no `run` in it.
    """
    if not Path(path).is_file():
        raise ValueError(f"--beside {path}: there is no such file")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "run"):
        raise ValueError(f"--beside {path}: it has no function run(function, grid, block, args)")
    found: Run = module.run
    return found


def report(beside: str | None = None, simulator: bool = True) -> Iterator[str]:
    """The lines of the report, each as soon as it is known."""
    run = None if beside is None else other_engine(beside)
    times = f"{'watched':>9}", f"{'bare':>9}", f"{'beside':>9}", f"{'simulator':>11}"
    yield head(f"{'milliseconds':<22}", *times, f"{'ratio':>9}")
    for work in BESIDE:
        watched, bare = watched_ms(work), bare_ms(work)
        other = "-" if run is None else f"{beside_ms(work, run):.2f}"
        parts = f"{work.name:<22}", f"{watched:>9.2f}", f"{bare:>9.2f}", f"{other:>9}"
        slow = simulator_ms(work) if simulator else None
        if slow is None:
            yield row(*parts, f"{'-':>11}", f"{'-':>9}")
        else:
            yield row(*parts, f"{slow:>11.0f}", f"{slow / watched:>8.0f}x")
    yield ""
    yield "cost against size, watched: nanoseconds per element moved, per multiply-add"
    yield head(" " * 22, *(f"{size:>9}" for size in SIZES))
    for kernel, exponent in (("transpose_padded", 2), ("matmul_tiled", 3)):
        cost = [watched_ms(Work(kernel, size)) * 1e6 / size**exponent for size in SIZES]
        yield row(f"{kernel:<22}", *(f"{nanoseconds:>9.2f}" for nanoseconds in cost))


def _in_simulator(kernel: str, size: int) -> float:
    """Milliseconds of one launch; run in a process whose numba.cuda is the simulator."""
    function, grid, block, args = Work(kernel, size).launch()
    start = time.perf_counter()
    function[grid, block](*args)
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    print(json.dumps(_in_simulator(sys.argv[1], int(sys.argv[2]))))
