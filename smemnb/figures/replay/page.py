"""The replay's module and style as text, and a page of HTML around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

__all__ = ["module_text", "page", "style_text"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 1200px; margin: 0 auto; padding: 12px 16px; }}
body {{ font-family: system-ui, sans-serif; }}
h1 {{ font-size: 22px; margin: 0 0 12px; }}
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="replay">{still}</div>
</main>
<script type="application/json" id="replay-state">{state}</script>
<script type="module">
{script}
mount(
  document.getElementById("replay"),
  JSON.parse(document.getElementById("replay-state").textContent),
);
</script>
</body>
</html>
"""


@cache
def module_text() -> str:
    """The module: it exports `mount(place, state)`, and `render` for anywidget."""
    return files(__package__).joinpath("replay.js").read_text(encoding="utf-8")


@cache
def style_text() -> str:
    """Its style sheet."""
    return files(__package__).joinpath("replay.css").read_text(encoding="utf-8")


def page(state: Mapping[str, Any], *, title: str = "Replay", still: str = "") -> str:
    """A page of HTML with the replay in it, alive without a kernel and without a network.

    Args:
        state: what it shows, from `state`.
        title: heading of the page.
        still: HTML that stands there until the script runs, or where none does.
    """
    data = json.dumps(state, ensure_ascii=False).replace("<", "\\u003c")
    return _PAGE.format(
        title=escape(title), style=style_text(), still=still, state=data, script=module_text()
    )
