"""Histograms beside torch and CuPy: bytes, few and many bins, even and skewed data, edges.

`counts, no wait` is our count of a given number of bins alone: what `bincount` launches before it
looks at the largest number, which it waits for, as torch and CuPy do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .case import PatternCase, Prepared, Side

__all__ = ["cases", "random_case"]

LARGE = 1 << 28
SHARES = (0.0, 0.5, 0.9, 1.0)
"""Of elements that are all one number."""


def cases() -> Sequence[PatternCase]:
    """The ladder of bytes, numbers of bins from 1024 to 2^20, skewed data, bins between edges."""
    return list(_cases())


def _cases() -> Iterator[PatternCase]:
    for share in (0.0, 0.9):
        yield _counts(LARGE, "uint8", 256, share, rungs=True)
    for bins in (1024, 4096, 65536, 1 << 20):
        for share in (0.0, 0.9):
            yield _counts(LARGE, "int32", bins, share)
    yield _counts(LARGE, "int64", 1024, 0.0)
    for bins, even in ((100, True), (1000, True), (100, False)):
        yield _between(LARGE, bins, even=even)
    for size in (1 << 10, 1 << 16, 1 << 20, 1 << 24):
        yield _counts(size, "int32", 1024, 0.0)


def random_case(rng: np.random.Generator) -> PatternCase:
    """1 to 2^28 elements, 1 to 2^20 bins, each by its logarithm; none, half, most or all equal."""
    size, bins = int(2 ** rng.uniform(0, 28)), int(2 ** rng.uniform(0, 20))
    dtype = str(rng.choice(["uint8", "int16", "int32", "int64"]))
    most = {"uint8": 256, "int16": 32768}.get(dtype, bins)
    return _counts(size, dtype, min(bins, most), float(rng.choice(SHARES)))


def _counts(size: int, dtype: str, bins: int, share: float, *, rungs: bool = False) -> PatternCase:
    power = f"2^{size.bit_length() - 1}" if size & (size - 1) == 0 else str(size)
    words = f"{power} {dtype}, {bins} bins, {share:.0%} equal"
    moved = size * np.dtype(dtype).itemsize + 8 * bins
    prepare = partial(_prepare_counts, size, dtype, bins, share, rungs=rungs)
    return PatternCase("bincount", words, moved, prepare)


def _numbers(side: Side, size: int, dtype: str, bins: int, share: float, number: int) -> Any:
    x = side.integers(0, bins, (size,), number, dtype)
    if share:
        x[side.uniform((size,), number + 1) < share] = bins // 3
    return x


def _prepare_counts(
    size: int, dtype: str, bins: int, share: float, side: Side, number: int, *, rungs: bool
) -> Prepared:
    from ....kernels.histogram.ladder import LADDER
    from ....operations import histograms
    from ....operations.patterns import perform

    x = _numbers(side, size, dtype, bins, share, number)
    room = max(bins, 256) if dtype == "uint8" else bins
    plan = histograms._plan_of_numbers
    runs = {
        "smemnb": lambda: histograms.bincount(x, bins),
        "counts, no wait": lambda: perform("bincount", plan, {"x": x}, (room,))[:bins],
        "torch": lambda: side.torch.bincount(x, minlength=bins),
    }
    if side.cupy:
        theirs = side.cupy.asarray(x)
        runs["cupy"] = lambda: side.cupy.bincount(theirs, minlength=bins)
    if rungs:
        in_blocks = LADDER[1:]  # a launch of the first one takes 0.1 s
        runs |= side.steps(in_blocks, side.empty((bins,), "int64"), x)
    true = side.torch.bincount(x, minlength=bins)
    return Prepared(runs, lambda result: side.same(result, true))


def _between(size: int, bins: int, *, even: bool) -> PatternCase:
    words = f"2^{size.bit_length() - 1} float32, {bins} {'equal bins' if even else 'bins'}"
    prepare = partial(_prepare_between, size, bins, even=even)
    return PatternCase("histogram", words, 4 * size + 8 * bins, prepare)


def _prepare_between(size: int, bins: int, side: Side, number: int, *, even: bool) -> Prepared:
    from ....operations.histograms import histogram

    x, torch, cupy = side.uniform((size,), number), side.torch, side.cupy
    edges = np.sort(np.random.default_rng(number).random(bins + 1)).astype(np.float32)
    edges[0], edges[-1] = 0, 1
    if even:
        runs = {
            "smemnb": lambda: histogram(x, bins, (0.0, 1.0))[0],
            "torch": lambda: torch.histc(x, bins, 0, 1),
        }
    else:
        runs = {"smemnb": lambda: histogram(x, edges)[0]}
    if cupy:
        theirs, marks = cupy.asarray(x), cupy.asarray(edges)
        if even:
            runs["cupy"] = lambda: cupy.histogram(theirs, bins, (0.0, 1.0))[0]
        else:
            runs["cupy"] = lambda: cupy.histogram(theirs, marks)[0]
    inner = torch.as_tensor(edges[1:-1], device=side.device)
    places = (
        (x * bins).long().clamp(max=bins - 1) if even else torch.bucketize(x, inner, right=True)
    )
    true = torch.bincount(places, minlength=bins)
    return Prepared(runs, lambda result: side.near(result, true, 1e-3))
