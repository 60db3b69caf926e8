"""Formulas as MathML: a Sphinx extension, the renderer `mathml` of `html_math_renderer`.

Browsers show MathML themselves, so a page needs neither a script nor a font of another host, which
Sphinx's default (MathJax from a network of servers) does. docutils does the translation.

**Limits**: what docutils' `latex2mathml` knows. A formula that it does not know is a warning, and
so ends the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    _write(writer, node, as_block=False)


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line; it scrolls by itself where the page is narrow."""
    writer.body.append('<div class="formula">')
    _write(writer, node, as_block=True)
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def _write(writer: Any, node: nodes.Element, *, as_block: bool) -> None:
    text = node.astext()
    try:
        writer.body.append(tex2mathml(text, as_block=as_block))
    except MathError as error:
        _LOGGER.warning("docutils cannot write %r as MathML: %s", text, error, location=node)
        writer.body.append(f"<code>{writer.encode(text)}</code>")
    if not as_block:
        raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
