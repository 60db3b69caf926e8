"""The explorer's files as text, and a page of HTML around them.

anywidget and a page of its own take one module, so the files are put one after the other and their
`import` lines left out: the names they import stand above. Nothing else is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

__all__ = ["PARTS", "module_text", "page", "style_text"]

PARTS: Final = ("bank_rule", "layout", "expression", "request", "explorer")
"""The files of the module, each after those that it imports."""

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', flags=re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 1440px; margin: 0 auto; padding: 12px 16px; }}
body {{ font-family: system-ui, sans-serif; }}
h1 {{ font-size: 22px; margin: 0 0 12px; }}
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="explorer">{still}</div>
</main>
<script type="application/json" id="explorer-state">{state}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""
_MOUNT = """mount(
  document.getElementById("explorer"),
  JSON.parse(document.getElementById("explorer-state").textContent),
);"""


@cache
def module_text() -> str:
    """The explorer as one module: it exports `mount(place, state)`, and `render` for anywidget."""
    return "\n".join(_IMPORT.sub("", _text(f"{name}.js")) for name in PARTS)


@cache
def style_text() -> str:
    """Its style sheet."""
    return _text("explorer.css")


def page(
    state: Mapping[str, Any],
    *,
    title: str = "Bank explorer",
    still: str = "",
    module: str | None = None,
) -> str:
    """A page of HTML with the explorer in it, alive without a kernel and without a network.

    Args:
        state: where it begins, from `state`.
        title: heading of the page.
        still: HTML that stands there until the script runs, or where none does.
        module: address of `module_text` as a file, such as "./explorer.js"; None writes it into the
            page.
    """
    begin = f"import {{ mount }} from {_json(module)};" if module else module_text()
    return _PAGE.format(
        title=escape(title),
        style=style_text(),
        still=still,
        state=_json(state),
        script=f"{begin}\n{_MOUNT}",
    )


def _json(value: Any) -> str:
    """As JSON that cannot end the script it stands in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
