"""n-way accesses by time, where counters are forbidden: a loop of them against a conflict-free one.

Blocks of 1024 threads go round a loop of loads from shared memory, each lane at its own multiple of
the stride; the time of a stride is put over that of stride 1. Four chains of loads per thread, read
by flat offset, keep shared memory the slowest part, so that the ratio comes close to the wavefronts
of one load. It is a time: close to the model, not equal to it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, uint32

from ...kernels.ptx import load1
from ...rules import bank
from ..rows import head, row

STRIDES = (1, 2, 4, 8, 16, 32, 33)
SIZE = 1056
THREADS, ROUNDS, REPEATS = 1024, 2048, 7


@cuda.jit
def looped_loads(out, stride, rounds):  # type: ignore[no-untyped-def]
    """Every cell holds its own place, so each load says where the next one goes: the same cell."""
    tile = cuda.shared.array(SIZE, uint32)
    tx = cuda.threadIdx.x
    for place in range(tx, SIZE, THREADS):
        tile[place] = place
    cuda.syncthreads()  # the tile is full before anyone reads it
    one = uint32(tx % 32 * stride)
    two, three, four = uint32(one + 1), uint32(one + 2), uint32(one + 3)
    for _ in range(rounds):
        one, two = load1(tile, one), load1(tile, two)
        three, four = load1(tile, three), load1(tile, four)
    out[cuda.grid(1)] = one + two + three + four


@dataclass(frozen=True)
class Timed:
    """A stride: wavefronts of the model, and milliseconds of the loop."""

    stride: int
    wavefronts: int
    milliseconds: float


def times(measure: Callable[[int], float] | None = None) -> list[Timed]:
    """The loop at every stride of `STRIDES`; on a GPU, unless `measure` gives milliseconds.

    Raises:
        SmemnbError: there is no GPU.
    """
    measure = measure or _milliseconds
    lanes = np.arange(32)
    return [
        Timed(stride, int(bank.wavefronts(lanes * stride * 4, width=4)), measure(stride))
        for stride in STRIDES
    ]


def table(found: list[Timed]) -> str:
    """The strides with the model's wavefronts and the measured ratio of times.

    >>> print(table([Timed(1, 1, 2.0), Timed(32, 32, 63.0)]))
     stride  wavefronts (model)  time over stride 1 (measured)
          1                   1                            1.0
         32                  32                           31.5
    """
    return "\n".join(lines(found))


def lines(found: list[Timed]) -> Iterator[str]:
    """The same, a line at a time."""
    first = next(one.milliseconds for one in found if one.stride == 1)
    yield head(" stride", "  wavefronts (model)", "  time over stride 1 (measured)")
    for one in found:
        ratio = one.milliseconds / first
        yield row(f"{one.stride:>7}", f"  {one.wavefronts:>18}", f"  {ratio:>29.1f}")


def _milliseconds(stride: int) -> float:
    """Median time of the loop on the GPU, by events."""
    from ...errors import SmemnbError
    from ...simulator import devices

    if devices.launches() != "gpu":
        raise SmemnbError("times need an NVIDIA GPU; here the lockstep engine runs kernels")
    blocks = cuda.get_current_device().MULTIPROCESSOR_COUNT
    out = cuda.device_array(blocks * THREADS, np.uint32)
    configured: Any = looped_loads[blocks, THREADS]
    found = []
    for repeat in range(REPEATS + 1):
        start, stop = cuda.event(), cuda.event()
        start.record()
        configured(out, stride, ROUNDS)
        stop.record()
        stop.synchronize()
        if repeat:  # the first one compiles
            found.append(float(cuda.event_elapsed_time(start, stop)))
    return statistics.median(found)
