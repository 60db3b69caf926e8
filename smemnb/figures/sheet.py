"""A sheet to draw on, in pixels from the top left corner, and its PNG.

matplotlib's Agg canvas without pyplot: no window, no global figure, no reader's style. Letters
are DejaVu Sans, which matplotlib brings along, of 11 pixels at least.

The sheet has a slate ground of its own, so that it reads the same on a white page and on a dark
one. A clear ground would leave the inks alone with both: #ffffff and #111111 have a contrast of
18.9, so that no ink has more than its square root, 4.34, with both, and small letters want 4.5.
On slate every ink has that and every mark 3, next to white it is as quiet as a block of code, and
next to #111111 it does not shine as a light sheet would. Colours go from blue to yellow; none asks
the reader to distinguish red and green.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "ACCENT",
    "DARK",
    "EMPTY",
    "FAINT",
    "GRID",
    "GROUND",
    "INK",
    "SERIES",
    "SMALLEST",
    "Sheet",
    "contrast",
    "ink_on",
    "painted",
    "painted_svg",
    "shade",
    "shortened",
    "width_of",
]

GROUND: Final = "#262c34"
INK: Final = "#f2f4f6"
FAINT: Final = "#b9c1cb"
"""Letters that step back, and edges."""
GRID: Final = "#4b5560"
"""Lines that help the eye along: what they part is told apart without them."""
EMPTY: Final = "#303842"
"""A place that nothing fills; letters on it have the colours of the ground."""
ACCENT: Final = "#ff9d5c"
DARK: Final = "#0b0e12"
"""Letters on a bright fill."""
SERIES: Final = ("#6ea8f0", ACCENT, "#f5e15c", "#c4a3e6", "#57c98a")
"""Colours of things that are told apart, in the order in which they are used."""

SMALLEST: Final = 11.0
"""Pixels of the smallest letters."""
SCALE = 2  # dots per pixel: sharp on screens that have two for each
COLOURS = 24  # of the stored PNG, beside those asked for

# a lightness that grows evenly, from the first blue that stands out from the ground to yellow
_RAMP: Final = (
    (86, 140, 222),
    (122, 160, 200),
    (158, 180, 172),
    (192, 198, 138),
    (224, 216, 98),
    (254, 232, 56),
)


def shade(rank: int, ranks: int) -> str:
    """Colour of the rank-th of `ranks` (from 0), from blue to yellow.

    >>> shade(0, 1), shade(31, 32)
    ('#568cde', '#fee838')
    """
    place = 0.0 if ranks < 2 else (len(_RAMP) - 1) * rank / (ranks - 1)
    low = min(int(place), len(_RAMP) - 2)
    part = place - low
    mixed = [round(a + (b - a) * part) for a, b in zip(_RAMP[low], _RAMP[low + 1], strict=True)]
    return "#" + "".join(f"{one:02x}" for one in mixed)


def contrast(one: str, other: str) -> float:
    """How well two colours are told apart, from 1 to 21, as WCAG 2 counts it.

    >>> contrast("#ffffff", "#000000"), round(contrast("#ffffff", "#111111"), 1)
    (21.0, 18.9)
    """
    dark, bright = sorted((_light(one), _light(other)))
    return (bright + 0.05) / (dark + 0.05)


def _light(colour: str) -> float:
    """Relative luminance, 0 to 1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def ink_on(colour: str) -> str:
    """The letters, bright or dark, that read better on a colour.

    >>> ink_on("#262c34"), ink_on("#fee838")
    ('#f2f4f6', '#0b0e12')
    """
    return max((INK, DARK), key=lambda ink: contrast(ink, colour))


