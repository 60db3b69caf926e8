"""Running sums beside torch and CuPy: whole arrays, rows and columns of many shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .case import PatternCase, Prepared, Side

__all__ = ["cases", "random_case"]

ROWS = 262144, 1024
SHAPES = (
    ((1024, 262144), 1),
    (ROWS, 1),
    ((65536, 4001), 1),
    ((1 << 22, 7), 1),
    ((1 << 23, 32), 1),
    ((16384, 16384), 0),
    ((64, 1024, 1024), 1),
    ((7, 1 << 22), 0),
)
SIZES = (1, 1000, 10_000, 100_000, 1_000_000, 10_000_000)
OTHERS = ("float64", "int32", "uint8")


def cases() -> Sequence[PatternCase]:
    """The ladder, inclusive and exclusive at 2^28, rows and columns, sizes, dtypes, maxima."""
    return list(_cases())


def _cases() -> Iterator[PatternCase]:
    large = (1 << 28,)
    yield _case("cumsum", large, None, "float32", "2^28 float32", rungs=True)
    yield _case("cumsum exclusive", large, None, "float32", "2^28 float32")
    yield _case("cummax", large, None, "float32", "2^28 float32")
    yield _case("rungs of rows", ROWS, 1, "float32", rungs=True)
    for shape, axis in SHAPES:
        yield _case("cumsum", shape, axis, "float32")
    for dtype in OTHERS:
        yield _case("cumsum", large, None, dtype, f"2^28 {dtype}")
    for size in SIZES:
        yield _case("cumsum", (size,), None, "float32")


def random_case(rng: np.random.Generator) -> PatternCase:
    """A running sum over 1 to 2^28 elements: whole, along rows, columns or a middle axis.

    Extents are drawn by their logarithms, so that short and long ones come alike.
    """
    bits = rng.uniform(0, 28)
    kind = rng.integers(4)
    if kind == 0:
        return _case("cumsum", (int(2**bits),), None, "float32")
    first = rng.uniform(0, bits)
    if kind < 3:
        shape: tuple[int, ...] = (int(2**first), int(2 ** (bits - first)))
        return _case("cumsum", shape, int(kind) - 1, "float32")
    second = rng.uniform(0, bits - first)
    shape = (int(2**first), int(2**second), int(2 ** (bits - first - second)))
    return _case("cumsum", shape, 1, "float32")


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
    out = dtype if dtype.startswith("float") else "int64"
    moved = size * (np.dtype(dtype).itemsize + np.dtype(out).itemsize)
    if not words:
        along = "" if axis is None else f" axis {axis}"
        words = f"{' x '.join(map(str, shape))}{along}"
    prepare = partial(_prepare, name, shape, axis, dtype, out, rungs=rungs)
    return PatternCase(name, words, moved, prepare, copy=size >= 1 << 20)


def _prepare(
    name: str,
    shape: tuple[int, ...],
    axis: int | None,
    dtype: str,
    kind: str,
    side: Side,
    number: int,
    *,
    rungs: bool,
) -> Prepared:
    from ....operations import scanning

    torch, at = side.torch, 0 if axis is None else axis
    if dtype.startswith("float"):
        x = side.normal(shape, number, dtype)
    else:
        x = side.integers(0, 100, shape, number, dtype)
    out = side.empty(shape, kind)
    if name == "cummax":
        runs: dict[str, Callable[[], Any]] = {"smemnb": lambda: scanning.cummax(x, at, out=out)}
        return Prepared(runs, lambda result: side.same(result, torch.cummax(x, at).values))
    exclusive = name.endswith("exclusive")
    runs = {"smemnb": lambda: scanning.cumsum(x, at, exclusive=exclusive, out=out)}
    theirs = side.empty(shape, kind)
    if not exclusive:
        runs["torch"] = lambda: torch.cumsum(x, at, dtype=theirs.dtype, out=theirs)
        if side.cupy:
            found, into = side.cupy.asarray(x), side.cupy.asarray(theirs)
            runs["cupy"] = lambda: side.cupy.cumsum(found, axis=at, out=into)
    else:
        shifted = side.empty((shape[0] + 1,), kind).zero_()  # 0, then what torch has
        runs["torch"] = lambda: (torch.cumsum(x, 0, out=shifted[1:]), shifted[:-1])[1]
    if rungs:
        from ....kernels.scan.ladder import LADDER

        runs |= side.steps(LADDER, out, x)
    return Prepared(runs, _right(x, at, side, exclusive=exclusive))


def _right(x: Any, at: int, side: Side, *, exclusive: bool) -> Callable[[Any], str]:
    """Within the stated error of sums in float64; integers exactly."""
    torch = side.torch

    def near(result: Any) -> str:
        found = torch.as_tensor(result, device=side.device)
        wide = torch.float64 if x.dtype.is_floating_point else torch.int64
        true = torch.cumsum(x, at, dtype=wide)
        if exclusive and bool(found.narrow(at, 0, 1).any()):
            return "does not begin with 0"
        if wide == torch.int64:
            return "" if torch.equal(found, true) else "other elements"
        allowed = torch.cumsum(x.abs(), at, dtype=wide) * 100 * torch.finfo(x.dtype).eps
        if exclusive:
            found, true, allowed = (
                found.narrow(at, 1, x.shape[at] - 1),
                true.narrow(at, 0, x.shape[at] - 1),
                allowed.narrow(at, 0, x.shape[at] - 1),
            )
        wrong = int(((found - true).abs() > allowed).sum())
        return f"{wrong} elements are off by more than 100 eps" if wrong else ""

    return near
