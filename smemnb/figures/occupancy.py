"""Occupancy over the size of a tile: how the resident warps of an SM go down as tiles grow.

    occupancy_chart    a curve per compute capability, as a `Drawing`

Every number is `rules.occupancy`'s. **Limits**: an SM holds whole blocks, so between two sizes the
share goes down in steps, and not along the line that joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..hardware import limits
from ..rules.occupancy import occupancy
from .curves import Curve, curve_chart
from .drawing import Drawing
from .words import counted

__all__ = ["occupancy_chart"]


def occupancy_chart(
    sizes: Mapping[int, int],
    capabilities: Sequence[tuple[int, int]],
    *,
    threads: int,
    registers: int,
    across: str = "edge",
) -> Drawing:
    """Resident warps, as a share of the most, for each size of a tile.

    >>> occupancy_chart({32: 8192, 64: 32768}, [(7, 5), (9, 0)], threads=256, registers=32)
    occupancy, 256 threads of 32 registers: share of the most warps
           edge    cc 7.5    cc 9.0
             32         1         1
             64       0.5      0.75
    model

    Args:
        sizes: what is written across, such as the edge of a tile -> bytes of a block.
        capabilities: compute capabilities, at most 4; where a block does not fit, its share is 0.
        threads: of a block.
        registers: of a thread.
        across: the name of what is written across.

    Raises:
        ValueError: more curves or sizes than a chart takes, or numbers that no launch can have.
    """
    curves = []
    for cc in capabilities:
        shares = [
            (float(size), _share(cc, threads, registers, nbytes)) for size, nbytes in sizes.items()
        ]
        curves.append(Curve(f"cc {cc[0]}.{cc[1]}", tuple(shares)))
    title = f"occupancy, {counted(threads, 'thread')} of {counted(registers, 'register')}"
    return curve_chart(title, (across, "share of the most warps"), curves, "model")


def _share(cc: tuple[int, int], threads: int, registers: int, nbytes: int) -> float:
    if nbytes > limits(cc).shared_per_block_optin:
        return 0.0
    return occupancy(cc, threads, registers, shared_bytes=nbytes).share
