"""How long an operation would take in the lockstep engine, asked before it starts.

The engine runs 65536 lanes at a time through each statement. A launch costs so much per step of
such a batch, and so much per lane and step:

    seconds = batches * steps * per_step + work * per_unit

For a product, steps are the depth and the work rows x cols x depth, rows and columns in whole
tiles; for a transpose there is one step and the work is the elements. `RATES` are measured: Python
3.11, NumPy 2.4, one core of a 2-core virtual x86 machine, November 2026; another machine may be
twice as fast or slow. The first launch of a kernel adds up to two seconds of type inference.
"""

from __future__ import annotations

import os

from ..errors import LaunchRefused, SmemnbError
from ..lockstep.launch import LANES_PER_BATCH
from .choice import Plan

LIMIT_S = 60.0
VARIABLE = "SMEMNB_ENGINE_SECONDS"

RATES = {
    "matmul_scattered": (60e-6, 2.2e-9),
    "matmul_naive": (60e-6, 2.2e-9),
    "matmul_tiled": (80e-6, 2.0e-9),
    "matmul_tiled_32": (80e-6, 2.0e-9),
    "matmul_column": (600e-6, 3.0e-9),
    "matmul_square": (560e-6, 2.2e-9),
    "matmul_8x8": (1500e-6, 1.2e-9),
    "matmul_turned": (1500e-6, 1.2e-9),
    "matmul_turned_padded": (1500e-6, 1.2e-9),
    "matmul_wide": (2100e-6, 1.0e-9),
    "matmul_prefetched": (2100e-6, 1.0e-9),
    "matmul_warped": (2500e-6, 1.0e-9),
    "transpose_naive": (0.7e-3, 1e-9),
    "transpose_gathered": (0.7e-3, 1e-9),
    "transpose_tiled": (0.8e-3, 6e-9),
    "transpose_padded": (0.8e-3, 6e-9),
    "transpose_swizzled": (0.8e-3, 6e-9),
    "transpose_fastest": (7e-3, 37e-9),
    "transpose_pairs": (3e-3, 84e-9),
    "transpose_packed": (45e-3, 58e-9),
    "transpose_flat": (5e-3, 71e-9),
    "transpose_narrow": (5e-3, 47e-9),
}
"""Kernel -> (seconds per step of a batch, seconds per unit of work)."""
_OTHER_PRODUCTS, _OTHER_TRANSPOSES = (8500e-6, 1.0e-9), (3e-3, 25e-9)


def seconds(plan: Plan, depth: int = 0) -> float:
    """Seconds that a launch would take; `depth` is that of a product, 0 for a transpose.

    >>> from .choice import Plan
    >>> f"{seconds(Plan(None, 'matmul_tiled_32', (128, 128), (32, 32), (32, 32)), 4096):.0f} s"
    '221 s'
    """
    product = plan.name.startswith("matmul")
    per_step, per_unit = RATES.get(plan.name, _OTHER_PRODUCTS if product else _OTHER_TRANSPOSES)
    blocks = plan.grid[0] * plan.grid[1]
    lanes = -(-plan.block[0] * plan.block[1] // 32) * 32
    batches = -(-blocks // max(1, LANES_PER_BATCH // lanes))
    steps = max(depth, 8) if product else 1
    elements = blocks * plan.tile[0] * plan.tile[1]
    return batches * steps * per_step + elements * steps * per_unit


def limit_s() -> float:
    """The most seconds that a call may be estimated to take: `SMEMNB_ENGINE_SECONDS`, else 60.

    Raises:
        SmemnbError: the variable holds no number above 0.
    """
    said = os.environ.get(VARIABLE)
    if said is None:
        return LIMIT_S
    try:
        most = float(said)
    except ValueError:
        most = 0.0
    if not most > 0:
        raise SmemnbError(
            f"{VARIABLE}={said!r} is no number of seconds. Set it to one above 0, or unset it for"
            f" {LIMIT_S:.0f}"
        )
    return most


def check_time(what: str, estimate_s: float, kernel: str, instead: str) -> None:
    """Raise LaunchRefused if the estimate is above the limit; nothing was started."""
    most = limit_s()
    if estimate_s <= most:
        return
    raise LaunchRefused(
        f"{what} would take about {words(estimate_s)} in the lockstep engine"
        f" ({kernel}, estimated by its measured rate), and the limit is {words(most)}. Use"
        f" {instead}, a smaller shape or a GPU; or allow it: {VARIABLE}={_rounded_up(estimate_s)}"
    )


def words(duration_s: float) -> str:
    """A duration with two digits.

    >>> words(221.3), words(7e4)
    ('220 s', '19 h')
    """
    value, unit = (duration_s / 3600, "h") if duration_s >= 7200 else (duration_s, "s")
    return f"{float(f'{value:.1e}'):g} {unit}"


def _rounded_up(duration_s: float) -> int:
    """Twice the estimate, as it may be off by that."""
    return int(2 * duration_s) + 1
