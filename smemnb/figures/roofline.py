"""Roofline: how fast a launch may be for each byte it moves, and how fast it was.

Across, operations per byte that goes through one part of the chip; up, operations per second; both
by factors. The line rises with that part's bytes per second until arithmetic allows no more, at the
ridge. A point stands where a launch was measured, a stem leads from it to its bound, on the line.
Points that cover one another have labels apart from them, each with a line to its point.

Which bytes are counted is the reader's choice and decides what the chart says: those of DRAM, or
those that the pipe of shared memory moves. `rules.roofline` bounds a launch by all parts at once.

**Limits**: one part at a time. A point above the line says that its bytes were not counted where
they moved, for instance that a cache served them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .drawing import Drawing
from .sheet import ACCENT, FAINT, GRID, GROUND, INK, SERIES, Sheet, painted, shortened, width_of

__all__ = ["Point", "Roofline", "roofline_chart"]

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 44, 56
LETTERS, HALF_LINE = 11, 7
MARK, NEAR, FAR = 8, 10, 26  # pixels of a mark, and from its middle to its label
RUNG = SERIES[0]
MOST_POINTS = 12

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


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
    sheet.lines(_rising_and_flat(axes, line), colour=ACCENT, thick=2)
    for point in points:
        x, y = axes.x(point.flop_per_byte), axes.y(point.tflops)
        sheet.lines([(x, y, x, axes.y(line.allowed(point.flop_per_byte)))], colour=FAINT)
        # half of the edge lies within: it parts the mark from one below it
        side = MARK + 1
        sheet.box(x - side / 2, y - side / 2, side, side, fill=RUNG, edge=GROUND)
    for label in _labels(axes, line, points):
        if label.mark is not None:
            sheet.lines([_leader(label)], colour=INK)
        sheet.write(
            label.left,
            (label.top + label.bottom) / 2,
            label.words,
            size=LETTERS,
            colour=label.colour,
            align="left",
        )
    sheet.write(LEFT, HEIGHT - 12, source, size=LETTERS, colour=FAINT, align="left")


def _rising_and_flat(axes: _Axes, line: Roofline) -> list[tuple[float, float, float, float]]:
    """The two halves of the roofline, with the ridge between them."""
    ridge = axes.x(line.ridge), axes.y(line.tflops)
    start = float(LEFT), axes.y(line.allowed(axes.left))
    if start[1] > HEIGHT - BOTTOM:  # the line enters from below
        start = axes.x(axes.low / line.tb_per_s), axes.y(axes.low)
    return [(*start, *ridge), (*ridge, WIDTH - RIGHT, ridge[1])]


def _paint_grid(axes: _Axes, sheet: Sheet) -> None:
    """A line per factor of 2 across, and per factor of 2 up."""
    value, bottom = axes.left, HEIGHT - BOTTOM
    while value <= axes.right * 1.01:
        x = axes.x(value)
        sheet.lines([(x, TOP, x, bottom)], colour=GRID, below=True)
        sheet.write(x, bottom + 12, f"{value:g}", colour=FAINT)
        value *= 2
    value = axes.low
    while value <= axes.high:
        y = axes.y(value)
        sheet.lines([(LEFT, y, WIDTH - RIGHT, y)], colour=GRID, below=True)
        sheet.write(LEFT - 6, y, f"{value:g}", colour=FAINT, align="right")
        value *= 2
    sheet.write(WIDTH - RIGHT, bottom + 26, "FLOP/byte", colour=FAINT, align="right")
    sheet.write(LEFT - 6, TOP - 12, "TFLOP/s", colour=FAINT, align="right")


@dataclass(frozen=True)
class _Label:
    """Words, and the box that they fill; `mark` is where a line leads to, if there is one."""

    words: str
    colour: str
    left: float
    top: float
    right: float
    bottom: float
    mark: tuple[float, float] | None = None

    @property
    def box(self) -> Box:
        return self.left, self.top, self.right, self.bottom


def _labels(axes: _Axes, line: Roofline, points: Sequence[Point]) -> list[_Label]:
    """What is written inside the axes: beside the roofline, then the points, the highest first."""
    rising, flat = _rising_and_flat(axes, line)
    of_flat = _fitted(f"{line.tflops:.3g} TFLOP/s", ACCENT)
    of_rising = _fitted(f"{line.tb_per_s:.3g} TB/s", ACCENT)
    labels = [
        of_flat(flat[2], flat[1] - 9, right=True),
        of_rising((rising[0] + rising[2]) / 2 - 10, (rising[1] + rising[3]) / 2 - 6, right=True),
    ]
    taken = [label.box for label in labels] + _along(axes, line)
    marks = [(point, axes.x(point.flop_per_byte), axes.y(point.tflops)) for point in points]
    for point, x, y in marks:
        end = axes.y(line.allowed(point.flop_per_byte))
        taken.append((x - 10, min(y - 6, end), x + 10, max(y + 6, end)))
    for point, x, y in sorted(marks, key=lambda mark: mark[2]):
        covered = sum(abs(x - left) < MARK and abs(y - top) < MARK for _, left, top in marks) > 1
        label = _beside(x, y, point.label, taken, FAR if covered else NEAR)
        labels.append(replace(label, mark=(x, y)) if covered else label)
        taken.append(label.box)
    return labels


def _leader(label: _Label) -> Box:
    """The line from the mark of a label to its nearer end."""
    assert label.mark is not None
    x, y = label.mark
    end = label.left - 3 if label.left > x else label.right + 3
    side = MARK / 2 if end > x else -MARK / 2
    return x + side, y, end, (label.top + label.bottom) / 2


def _fitted(words: str, colour: str) -> Callable[..., _Label]:
    """A label as wide as its words, to be put at a place: moved where it would leave the axes."""
    words = shortened(words, WIDTH - LEFT - RIGHT, LETTERS)
    wide = width_of(words, LETTERS)

    def at(x: float, y: float, *, right: bool = False) -> _Label:
        left = min(max(x - wide if right else x, LEFT), WIDTH - RIGHT - wide)
        middle = min(max(y, TOP + HALF_LINE), HEIGHT - BOTTOM - HALF_LINE)
        return _Label(words, colour, left, middle - HALF_LINE, left + wide, middle + HALF_LINE)

    return at


def _along(axes: _Axes, line: Roofline) -> list[Box]:
    """Where the line itself lies, in small boxes."""
    steps = range(0, WIDTH - LEFT - RIGHT, 6)
    span = axes.right / axes.left
    values = [axes.left * span ** (step / (WIDTH - LEFT - RIGHT)) for step in steps]
    spots = [(axes.x(value), axes.y(line.allowed(value))) for value in values]
    return [(x - 3, y - 4, x + 3, y + 4) for x, y in spots]


def _beside(x: float, y: float, words: str, taken: Sequence[Box], apart: int) -> _Label:
    """A label near a mark, where it covers least: right of it, left of it, then up and down.

    `apart` are the pixels between them, counted from the middle of the mark.
    """
    label = _fitted(words, INK)
    sides = ((x + apart, False), (x - apart, True))
    downs = (0, *(sign * 13 * step for step in range(1, 9) for sign in (-1, 1)))
    spots = [(down, side) for down in downs for side in sides]
    if apart > NEAR:  # labels of one heap stand in one column, as their points do
        spots = [(down, side) for side in sides for down in sorted(downs, key=abs)]
    places = [label(at, y + down, right=right) for down, (at, right) in spots]
    return min(places, key=lambda place: sum(_common(place.box, other) for other in taken))


def _common(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)
