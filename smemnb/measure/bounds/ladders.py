"""The bounds of all rungs of the ladders, for matrices of any size, in a moment each.

Blocks of a ladder's kernel do the same, whatever the size: one block is run in the engine, on
matrices whose rows lie as far apart as those of the large ones. A product is run at two depths; its
counts grow by as much for each step of the depth, so two points tell those of any depth. That the
sums equal a full trace is tested at small sizes.

**Limits**: blocks at an edge that is no whole tile are left out, so that for ragged shapes the
bound is lower than it might be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from ...errors import SmemnbError
from ...hardware import WARP_LANES, Chip
from ...kernels.matmul import ladder as products
from ...kernels.rung import Rung
from ...kernels.transpose import ladder as transposes
from ...rules.roofline import Bound, Work, bound
from .counts import Counts, counts
from .launches import work_of
from .machine_code import MachineCode, machine_code

__all__ = ["CHOICE", "bound_of_rung", "rungs", "work_of_rung"]

CHOICE = "fastest"
_STEP = 32  # depth that every rung's tiles divide
_TYPES = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64, 16: np.uint64}
_PER_BLOCK = ("blocks", "watched", "shared_bytes", "block_loads")  # what is no sum over blocks


def rungs() -> Iterator[tuple[str, str]]:
    """(operation, rung) of both ladders in their order, the copy before the transposes."""
    for rung in (transposes.COPY, *transposes.LADDER):
        yield "transpose", rung.name
    for rung in products.LADDER:
        yield "matmul", rung.name


def bound_of_rung(
    rung: str,
    shape: tuple[int, ...],
    itemsize: int = 4,
    chip: Chip | None = None,
    *,
    spare: int = 0,
    compiled: bool = True,
) -> Bound:
    """The least time of a rung of a ladder on a chip.

    The transposes have nothing to do but to move bytes: 2 GiB over 4.8 TB/s. Only the 32 wavefronts
    of an unpadded tile's read take longer than that.

    >>> from smemnb.hardware import chip
    >>> for name in "transpose_tiled", "transpose_padded":
    ...     found = bound_of_rung(name, (16384, 16384), 4, chip("H200"), compiled=False)
    ...     print(name, found.limiter, f"{found.ms:.3f} ms")
    transpose_tiled shared 1.123 ms
    transpose_padded dram 0.447 ms

    Args:
        rung: a name of a ladder, or "fastest" for the kernel that fits the matrices.
        shape: rows and columns; and depth, for a product.
        itemsize: bytes of an element; other than 4 for "fastest" transposes only.
        chip: from `smemnb.hardware.chip`; the device of this process if None.
        spare: elements between the rows of the matrices.
        compiled: whether the kernel is compiled, where that is possible (seconds, once).

    Raises:
        SmemnbError: an unknown rung, or one that does not take these matrices.
    """
    if chip is None:
        from .launches import chip_of_device

        chip = chip_of_device()
    return bound(work_of_rung(rung, shape, itemsize, chip, spare=spare, compiled=compiled), chip)


def work_of_rung(
    rung: str,
    shape: tuple[int, ...],
    itemsize: int,
    chip: Chip,
    *,
    spare: int = 0,
    compiled: bool = True,
) -> Work:
    """What a rung has to do; arguments as for `bound_of_rung`."""
    case = _case(rung, shape, itemsize, spare, chip)
    return _product(case, chip, compiled) if len(shape) == 3 else _transpose(case, chip, compiled)


@dataclass(frozen=True)
class _Case:
    """A rung on matrices of a shape: `arrays` are `out` and the inputs, without memory.

    `shared` says that blocks share what is left over from whole rounds of tiles.
    """

    rung: Rung
    shape: tuple[int, ...]
    itemsize: int
    arrays: tuple[Any, ...]
    shared: bool = False

    @property
    def name(self) -> str:
        return f"{self.rung.name} {'x'.join(map(str, self.shape))}"

    @property
    def blocks(self) -> int:
        wide, high = self.rung.grid(*self.shape[:2])
        return wide * high

    @property
    def inner(self) -> int:
        """Blocks whose tile lies inside."""
        return (self.shape[0] // self.rung.tile[0]) * (self.shape[1] // self.rung.tile[1])

    @property
    def whole(self) -> bool:
        return self.blocks == self.inner

    def machine_code(self, chip: Chip) -> MachineCode | None:
        kind = {1: "uint8", 2: "uint16", 4: "float32"}.get(self.itemsize, "uint64")
        types = ", ".join([f"{kind}[:, ::1]"] * len(self.arrays))
        types += ", float32, float32" * self.rung.scaled
        return machine_code(self.rung.kernel, f"void({types})", chip.cc)


def _case(name: str, shape: tuple[int, ...], itemsize: int, spare: int, chip: Chip) -> _Case:
    if len(shape) not in (2, 3) or min(shape) < 1 or itemsize not in _TYPES:
        raise SmemnbError(
            f"shape {shape} of {itemsize} bytes: a transpose has rows and columns, a product rows,"
            " columns and depth, all of them 1 or more; elements have 1, 2, 4, 8 or 16 bytes"
        )
    arrays = tuple(_stand_in(*extents, itemsize, spare) for extents in _extents(name, shape))
    if name == CHOICE:
        return _Case(*_choice(arrays, shape, itemsize, chip))
    every = (transposes.COPY, *transposes.LADDER) if len(shape) == 2 else products.LADDER
    rung = next((one for one in every if one.name == name), None)
    if rung is None:
        known = ", ".join(one.name for one in every)
        raise SmemnbError(f"no rung {name!r} for {len(shape)} extents; there are {known}")
    if itemsize != 4 or not rung.fits(*arrays):
        raise SmemnbError(
            f"{name} moves 4 bytes per element, and rows that begin at multiples of {rung.aligned}"
            f" elements; for other matrices ask for {CHOICE!r}"
        )
    return _Case(rung, shape, itemsize, arrays)


def _extents(name: str, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Rows and columns of `out` and of the inputs."""
    rows, cols, *deep = shape
    if deep:
        return (rows, cols), (rows, deep[0]), (deep[0], cols)
    return (rows, cols) if name == transposes.COPY.name else (cols, rows), (rows, cols)


