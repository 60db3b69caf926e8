"""The rungs of the stencils in order, with their launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..step import Launch, New, Step
from .rungs import stencil_framed as framed
from .rungs.line_direct import line_direct
from .rungs.line_naive import line_naive
from .rungs.line_tiled import line_tiled
from .rungs.line_wide import line_wide
from .rungs.separable_sliding import separable_sliding
from .rungs.separable_tiled import separable_tiled
from .rungs.separable_twice import columns_weighed, separable_twice
from .rungs.stencil_ahead import stencil_ahead
from .rungs.stencil_column import stencil_column
from .rungs.stencil_constant import stencil_constant
from .rungs.stencil_direct import stencil_direct
from .rungs.stencil_inside import stencil_inside
from .rungs.stencil_naive import stencil_naive
from .rungs.stencil_sliding import stencil_sliding
from .rungs.stencil_tiled import stencil_tiled
from .rungs.stencil_unsigned import stencil_unsigned
from .rungs.stencil_wide import stencil_wide

WIDE_BYTES = 16


def as_arguments(weights: Any) -> tuple[Any, ...]:
    """Weights in host memory as a tuple of numbers, row by row."""
    return tuple(weights.ravel())


def without_gaps(out: Any, inp: Any, *weights: Any) -> bool:
    """Whether the elements of both pictures follow each other."""
    return all(
        array.strides[-1] == array.dtype.itemsize
        and array.strides[0] == array.dtype.itemsize * (array.shape[1] if array.ndim == 2 else 1)
        for array in (out, inp)
    )


def in_chunks(out: Any, inp: Any, *weights: Any) -> bool:
    """Whether rows of both pictures are whole chunks of 16 bytes, one after the other."""
    row = inp.shape[-1] * inp.dtype.itemsize
    return without_gaps(out, inp) and row % WIDE_BYTES == 0


def _grid(out: Any, tile: tuple[int, ...]) -> tuple[int, ...]:
    """Blocks that cover out, x first."""
    return tuple(-(-extent // side) for extent, side in zip(out.shape, tile, strict=True))[::-1]


def _step(
    kernel: Any,
    changed: str,
    tile: tuple[int, ...],
    block: int | tuple[int, int],
    *,
    as_array: bool = False,
    fits: Callable[..., bool] = lambda *arrays: True,
) -> Step:
    def launches(new: New, out: Any, inp: Any, *weights: Any) -> Sequence[Launch]:
        passed = weights if as_array else tuple(map(as_arguments, weights))
        grid = _grid(out, tile)
        return [Launch(kernel, grid, block, (out, inp, *passed))] if out.size else []

    return Step(kernel.__name__, changed, (kernel,), launches, fits)


def _framed(new: New, out: Any, inp: Any, weights: Any) -> Sequence[Launch]:
    if not out.size:
        return []
    frame, down, across = framed.blocks(*inp.shape)
    args = out, inp, as_arguments(weights)
    return [Launch(framed.stencil_framed, frame + down * across, framed.THREADS, args)]


def _twice(new: New, out: Any, inp: Any, down: Any, across: Any) -> Sequence[Launch]:
    if not out.size:
        return []
    sums, grid, block = new(out.shape, out.dtype), _grid(out, (8, 32)), (32, 8)
    first = Launch(separable_twice, grid, block, (sums, inp, as_arguments(across)))
    return [first, Launch(columns_weighed, grid, block, (out, sums, as_arguments(down)))]


LADDER: tuple[Step, ...] = (
    _step(stencil_naive, "25 loads per element", (8, 32), (32, 8), as_array=True),
    _step(stencil_tiled, "through a tile with a halo", (8, 32), (32, 8), as_array=True),
    _step(stencil_constant, "weights as arguments, in constant memory", (8, 32), (32, 8)),
    _step(stencil_column, "8 elements of a column per thread", (64, 32), (32, 8)),
    _step(stencil_sliding, "down the columns, a row at a time", (32, 128), 128),
    _step(stencil_unsigned, "flat offsets of 32 bits", (32, 128), 128, fits=without_gaps),
    _step(stencil_wide, "4 columns per thread, 16 bytes", (32, 512), 128, fits=in_chunks),
    _step(stencil_direct, "no shared memory", (32, 512), 128, fits=in_chunks),
    _step(stencil_ahead, "the next row is loaded first", (32, 512), 128, fits=in_chunks),
    _step(stencil_inside, "a loop of its own inside", (32, 512), 128, fits=in_chunks),
    Step(
        framed.stencil_framed.__name__,
        "4x4 elements per thread, blocks for the frame",
        (framed.stencil_framed,),
        _framed,
        in_chunks,
    ),
)
"""5x5 weights on a picture of float32, mirrored at its edges: `launches(new, out, inp, weights)`,
`weights` an array in host memory but for the first two, which read it on the device."""

WEIGHTS_ON_DEVICE = ("stencil_naive", "stencil_tiled")
"""Steps that read weights from an array of the device; the others take them as arguments."""

LINES: tuple[Step, ...] = (
    _step(line_naive, "9 loads per element", (256,), 256),
    _step(line_tiled, "through a tile with a halo", (256,), 256),
    _step(line_wide, "4 elements per thread, 16 bytes", (1024,), 256, fits=in_chunks),
    _step(line_direct, "no shared memory", (1024,), 256, fits=in_chunks),
)
"""9 weights along a line of float32: `launches(new, out, inp, weights)`."""

SEPARABLE: tuple[Step, ...] = (
    Step(
        separable_twice.__name__,
        "rows, then columns, through a second picture",
        (separable_twice, columns_weighed),
        _twice,
    ),
    _step(separable_tiled, "both in one launch, through a tile", (32, 32), (32, 8)),
    _step(
        separable_sliding, "as stencil_direct, sums of a row first", (64, 512), 128, fits=in_chunks
    ),
)
"""15 weights down the columns and 15 along the rows of a picture of float32: `launches(new, out,
inp, down, across)`."""
