"""A drawing: the numbers as text, one sentence of alt text, and a PNG made when it is asked for.

In a notebook the picture is an `<img>`, because JupyterLab shows the alt text of no other picture,
and the text is stored with it as `text/plain`, so that a test of the notebook compares numbers.
**Limits**: the PNG is the same for the same matplotlib; another version may place a letter
differently.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

__all__ = ["Drawing"]


@dataclass(frozen=True, repr=False)
class Drawing:
    """A picture with its numbers.

    `text` holds the numbers, as a rule in at most 15 lines; `alt` says in one sentence what the
    picture shows; `width` is the width in pixels at which a notebook shows it.
    """

    text: str
    alt: str
    width: int
    _paint: Callable[[], bytes] = field(compare=False)

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG on a ground of its own."""
        return self._paint()

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        data = b64encode(self.png).decode("ascii")
        return (
            f'<img width="{self.width}" style="max-width:100%; border-radius:6px" '
            f'alt="{escape(self.alt)}" src="data:image/png;base64,{data}">'
        )
