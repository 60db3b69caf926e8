"""Source lines as HTML: the classes of Pygments, bold keywords, an indent that stays.

Every line is closed in itself, so that lines can be put into rows. Leading spaces are no-break
spaces: an indent has a meaning in Python, and a page without styles joins plain spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import Any

NO_BREAK = "\u00a0"
_ELEMENTS = {"k": "b", "c": "i"}  # seen without any style; all others are a <span>


def coloured(lines: Sequence[str]) -> list[str]:
    """The lines of one text, each as HTML.

    >>> coloured(["if row < 4:", "    return row  # below"])[0]
    '<b class="k">if</b> row &lt; <span class="m">4</span>:'
    """
    lines = [line.expandtabs() for line in lines]
    rows = [""] * len(lines)
    at = 0
    for kind, text in _tokens("\n".join(lines)):
        for number, piece in enumerate(text.split("\n")):
            at += number > 0
            if not rows[at].strip(NO_BREAK):
                code = piece.lstrip(" ")
                piece = NO_BREAK * (len(piece) - len(code)) + code
            rows[at] += _element(kind, piece) if kind and piece.strip() else escape(piece)
    return rows


def monospaced(code: str, style: str = "") -> str:
    """A piece of code, given as HTML, in place: without the ground and margin of JupyterLab's."""
    return f'<code style="background:none;padding:0{style}">{code}</code>'


def _element(kind: str, text: str) -> str:
    name = _ELEMENTS.get(kind, "span")
    return f'<{name} class="{kind}">{escape(text)}</{name}>'


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text with their class, "" for those that keep the page's colour."""
    lexer, classes = _lexer()
    before = ""
    held: list[str] = []
    for _, kind, piece in lexer.get_tokens_unprocessed(text):
        found = next((name for ancestor, name in classes if kind in ancestor), "")
        if found != before and held:
            yield before, "".join(held)
            held = []
        before = found
        held.append(piece)
    if held:
        yield before, "".join(held)


@cache
def _lexer() -> tuple[Any, tuple[tuple[Any, str], ...]]:
    """Pygments' Python, and the kinds of tokens that are coloured with their classes."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    classes = (
        (Comment, "c"),
        (String, "s"),
        (Number, "m"),
        (Keyword, "k"),
        (Operator.Word, "k"),
        (Name.Decorator, "nd"),
        (Name.Function, "nf"),
    )
    return PythonLexer(stripnl=False, ensurenl=False), classes
