"""Curves: values over one quantity, as lines with marks.

    curve_chart    curves as a `Drawing`

Both axes begin at 0, or with `factors` go by factors of 2, so that what is proportional is a line
of one slope.

**Limits**: at most 12 places across, so that the numbers fit beneath the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from .drawing import Drawing
from .sheet import FAINT, GRID, INK, SERIES, Sheet, painted

__all__ = ["Curve", "curve_chart"]

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 76, 58
MOST_PLACES = 12
COLOURS: Final = SERIES[:4]


@dataclass(frozen=True)
class Curve:
    """Points (across, up) in ascending order under one name."""

    label: str
    points: tuple[tuple[float, float], ...]


def curve_chart(
    title: str,
    axes: tuple[str, str],
    curves: Sequence[Curve],
    source: str,
    *,
    factors: bool = False,
) -> Drawing:
    """Curves as a drawing; `axes` names what goes across and up, `source` where it comes from.

    >>> line = Curve("model", ((1, 1.0), (2, 2.0)))
    >>> curve_chart("n-way", ("n", "time"), [line], "model")
    n-way: time
              n     model
              1         1
              2         2
    model

    Raises:
        ValueError: no curve or more than 4, a curve without points, more than 12 places across,
            or with `factors` a value that is not above 0.
    """
    _drawable(curves, factors=factors)
    names = ", ".join(curve.label for curve in curves)
    alt = f"Curves of {axes[1]} over {axes[0]}: {names} ({source})."
    paint = partial(_paint, title, axes, tuple(curves), source, factors=factors)
    return Drawing(
        _text(title, axes, curves, source), alt, WIDTH, partial(painted, WIDTH, HEIGHT, paint)
    )


def _drawable(curves: Sequence[Curve], *, factors: bool) -> None:
    if not 1 <= len(curves) <= len(COLOURS) or not all(curve.points for curve in curves):
        raise ValueError(f"a chart takes 1 to {len(COLOURS)} curves, each with a point at least")
    places = _places(curves)
    if len(places) > MOST_PLACES:
        raise ValueError(f"a chart has at most {MOST_PLACES} places across, not {len(places)}")
    values = [value for curve in curves for point in curve.points for value in point]
    if min(values) < 0 or (factors and min(values) == 0):
        raise ValueError(f"{min(values)} has no place in this chart")


def _places(curves: Sequence[Curve]) -> list[float]:
    return sorted({x for curve in curves for x, _ in curve.points})


def _text(title: str, axes: tuple[str, str], curves: Sequence[Curve], source: str) -> str:
    widths = [max(10, len(curve.label) + 2) for curve in curves]
    heads = [f"{curve.label:>{wide}}" for curve, wide in zip(curves, widths, strict=True)]
    rows = [f"{title}: {axes[1]}", f"{axes[0]:>11}{''.join(heads)}"]
    for x in _places(curves):
        found = [dict(curve.points).get(x) for curve in curves]
        cells = [
            f"{'' if y is None else f'{y:.3g}':>{wide}}"
            for y, wide in zip(found, widths, strict=True)
        ]
        rows.append(f"{x:>11g}{''.join(cells)}".rstrip())
    return "\n".join([*rows, source])


@dataclass(frozen=True)
class Axis:
    """Pixels of values from `low` to `high`, evenly or by factors."""

    low: float
    high: float
    start: float
    end: float
    factors: bool

    def __call__(self, value: float) -> float:
        part = (
            math.log(value / self.low) / math.log(self.high / self.low)
            if self.factors
            else value / self.high
        )
        return self.start + part * (self.end - self.start)


def _axis(values: Sequence[float], start: float, end: float, *, factors: bool) -> Axis:
    """Room for all values, and a little more."""
    low, high = min(values), max(values) or 1.0
    if factors:
        return Axis(low / 1.15, max(high, 2 * low) * 1.15, start, end, factors=True)
    return Axis(0.0, high * 1.04, start, end, factors=False)


def _paint(
    title: str,
    axes: tuple[str, str],
    curves: tuple[Curve, ...],
    source: str,
    sheet: Sheet,
    *,
    factors: bool,
) -> None:
    values = [y for curve in curves for _, y in curve.points]
    across = _axis(_places(curves), LEFT, WIDTH - RIGHT, factors=factors)
    up = _axis(values, HEIGHT - BOTTOM, TOP, factors=factors)
    sheet.write(LEFT, 16, title, size=12, bold=True, align="left")
    _paint_grid(across, up, _places(curves), max(values), sheet)
    sheet.write(WIDTH - RIGHT, HEIGHT - 28, axes[0], colour=FAINT, align="right")
    sheet.write(8, TOP - 14, axes[1], colour=FAINT, align="left")
    for curve, colour in zip(curves, COLOURS, strict=False):
        _paint_curve(curve, colour, across, up, sheet)
    x = float(LEFT)
    for curve, colour in zip(curves, COLOURS, strict=False):
        sheet.box(x, 29, 10, 10, fill=colour)
        sheet.write(x + 15, 34, curve.label, colour=INK, align="left")
        x += 40 + 7 * len(curve.label)
    sheet.write(LEFT, HEIGHT - 12, source, colour=FAINT, align="left")


def _paint_grid(across: Axis, up: Axis, places: list[float], most: float, sheet: Sheet) -> None:
    """A line at each place across, and at round values up."""
    bottom = HEIGHT - BOTTOM
    written = -100.0
    for place in places:
        x = across(place)
        sheet.lines([(x, TOP, x, bottom)], colour=GRID, below=True)
        if x - written >= 26:
            sheet.write(x, bottom + 12, f"{place:g}", colour=FAINT)
            written = x
    for value in _round_values(up, most):
        y = up(value)
        sheet.lines([(LEFT, y, WIDTH - RIGHT, y)], colour=GRID, below=True)
        sheet.write(LEFT - 6, y, f"{value:g}", colour=FAINT, align="right")


def _round_values(up: Axis, most: float) -> list[float]:
    """Values along the upright axis: powers of 2, or at most six even steps.

    >>> _round_values(Axis(0.0, 1.04, 0, 1, False), 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> _round_values(Axis(0.87, 36.8, 0, 1, True), 32.0)
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    """
    if up.factors:
        first, last = math.ceil(math.log2(up.low)), math.floor(math.log2(up.high))
        return [2.0**power for power in range(first, last + 1)]
    power = 10.0 ** math.floor(math.log10(most or 1.0))
    step = next(power * times for times in (0.1, 0.2, 0.5, 1, 2, 5) if most / (power * times) <= 6)
    return [round(step * number, 10) for number in range(int(most / step + 1e-9) + 1)]


def _paint_curve(
    curve: Curve, colour: str, across: Callable[[float], float], up: Axis, sheet: Sheet
) -> None:
    spots = [(across(x), up(y)) for x, y in curve.points]
    for (x0, y0), (x1, y1) in pairwise(spots):
        sheet.lines([(x0, y0, x1, y1)], colour=colour, thick=2)
    for x, y in spots:
        sheet.box(x - 3, y - 3, 6, 6, fill=colour)
