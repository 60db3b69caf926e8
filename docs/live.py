"""Live figures in a page of the site: module, style and states written into the page.

Written into the page and not linked, because a browser refuses modules that lie in files beside a
page that was opened from a disk. A page says where with comments such as `explorer: column`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Figure", "filled"]

_MOUNT: Final = """for (const place of document.querySelectorAll(".KIND")) {
  const state = JSON.parse(place.nextElementSibling.textContent);
  mount(place, state);
}"""


class Figure(NamedTuple):
    """What a place begins with: HTML that stands there until the script runs, and the state."""

    still: str
    state: Any


def filled(
    text: str, kind: str, shown: Mapping[str, Callable[[], Figure]], style: str, module: str
) -> str:
    """A page of Markdown with a live figure in place of each comment `KIND: NAME`.

    Args:
        text: the page.
        kind: what the comments begin with; also the class of the places.
        shown: the figure that each name stands for.
        style: the style sheet of the figures.
        module: their JavaScript, which exports `mount(place, state)`.
    """
    comment = re.compile(rf"<!-- {kind}: (\w+) -->")
    with_places = comment.sub(lambda found: _raw(_place(kind, shown[found[1]]())), text)
    mount = _MOUNT.replace("KIND", kind)
    script = f'<style>\n{style}</style>\n<script type="module">\n{module}\n{mount}\n</script>'
    return with_places + "\n" + _raw(script)


def _place(kind: str, figure: Figure) -> str:
    return (
        f'<div class="{kind}">{figure.still}</div>\n'
        f'<script type="application/json">{_json(figure.state)}</script>'
    )


def _json(value: Any) -> str:
    """As JSON that cannot end the script it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _raw(html: str) -> str:
    return f"````{{raw}} html\n{html}\n````\n"
