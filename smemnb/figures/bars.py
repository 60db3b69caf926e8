"""Bars with their spread and a mark, in panels one under the other: measured times of ladders.

    bar_chart    panels of bars as a `Drawing`
    picture      the same as PNG or SVG, for a file

A bar's length is its value; the thin line at its end reaches from the lower to the upper quartile;
the upright tick is its bound. A dashed line crosses a panel at a value that all bars stand beside.
Where bars of several kinds stand in one chart, a key names their colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from .drawing import Drawing
from .legend import Key, legend
from .sheet import ACCENT, FAINT, GRID, INK, Sheet, painted, painted_svg

__all__ = ["Bar", "Panel", "bar_chart", "picture"]

WIDTH, LEFT, RIGHT = 760, 200, 90
ROW, HEAD, FOOT, KEYS = 19, 48, 26, 20
FILLS: Final = {
    "rung": "#568cde",
    "choice": "#a9d0ff",
    "limit": "#9a9483",
    "library": "#e0c65a",
}
"""Kind of a bar -> its colour."""
KINDS: Final = {
    "rung": "kernel of the ladder",
    "choice": "kernel chosen for the shape",
    "limit": "copy, the limit",
    "library": "library",
}
"""Kind of a bar -> what its colour stands for."""


@dataclass(frozen=True)
class Bar:
    """One value with its quartiles; `mark` is its bound, in the unit of the panel."""

    label: str
    value: float
    low: float
    high: float
    kind: str = "rung"
    mark: float | None = None


@dataclass(frozen=True)
class Panel:
    """Bars of one unit; `lines` are values that cross all of them, with their names."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    lines: tuple[tuple[str, float], ...] = ()

    @property
    def top(self) -> float:
        """The largest value that must fit."""
        marks = [bar.mark for bar in self.bars if bar.mark is not None]
        return max([bar.high for bar in self.bars] + marks + [value for _, value in self.lines])

    @property
    def values(self) -> tuple[str, ...]:
        """The bars' values, all with as many decimals, and of four digits the largest.

        >>> bars = [Bar(name, value, value, value) for name, value in (("a", 907.6), ("b", 4476))]
        >>> Panel("speed", "GB/s", tuple(bars)).values
        ('908', '4476')
        """
        said = tuple(f"{bar.value:.4g}" for bar in self.bars)
        wanted = max(len(value.partition(".")[2]) for value in said)
        whole = len(f"{max(bar.value for bar in self.bars):.0f}")
        if whole == 1 and wanted > 3:  # parts of a whole: 1 and 0.03125
            return said
        decimals = min(wanted, max(0, 4 - whole))
        return tuple(f"{bar.value:.{decimals}f}" for bar in self.bars)

    def __str__(self) -> str:
        pairs = zip(self.bars, self.values, strict=True)
        said = ", ".join(f"{bar.label} {value}" for bar, value in pairs)
        return f"{self.title}, {self.unit}: {said}"


def bar_chart(panels: Sequence[Panel], source: str) -> Drawing:
    """Panels as a drawing; `source` says where the values were measured.

    Raises:
        ValueError: there is no panel, or one without bars.
    """
    _drawable(panels)
    text = "\n".join([*map(str, panels), source])
    titles = "; ".join(panel.title for panel in panels)
    return Drawing(
        text, f"Bar chart of {titles} ({source}).", WIDTH, partial(picture, panels, source)
    )


def picture(panels: Sequence[Panel], source: str, form: str = "png") -> bytes:
    """The picture as "png" or "svg".

    Raises:
        ValueError: there is no panel, one without bars, or another form.
    """
    _drawable(panels)
    if form not in ("png", "svg"):
        raise ValueError(f"a chart is png or svg, not {form!r}")
    height = sum(_height(panel) for panel in panels) + FOOT + (KEYS if _keys(panels) else 0)
    draw = painted if form == "png" else painted_svg
    return draw(WIDTH, height, partial(_paint, panels, source))


def _drawable(panels: Sequence[Panel]) -> None:
    if not panels or not all(panel.bars for panel in panels):
        raise ValueError("a chart needs at least one panel, and each panel at least one bar")


