"""Row normalisation beside torch, CuPy and a copy: rows and columns of many lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .case import PatternCase, Prepared, Side

__all__ = ["cases", "random_case"]

NAMES = ("softmax", "log_softmax", "layer_norm", "rms_norm")
LADDERS = ((8192, 8192), (65536, 1024), (1000000, 100), (1000, 100000))
LENGTHS = (
    (16384, 16384),
    (8191, 8191),
    (100000, 1000),
    (100000, 1001),
    (10000000, 7),
    (64, 1 << 20),
    (1, 1 << 26),
)
FEW_LENGTHS = ((8191, 8191), (1000000, 100), (1000, 100000))
COLUMNS: tuple[tuple[int, ...], ...] = (
    (8192, 8192),
    (64, 1000, 1024),
    (1000, 100, 1000),
    (1000000, 20, 3),
)
MOST = 1 << 26
LAST = -1


def cases() -> Sequence[PatternCase]:
    """The ladder on four lengths, every operation on many, columns, float64."""
    return list(_cases())


def _cases() -> Iterator[PatternCase]:
    for shape in LADDERS:
        yield _case("softmax", shape, LAST, "float32", rungs=True)
    for name in NAMES:
        yield _case(name, (8192, 4096), LAST, "float64")
    for name in NAMES[1:]:
        yield _case(name, LADDERS[0], LAST, "float32", rungs=True)
        yield _case(name, LADDERS[1], LAST, "float32")
    for shape in LENGTHS:
        yield _case("softmax", shape, LAST, "float32")
    for columns in COLUMNS:
        yield _case("softmax", columns, len(columns) - 2, "float32")
    for name in NAMES[1:]:
        for shape in FEW_LENGTHS:
            yield _case(name, shape, LAST, "float32")


def random_case(rng: np.random.Generator) -> PatternCase:
    """An operation on rows of 1 to 2^22 elements, 2^26 in all; softmax also down columns.

    Extents are drawn by their logarithms, and four in ten lengths are multiples of 4.
    """
    name = str(rng.choice(NAMES))
    bits = rng.uniform(0, np.log2(MOST))
    length = int(2 ** rng.uniform(0, min(bits, 22)))
    if rng.random() < 0.4:
        length = -(-length // 4) * 4
    others = max(1, int(2**bits) // length)
    if name in NAMES[:2] and rng.random() < 0.2:
        inner = int(2 ** rng.uniform(0, np.log2(others)))
        return _case(name, (max(1, others // inner), length, inner), 1, "float32")
    return _case(name, (others, length), LAST, "float32")


def _case(
    name: str, shape: tuple[int, ...], axis: int, dtype: str, *, rungs: bool = False
) -> PatternCase:
    moved = 2 * int(np.prod(shape)) * np.dtype(dtype).itemsize
    along = "" if axis == LAST else f" axis {axis}"
    words = f"{' x '.join(map(str, shape))}{along}"
    if dtype != "float32":
        words = f"{words} {dtype}"
    run = partial(_prepare, name, shape, axis, dtype, rungs=rungs)
    return PatternCase(name, words, moved, run, copy=True)


def _prepare(
    name: str,
    shape: tuple[int, ...],
    axis: int,
    dtype: str,
    side: Side,
    number: int,
    *,
    rungs: bool,
) -> Prepared:
    from ....operations import normalising

    x, out = side.normal(shape, number, dtype), side.empty(shape, dtype)
    length, functions = shape[axis], side.torch.nn.functional
    ours, theirs = getattr(normalising, name), getattr(functions, name)
    more: tuple[Any, ...] = ()
    if name.endswith("norm"):
        more = (side.normal((length,), 1000 + number, dtype),)
        if name == "layer_norm":
            more = (*more, side.normal((length,), 2000 + number, dtype))

        def by_torch(inp: Any, *arrays: Any) -> Any:
            return theirs(inp, (length,), *arrays)

        runs: dict[str, Callable[[], Any]] = {"smemnb": lambda: ours(x, *more, out=out)}
    else:

        def by_torch(inp: Any, *arrays: Any) -> Any:
            return theirs(inp, axis)

        runs = {"smemnb": lambda: ours(x, axis, out=out)}
    runs["torch"] = lambda: by_torch(x, *more)
    if side.cupy and name.endswith("softmax"):
        runs["cupy"] = _by_cupy(name, side.cupy, x, axis)
    if rungs:
        runs |= side.steps(_ladder(name), out, x)
    if rungs and more:
        runs |= _norm_steps(name, side, out, x, more)
    form = partial(_right, by_torch, x, more, side, axis=axis, positive=name == "softmax")
    # whoever adds one element after the other errs by half a unit for each
    return Prepared(runs, form(), {"rung softmax_naive": form(terms=length)} if rungs else {})


def _by_cupy(name: str, cupy: Any, x: Any, axis: int) -> Callable[[], Any]:
    found, run = cupy.asarray(x), getattr(import_module("cupyx.scipy.special"), name)
    return lambda: run(found, axis=axis)


def _ladder(name: str) -> Sequence[Any]:
    from ....kernels.rows import ladder

    return {"softmax": ladder.SOFTMAX, "log_softmax": ladder.LOG_SOFTMAX}.get(name, ())


def _norm_steps(
    name: str, side: Side, out: Any, x: Any, more: tuple[Any, ...]
) -> dict[str, Callable[[], Any]]:
    """The rung of a norm, which takes a number after its arrays."""
    from numba import cuda

    from ....kernels.rows import ladder

    (step,) = {"layer_norm": ladder.LAYER_NORM, "rms_norm": ladder.RMS_NORM}[name]
    arrays = [cuda.as_cuda_array(one, sync=False) for one in (out, x, *more)]
    eps = np.float32(1e-5 if name == "layer_norm" else np.finfo(np.float32).eps)
    if not step.fits(*arrays, eps):
        return {}
    (launch,) = step.launches(side.new, *arrays, eps)
    bound = launch.kernel[launch.grid, launch.block, side.stream]

    def run() -> Any:
        bound(*launch.args)
        return out

    return {f"rung {step.name}": run}


def _right(
    by_torch: Callable[..., Any],
    x: Any,
    more: tuple[Any, ...],
    side: Side,
    *,
    axis: int,
    positive: bool,
    terms: int = 0,
) -> Callable[[Any], str]:
    """Beside float64: no worse than twice PyTorch's own error, and a few units of the last place.

    The error is that of an element where all are `positive`, else a share of the largest one. Of a
    sum of so many `terms`, one after the other, half a unit for each more.
    """
    lines = 1 if axis == 0 else 0  # a part of the others: along `axis` they are whole
    kept = max(1, min(x.shape[lines], (1 << 22) * x.shape[lines] // x.numel()))
    part = (slice(None),) * lines + (slice(0, kept),)
    some = x[part]
    true = by_torch(some.double(), *(one.double() for one in more))
    unit = side.torch.finfo(x.dtype).eps
    scale = (true.abs() if positive else true.abs().max()).clamp(min=1e-30)
    allowed = 2 * float(((by_torch(some, *more).double() - true).abs() / scale).max())
    allowed += (4 + terms / 2) * unit

    def near(result: Any) -> str:
        found = side.torch.as_tensor(result, device=side.device)[part].double()
        error = float(((found - true).abs() / scale).max())
        return "" if error <= allowed else f"error {error:.1e}, above {allowed:.1e}"

    return near
