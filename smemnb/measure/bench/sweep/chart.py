"""A sweep as what a chart shows: the ratio over FLOP or bytes, a colour per layout or size."""

from __future__ import annotations

from ....errors import SmemnbError
from ....figures.points import Points
from ...results.panels import source as measured_at
from .model import Reading, Sweep
from .problems import ITEMSIZES, LAYOUTS

__all__ = ["AXES", "picture", "series"]

AXES = {
    "matmul": ("FLOP", "time of the fastest library over ours"),
    "transpose": ("bytes read and written", "time of the fastest library over ours"),
}


def series(sweep: Sweep) -> tuple[Points, ...]:
    """The points of each layout, or of each number of bytes per element.

    Raises:
        SmemnbError: nothing in the sweep has a ratio.
    """
    known = [one for one in sweep.readings if one.ratio is not None]
    if not known:
        raise SmemnbError("no problem of the sweep was timed beside a library; there is no chart")
    if sweep.operation == "matmul":
        parts = [(name, [one for one in known if one.layout == name]) for name in LAYOUTS]
    else:
        parts = [
            ("1 byte" if size == 1 else f"{size} bytes", [o for o in known if o.itemsize == size])
            for size in ITEMSIZES
        ]
    return tuple(Points(name, tuple(map(_point, ones))) for name, ones in parts if ones)


def _point(one: Reading) -> tuple[float, float]:
    assert one.ratio is not None
    return float(one.problem.work), one.ratio


def picture(sweep: Sweep, form: str) -> bytes:
    """The chart as "png" or "svg".

    Raises:
        SmemnbError: nothing in the sweep has a ratio.
    """
    from ....figures.points import picture as drawn

    title = f"{sweep.operation}: {len(sweep.readings)} random problems of seed {sweep.seed}"
    return drawn(title, AXES[sweep.operation], series(sweep), measured_at(sweep), form)
