"""Numbers in a chapter's text: each is shown by a cell nearby, as output or as code.

A number is *shown* by the code cells of its section (from heading to heading) and by the four cells
before and after the text. Numbers below four are words, and these are not looked at: the head cell
(minutes), what a reader is asked to try (from "## Try to break it" on, and sentences that begin
with "**Change**"), names such as `14_banks` and `float32`. Links and HTML tags are no text.

**Limits**: a number that happens to stand nearby for another reason passes; numbers written as
words are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from nbformat import NotebookNode

NEAR = 4  # cells before and after
COUNTING = {0.0, 1.0, 2.0, 3.0}
NUMBER = re.compile(r"(?<![A-Za-z_.\d])\d+(?:,\d{3})*(?:\.\d+)?(?![A-Za-z_\d])")
INSTRUCTED = re.compile(r"\*\*Change\*\*.*?(?:[:.](?=\s)|\Z)", flags=re.DOTALL)


def number_problems(book: NotebookNode) -> Iterator[str]:
    """Every number of the text that no cell nearby shows."""
    sections = _sections(book)
    for n, cell in enumerate(book.cells):
        if cell.cell_type != "markdown" or n == 0:
            continue
        text, *rest = cell.source.split("## Try to break it")
        near = range(max(0, n - NEAR), min(len(book.cells), n + NEAR + 1))
        mine = {i for i in range(len(book.cells)) if sections[i] & sections[n]}
        seen = set().union(*(shown(book.cells[i]) for i in {*near, *mine}))
        for number in sorted(numbers(INSTRUCTED.sub(" ", text)) - seen - COUNTING):
            yield f"cell {n} says {number:g}, which no cell nearby prints or holds"
        if rest:
            return


def numbers(text: str) -> set[float]:
    """The numbers of a text.

    >>> sorted(numbers("a 32x8 block, 1,048,576 lanes; 3.70 times, not float32 or 14_banks"))
    [3.7, 8.0, 32.0, 1048576.0]
    """
    bare = re.sub(r"<[^>]+>|\]\([^)]*\)", " ", text)
    bare = re.sub(r"(?<=\d)x(?=\d)", " ", bare)
    return {float(found.replace(",", "")) for found in NUMBER.findall(bare)}


def shown(cell: NotebookNode) -> set[float]:
    """The numbers that a code cell holds or prints; none for text."""
    if cell.cell_type != "code":
        return set()
    said = [cell.source]
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        said += ["".join(output.get("text", "")), "".join(data.get("text/plain", ""))]
        said.append(unescape(re.sub(r"<[^>]+>", " ", "".join(data.get("text/html", "")))))
    return set().union(*(numbers(text) for text in said))


def _sections(book: NotebookNode) -> list[set[int]]:
    """The sections to which each cell belongs; a text cell with a heading inside has several."""
    current, found = 0, []
    for cell in book.cells:
        heads = 0
        if cell.cell_type == "markdown":
            heads = len(re.findall(r"^## ", cell.source, flags=re.MULTILINE))
        begins = cell.cell_type == "markdown" and cell.source.startswith("## ")
        found.append(set(range(current + begins, current + heads + 1)))
        current += heads
    return found
