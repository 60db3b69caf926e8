"""Points: one ratio per problem over its size, both axes by factors.

    point_chart    points as a `Drawing`
    picture        the same as PNG or SVG, for a file

A line crosses the picture where a ratio is 1. Sizes are written with the letters k, M, G and T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import Final

from .curves import Axis
from .drawing import Drawing
from .sheet import FAINT, GRID, INK, SERIES, Sheet, painted, painted_svg
from .words import counted

__all__ = ["MOST_SERIES", "Points", "picture", "point_chart"]

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 72, 58
COLOURS: Final = SERIES
MOST_SERIES: Final = len(COLOURS)
DOT: Final = 5.0
STEPS: Final = (1, 2, 5)


@dataclass(frozen=True)
class Points:
    """Points (size, ratio) under one name, in any order."""

    label: str
    points: tuple[tuple[float, float], ...]


def point_chart(
    title: str, axes: tuple[str, str], series: Sequence[Points], source: str
) -> Drawing:
    """Points as a drawing; `axes` names what goes across and up, `source` where it comes from.

    >>> point_chart("two", ("FLOP", "ratio"), [Points("NN", ((1e6, 0.5), (1e9, 2.0)))], "here")
    two: ratio over FLOP
    NN: 2 points, 0.5 to 2, geometric mean 1
    here

    Raises:
        ValueError: no series or more than 5, one without points, a value that is not above 0.
    """
    _drawable(series)
    text = [f"{title}: {axes[1]} over {axes[0]}"]
    for one in series:
        ratios = [ratio for _, ratio in one.points]
        text.append(
            f"{one.label}: {counted(len(ratios), 'point')}, {min(ratios):.3g} to {max(ratios):.3g},"
            f" geometric mean {geometric_mean(ratios):.3g}"
        )
    names = ", ".join(one.label for one in series)
    alt = f"Points of {axes[1]} over {axes[0]}, both by factors: {names} ({source})."
    return Drawing(
        "\n".join([*text, source]), alt, WIDTH, partial(picture, title, axes, series, source)
    )


def picture(
    title: str, axes: tuple[str, str], series: Sequence[Points], source: str, form: str = "png"
) -> bytes:
    """The picture as "png" or "svg".

    Raises:
        ValueError: as of `point_chart`, or another form.
    """
    _drawable(series)
    if form not in ("png", "svg"):
        raise ValueError(f"a chart is png or svg, not {form!r}")
    draw = painted if form == "png" else painted_svg
    return draw(WIDTH, HEIGHT, partial(_paint, title, axes, tuple(series), source))


def _drawable(series: Sequence[Points]) -> None:
    if not 1 <= len(series) <= MOST_SERIES or not all(one.points for one in series):
        raise ValueError(f"a chart takes 1 to {MOST_SERIES} series, each with a point at least")
    values = [value for one in series for point in one.points for value in point]
    bad = [value for value in values if not (math.isfinite(value) and value > 0)]
    if bad:
        raise ValueError(f"{bad[0]} has no place in this chart")


def _paint(
    title: str, axes: tuple[str, str], series: tuple[Points, ...], source: str, sheet: Sheet
) -> None:
    sizes = [x for one in series for x, _ in one.points]
    ratios = [y for one in series for _, y in one.points]
    powers, lines = _powers(min(sizes), max(sizes)), _round_ratios(min(ratios), max(ratios))
    across = Axis(10.0 ** powers[0], 10.0 ** powers[-1], LEFT, WIDTH - RIGHT, factors=True)
    up = Axis(lines[0], lines[-1], HEIGHT - BOTTOM, TOP, factors=True)
    sheet.write(LEFT, 16, title, size=12, bold=True, align="left")
    _paint_legend(series, sheet)
    _paint_grid(across, up, powers, lines, sheet)
    sheet.write(WIDTH - RIGHT, HEIGHT - 28, axes[0], colour=FAINT, align="right")
    sheet.write(8, TOP - 14, axes[1], colour=FAINT, align="left")
    sheet.lines([(LEFT, up(1.0), WIDTH - RIGHT, up(1.0))], colour=INK, below=True)
    for one, colour in zip(series, COLOURS, strict=False):
        for x, y in one.points:
            sheet.box(across(x) - DOT / 2, up(y) - DOT / 2, DOT, DOT, fill=colour)
    sheet.write(LEFT, HEIGHT - 12, source, colour=FAINT, align="left")


def _paint_legend(series: Sequence[Points], sheet: Sheet) -> None:
    x = float(LEFT)
    for one, colour in zip(series, COLOURS, strict=False):
        sheet.box(x, 31, 10, 10, fill=colour)
        sheet.write(x + 15, 36, one.label, colour=INK, align="left")
        x += 40 + 7 * len(one.label)


def _paint_grid(
    across: Axis, up: Axis, powers: Sequence[int], lines: Sequence[float], sheet: Sheet
) -> None:
    bottom = HEIGHT - BOTTOM
    for power in powers:
        x = across(10.0**power)
        sheet.lines([(x, TOP, x, bottom)], colour=GRID, below=True)
        sheet.write(x, bottom + 12, _size_words(power), colour=FAINT)
    for value in lines:
        y = up(value)
        sheet.lines([(LEFT, y, WIDTH - RIGHT, y)], colour=GRID, below=True)
        sheet.write(LEFT - 6, y, f"{value:g}", colour=FAINT, align="right")


def _powers(low: float, high: float) -> range:
    """Powers of 10 that enclose all sizes.

    >>> list(_powers(1.2e6, 7e9)), list(_powers(1e6, 1e6))
    ([6, 7, 8, 9, 10], [6, 7])
    """
    first = math.floor(math.log10(low))
    return range(first, max(math.ceil(math.log10(high)), first + 1) + 1)


def _size_words(power: int) -> str:
    """A power of 10 with the letter of its thousands.

    >>> [_size_words(power) for power in (0, 4, 6, 11, 12)]
    ['1', '10k', '1M', '100G', '1T']
    """
    thousands, rest = divmod(power, 3)
    if not 0 <= thousands < 5:
        return f"1e{power}"
    return f"{10**rest}{('', 'k', 'M', 'G', 'T')[thousands]}"


def _round_ratios(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of 10: those around two values and 1, and all between.

    >>> _round_ratios(0.3, 6.0), _round_ratios(1.1, 1.2)
    ([0.2, 0.5, 1.0, 2.0, 5.0, 10.0], [0.5, 1.0, 2.0])
    """
    low, high = min(low, 0.8), max(high, 1.25)
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high)) + 1
    every = [float(f"{one}e{power}") for power in range(first, last + 1) for one in STEPS]
    least = max(value for value in every if value <= low)
    return [value for value in every if least <= value <= min(n for n in every if n >= high)]