def _keys(panels: Sequence[Panel]) -> list[Key]:
    """The kinds of the bars with their colours; none where all bars are of one kind."""
    seen = {bar.kind for panel in panels for bar in panel.bars}
    if len(seen) == 1:
        return []
    return [Key(words, FILLS[kind]) for kind, words in KINDS.items() if kind in seen]


def _height(panel: Panel) -> int:
    return HEAD + ROW * len(panel.bars) + (16 if panel.lines else 10)


def _paint(panels: Sequence[Panel], source: str, sheet: Sheet) -> None:
    y = 0
    for panel in panels:
        _paint_panel(panel, sheet, y)
        y += _height(panel)
    keys = _keys(panels)
    if keys:
        legend(sheet, LEFT, y + KEYS / 2, keys)
        y += KEYS
    bars = [bar for panel in panels for bar in panel.bars]
    said = [source]
    if any(bar.low != bar.high for bar in bars):
        said.append("thin line: quartiles")
    if any(bar.mark is not None for bar in bars):
        said.append("tick: bound")
    sheet.write(LEFT, y + FOOT / 2 - 2, "; ".join(said), colour=FAINT, align="left")


def _paint_panel(panel: Panel, sheet: Sheet, y: int) -> None:
    room = WIDTH - LEFT - RIGHT
    scale = room / panel.top
    first, last = y + HEAD, y + HEAD + ROW * len(panel.bars)
    sheet.write(LEFT, y + 16, panel.title, size=12, bold=True, align="left")
    steps = _steps(panel.top)
    ends = [(LEFT + step * scale, first - 4.0, LEFT + step * scale, last + 2.0) for step in steps]
    sheet.lines(ends, colour=GRID, below=True)
    for step in steps:
        sheet.write(LEFT + step * scale, first - 12, f"{step:g}", colour=FAINT)
    sheet.write(LEFT + room + 12, first - 12, panel.unit, colour=FAINT, align="left")
    for row, (bar, said) in enumerate(zip(panel.bars, panel.values, strict=True)):
        _paint_bar(bar, said, sheet, first + row * ROW, scale)
    for name, value in _apart(panel.lines, 60 / scale):
        x = LEFT + value * scale
        dashes = [(x, float(at), x, at + 4.0) for at in range(first, last, 8)]
        sheet.lines(dashes, colour=ACCENT)
        side = "right" if x > WIDTH / 2 else "left"
        sheet.write(x, last + 8, name, colour=ACCENT, align=side)


def _paint_bar(bar: Bar, value: str, sheet: Sheet, y: int, scale: float) -> None:
    middle = y + ROW / 2
    sheet.write(LEFT - 8, middle, bar.label, align="right")
    sheet.box(LEFT, y + 3, bar.value * scale, ROW - 6, fill=FILLS[bar.kind])
    quartiles = (LEFT + bar.low * scale, middle, LEFT + bar.high * scale, middle)
    sheet.lines([quartiles], colour=INK, thick=1.5)
    if bar.mark is not None:
        x = LEFT + bar.mark * scale
        sheet.lines([(x, y + 1, x, y + ROW - 1)], colour=ACCENT, thick=1.5)
    sheet.write(WIDTH - RIGHT + 12, middle, value, align="left")


def _apart(lines: Sequence[tuple[str, float]], least: float) -> list[tuple[str, float]]:
    """Lines in ascending order; one that is too near the one before gives its name to it.

    >>> _apart([("torch", 1157.0), ("copy", 4200.0), ("cupy", 1142.0)], 100.0)
    [('cupy, torch', 1142.0), ('copy', 4200.0)]
    """
    found: list[tuple[str, float]] = []
    for name, value in sorted(lines, key=lambda line: line[1]):
        if found and value - found[-1][1] < least:
            found[-1] = (f"{found[-1][0]}, {name}", found[-1][1])
        else:
            found.append((name, value))
    return found


def _steps(top: float) -> list[float]:
    """Round values along the axis, at most six and 0.

    >>> _steps(4300.0), _steps(1.07)
    ([0.0, 1000.0, 2000.0, 3000.0, 4000.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    power = 10.0 ** len(str(int(top))) / 100 if top >= 1 else 0.01
    step = next(power * times for times in (1, 2, 5, 10, 20, 50, 100) if top / (power * times) <= 6)
    return [round(step * number, 10) for number in range(int(top / step) + 1)]
