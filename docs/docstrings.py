"""The docstrings of the package as reStructuredText: a Sphinx extension, ahead of napoleon.

The package writes docstrings to be read as they stand: `code` in single backticks, and tables and
examples as indented lines after a blank one. Here code becomes a literal, indented lines a literal
block, and every other mark of reStructuredText a plain character; `**bold**`, lists, doctests and
the sections of Google's style (`Args:`, `Raises:`) stay.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from itertools import groupby, takewhile
from typing import Any, Final

SECTIONS: Final = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
_EMPHASIS = r"(?<![\w*])\*\w[^*\n]*\b\*(?![\w*])"
_OPTION = r"(?<![\w-])--\w[\w-]*"  # else `--` becomes a dash
_KEPT = re.compile(rf"(`+[^`]+`+|\*\*[^*]+\*\*|{_EMPHASIS}|{_OPTION}|https?://\S+)")
_MARK = re.compile(r"([\\*|`])|(?<=\w)(_)(?=\W|$)")
_COLUMN = re.compile(r"\S+ {2,}\S")
_ITEM = re.compile(r"(- |\d+\. )")

NDARRAY: Final = re.compile(r"~?numpy\.ndarray\[tuple\[[^\]]*\], ~?numpy\.dtype\[([^\]]*)\]\]")
"""What Python writes for `NDArray[...]` of `numpy.typing`; the group is the type of an element."""


def restructured(text: str) -> str:
    r"""A docstring as reStructuredText.

    >>> restructured("With --pad the `pad` of *any* row: row * cols.")
    'With ``--pad`` the ``pad`` of *any* row: row \\* cols.'
    >>> print(restructured("Rules:\n\n    bank    banks\n    sector  sectors\n\nRead on."))
    Rules:
    <BLANKLINE>
    .. code-block:: text
    <BLANKLINE>
        bank    banks
        sector  sectors
    <BLANKLINE>
    Read on.
    """
    paragraphs = re.split(r"\n\s*\n", text.strip("\n")) if text.strip() else []
    return "\n\n".join(_blocks([part for one in paragraphs for part in _apart(one)]))


def _apart(paragraph: str) -> list[str]:
    """A paragraph, cut where indented lines begin or end without a blank line between."""
    first = paragraph.splitlines()[0]
    if first[0] == " " or first.strip() in SECTIONS or _ITEM.match(first) or _is_table(paragraph):
        return [paragraph]
    runs = groupby(paragraph.splitlines(), key=lambda line: line[0] == " ")
    return ["\n".join(lines) for _, lines in runs]


def _blocks(paragraphs: list[str]) -> Iterator[str]:
    """Each paragraph, changed where it is to be; those of a literal block together."""
    section = literal = False
    for place, paragraph in enumerate(paragraphs):
        first = paragraph.splitlines()[0]
        indented = first.startswith(" ")
        section = first.strip() in SECTIONS or (section and indented)
        if first.lstrip().startswith(">>>"):
            literal = False
            yield paragraph
        elif (indented and not section) or _is_table(paragraph):
            listed = paragraph if indented else textwrap.indent(paragraph, "    ")
            following = takewhile(lambda one: one[:1] == " ", paragraphs[place + 1 :])
            language = _language([listed, *following])
            yield listed if literal else f".. code-block:: {language}\n\n{listed}"
            literal = True
        else:
            literal = False
            yield _prose(paragraph)


def _language(paragraphs: list[str]) -> str:
    """What a literal block is written in: Python where it can be read so, else plain text."""
    try:
        ast.parse(textwrap.dedent("\n".join(paragraphs)))
    except SyntaxError:
        return "text"
    return "python"


def _is_table(paragraph: str) -> bool:
    """Whether its lines are names, each with a gap before its words, or go on with these."""
    return bool(_COLUMN.match(paragraph)) and all(
        line[0] == " " or _COLUMN.match(line) for line in paragraph.splitlines()
    )


def _prose(paragraph: str) -> str:
    lines: list[str] = []
    for line in _escaped(paragraph).splitlines():
        # a list after a sentence, without the blank line that reStructuredText asks for
        if _ITEM.match(line) and lines and not _ITEM.match(lines[-1]) and lines[-1][:1] != " ":
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _escaped(text: str) -> str:
    parts = _KEPT.split(text)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = _MARK.sub(r"\\\g<0>", part)
        elif part.startswith(("`", "--")):
            parts[place] = f"``{part.strip('`')}``"
    return "".join(parts)


def _on_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    text = restructured("\n".join(lines))
    # napoleon takes what stands before a colon in their first line for a type; this is a comment
    first = ["..", ""] if what in ("attribute", "data", "property") else []
    lines[:] = [*first, *text.split("\n"), ""]


def _on_signature(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    return signature and _shortened(signature), returned and _shortened(returned)


def _shortened(signature: str) -> str:
    """Types by the names that NumPy gives them, where Sphinx writes all that they stand for."""
    from numpy.typing import ArrayLike
    from sphinx.util.typing import stringify_annotation

    signature = signature.replace(stringify_annotation(ArrayLike, "smart"), "ArrayLike")
    signature = NDARRAY.sub(r"NDArray[\1]", signature)
    # the default of a dataclass's field that a function makes; no Python, so Sphinx shows all raw
    return signature.replace("<factory>", "...")


def _on_member(app: Any, what: str, name: str, obj: Any, skip: object, options: Any) -> bool | None:
    # a named tuple's fields stand in its signature, and say no more than their number
    numbered = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if numbered else None


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx to ask here before napoleon, whose priority is 500."""
    app.connect("autodoc-process-signature", _on_signature)
    app.connect("autodoc-skip-member", _on_member)
    app.connect("autodoc-process-docstring", _on_docstring, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
