"""Reductions beside torch and CuPy: whole arrays, rows and columns of many shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .case import PatternCase, Prepared, Side

__all__ = ["cases", "random_case"]

NAMES = ("sum", "mean", "max", "min", "argmax", "argmin")
SHAPES = ((16384, 16384), (1 << 22, 7), (7, 1 << 22), (65536, 1024), (1 << 18, 100))
SIZES = (1, 1 << 10, 1 << 16, 1 << 20, 1 << 24)
OTHERS = ("float64", "int32", "int64", "uint8")


def cases() -> Sequence[PatternCase]:
    """The ladder at 2^28, every operation there, sums along rows and columns, sizes, dtypes."""
    return list(_cases())


def _cases() -> Iterator[PatternCase]:
    large = 1 << 28
    for name in NAMES:
        yield _case(name, (large,), None, "float32", "2^28 float32", rungs=name == "sum")
    for name in ("sum", "max", "argmax"):
        for shape in SHAPES:
            for axis in (1, 0):
                yield _case(name, shape, axis, "float32")
    for dtype in OTHERS:
        yield _case("sum", (large,), None, dtype, f"2^28 {dtype}")
        yield _case("max", (large,), None, dtype, f"2^28 {dtype}")
    for size in SIZES:
        yield _case("sum", (size,), None, "float32")


def random_case(rng: np.random.Generator) -> PatternCase:
    """An operation on an array of 1 to 2^30 elements: whole, along rows, columns or a middle axis.

    Extents are drawn by their logarithms, so that short and long ones come alike.
    """
    name = str(rng.choice(NAMES))
    bits = rng.uniform(0, 30)
    kind = rng.integers(4)
    if kind == 0:
        return _case(name, (int(2**bits),), None, "float32")
    first = rng.uniform(0, bits)
    if kind < 3:
        shape: tuple[int, ...] = (int(2**first), int(2 ** (bits - first)))
        return _case(name, shape, int(kind) - 1, "float32")
    second = rng.uniform(0, bits - first)
    shape = (int(2**first), int(2**second), int(2 ** (bits - first - second)))
    return _case(name, shape, 1, "float32")


def _case(
    name: str,
    shape: tuple[int, ...],
    axis: int | None,
    dtype: str,
    words: str = "",
    *,
    rungs: bool = False,
) -> PatternCase:
    size = int(np.prod(shape))
    left = 1 if axis is None else size // shape[axis]
    out = np.dtype(np.int64 if name.startswith("arg") else dtype)
    moved = size * np.dtype(dtype).itemsize + left * out.itemsize
    if not words:
        along = "" if axis is None else f" axis {axis}"
        words = f"{' x '.join(map(str, shape))}{along}"
    return PatternCase(name, words, moved, partial(_prepare, name, shape, axis, dtype, rungs=rungs))


def _prepare(
    name: str,
    shape: tuple[int, ...],
    axis: int | None,
    dtype: str,
    side: Side,
    number: int,
    *,
    rungs: bool,
) -> Prepared:
    from ....operations import reducing

    torch = side.torch
    if dtype.startswith("float"):
        x = side.normal(shape, number, dtype)
    else:
        x = side.integers(0, 100, shape, number, dtype)
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    theirs = {} if axis is None else {"dim": axis}
    ours = getattr(reducing, name)
    out = ours(x, **along)
    runs: dict[str, Callable[[], Any]] = {"smemnb": lambda: ours(x, **along, out=out)}
    by_torch = {"max": torch.amax, "min": torch.amin}.get(name) or getattr(torch, name)
    runs["torch"] = lambda: by_torch(x, **theirs)
    if side.cupy:
        found = side.cupy.asarray(x)
        runs["cupy"] = lambda: getattr(found, name)(**along)
    if rungs:
        from ....kernels.reduction.ladder import LADDER

        single = side.empty((1,), dtype)
        runs |= side.steps(LADDER, single, x)
    return Prepared(runs, _right(name, x, by_torch, theirs, side))


def _right(name: str, x: Any, by_torch: Any, theirs: Any, side: Side) -> Callable[[Any], str]:
    """Sums against sums in float64, within their stated error; all else exactly."""
    if name in ("sum", "mean") and x.dtype.is_floating_point:
        true = by_torch(x.double(), **theirs)
        largest = by_torch(x.abs().double(), **theirs)
        allowed = 64 * side.torch.finfo(x.dtype).eps

        def near(result: Any) -> str:
            found = side.torch.as_tensor(result, device=side.device).double().reshape(true.shape)
            error = float(((found - true).abs() / largest.clamp(min=1e-30)).max())
            return "" if error <= allowed else f"error {error:.1e} of the sum of sizes"

        return near
    if name.startswith("arg"):
        wanted = getattr(side.torch, "amax" if name == "argmax" else "amin")(x, **theirs)

        def stands_there(result: Any) -> str:
            at = side.torch.as_tensor(result, device=side.device).long()
            if theirs:
                found = x.gather(theirs["dim"], at.unsqueeze(theirs["dim"])).squeeze(theirs["dim"])
            else:
                found = x.reshape(-1)[at.reshape(())]
            return side.same(found, wanted)

        return stands_there
    return lambda result: side.same(result, by_torch(x, **theirs))
