"""What compute-sanitizer's four tools say about the kernels that problems of a sweep choose.

    python -m smemnb.measure.bench.sweep.sanitized matmul --seed 2 --count 60

takes the first problems of a seed that are not too large, compiles their kernels side by side,
once, and launches each problem under each tool: several processes at once, some problems each.
Results are compared in the same processes.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import SmemnbError
from ...sanitizer import AT_ONCE, TOOLS, findings
from ..calls_ahead import CallsAhead, processes_for
from .place import calls_of
from .problems import OPERATIONS, Problem, problems

__all__ = ["chosen", "examined", "launched", "main"]

MOST_WORK = {"matmul": 3 * 10**9, "transpose": 2 * 10**8}
"""FLOP of a product, bytes read and written of a transpose: racecheck takes minutes for more."""
MOST_ELEMENTS = 1 << 26
"""Of all matrices of a problem."""
DRAWN = 400
"""Problems of a seed from which the first ones are taken."""
EACH = 5
"""Problems of a process."""


def chosen(operation: str, count: int, seed: int) -> tuple[int, ...]:
    """Numbers of the first problems of a seed that are small enough.

    >>> chosen("matmul", 5, seed=1)
    (0, 2, 4, 6, 7)
    """
    drawn = problems(operation, DRAWN, seed)
    small = (at for at, one in enumerate(drawn) if _is_small(one))
    return tuple(at for at, _ in zip(small, range(count), strict=False))


def _is_small(problem: Problem) -> bool:
    return problem.work <= MOST_WORK[problem.operation] and _elements(problem) <= MOST_ELEMENTS


def _elements(problem: Problem) -> int:
    if problem.operation == "transpose":
        return 2 * prod(problem.shape)
    rows, cols, depth = problem.shape
    return rows * depth + depth * cols + rows * cols


def launched(operation: str, seed: int, numbers: Sequence[int]) -> Iterator[str]:
    """Launch problems on this process's device; a line for each, WRONG where values are."""
    drawn = problems(operation, DRAWN, seed)
    for at in numbers:
        right = (_product if operation == "matmul" else _transpose)(drawn[at], at)
        yield f"{'right' if right else 'WRONG'}: {drawn[at]}"


def _product(problem: Problem, number: int) -> bool:
    from numba import cuda

    from ....operations import matmul

    rows, cols, depth = problem.shape
    random = np.random.default_rng(number)
    a, b = (
        random.uniform(-1, 1, extents).astype(np.float32)
        for extents in ((rows, depth), (depth, cols))
    )
    left, right = (
        cuda.to_device(np.ascontiguousarray(one.T)).T if letter == "T" else cuda.to_device(one)
        for one, letter in zip((a, b), problem.layout, strict=True)
    )
    out = cuda.device_array((rows, cols), np.float32)
    matmul(left, right, out=out)
    far = np.abs(out.copy_to_host() - a.astype(np.float64) @ b.astype(np.float64)).max()
    return bool(far <= 2.0**-21 * depth)


def _transpose(problem: Problem, number: int) -> bool:
    from numba import cuda

    from ....operations import transpose

    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
    size = problem.itemsize
    bits = np.random.default_rng(number).integers(0, 256, prod(problem.shape) * size, np.uint8)
    inp: Any = bits.view(np.uint64 if size == 16 else kind[size])
    if size == 16:  # whole numbers: every bit pattern of a float is not kept
        inp = inp.astype(np.float64).view(np.complex128)
    inp = inp.reshape(problem.shape)
    out = cuda.device_array(inp.shape[::-1], inp.dtype)
    transpose(cuda.to_device(inp), out=out)
    return bool(np.array_equal(out.copy_to_host(), inp.T))


def examined(
    operation: str,
    seed: int,
    numbers: Sequence[int],
    kernels: str,
    look: Callable[[Sequence[str], str], int] = findings,
    processes: int = AT_ONCE,
) -> Iterator[tuple[str, tuple[int, ...], int | str]]:
    """Tool, problems and number of findings, or in words why there is none; as they are asked."""
    parts = [tuple(numbers[at : at + EACH]) for at in range(0, len(numbers), EACH)]

    def one(tool: str, part: tuple[int, ...]) -> int | str:
        words = "-m", __name__, operation, "--seed", str(seed), "--kernels", kernels
        try:
            return look([sys.executable, *words, "--launch", ",".join(map(str, part))], tool)
        except SmemnbError as error:
            return str(error)

    with ThreadPoolExecutor(processes) as pool:
        asked = [(tool, part) for part in parts for tool in TOOLS]
        answers = [pool.submit(one, *words) for words in asked]
        for (tool, part), answer in zip(asked, answers, strict=True):
            yield tool, part, answer.result()


def main(argv: Sequence[str] | None = None) -> int:
    """Examine and print what is found; 0 without a finding, 1 with one or a failure."""
    parser = argparse.ArgumentParser(prog=f"python -m {__name__}")
    parser.add_argument("operation", choices=OPERATIONS)
    parser.add_argument("--seed", type=int, default=1, help="of the problems")
    parser.add_argument("--count", type=int, default=60, help="problems")
    parser.add_argument("--processes", type=int, help="at once (processors less 2)")
    parser.add_argument("--launch", metavar="N,N", help="launch these, without a tool")
    parser.add_argument("--kernels", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.launch is not None:
        numbers = tuple(map(int, options.launch.split(",")))
        return _launch(options.operation, options.seed, numbers, options.kernels)
    numbers = chosen(options.operation, options.count, options.seed)
    processes = max(1, processes_for(options.processes))
    words = options.operation, DRAWN, options.seed
    with tempfile.TemporaryDirectory() as folder:
        kernels = Path(folder) / "kernels"
        with CallsAhead(calls_of, words, numbers, processes) as ahead:
            ahead.wait()
            kernels.write_bytes(pickle.dumps(dict(ahead.kernels)))
            print(f"{len(numbers)} problems, {len(ahead.kernels)} kernels compiled", flush=True)
        return _show(examined(*words[::2], numbers, str(kernels), processes=processes))


def _show(answers: Iterator[tuple[str, tuple[int, ...], int | str]]) -> int:
    totals, bad = dict.fromkeys(TOOLS, 0), 0
    for tool, part, found in answers:
        bad += found != 0
        if isinstance(found, int):
            totals[tool] += found
        if found != 0:
            print(f"{tool}, problems {', '.join(map(str, part))}: {found}", flush=True)
    print(", ".join(f"{tool} {count}" for tool, count in totals.items()) + f"; {bad} failed")
    return int(bad > 0)


def _launch(operation: str, seed: int, numbers: Sequence[int], kernels: str) -> int:
    ahead: Any = CallsAhead(calls_of, (), (), 0)
    if kernels:
        ahead.kernels = pickle.loads(Path(kernels).read_bytes())
    wrong = 0
    with ahead.ready(0):
        for line in launched(operation, seed, numbers):
            print(line, flush=True)
            wrong += line.startswith("WRONG")
    print(ahead.words())
    if wrong:
        print(f"{wrong} wrong results", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
