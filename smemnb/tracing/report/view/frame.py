"""What stands around the tables of a view: its sentences, and the element that holds all of it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

# the class is the one for which JupyterLab has the colours of Pygments
_WHOLE = "background:none;color:inherit;padding:2px 0 0 6px"
_SAID = "margin:0 0 4px;overflow-wrap:anywhere"


def whole(parts: Iterable[str]) -> str:
    """A view of its parts, all as HTML."""
    return f'<div class="highlight" style="{_WHOLE}">' + "\n".join(parts) + "</div>"


def sentence(text: str) -> str:
    """A text as a paragraph."""
    return paragraph(escape(text))


def paragraph(inside: str) -> str:
    """A paragraph of what is given as HTML."""
    return f'<p style="{_SAID}">{inside}</p>'
