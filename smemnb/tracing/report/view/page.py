"""A page of its own for the views of one or more traces: light or dark, as the reader's system."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from .colours import GROUNDS, INKS

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 14px/1.4 system-ui, sans-serif }}
body {{ max-width: 1000px; margin: 16px auto; padding: 0 12px }}
code, pre {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
tr:hover {{ outline: 1px solid #808080 }}
.highlight {{ margin: 0 0 32px }}
{light}
@media (prefers-color-scheme: dark) {{
{dark}
}}
</style></head>
<body>
{body}
</body></html>
"""


def page(title: str, body: str) -> str:
    """A whole page; loads nothing.

    Args:
        title: as text.
        body: as HTML.
    """
    light, dark = (_scheme(name) for name in ("light", "dark"))
    return _PAGE.format(title=escape(title), body=body, light=light, dark=dark)


def _scheme(name: str) -> str:
    inks: Mapping[str, str] = INKS[name]
    rules = [f"body {{ background: {GROUNDS[name]}; color: {inks['text']} }}"]
    rules += [f".highlight .{one} {{ color: {ink} }}" for one, ink in inks.items() if one != "text"]
    return "\n".join(rules)
