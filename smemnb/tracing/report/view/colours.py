"""The colours of a trace view.

Where only inline styles are left, one colour has to do on a light and on a dark page. No colour
has a contrast of 4.5 against both #ffffff and #111111: their own contrast is 18.9, so that the best
has its square root, 4.34. So text keeps the colour of the page, and colours are for what needs 3.0
and says the same in another way too: bars, which have two patterns, and the edge of a finding.

The source is coloured by the classes of Pygments: JupyterLab has colours for them in each of its
themes, also in an untrusted notebook; `PAGE` has those of the page of `smemnb trace --html`.
"""

from __future__ import annotations

from types import MappingProxyType

FEWEST = "#1f80b8"
"""The part of a bar that the bytes need."""
EXTRA = "#c35b00"
"""The part above it, in warnings too."""
SEVERITY = MappingProxyType({"error": "#d6482f", "warning": EXTRA, "note": FEWEST})

GROUNDS = MappingProxyType({"light": "#ffffff", "dark": "#111111"})
INKS = MappingProxyType(
    {
        "light": {
            "text": "#1b1b1b",
            "k": "#00713a",
            "c": "#5b6770",
            "s": "#a0221b",
            "m": "#005e8c",
            "nd": "#7a3ea1",
            "nf": "#1f4fb5",
        },
        "dark": {
            "text": "#dedede",
            "k": "#6fc27a",
            "c": "#9aa7b0",
            "s": "#f2958a",
            "m": "#7cc4ee",
            "nd": "#cf9df0",
            "nf": "#8fb4ff",
        },
    }
)
"""Colours of a page of our own, by scheme: its text, and the classes of Pygments."""
