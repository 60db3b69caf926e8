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


def table(text: object) -> list[list[str]]:
    """A report line by line: the cells of a row, in order, and the facts of a line in words.

    A row has three cells or more, with two blanks or more between them. How wide its columns are
    and how the sentences around it read is left to the report.

    >>> table("all (model)\\nline   loads  extra\\n  14   1,024      0")
    [[], ['line', 'loads', 'extra'], ['14', '1,024', '0']]
    """
    found = []
    for line in str(text).splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        found.append(cells if len(cells) > 2 else facts(line))
    return found


def _plain(found: str) -> str:
    if found[0].isdigit():
        return found.replace(",", "")
    return found.strip("`")
