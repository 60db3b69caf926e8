"""The explorers that stand in a page of the site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from smemnb.figures.explorer import Explorer, explore, module_text, style_text
from smemnb.kernels.transpose import transpose_tiled
from smemnb.tracing import trace

from . import live


def _figure(explorer: Explorer) -> live.Figure:
    stills = "<br>".join(drawn._repr_html_() for drawn in explorer.stills)
    return live.Figure(stills, explorer.state)


def _column() -> live.Figure:
    return _figure(explore())


def _transposed() -> live.Figure:
    inp = np.arange(64 * 40, dtype=np.float32).reshape(64, 40)
    traced = trace(transpose_tiled)[(2, 2), (32, 32)](np.zeros((40, 64), np.float32), inp)
    return _figure(explore(traced))


SHOWN: Final[dict[str, Callable[[], live.Figure]]] = {"column": _column, "transpose": _transposed}
"""What a comment `explorer: NAME` of a page stands for."""


def filled(text: str) -> str:
    """A page of Markdown with an explorer in place of each comment `explorer: NAME`."""
    return live.filled(text, "explorer", SHOWN, style_text(), module_text())
