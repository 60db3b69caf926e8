"""The replays that stand in a page of the site, recorded when it is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from smemnb.exercises.chapters.ex07_ahead import ahead_early
from smemnb.figures.replay import Replay, module_text, replay, style_text
from smemnb.kernels.matmul import matmul_tiled
from smemnb.kernels.transpose import transpose_tiled

from . import live


def _figure(found: Replay) -> live.Figure:
    return live.Figure(found.still._repr_html_(), found.state)


def _transpose() -> live.Figure:
    """The last block of a matrix whose edges are ragged."""
    inp = np.arange(60 * 50, dtype=np.float32).reshape(60, 50)
    out = np.zeros((50, 60), np.float32)
    return _figure(replay(transpose_tiled, block=(1, 1))[(2, 2), (32, 32)](out, inp))


def _product(kernel: Any) -> live.Figure:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((28, 40), (40, 26)))
    out = np.zeros((28, 26), np.float32)
    return _figure(replay(kernel, block=(1, 1))[(2, 2), (16, 16)](out, a, b))


SHOWN: Final[dict[str, Callable[[], live.Figure]]] = {
    "transpose": _transpose,
    "product": lambda: _product(matmul_tiled),
    "buffers": lambda: _product(ahead_early),
}
"""What a comment `replay: NAME` of a page stands for."""


def filled(text: str) -> str:
    """A page of Markdown with a replay in place of each comment `replay: NAME`."""
    return live.filled(text, "replay", SHOWN, style_text(), module_text())
