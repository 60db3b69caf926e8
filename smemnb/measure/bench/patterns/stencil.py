"""The stencil's cases: pictures and lines beside cupyx.scipy.ndimage and torch's conv2d.

torch's conv2d knows the edge "constant" with 0 alone, so that is the edge of all cases; TF32 is off,
as what it leaves out is no rounding of float32. CuPy has two ways for weights that are a column
times a row: all products at once, and rows after columns, which allocates a picture. The limit is
a copy of the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _convolution(
    shape: tuple[int, ...],
    size: tuple[int, ...],
    *,
    dtype: str = "float32",
    separable: bool = False,
    steps: Sequence[Any] = (),
    words: str = "",
) -> PatternCase:
    def prepare(side: Side, number: int) -> Prepared:
        weights = _weights(size, number, separable=separable)
        if dtype == "float32":
            x = side.normal(shape, number)
        else:
            x = side.integers(0, 200, shape, number, dtype)
            weights = abs(weights) / abs(weights).sum()
        out = side.empty(shape, dtype)
        runs: dict[str, Callable[[], Any]] = {
            "smemnb": lambda: convolve(x, weights, "constant", out=out)
        }
        if dtype == "float32":
            runs["torch"] = _torchs(side, x, weights)
        if side.cupy:
            runs |= _cupys(side, x, weights, separable=separable)
        runs |= _rungs(side, steps, out, x, weights)
        true = _true(side, x, weights)
        allowed = 2e-6 if dtype == "float32" else 1.01 / float(true.abs().max())
        return Prepared(runs, lambda result: side.near(result, true, allowed))

    itemsize = np.dtype(dtype).itemsize
    name = " x ".join(map(str, shape)) + f" {dtype}, " + "x".join(map(str, size)) + " weights"
    told = f"{name}{', a column times a row' if separable else ''}{words}"
    return PatternCase("convolve", told, 2 * itemsize * int(np.prod(shape)), prepare, copy=True)


def _torchs(side: Side, x: Any, weights: Any) -> Callable[[], Any]:
    """conv2d, which does not turn the weights around, over a picture or a line."""
    torch = side.torch
    torch.backends.cudnn.allow_tf32 = False
    turned = np.ascontiguousarray(np.flip(np.atleast_2d(weights)))
    kernel = torch.as_tensor(turned, dtype=x.dtype, device=x.device)[None, None]
    picture = x.reshape(1, 1, *((1, -1) if x.ndim == 1 else x.shape))
    high, wide = turned.shape
    if high % 2 and wide % 2:
        around: Any = (high // 2, wide // 2)
    else:
        around = "same"
    return lambda: torch.nn.functional.conv2d(picture, kernel, padding=around)


def _cupys(side: Side, x: Any, weights: Any, *, separable: bool) -> dict[str, Callable[[], Any]]:
    from cupyx.scipy import ndimage

    theirs, kernel = side.cupy.asarray(x), side.cupy.asarray(weights, dtype="float32")
    out = side.cupy.empty_like(theirs)
    if not separable:
        return {"cupy": lambda: ndimage.convolve(theirs, kernel, out, "constant")}
    largest = np.unravel_index(np.argmax(abs(weights)), weights.shape)
    down = side.cupy.asarray(weights[:, largest[1]] / weights[largest], dtype="float32")
    across, between = side.cupy.asarray(weights[largest[0]], dtype="float32"), out.copy()

    def twice() -> Any:
        ndimage.convolve1d(theirs, across, 1, between, "constant")
        return ndimage.convolve1d(between, down, 0, out, "constant")

    return {"cupy": twice}


def _rungs(
    side: Side, steps: Sequence[Any], out: Any, x: Any, weights: Any
) -> dict[str, Callable[[], Any]]:
    """Rungs; they mirror the picture at its edges, so the middle alone is right."""
    return {}


def _true(side: Side, x: Any, weights: Any) -> Any:
    """Sums in float64, a moved picture for each weight."""
    torch = side.torch
    picture = x.double().reshape(1, -1) if x.ndim == 1 else x.double()
    turned = np.flip(np.atleast_2d(weights).astype(np.float64))
    high, wide = turned.shape
    up, left = (high - 1) // 2, (wide - 1) // 2
    pads = (left, wide - 1 - left, up, high - 1 - up)
    around = torch.nn.functional.pad(picture, pads)
    rows, cols = picture.shape
    total = torch.zeros_like(picture)
    for i, j in np.ndindex(high, wide):
        total += float(turned[i, j]) * around[i : i + rows, j : j + cols]
    return total.reshape(x.shape)
