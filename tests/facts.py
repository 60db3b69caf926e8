"""What a message says apart from its wording: the names, numbers and code in it.

A test of a message compares these, so that a sentence may be put better without a test failing, and
a wrong line, shape or argument still fails it. One golden text of a report is kept
(`tests/tracing/test_trace.py`, and the example in `README.md`); every other text is held by its
facts.
"""

from __future__ import annotations

import re

BRACKETS = r"\[[^\[\]]*\]|\((?:[^()]|\([^()]*\))*\)"
FACT = re.compile(
    rf"""`[^`]+`                               # a name in backticks
    | \b[A-Za-z_]\w*(?:\.\w+|{BRACKETS})+      # a member, an element, a call
    | \b\w*[A-Za-z]_\w+                        # a name with an underscore
    | \b(?<![\w.])\d+(?:,\d{{3}})*(?:\.\d+)?   # a number; thousands may have commas
    """,
    flags=re.VERBOSE,
)


def facts(text: object) -> list[str]:
    """The names, numbers and pieces of code of a text, sorted, as often as they are said.

    >>> facts("Line 14 stores tile[ty, tx]: 3,968 extra, 2 of 14. Pass `x` as x.T.copy().")
    ['14', '14', '2', '3968', 'tile[ty, tx]', 'x', 'x.T.copy()']
    """
    return sorted(_plain(found) for found in FACT.findall(str(text)))


def _plain(found: str) -> str:
    if found[0].isdigit():
        return found.replace(",", "")
    return found.strip("`")
