"""Links to a word of the glossary in what exercises say: `[bank](GLOSSARY.md#bank)`.

As text the word stands alone. As HTML it is a link where the glossary lies beside the notebook, as
in a learner's copy, or one folder up, as in the repository.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

FILE = "GLOSSARY.md"
LINK = re.compile(r"\[(?P<word>[^\]\n]+)\]\(GLOSSARY\.md(?P<anchor>#[\w-]+)?\)")


def unlinked(text: str) -> str:
    """The text with its words alone.

    >>> unlinked("Two lanes, one [bank](GLOSSARY.md#bank).")
    'Two lanes, one bank.'
    """
    return LINK.sub(lambda found: found["word"], text)


def linked(html: str) -> str:
    """Escaped text with its links as HTML, from the folder in which the notebook runs."""
    place = next((way for way in (FILE, f"../{FILE}") if Path(way).is_file()), None)
    if place is None:
        return unlinked(html)
    return LINK.sub(
        lambda found: f'<a href="{place}{escape(found["anchor"] or "")}">{found["word"]}</a>', html
    )