class Sheet:
    """A sheet of width x height pixels, and `above` more over y = 0."""

    def __init__(self, width: int, height: int, above: int = 0) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.width = width
        # 72 dots per inch: one point is one pixel
        size = width / 72, (above + height) / 72
        figure = Figure(figsize=size, dpi=72 * SCALE, facecolor=GROUND)
        self._canvas = FigureCanvasAgg(figure)
        self._axes = figure.add_axes((0, 0, 1, 1))
        self._used = {GROUND}
        self._axes.set_axis_off()
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, -above)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        edge: str = "none",
        thick: float = 1.0,
        hatch: str | None = None,
        below: bool = False,
    ) -> None:
        """A rectangle; a hatch takes the colour of the edge. `below` all lines, or above."""
        from matplotlib.patches import Rectangle

        self._used |= {fill, edge} - {"none"}
        self._axes.add_patch(
            Rectangle(
                (x, y),
                width,
                height,
                facecolor=fill,
                edgecolor=edge,
                linewidth=thick,
                hatch=hatch,
                zorder=0.5 if below else 1,
            )
        )

    def lines(
        self,
        ends: Sequence[tuple[float, float, float, float]],
        *,
        colour: str,
        thick: float = 1.0,
        below: bool = False,
    ) -> None:
        """Straight lines (x, y, x, y), `below` the boxes drawn later, or above them."""
        from matplotlib.collections import LineCollection

        self._used.add(colour)
        segments = [((x0, y0), (x1, y1)) for x0, y0, x1, y1 in ends]
        self._axes.add_collection(
            LineCollection(segments, colors=colour, linewidths=thick, zorder=0.9 if below else 2),
            autolim=False,
        )

    def write(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = SMALLEST,
        colour: str = INK,
        bold: bool = False,
        align: str = "center",
        upright: bool = False,
    ) -> None:
        """Words whose middle line is at y; `upright` turns them a quarter to the left.

        Raises:
            ValueError: letters smaller than `SMALLEST`.
        """
        if size < SMALLEST:
            raise ValueError(f"letters of {size} pixels are too small: {SMALLEST} at least")
        self._used.add(colour)
        self._axes.text(
            x,
            y,
            words,
            fontsize=size,
            color=colour,
            fontweight="bold" if bold else "normal",
            horizontalalignment=align,
            verticalalignment="center_baseline" if not upright else "center",
            rotation=90 if upright else 0,
            parse_math=False,
        )

    def svg(self) -> bytes:
        """The sheet as SVG, letters as text, with no date and no name of a program in it."""
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        out = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas: Any = FigureCanvasSVG(self._canvas.figure)
        canvas.print_svg(out, metadata=nothing)
        return out.getvalue()

    def png(self) -> bytes:
        """The sheet as PNG of few colours, with no date and no name of a program in it."""
        from PIL import Image

        canvas: Any = self._canvas  # has no types for these two
        canvas.draw()
        seen = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
        few = seen.quantize(palette=_palette(seen, self._used), dither=Image.Dither.NONE)
        out = io.BytesIO()
        few.save(out, "PNG", optimize=True)
        return out.getvalue()


def _palette(seen: Image, used: set[str]) -> Image:
    """The colours that were asked for, and the most frequent blends at the edges of letters."""
    from PIL import Image

    own = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in sorted(used)])
    few = seen.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    blends = np.array((few.getpalette() or [])[: 3 * COLOURS]).reshape(-1, 3)
    # a blend beside a colour that was asked for would take its place, and tint the ground
    apart = abs(blends[:, None] - own).sum(axis=2).min(axis=1) > 12
    palette = Image.new("P", (1, 1))
    palette.putpalette([*own.ravel().tolist(), *blends[apart].ravel().tolist()])
    return palette


@cache
def width_of(words: str, size: float = 11, *, bold: bool = False) -> float:
    """Pixels that words take on a sheet, from the left edge of the first to the end of the last.

    >>> width_of("tile", 20) == 2 * width_of("tile", 10), width_of("mm", 10) > width_of("ll", 10)
    (True, True)
    """
    with _quiet():
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        letters = FontProperties(
            family="DejaVu Sans", size=size, weight="bold" if bold else "normal"
        )
        wide, _, _ = text_to_path.get_text_width_height_descent(words, letters, ismath=False)
    return float(wide)


def shortened(words: str, room: float, size: float = 11, *, bold: bool = False) -> str:
    """The words, or as much of their beginning as fits into so many pixels, with dots behind it.

    >>> shortened("a tile", 100), shortened("a tile of 32 rows", 60)
    ('a tile', 'a tile of...')
    """
    cut = words
    while width_of(cut, size, bold=bold) > room and cut != "...":
        cut = cut.removesuffix("...")[:-1].rstrip() + "..."
    return cut


def painted(width: int, height: int, paint: Callable[[Sheet], None], *, above: int = 0) -> bytes:
    """The PNG of a sheet after `paint` drew on it, whatever settings and styles the reader has."""
    with _own_style():
        sheet = Sheet(width, height, above)
        paint(sheet)
        return sheet.png()


def painted_svg(width: int, height: int, paint: Callable[[Sheet], None]) -> bytes:
    """The same as SVG."""
    with _own_style() as settings:
        settings["svg.fonttype"], settings["svg.hashsalt"] = "none", "smemnb"
        sheet = Sheet(width, height)
        paint(sheet)
        return sheet.svg()


@contextmanager
def _own_style() -> Iterator[Any]:
    """matplotlib's own settings, to be changed within the context."""
    with _quiet():
        import matplotlib
        import matplotlib.font_manager

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield matplotlib.rcParams


@contextmanager
def _quiet() -> Iterator[None]:
    """No talk of matplotlib's first run, which lists the fonts and names folders on stderr."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
