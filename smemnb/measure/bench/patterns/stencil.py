"""The stencil's cases: pictures and lines beside cupyx.scipy.ndimage and torch's conv2d.

torch's conv2d knows the edge "constant" with 0 alone, so that is the edge of all cases but those of
the rungs; TF32 is off, as what it leaves out is more than float32 rounds. Where weights are a
column times a row, CuPy makes the rows' sums first, in a picture that stands ready. The limit is a
copy of the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ....kernels.stencil import ladder
from ....operations import convolve
from .case import PatternCase, Prepared, Side

__all__ = ["cases", "random_case"]


def _weights(size: tuple[int, ...], number: int, *, separable: bool = False) -> Any:
    rng = np.random.default_rng((52, number))
    if separable:
        return np.multiply.outer(*(rng.standard_normal(n) for n in size))
    return rng.standard_normal(size)


SIDE = 8192
LINE = 1 << 26
SIZES = ((3, 3), (5, 5), (9, 9))
DRAWN = {1: ((3,), (9,)), 2: ((3, 3), (5, 5), (7, 7), (15, 15))}
"""Weights of drawn cases, by axes: few, as each shape of them is a kernel to be compiled."""


def cases() -> Sequence[PatternCase]:
    """The ladders, 3x3 to 15x15 at 8192^2, other dtypes, odd rows, small and narrow pictures."""
    square = (SIDE, SIDE)
    return [
        _rungs("stencil", square, (5, 5)),
        _rungs("line", (LINE,), (9,)),
        _rungs("separable", square, (15, 15)),
        *(_case(square, size) for size in SIZES),
        _case(square, (15, 15), separable=True),
        _case(square, (15, 15)),
        _case((LINE,), (9,)),
        _case((SIDE - 1, SIDE - 1), (5, 5)),
        _case((SIDE // 2, SIDE), (5, 5), dtype="float64"),
        *(_case(square, (5, 5), dtype=dtype) for dtype in ("uint8", "int16", "int32")),
        _case((512, 512), (5, 5)),
        _case((1 << 20, 12), (3, 3)),
        _case((64, 1024, 1024), (3, 3)),
    ]


def random_case(rng: np.random.Generator) -> PatternCase:
    """A line, a picture or a stack of up to 2^24 elements; weights of 15x15 are separable.

    Extents are drawn by their logarithms, so that short and long ones come alike.
    """
    bits, axes = rng.uniform(8, 24), int(rng.integers(1, 4))
    sizes = DRAWN[min(axes, 2)]
    size = sizes[int(rng.integers(len(sizes)))]
    if axes == 1:
        return _case((int(2**bits),), size)
    first = rng.uniform(2, bits - 2)
    shape: tuple[int, ...] = (int(2**first), int(2 ** (bits - first)))
    if axes == 3:
        images = int(rng.integers(1, 9))
        shape = (images, max(1, shape[0] // images), shape[1])
    return _case(shape, size, separable=size == (15, 15))


def _case(
    shape: tuple[int, ...],
    size: tuple[int, ...],
    *,
    dtype: str = "float32",
    separable: bool = False,
) -> PatternCase:
    moved = 2 * np.dtype(dtype).itemsize * int(np.prod(shape))
    words = f"{_by(shape)} {dtype}, {_by(size)}{' separable' if separable else ''}"

    def prepare(side: Side, number: int) -> Prepared:
        weights = _weights(size, number, separable=separable)
        if dtype == "float32" or dtype == "float64":
            x, kernel = side.normal(shape, number, dtype), weights
        else:
            x = side.integers(0, 100, shape, number, dtype)
            kernel = abs(weights) / abs(weights).sum()
        out = side.empty(shape, dtype)
        runs: dict[str, Callable[[], Any]] = {
            "smemnb": lambda: convolve(x, kernel, "constant", out=out)
        }
        if dtype == "float32":
            runs["torch"] = _torchs(side, x, kernel)
        if side.cupy:
            runs["cupy"] = _cupys(side, x, kernel, separable=separable)
        true = _true(side, x, kernel)
        if dtype.startswith("float"):
            return Prepared(runs, lambda result: side.near(result, true, 2e-6))
        # a sum that is a whole number but for roundings is cut to it or to the one below
        return Prepared(runs, lambda result: side.near(result, true, 1.01 / float(true.max())))

    return PatternCase("convolve", words, moved, prepare, copy=True)


def _by(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))


def _rungs(what: str, shape: tuple[int, ...], size: tuple[int, ...]) -> PatternCase:
    """The steps of a ladder, which mirror a picture at its edges."""
    steps = {"stencil": ladder.LADDER, "line": ladder.LINES, "separable": ladder.SEPARABLE}[what]

    def prepare(side: Side, number: int) -> Prepared:
        parts = [_weights((n,), number + at).astype(np.float32) for at, n in enumerate(size)]
        whole = np.outer(*parts) if len(parts) == 2 else parts[0]
        x, out = side.normal(shape, number), side.empty(shape, "float32")
        runs: dict[str, Callable[[], Any]] = {
            "smemnb": lambda: convolve(x, np.flip(whole), "reflect", out=out)
        }
        for step in steps:
            runs |= _step(side, step, out, x, tuple(parts) if what == "separable" else (whole,))
        true = _true(side, x, np.flip(whole), mirrored=True)
        return Prepared(runs, lambda result: side.near(result, true, 2e-6))

    words = f"the ladder: {_by(shape)} float32, {_by(size)}"
    moved = 8 * int(np.prod(shape))
    return PatternCase("convolve", words, moved, prepare, copy=True)


def _step(side: Side, step: Any, out: Any, x: Any, weights: tuple[Any, ...]) -> dict[str, Any]:
    """A run of a step; the first two of the ladder read their weights on the device."""
    from numba import cuda

    arrays = [cuda.as_cuda_array(one, sync=False) for one in (out, x)]
    passed: tuple[Any, ...] = weights
    if step.name in ladder.WEIGHTS_ON_DEVICE:
        kept = side.torch.as_tensor(weights[0], device=x.device)
        side.kept.append(kept)
        passed = (cuda.as_cuda_array(kept, sync=False),)
    bound = [
        (one.kernel[one.grid, one.block, side.stream], one.args)
        for one in step.launches(side.new, *arrays, *passed)
    ]

    def run() -> Any:
        for kernel, args in bound:
            kernel(*args)
        return out

    return {f"rung {step.name}": run}


def _torchs(side: Side, x: Any, weights: Any) -> Callable[[], Any]:
    """conv2d, which does not turn the weights around, over a picture, a stack or a line."""
    torch = side.torch
    torch.backends.cudnn.allow_tf32 = False
    turned = np.ascontiguousarray(np.flip(np.atleast_2d(weights)))
    kernel = torch.as_tensor(turned, dtype=x.dtype, device=x.device)[None, None]
    high, wide = turned.shape
    rows = x.shape[-2] if x.ndim > 1 else 1
    pictures = x.reshape(-1, 1, rows, x.shape[-1])
    around: Any = (high // 2, wide // 2) if high % 2 and wide % 2 else "same"
    return lambda: torch.nn.functional.conv2d(pictures, kernel, padding=around)


def _cupys(side: Side, x: Any, weights: Any, *, separable: bool) -> Callable[[], Any]:
    # of a library that is not installed where types are checked
    ndimage = import_module("cupyx.scipy.ndimage")

    theirs = side.cupy.asarray(x)
    out, kind = side.cupy.empty_like(theirs), "float64" if x.dtype.itemsize == 8 else "float32"
    if x.dtype.is_floating_point:
        kernel = side.cupy.asarray(weights, dtype=kind)
    else:
        kernel = side.cupy.asarray(weights)
    if not separable:
        kernel = kernel.reshape((1,) * (x.ndim - kernel.ndim) + kernel.shape)
        return lambda: ndimage.convolve(theirs, kernel, out, "constant")
    row, col = np.unravel_index(np.argmax(abs(weights)), weights.shape)
    down = side.cupy.asarray(weights[:, col] / weights[row, col], dtype=kind)
    across, between = side.cupy.asarray(weights[row], dtype=kind), side.cupy.empty_like(theirs)

    def twice() -> Any:
        ndimage.convolve1d(theirs, across, -1, between, "constant")
        return ndimage.convolve1d(between, down, -2, out, "constant")

    return twice


def _true(side: Side, x: Any, weights: Any, *, mirrored: bool = False) -> Any:
    """Sums in float64, a moved picture for each weight."""
    rows = x.shape[-2] if x.ndim > 1 else 1
    pictures = x.double().reshape(-1, rows, x.shape[-1])
    turned = np.flip(np.atleast_2d(weights).astype(np.float64))
    total = side.torch.zeros_like(pictures)
    for i, j in np.ndindex(*turned.shape):
        moved = pictures
        for axis, at in ((1, i - (turned.shape[0] - 1) // 2), (2, j - (turned.shape[1] - 1) // 2)):
            moved = _moved(side, moved, axis, at, mirrored=mirrored)
        total += float(turned[i, j]) * moved
    return total.reshape(x.shape)


def _moved(side: Side, pictures: Any, axis: int, at: int, *, mirrored: bool) -> Any:
    """Element k is element k + at; beyond the edges 0, or what a mirror shows."""
    size, torch = pictures.shape[axis], side.torch
    places = torch.arange(size, device=pictures.device) + at
    if mirrored:
        places = places % (2 * size)
        places = torch.where(places < size, places, 2 * size - 1 - places)
        return pictures.index_select(axis, places)
    found = pictures.index_select(axis, places.clamp(0, size - 1))
    there = ((places >= 0) & (places < size)).reshape([-1 if k == axis else 1 for k in range(3)])
    return torch.where(there, found, torch.zeros_like(found))
