"""The ladders of the patterns: reductions, scans, stencils, histograms, rows; whole and ragged.

A case is one launch. Of a step of several launches the first one is taken, which needs nothing that
another has left. Left out are `softmax_joined` and `softmax_trailing`, whose blocks ask again and
again whether others have come; scans that look back run on a single tile, which asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.histogram import ladder as histograms
from ...kernels.reduction import ladder as reductions
from ...kernels.rows import ladder as rows
from ...kernels.scan import ladder as scans
from ...kernels.stencil import ladder as stencils
from ...kernels.step import Launch, Step
from ...measure.verify.case import Array, Case, empty, numbers

Make = Callable[[np.random.Generator], tuple[Any, ...]]

WAITING = ("softmax_joined", "softmax_trailing")
"""Steps whose blocks wait for others in a loop of tries: they have no fixed counts."""


def _zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.zeros(shape, dtype)


def _case(step: Step, size: str, make: Make, kernel: Any = None) -> Case:
    """The launch of a step's first kernel, or of another one, on (out, *inputs) of `make`."""
    kernel = step.kernels[0] if kernel is None else kernel

    def launch(random: np.random.Generator) -> Launch:
        made = step.launches(_zeros, *make(random))
        return next(one for one in made if one.kernel is kernel)

    def arguments(random: np.random.Generator) -> tuple[Any, ...]:
        return launch(random).args

    known = launch(np.random.default_rng(0))
    name = kernel.py_func.__name__
    return Case(
        f"{name} {size}",
        kernel,
        _axes(known.grid),
        _axes(known.block),
        arguments,
        known.shared_bytes,
    )


def _axes(extent: int | tuple[int, ...]) -> tuple[int, ...]:
    return extent if isinstance(extent, tuple) else (extent,)


def _sum(step: Step, size: int) -> Case:
    return _case(step, f"{size}", lambda random: (empty(1), numbers(random, size)))


def _scan(step: Step, *shape: int) -> Case:
    size = " x ".join(map(str, shape))
    return _case(step, size, lambda random: (empty(*shape), numbers(random, *shape)))


def _weighted(step: Step, shape: tuple[int, ...], *weights: tuple[int, ...]) -> Case:
    def make(random: np.random.Generator) -> tuple[Any, ...]:
        some = (numbers(random, *one) for one in weights)
        return empty(*shape), numbers(random, *shape), *some

    return _case(step, " x ".join(map(str, shape)), make)


def _histogram(step: Step, size: int) -> Case:
    def make(random: np.random.Generator) -> tuple[Any, ...]:
        return empty(256, dtype=np.int32), random.integers(0, 256, size).astype(np.uint8)

    return _case(step, f"{size}", make)


def _rows(step: Step, high: int, wide: int, kernel: Any = None) -> Case:
    more = {"layer": (1, 1), "rms": (1,)}.get(step.name.partition("_")[0], ())

    def make(random: np.random.Generator) -> tuple[Any, ...]:
        eps = (np.float32(1e-5),) if more else ()
        weights = (numbers(random, wide) for _ in more)
        return empty(high, wide), numbers(random, high, wide), *weights, *eps

    return _case(step, f"{high} x {wide}", make, kernel)


def _widths(step: Step) -> tuple[int, int]:
    """The length of whole rows that suits a step, and one with an end."""
    most = {"softmax_packed": 128, "softmax_warps": 1024}.get(step.name, 8192)
    return (
        (most, most - 4) if "wide" in step.name or "split" in step.name else (most, most // 2 + 3)
    )


_SCANS_OF_ROWS = tuple(step for step in scans.LADDER if step.fits(empty(2, 1024), empty(2, 1024)))
_LOOKING = tuple(step for step in scans.LADDER if step not in _SCANS_OF_ROWS)
_SPLIT = rows.step_named("softmax_split")

CASES = (
    *(_sum(step, size) for step in reductions.LADDER for size in (8192, 5003)),
    *(_scan(step, 2, 1024) for step in _SCANS_OF_ROWS),
    *(_scan(step, 2, 700) for step in _SCANS_OF_ROWS),
    *(_scan(step, 1000) for step in _LOOKING),
    *(_weighted(step, (64, 512), (5, 5)) for step in stencils.LADDER),
    *(_weighted(step, (37, 132), (5, 5)) for step in stencils.LADDER),
    *(_weighted(step, (2052,), (9,)) for step in stencils.LINES),
    *(_weighted(step, (37, 132), (15,), (15,)) for step in stencils.SEPARABLE),
    *(_histogram(step, size) for step in histograms.LADDER for size in (32768, 5003)),
    *(
        _rows(step, 4, wide)
        for step in rows.LADDER
        if step is not _SPLIT and step.name not in WAITING
        for wide in _widths(step)
    ),
    _rows(_SPLIT, 2, 16_380, _SPLIT.kernels[1]),
)
