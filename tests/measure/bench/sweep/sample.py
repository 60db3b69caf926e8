"""A sweep of a few problems, written by hand, and a place without a GPU."""

import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from smemnb.measure.bench.sweep.model import Reading, Sweep
from smemnb.measure.bench.sweep.problems import Problem
from smemnb.measure.bench.sweep.timing import Contender, NotCaptured
from smemnb.measure.results import Gpu


def timed(shape, ratio, layout="NN", ms=1.0, **fields):
    """A reading whose torch takes `ratio` times as long as ours, and cupy twice that."""
    base = Reading(
        "matmul",
        shape,
        layout,
        4,
        "timed",
        ms=ms,
        low_ms=ms * 0.75,
        high_ms=ms * 1.25,
        launches=4,
        rounds=5,
        libraries={"torch": ratio * ms, "cupy": 2 * ratio * ms},
        error=2e-6,
        torch_error=1e-6,
        largest=16.0,
        repeats=True,
    )
    return replace(base, **fields)


LARGE = (1024, 1024, 1024)  # 2.1 GFLOP
READINGS = (
    timed((16, 16, 16), 0.5, ms=0.004, plan="one block"),
    timed(LARGE, 2.0, "NT"),
    Reading("matmul", (8, 8, 8), "TN", 4, "refused", reason="`a` lies by columns"),
    timed((2048, 1024, 1024), 0.9, "TT", error=5e-6, largest=1.0),
    timed((32, 16, 16), 1.0, "TN", repeats=False, not_captured={"cupy": "not permitted"}),
    timed((4096, 1024, 1024), 1.25, "NN", left_out={"cupy": "wrong values: error 1.0e+00"}),
    Reading("matmul", (16384, 16384, 3), "NN", 4, "skipped", reason="needs 3 GiB"),
)
SWEEP = Sweep(
    gpu=Gpu("NVIDIA H200", "9.0", 132, 150_000_000_000, 62_914_560),
    driver="580.159.04",
    cuda="13.0",
    versions={"python": "3.12.3", "numba": "0.68.0"},
    libraries={"torch": "2.11.0", "cupy": "14.2.0"},
    date="2026-11-22T10:00:00+00:00",
    command="smemnb bench sweep matmul",
    l2="as it is",
    operation="matmul",
    seed=3,
    count=8,
    readings=READINGS,
)
TRANSPOSES = replace(
    SWEEP,
    operation="transpose",
    readings=tuple(
        Reading(
            *("transpose", (1000, cols), "", size, "timed"),
            ms=1.0,
            low_ms=1.0,
            high_ms=1.0,
            launches=1,
            rounds=5,
            libraries={"torch": 4.0},
            copy_ms=copy,
        )
        for cols, size, copy in ((1001, 1, 0.5), (2000, 2, 0.75), (100_001, 1, 1.0))
    ),
)


class Clock:
    """Time goes on as launches say it does."""

    def __init__(self):
        self.now, self.naps = 0.0, []

    def head_start(self, launches):
        self.naps.append(launches)

    def mark(self):
        return self.now

    def wait(self):
        pass

    def ms(self, before, after):
        return after - before


class HostPlace:
    """NumPy matrices, and contenders that are functions (a, b, out) with a time each."""

    alone = staticmethod(nullcontext)

    def __init__(self, sets=2, uncaptured=(), left_out=None, **contenders):
        self.clock, self.sets, self.uncaptured = Clock(), sets, uncaptured
        self.left_out, self.functions = dict(left_out or {}), contenders
        self.launched, self.graphs = [], []
        self.problem = None

    def ready(self, problem):
        if problem.shape[0] > 1000:
            raise MemoryError("needs 7.0 GiB, 6.0 GiB of the GPU are free")
        self.problem = problem
        rows, cols, depth = problem.shape
        random = np.random.default_rng(1)
        self.matrices = [
            (
                random.uniform(-1, 1, (rows, depth)).astype(np.float32),
                random.uniform(-1, 1, (depth, cols)).astype(np.float32),
                np.zeros((rows, cols), np.float32),
            )
            for _ in range(self.sets)
        ]
        self.contenders = [
            Contender(name, [self._launch(name, *words, one) for one in range(self.sets)])
            for name, words in self.functions.items()
        ]
        self.plan = "by hand"
        return self

    def _launch(self, name, ms, function, number):
        def launch():
            self.launched.append((name, number))
            self.clock.now += ms
            a, b, out = self.matrices[number]
            function(a, b, out)

        return launch

    def captured(self, launches):
        name = next(
            one.name for one in self.contenders if any(launches[0] is two for two in one.launches)
        )
        if name in self.uncaptured:
            raise NotCaptured("operation not permitted")
        self.graphs.append((name, len(launches)))
        return lambda: [launch() for launch in launches]

    def spoil(self, number):
        self.matrices[number][2].fill(math.nan)

    def error(self, number, name):
        a, b, out = self.matrices[number]
        true = a.astype(np.float64) @ b
        error = float(abs(out - true).max())
        return (math.inf if math.isnan(error) else error), float(abs(true).max())

    def keep(self, number):
        out = self.matrices[number][2]
        first = out.copy()
        return lambda: out.tobytes() == first.tobytes()


def product(a, b, out):
    """What a library does."""
    np.matmul(a, b, out=out)


SMALL = Problem("matmul", (12, 20, 7), "NN")
