"""Roofline: how fast a launch may be for each byte it moves, and how fast it was.

Across, operations per byte that goes through one part of the chip; up, operations per second; both
by factors. The line rises with that part's bytes per second until arithmetic allows no more, at the
ridge. A point stands where a launch was measured, a stem leads from it to its bound, on the line.

Which bytes are counted is the reader's choice and decides what the chart says: those of DRAM, or
those that the pipe of shared memory moves. `rules.roofline` bounds a launch by all parts at once.

**Limits**: one part at a time. A point above the line says that its bytes were not counted where
they moved, for instance that a cache served them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from .drawing import Drawing
from .sheet import ACCENT, FAINT, GRID, INK, Sheet, painted

__all__ = ["Point", "Roofline", "roofline_chart"]

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 44, 56
RUNG = "#123570"
MOST_POINTS = 12


@dataclass(frozen=True)
class Roofline:
    """What a part of a chip moves, in TB/s, and what its arithmetic does, in TFLOP/s.

    >>> Roofline("DRAM", 4.8, 66.9).allowed(4.0), Roofline("DRAM", 4.8, 66.9).allowed(100.0)
    (19.2, 66.9)
    """

    part: str
    tb_per_s: float
    tflops: float

    def allowed(self, flop_per_byte: float) -> float:
        """TFLOP/s that part and arithmetic allow: the bound."""
        return min(self.tflops, self.tb_per_s * flop_per_byte)

    @property
    def ridge(self) -> float:
        """Operations per byte from which on arithmetic is the limit."""
        return self.tflops / self.tb_per_s


@dataclass(frozen=True)
class Point:
    """A launch: its operations per byte, and the TFLOP/s that were measured."""

    label: str
    flop_per_byte: float
    tflops: float


def roofline_chart(line: Roofline, points: Sequence[Point], source: str) -> Drawing:
    """Points and a roofline as a drawing; `source` says where they were measured.

    >>> naive = Point("matmul_naive", 0.25, 1.37)
    >>> roofline_chart(Roofline("DRAM", 4.8, 66.9), [naive], "measured (NVIDIA H200)")
    roofline: 4.8 TB/s of DRAM, 66.9 TFLOP/s from 13.9 FLOP/byte on
                            FLOP/byte     bound   TFLOP/s of bound
    matmul_naive                 0.25       1.2      1.37     1.14
    measured (NVIDIA H200)

    Raises:
        ValueError: no point, more than 12, or one that is not above 0.
    """
    if not 1 <= len(points) <= MOST_POINTS:
        raise ValueError(f"a roofline shows 1 to {MOST_POINTS} points, not {len(points)}")
    for point in points:
        if not (point.flop_per_byte > 0 and point.tflops > 0):
            raise ValueError(f"{point} has no place in a chart by factors: both must be above 0")
    alt = (
        f"Roofline of {line.part}: measured TFLOP/s over operations per byte for "
        f"{', '.join(point.label for point in points)} ({source})."
    )
    paint = partial(painted, WIDTH, HEIGHT, partial(_paint, line, tuple(points), source))
    return Drawing(_text(line, points, source), alt, WIDTH, paint)


def _text(line: Roofline, points: Sequence[Point], source: str) -> str:
    rows = [
        f"roofline: {line.tb_per_s:.3g} TB/s of {line.part}, {line.tflops:.3g} TFLOP/s from "
        f"{line.ridge:.3g} FLOP/byte on",
        f"{'':22}{'FLOP/byte':>11}{'bound':>10}{'TFLOP/s':>10}{'of bound':>9}",
    ]
    for point in points:
        allowed = line.allowed(point.flop_per_byte)
        rows.append(
            f"{point.label:22}{point.flop_per_byte:>11.3g}{allowed:>10.3g}{point.tflops:>10.3g}"
            f"{point.tflops / allowed:>9.2f}"
        )
    return "\n".join([*rows, source])


@dataclass(frozen=True)
class _Axes:
    """Pixels of values; both axes by factors, over whole powers of `step`."""

    left: float
    right: float
    low: float
    high: float

    def x(self, flop_per_byte: float) -> float:
        part = math.log(flop_per_byte / self.left) / math.log(self.right / self.left)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, tflops: float) -> float:
        part = math.log(tflops / self.low) / math.log(self.high / self.low)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def _axes(line: Roofline, points: Sequence[Point]) -> _Axes:
    """Room for the ridge and for every point."""
    across = [line.ridge, *(point.flop_per_byte for point in points)]
    up = [line.tflops, *(point.tflops for point in points)]
    return _Axes(
        _below(min(across), 2), 4 * _below(max(across), 2), _below(min(up), 2), 2 * max(up)
    )


def _below(value: float, step: int) -> float:
    """The largest power of `step` that lies clearly below a value.

    >>> _below(0.25, 2), _below(13.9, 2)
    (0.125, 8.0)
    """
    return float(step) ** (math.ceil(math.log(value, step) - 0.05) - 1)


def _paint(line: Roofline, points: tuple[Point, ...], source: str, sheet: Sheet) -> None:
    axes = _axes(line, points)
    title = f"TFLOP/s and the roofline of {line.part}"
    sheet.write(LEFT, 18, title, size=12, bold=True, align="left")
    _paint_grid(axes, sheet)
    ridge = axes.x(line.ridge), axes.y(line.tflops)
    start = axes.x(axes.left), axes.y(line.allowed(axes.left))
    if start[1] > HEIGHT - BOTTOM:  # the line enters from below
        start = axes.x(axes.low / line.tb_per_s), axes.y(axes.low)
    sheet.lines([(*start, *ridge), (*ridge, WIDTH - RIGHT, ridge[1])], colour=ACCENT, thick=2)
    said = f"{line.tflops:.3g} TFLOP/s"
    sheet.write(WIDTH - RIGHT, ridge[1] - 9, said, size=10, colour=ACCENT, align="right")
    said = f"{line.tb_per_s:.3g} TB/s"
    middle = (start[0] + ridge[0]) / 2, (start[1] + ridge[1]) / 2
    sheet.write(middle[0] - 10, middle[1] - 6, said, size=10, colour=ACCENT, align="right")
    _paint_points(axes, line, points, sheet)
    sheet.write(LEFT, HEIGHT - 12, source, size=10, colour=FAINT, align="left")


def _paint_grid(axes: _Axes, sheet: Sheet) -> None:
    """A line per factor of 2 across, and per factor of 2 up."""
    value, bottom = axes.left, HEIGHT - BOTTOM
    while value <= axes.right * 1.01:
        x = axes.x(value)
        sheet.lines([(x, TOP, x, bottom)], colour=GRID, below=True)
        sheet.write(x, bottom + 12, f"{value:g}", size=9, colour=FAINT)
        value *= 2
    value = axes.low
    while value <= axes.high:
        y = axes.y(value)
        sheet.lines([(LEFT, y, WIDTH - RIGHT, y)], colour=GRID, below=True)
        sheet.write(LEFT - 6, y, f"{value:g}", size=9, colour=FAINT, align="right")
        value *= 2
    sheet.write(WIDTH - RIGHT, bottom + 26, "FLOP/byte", size=9, colour=FAINT, align="right")
    sheet.write(LEFT - 6, TOP - 12, "TFLOP/s", size=9, colour=FAINT, align="right")


def _paint_points(axes: _Axes, line: Roofline, points: Sequence[Point], sheet: Sheet) -> None:
    marks = [(axes.x(p.flop_per_byte), axes.y(p.tflops)) for p in points]
    ends = [axes.y(line.allowed(p.flop_per_byte)) for p in points]
    taken = [
        (x - 6, min(y - 6, end), x + 6, max(y + 6, end))
        for (x, y), end in zip(marks, ends, strict=True)
    ] + _along(axes, line)
    highest_first = sorted(zip(points, marks, ends, strict=True), key=lambda one: one[1][1])
    for point, (x, y), end in highest_first:
        sheet.lines([(x, y, x, end)], colour=FAINT)
        sheet.box(x - 4, y - 4, 8, 8, fill=RUNG)
        room = _free(x, y, 6.3 * len(point.label), taken)
        taken.append(room)
        sheet.write(
            room[0], (room[1] + room[3]) / 2, point.label, size=10, colour=INK, align="left"
        )


def _along(axes: _Axes, line: Roofline) -> list[tuple[float, float, float, float]]:
    """Where the line itself lies, in small boxes."""
    steps = range(0, WIDTH - LEFT - RIGHT, 6)
    span = axes.right / axes.left
    values = [axes.left * span ** (step / (WIDTH - LEFT - RIGHT)) for step in steps]
    spots = [(axes.x(value), axes.y(line.allowed(value))) for value in values]
    return [(x - 3, y - 4, x + 3, y + 4) for x, y in spots]


def _free(
    x: float, y: float, wide: float, taken: Sequence[tuple[float, float, float, float]]
) -> tuple[float, float, float, float]:
    """A place for a label near a mark that covers nothing: right of it, left, then up and down."""
    tried = [
        (at, y + down)
        for down in (0, -13, 13, -26, 26, -39, 39)
        for at in (x + 9, x - 9 - wide)
        if LEFT <= at and at + wide <= WIDTH
    ]
    places = [(at, middle - 7, at + wide, middle + 7) for at, middle in tried]
    free = (place for place in places if not any(_meet(place, other) for other in taken))
    return next(free, places[0])


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