def _choice(
    arrays: tuple[Any, ...], shape: tuple[int, ...], itemsize: int, chip: Chip
) -> tuple[Any, ...]:
    """The case of the kernel that fits arrays and chip."""
    if len(arrays) == 2:
        return transposes.fastest(*arrays), shape, itemsize, arrays
    out, a, b = arrays
    fit = products.fastest(out, a, b, chip.sms)
    shared = fit.sums > 0
    if shared:  # the same products, shared out: those of the kernel whose tiles are whole
        fit = products.fit_of(products.VARIED, out, a, b)
    tile = fit.rung.tile if fit.rung else (0, 0)
    return Rung(fit.kernel, "", fit.block, tile, scaled=True), shape, itemsize, arrays, shared


def _stand_in(rows: int, cols: int, itemsize: int, spare: int) -> Any:
    """An array of this shape and these strides over one element."""
    kind = np.dtype(_TYPES[itemsize])
    strides = ((cols + spare) * itemsize, kind.itemsize)
    shape = (rows, cols * itemsize // kind.itemsize)
    return np.lib.stride_tricks.as_strided(np.empty(1, kind), shape, strides)


def _corner(rows: int, cols: int, pitch: int, dtype: Any) -> Any:
    """Zeros of rows x cols elements on the device, rows `pitch` elements apart."""
    return cuda.to_device(np.zeros((rows, pitch), dtype))[:, :cols]


def _transpose(case: _Case, chip: Chip, compiled: bool) -> Work:
    rows, cols = case.rung.tile
    out, inp = case.arrays
    parts = inp.shape[1] // case.shape[1]
    copies = case.rung.name == transposes.COPY.name
    block = Counts()
    if case.inner:
        turned = (rows, cols) if copies else (cols, rows)
        corners = (
            _corner(high, wide * parts, array.strides[0] // array.itemsize, array.dtype)
            for array, (high, wide) in ((out, turned), (inp, (rows, cols)))
        )
        block = counts(case.rung.kernel, ((1, 1), case.rung.block), tuple(corners))
    work = _work(case, chip, block, 0, compiled)
    moved = case.shape[0] * case.shape[1] * case.itemsize
    warps = -(-work.threads // WARP_LANES)
    in_flight = block.block_loads // warps or None
    return replace(work, loaded_bytes=moved, stored_bytes=moved, warp_loads=in_flight)


def _product(case: _Case, chip: Chip, compiled: bool) -> Work:
    rows, cols, depth = case.shape
    block = _block_of_depth(case, depth) if case.inner else Counts()
    tile_rows, tile_cols = case.rung.tile
    work = _work(case, chip, block, tile_rows * tile_cols * depth, compiled)
    loaded, size = rows * depth + depth * cols, case.itemsize
    return replace(
        work,
        fma=rows * cols * depth,
        loaded_bytes=loaded * size,
        stored_bytes=rows * cols * size,
    )


def _block_of_depth(case: _Case, depth: int) -> Counts:
    """Counts of one block; beyond two steps of the depth, as many more for each further one."""
    if depth <= 2 * _STEP:
        return _block(case, depth)
    one, two = _block(case, _STEP), _block(case, 2 * _STEP)
    further = depth // _STEP - 1
    grown = {
        field.name: getattr(one, field.name)
        + further * (getattr(two, field.name) - getattr(one, field.name))
        for field in fields(Counts)
    }
    return Counts(**grown)


def _block(case: _Case, depth: int) -> Counts:
    out, a, b = (array.strides[0] // array.itemsize for array in case.arrays)
    return _block_of(case.rung, (out, a, b), depth)


@cache
def _block_of(rung: Rung, pitches: tuple[int, int, int], depth: int) -> Counts:
    """One block of a product at this depth, rows of `out`, a and b so many elements apart."""
    rows, cols = rung.tile
    out, a, b = (
        _corner(*extents, pitch, np.float32)
        for pitch, extents in zip(
            pitches, ((rows, cols), (rows, depth), (depth, cols)), strict=True
        )
    )
    scaled = (np.float32(1), np.float32(0)) if rung.scaled else ()
    return counts(rung.kernel, ((1, 1), rung.block), (out, a, b, *scaled))


def _work(case: _Case, chip: Chip, block: Counts, fma: int, compiled: bool) -> Work:
    """The work of all blocks, of which each has these counts and multiply-adds."""
    sums = {
        field.name: getattr(block, field.name) * case.inner
        for field in fields(Counts)
        if field.name not in _PER_BLOCK
    }
    total = replace(block, blocks=case.inner or 1, watched=case.inner or 1, **sums)
    code = case.machine_code(chip) if compiled else None
    work = work_of(case.name, total, case.rung.block, chip, fma * case.inner, code)
    return replace(work, blocks=case.blocks, alike=case.whole and not case.shared)
