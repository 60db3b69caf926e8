"""A step of a ladder whose kernels have arguments of their own: reductions, scans, histograms ...

A transpose or a product is one kernel on matrices, which `Rung` describes. A sum may take two
launches and an array for its partial sums. A `Step` therefore says the launches outright, for
given arrays; tests, traces and benchmarks run any ladder of steps by that alone:

    for launch in step.launches(new, out, inp):
        launch.kernel[launch.grid, launch.block](*launch.args)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Launch(NamedTuple):
    """One launch: `kernel[grid, block](*args)`, one after the other on one stream.

    Attributes:
        kernel: of Numba.
        grid: blocks, along one axis or more.
        block: threads, along one axis or more.
        args: arrays and numbers, `out` first.
        shared_bytes: of arrays of 0 elements, whose size the launch says. For more than 48 KB a
            GPU's driver has to be asked before (`smemnb.operations` does).
    """

    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    args: tuple[Any, ...]
    shared_bytes: int = 0

    def start(self, stream: Any = 0) -> None:
        """Launch it."""
        self.kernel[self.grid, self.block, stream, self.shared_bytes](*self.args)


New = Callable[[tuple[int, ...], Any], Any]
"""`new(shape, dtype)`: an array of zeros beside the arguments, on the device or in the engine."""


def scratch(new: New, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array beside the arguments that may hold anything: nobody has to set it to 0."""
    return getattr(new, "scratch", new)(shape, dtype)


def flags(new: New, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros beside the arguments that the launches leave as zeros.

    It is set to 0 once, and handed on from call to call.
    """
    return getattr(new, "flags", new)(shape, dtype)


def signals(new: New, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros beside the arguments, of scans alone, that is handed on as it was left."""
    return getattr(new, "signals", new)(shape, dtype)


@dataclass(frozen=True)
class Step:
    """A rung of a ladder of patterns.

    Attributes:
        name: of the step, `<what>_<how>`, and of its file in `rungs/`.
        changed: what changed against the step before.
        kernels: that it launches; the first one is the one to read.
        launches: `launches(new, out, *inputs)`: what to launch for these arrays; `new` makes arrays
            that the kernels need beside them.
        fits: whether the step takes these arrays, `fits(out, *inputs)`.
    """

    name: str
    changed: str
    kernels: tuple[Any, ...]
    launches: Callable[..., Sequence[Launch]]
    fits: Callable[..., bool] = lambda *arrays: True
