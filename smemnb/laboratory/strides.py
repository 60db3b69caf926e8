"""Times of a loop of shared loads at several strides, on an H200: `h200_strides.json`.

`python -m smemnb.laboratory timing` prints them on a GPU; `measure.verify.timing` says how they are
taken. They are shipped so that a chapter can set times beside the model's wavefronts without one.

**Limits**: ratios to a tenth, as that command prints them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ..rules import bank

__all__ = ["Strided", "source", "strided_times"]

FILE = "h200_strides.json"


@dataclass(frozen=True)
class Strided:
    """A stride in words: wavefronts of a load (model), and time over that of stride 1 (measured).

    The time is that of a loop of such loads, all of whose lanes are active.
    """

    stride: int
    wavefronts: int
    ratio: float


@cache
def strided_times() -> tuple[Strided, ...]:
    """The strides in ascending order.

    >>> [(one.stride, one.wavefronts, one.ratio) for one in strided_times()][-2:]
    [(32, 32, 23.7), (33, 1, 1.0)]
    """
    lanes = np.arange(32)
    return tuple(
        Strided(int(stride), int(bank.wavefronts(lanes * int(stride) * 4, width=4)), float(ratio))
        for stride, ratio in _file()["ratios"].items()
    )


def source() -> str:
    """Where the times were taken.

    >>> source()
    'measured (NVIDIA H200)'
    """
    return f"measured ({_file()['gpu']})"


def _file() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(
        (files("smemnb.measure.recorded") / FILE).read_text(encoding="utf-8")
    )
    return found
