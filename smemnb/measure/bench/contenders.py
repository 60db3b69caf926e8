"""From a name of the ladder to a launch on given arrays: the one place that knows the kernels.

Arrays may be device arrays, or stand-ins of the same shape, strides and dtype without memory
(`stand_ins`): enough to choose a kernel and to compile it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numba import cuda

from ...errors import SmemnbError
from ...kernels.further import FURTHER
from ...kernels.matmul import ladder as products
from ...kernels.matmul.staged import STAGED
from ...kernels.rung import Rung
from ...kernels.transpose import ladder as transposes
from ...operations.prepared import allow_launches
from .case import CHOICE, Case, tried

__all__ = ["TimedLaunch", "copied", "copy", "dtype", "extents", "launch", "stand_ins"]

_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64, 16: np.uint64}
COPY_COLS = 4096


@dataclass(frozen=True)
class TimedLaunch:
    """A kernel, its grid and block, its arguments, and bytes of dynamic shared memory."""

    kernel: Any
    grid: tuple[int, int]
    block: tuple[int, int]
    args: tuple[Any, ...]
    shared_bytes: int = 0

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)

    @property
    def types(self) -> tuple[Any, ...]:
        """Numba's types of the arguments."""
        return tuple(self.kernel.typeof_pyval(value) for value in self.args)

    def starter(self) -> Callable[[], None]:
        """What launches it, with the configuration made once."""
        if self.shared_bytes:
            allow_launches(self.kernel, self.types, self.shared_bytes)
        configured = self.kernel[self.grid, self.block, 0, self.shared_bytes]
        return lambda: configured(*self.args)

    def needs(self) -> tuple[int | None, int | None]:
        """Registers and bytes of local memory per thread; None where nothing was compiled."""
        made = self.kernel.overloads.get(self.types)
        try:
            return int(made.regs_per_thread), int(made.local_mem_per_thread)
        except (AttributeError, SmemnbError):  # run by the engine, not compiled
            return None, None


def dtype(case: Case) -> np.dtype[Any]:
    """The type under which the kernels move the case's elements."""
    return np.dtype(_DTYPES[case.itemsize])


def extents(case: Case) -> tuple[tuple[int, int], ...]:
    """Rows and columns of `out` and of the inputs, in elements."""
    if case.operation == "transpose":
        rows, cols = case.shape
        return (cols, rows), (rows, cols)
    rows, cols, depth = case.shape
    return (rows, cols), (rows, depth), (depth, cols)


def stand_ins(case: Case) -> tuple[Any, ...]:
    """`out` and the inputs of a case, without memory for their elements."""
    kind = dtype(case)
    parts = case.itemsize // kind.itemsize
    found = []
    for high, wide in extents(case):
        strides = ((wide + case.spare) * case.itemsize, kind.itemsize)
        shape = (high, wide * parts)
        found.append(np.lib.stride_tricks.as_strided(np.empty(1, kind), shape, strides))
    return tuple(found)


def launch(case: Case, name: str, arrays: tuple[Any, ...]) -> TimedLaunch:
    """The launch of a rung, or of the choice, on `out` and the inputs.

    Raises:
        SmemnbError: the rung does not take these arrays.
    """
    return (_transpose if case.operation == "transpose" else _product)(case, name, arrays)


def copied(case: Case) -> Case:
    """The matrix whose copy moves the bytes of a transpose, in whole rows."""
    size = prod(case.shape) * case.itemsize
    return Case("transpose", (-(-size // (4 * COPY_COLS)), COPY_COLS))


def copy(out: Any, inp: Any) -> TimedLaunch:
    """The copy that is a transpose's limit, on float32 matrices of whole rows."""
    return TimedLaunch(
        transposes.COPY.kernel, transposes.COPY.grid(*inp.shape), transposes.COPY.block, (out, inp)
    )


def _transpose(case: Case, name: str, arrays: tuple[Any, ...]) -> TimedLaunch:
    if name == CHOICE:
        rung = transposes.fastest(*(_whole(case, one) for one in arrays))
    else:
        rung = _named(name, case, transposes.LADDER)
        _fits(rung, name, arrays)
    _reaches(rung, name, arrays, case.shape)
    return TimedLaunch(rung.kernel, rung.grid(*case.shape), rung.block, arrays)


def _named(name: str, case: Case, ladder: tuple[Rung, ...]) -> Rung:
    """A rung of the case's own, of the ladder or `FURTHER`, or FILE.py:NAME of a file of rungs."""
    if name in dict(case.tries):
        return dict(case.tries)[name]
    path, _, own = name.rpartition(":")
    further = FURTHER.get((case.operation, case.itemsize), [])
    aside = STAGED if case.operation == "matmul" else ()
    known = tried(path)[case.operation, case.itemsize] if path else (*ladder, *further, *aside)
    return next(one for one in known if one.name == own)


def _whole(case: Case, array: Any) -> Any:
    """What stands for an array whose elements the kernels move in parts: the elements' type."""
    if array.dtype.itemsize == case.itemsize:
        return array
    rows, cols = array.shape
    parts = case.itemsize // array.dtype.itemsize
    kind = np.dtype(f"V{case.itemsize}")
    strides = (array.strides[0], case.itemsize)
    return np.lib.stride_tricks.as_strided(np.empty(1, kind), (rows, cols // parts), strides)


def _product(case: Case, name: str, arrays: tuple[Any, ...]) -> TimedLaunch:
    scaled = (*arrays, np.float32(1), np.float32(0))
    if name == CHOICE:
        out, a, b = arrays
        fit = products.fastest(out, a, b, cuda.get_current_device().MULTIPROCESSOR_COUNT)
        _reaches(fit.rung, name, arrays, case.shape)
        return TimedLaunch(fit.kernel, fit.grid, fit.block, (*scaled, *_own(fit, out)))
    rung = _named(name, case, products.LADDER)
    _fits(rung, name, arrays)
    _reaches(rung, name, arrays, case.shape)
    rows, cols, _ = case.shape
    if not rung.whole(*case.shape):
        high, wide = rung.tile
        raise SmemnbError(f"{name} makes whole tiles of {high} x {wide}, {rung.depth} deep")
    args = scaled if rung.scaled else arrays
    return TimedLaunch(rung.kernel, rung.grid(rows, cols), rung.block, args, rung.shared_bytes)


def _own(fit: products.Fit, out: Any) -> tuple[Any, ...]:
    """Arrays of the kernel's own, of the same sort as `out`: on the device, or stand-ins."""
    if not fit.sums:
        return ()
    if isinstance(out, np.ndarray):
        return tuple(
            np.lib.stride_tricks.as_strided(np.empty(1, kind), (size,), (4,))
            for kind, size in ((np.float32, fit.sums), (np.uint32, fit.flags))
        )
    flags = cuda.to_device(np.zeros(fit.flags, np.uint32))
    return cuda.device_array(fit.sums, np.float32), flags


def _fits(rung: Any, name: str, arrays: tuple[Any, ...]) -> None:
    if not rung.fits(*arrays):
        raise SmemnbError(f"{name} needs rows that begin at multiples of {rung.aligned} elements")


def _reaches(rung: Any, name: str, arrays: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    rows, cols = rung.largest
    if not rung.reaches(*arrays) or shape[0] > rows or shape[1] > cols:
        raise SmemnbError(
            f"{name} covers {rows} rows and {cols} columns at most, and matrices that span fewer"
            f" than {rung.span} elements"
        )
