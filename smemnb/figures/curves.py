"""Curves: values over one quantity, as lines with marks.

    curve_chart    curves as a `Drawing`

Both axes begin at 0, or with `factors` go by factors of 2, so that what is proportional is a line
of one slope. The upright axis begins and ends at a line with its number.

**Limits**: at most 12 places across. Their numbers stand in one row beneath the picture, or in two
where they lie close; the first and the last one are always there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .drawing import Drawing
from .sheet import FAINT, GRID, INK, SERIES, Sheet, painted, width_of

__all__ = ["Curve", "curve_chart"]

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 76, 58
MOST_PLACES, MOST_LINES = 12, 11
SECOND = 14  # pixels from the first row of numbers to the second one
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
    return Drawing(
        _text(title, axes, curves, source),
        alt,
        WIDTH,
        lambda: _png(title, axes, tuple(curves), source, factors=factors),
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


def _number(y: float) -> str:
    """Three digits, or all of those before the point.

    >>> _number(0.12345), _number(1023.4)
    ('0.123', '1023')
    """
    return f"{y:.3g}" if abs(y) < 999.5 else f"{y:.0f}"


def _text(title: str, axes: tuple[str, str], curves: Sequence[Curve], source: str) -> str:
    widths = [max(10, len(curve.label) + 2) for curve in curves]
    heads = [f"{curve.label:>{wide}}" for curve, wide in zip(curves, widths, strict=True)]
    rows = [f"{title}: {axes[1]}", f"{axes[0]:>11}{''.join(heads)}"]
    for x in _places(curves):
        found = [dict(curve.points).get(x) for curve in curves]
        cells = [
            f"{'' if y is None else _number(y):>{wide}}"
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


def _across(places: Sequence[float], *, factors: bool) -> Axis:
    """Room for all places, and a little more."""
    low, high = min(places), max(places) or 1.0
    if factors:
        return Axis(low / 1.15, max(high, 2 * low) * 1.15, LEFT, WIDTH - RIGHT, factors=True)
    return Axis(0.0, high * 1.04, LEFT, WIDTH - RIGHT, factors=False)


def _up(lines: Sequence[float], *, factors: bool) -> Axis:
    """From the first line to the last one."""
    return Axis(lines[0], lines[-1], HEIGHT - BOTTOM, TOP, factors)


def _lines_up(values: Sequence[float], *, factors: bool) -> list[float]:
    """Round values that enclose all others: even steps from 0, or powers of 2, few enough to read.

    >>> _lines_up([0.3, 1.0], factors=False), _lines_up([0.75], factors=False)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8])
    >>> _lines_up([39.1, 667.0], factors=True), _lines_up([1.0, 4096.0], factors=True)
    ([32.0, 64.0, 128.0, 256.0, 512.0, 1024.0], [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0])
    """
    most = max(values) or 1.0
    if factors:
        first, last = math.floor(math.log2(min(values))), math.ceil(math.log2(most))
        step = max(1, math.ceil((last - first) / (MOST_LINES - 1)))
        first, last = first // step, max(math.ceil(last / step), first // step + 1)
        return [2.0 ** (step * number) for number in range(first, last + 1)]
    power = 10.0 ** math.floor(math.log10(most))
    step_up = next(
        power * times for times in (0.1, 0.2, 0.5, 1, 2, 5) if most / (power * times) <= 6
    )
    return [round(step_up * n, 10) for n in range(math.ceil(most / step_up - 1e-9) + 1)]


@dataclass(frozen=True)
class _Number:
    """The number of a place across: its middle in pixels, and its row, 0 or 1."""

    words: str
    x: float
    row: int

    def meets(self, other: _Number) -> bool:
        """Whether two numbers of one row would touch."""
        wide = (width_of(self.words) + width_of(other.words)) / 2
        return self.row == other.row and abs(self.x - other.x) < wide + 6


def _numbers(across: Axis, places: Sequence[float]) -> list[_Number]:
    """The numbers of the places: the ends first, then each where one of the rows has room."""
    found: list[_Number] = []
    for place in dict.fromkeys((places[0], places[-1], *places)):
        rows = [_Number(f"{place:g}", across(place), row) for row in (0, 1)]
        found += [one for one in rows if not any(map(one.meets, found))][:1]
    return found


def _png(
    title: str,
    axes: tuple[str, str],
    curves: tuple[Curve, ...],
    source: str,
    *,
    factors: bool,
) -> bytes:
    places, values = _places(curves), [y for curve in curves for _, y in curve.points]
    lines = _lines_up(values, factors=factors)
    across, up = _across(places, factors=factors), _up(lines, factors=factors)
    numbers = _numbers(across, places)
    height = HEIGHT + (SECOND if any(one.row for one in numbers) else 0)

    def paint(sheet: Sheet) -> None:
        sheet.write(LEFT, 16, title, size=12, bold=True, align="left")
        _paint_grid(across, up, places, lines, sheet)
        for one in numbers:
            y = HEIGHT - BOTTOM + 12 + SECOND * one.row
            sheet.write(one.x, y, one.words, colour=FAINT)
        sheet.write(WIDTH - RIGHT, height - 28, axes[0], colour=FAINT, align="right")
        sheet.write(8, TOP - 14, axes[1], colour=FAINT, align="left")
        for curve, colour in zip(curves, COLOURS, strict=False):
            _paint_curve(curve, colour, across, up, sheet)
        x = float(LEFT)
        for curve, colour in zip(curves, COLOURS, strict=False):
            sheet.box(x, 29, 10, 10, fill=colour)
            sheet.write(x + 15, 34, curve.label, colour=INK, align="left")
            x += 40 + 7 * len(curve.label)
        sheet.write(LEFT, height - 12, source, colour=FAINT, align="left")

    return painted(WIDTH, height, paint)


def _paint_grid(
    across: Axis, up: Axis, places: Sequence[float], lines: Sequence[float], sheet: Sheet
) -> None:
    """A line at each place across, and at round values up with their numbers."""
    for x in map(across, places):
        sheet.lines([(x, TOP, x, HEIGHT - BOTTOM)], colour=GRID, below=True)
    for value in lines:
        y = up(value)
        sheet.lines([(LEFT, y, WIDTH - RIGHT, y)], colour=GRID, below=True)
        sheet.write(LEFT - 6, y, f"{value:g}", colour=FAINT, align="right")


def _paint_curve(
    curve: Curve, colour: str, across: Callable[[float], float], up: Axis, sheet: Sheet
) -> None:
    spots = [(across(x), up(y)) for x, y in curve.points]
    for (x0, y0), (x1, y1) in pairwise(spots):
        sheet.lines([(x0, y0, x1, y1)], colour=colour, thick=2)
    for x, y in spots:
        sheet.box(x - 3, y - 3, 6, 6, fill=colour)
