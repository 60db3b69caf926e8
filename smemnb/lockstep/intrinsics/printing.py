"""print(...) in a kernel: one line per active thread, as Numba's printf formats it.

Integers in decimal, floats with six decimals (`%f`), True and False, strings, tuples in brackets,
`threadIdx` and its kind as (x, y, z). More than 32 things at once print their formats instead, as
on the device.

**Limits**: lines come in order of thread number; a GPU prints them in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, spread
from ..watch import Site

if TYPE_CHECKING:
    from ..batch import Batch, Launch

MOST = 32  # things that one print can show

TOO_MANY = (
    "CUDA print() cannot print more than 32 items. "
    "The raw format string will be emitted by the kernel instead."
)
"""What Numba warns of."""

_FORMATS = {"i": "%lld", "u": "%llu", "f": "%f", "b": "%s"}


def _format(value: Any) -> str:
    """The printf format of a value, for prints that are too long."""
    if isinstance(value, tuple):
        inner = ", ".join(_format(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    dtype = getattr(value, "dtype", None)
    return "%s" if dtype is None else _FORMATS.get(dtype.kind, "%s")


def _number(value: Any) -> str:
    return f"{float(value):f}" if isinstance(value, (float, np.floating)) else str(value)


def _words(value: Any, active: Mask) -> list[str]:
    """What each active lane prints for one value."""
    count = int(active.sum())
    if isinstance(value, tuple):
        items = [_words(item, active) for item in value]
        end = ",)" if len(value) == 1 else ")"
        return ["(" + ", ".join(item[at] for item in items) + end for at in range(count)]
    value = getattr(value, "number", value)  # of a bfloat16
    if not isinstance(value, np.ndarray):
        return [_number(value)] * count
    return [_number(item) for item in spread(value, active.shape)[active]]


_SHOWN = ContextVar("shown", default=True)


@contextmanager
def unshown() -> Iterator[None]:
    """Launches that begin here, in this thread, print nothing; sys.stdout stays as it is."""
    before = _SHOWN.set(False)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def shown() -> bool:
    """Whether a launch that begins now shows what its kernel prints."""
    return _SHOWN.get()


def show(launch: Launch) -> None:
    """Print the lines that wait."""
    lines, launch.printed = launch.printed, []
    if launch.shown:
        for line in lines:
            print(line)


def print_lanes(batch: Batch, mask: Mask, site: Site, *values: LaneValue) -> None:
    """print(...) in a kernel."""
    active = spread(mask, batch.shape)
    if len(values) > MOST:
        warnings.warn(TOO_MANY, stacklevel=2)
        columns = [[_format(value)] * int(active.sum()) for value in values]
    else:
        columns = [_words(value, active) for value in values]
    if not columns:
        columns = [[""] * int(active.sum())]
    for line in zip(*columns, strict=True):
        batch.launch.printed.append(" ".join(map(str, line)))
    if not batch.launch.may_begin_anew:
        show(batch.launch)
