"""The explorer in a page of the site: its module, its style and its states written into the page.

Written into the page and not linked, because a browser refuses modules that lie in files beside a
page that was opened from a disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from smemnb.figures.explorer import Explorer, explore, module_text, style_text
from smemnb.kernels.transpose import transpose_tiled
from smemnb.tracing import trace

_PLACE = re.compile(r"<!-- explorer: (\w+) -->")

_MOUNT = """for (const place of document.querySelectorAll(".explorer")) {
  const state = JSON.parse(place.nextElementSibling.textContent);
  mount(place, state);
}"""


def _transposed() -> Explorer:
    inp = np.arange(64 * 40, dtype=np.float32).reshape(64, 40)
    return explore(trace(transpose_tiled)[(2, 2), (32, 32)](np.zeros((40, 64), np.float32), inp))


SHOWN: Final[dict[str, Callable[[], Explorer]]] = {"column": explore, "transpose": _transposed}
"""What a comment `explorer: NAME` of a page stands for."""


def filled(text: str) -> str:
    """A page of Markdown with an explorer in place of each comment `explorer: NAME`."""
    with_places = _PLACE.sub(lambda found: _raw(_place(SHOWN[found[1]]())), text)
    script = f'<style>\n{style_text()}</style>\n<script type="module">\n{module_text()}\n{_MOUNT}\n'
    return with_places + "\n" + _raw(script + "</script>")


def _place(explorer: Explorer) -> str:
    """A still picture until the script runs, and the state that it begins with."""
    stills = "<br>".join(drawn._repr_html_() for drawn in explorer.stills)
    return (
        f'<div class="explorer">{stills}</div>\n'
        f'<script type="application/json">{_json(explorer.state)}</script>'
    )


def _json(value: Any) -> str:
    """As JSON that cannot end the script it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _raw(html: str) -> str:
    return f"````{{raw}} html\n{html}\n````\n"
