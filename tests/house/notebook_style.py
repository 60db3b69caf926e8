"""What a reader of a chapter relies on: head, closing, setup, tags, and outputs that show.

Each rule is a generator of sentences; `style_problems` runs them all. CONTRIBUTING.md lists the
rules for authors ("A chapter"). A checkpoint, whose title says so, has nothing to try: its problems
are what there is to do. How long texts, cells and outputs are is the author's to judge.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

TAGS = {"nbval-ignore-output", "raises-exception", "typing-refused"}
MIMES = {"text/plain", "text/html", "image/png"}
WORDS = ("powerful", "professional", "hidden trap", "obviously", "blazing", "seamless")
EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50]")


def style_problems(book: NotebookNode) -> list[str]:
    """Every breach of the rules, with the number of its cell (from 0)."""
    rules = (_head, _closing, _setup, _code, _prose, _words, _glossary, _tags, _outputs)
    return [problem for rule in rules for problem in rule(book)]


GLOSSARY = Path(__file__).resolve().parents[2] / "GLOSSARY.md"


def terms() -> set[str]:
    """The words of the glossary, a heading each."""
    return set(re.findall(r"^### (.+)$", GLOSSARY.read_text("utf-8"), flags=re.MULTILINE))


def is_checkpoint(book: NotebookNode) -> bool:
    """Whether the title says that this is a checkpoint."""
    return bool(book.cells) and book.cells[0].source.startswith("# Checkpoint")


def code_lines(source: str) -> int:
    """Lines of a code cell that are not blank."""
    return sum(1 for line in source.splitlines() if line.strip())


def _code_cells(book: NotebookNode) -> list[tuple[int, NotebookNode]]:
    return [(n, cell) for n, cell in enumerate(book.cells) if cell.cell_type == "code"]


def _prose_cells(book: NotebookNode) -> list[tuple[int, NotebookNode]]:
    return [(n, cell) for n, cell in enumerate(book.cells) if cell.cell_type == "markdown"]


def _head(book: NotebookNode) -> Iterator[str]:
    head = book.cells[0].source if book.cells else ""
    if not re.match(r"# [^\d\s]", head):
        yield "cell 0 does not start with a title without a number"
    for part in ("**You will**", "**Needs**", "**Before**"):
        if part not in head:
            yield f"cell 0 lacks {part}"
    if not re.search(r"\d+ minutes", head):
        yield "cell 0 does not say how many minutes"


def _closing(book: NotebookNode) -> Iterator[str]:
    text = "\n".join(cell.source for _, cell in _prose_cells(book))
    order = [text.find(mark) for mark in ("## Try to break it", "## Now you can")]
    if is_checkpoint(book):
        order[0] = 0
    if -1 in order or order != sorted(order):
        yield 'the chapter does not end with "## Try to break it", then "## Now you can"'
        return
    closing = text[order[1] :]
    if "**Next**" not in closing:
        yield "the last cell does not name the next chapter after **Next**"


def _setup(book: NotebookNode) -> Iterator[str]:
    cells = _code_cells(book)
    if not cells:
        yield "no code"
        return
    number, first = cells[0]
    try:
        body = ast.parse(first.source).body
    except SyntaxError:
        yield f"cell {number}: the setup cell is not plain Python"
        return
    if not all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body):
        yield f"cell {number}: the setup cell holds more than imports"
    if code_lines(first.source) > 3:
        yield f"cell {number}: the setup cell has {code_lines(first.source)} lines, at most 3"


def _code(book: NotebookNode) -> Iterator[str]:
    for n, cell in _code_cells(book):
        if re.search(r"^\s*[!%]{1,2}\s*(pip|conda|apt|wget|curl)", cell.source, flags=re.MULTILINE):
            yield f"cell {n} installs or downloads"
        if "NBVAL_" in cell.source:
            yield f"cell {n}: use a tag in place of the NBVAL comment"


def _prose(book: NotebookNode) -> Iterator[str]:
    cells = _prose_cells(book)
    if not cells:
        yield "no prose"
    for n, cell in cells:
        if "cuda.jit" in "".join(re.findall(r"```.*?```", cell.source, flags=re.DOTALL)):
            yield f"cell {n} prints a kernel in prose, where nothing checks it; use a code cell"
        plain = re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)
        first = re.search(r"^ {0,3}(\d+)[.)] ", plain, flags=re.MULTILINE)
        if first and first[1] != "1":
            yield f'cell {n} has a line that begins with "{first[1]}.", which becomes a list'


def _words(book: NotebookNode) -> Iterator[str]:
    for n, cell in _prose_cells(book):
        text = re.sub(r"```.*?```|`[^`]*`|<!--.*?-->", " ", cell.source, flags=re.DOTALL)
        text = re.sub(r"!\[", "[", text)
        if "!" in text:
            yield f"cell {n} has an exclamation mark"
        if EMOJI.search(text):
            yield f"cell {n} has an emoji"
        for word in WORDS:
            if re.search(rf"\b{word}\b", text, flags=re.IGNORECASE):
                yield f'cell {n} says "{word}"'


def _glossary(book: NotebookNode) -> Iterator[str]:
    """Links to the glossary lie one folder up, where it is for GitHub, and name one of its words.

    `smemnb lab` and the site write other copies, and lead these links to the glossary there.
    """
    anchors = {word.replace(" ", "-") for word in terms()}
    for number, cell in _prose_cells(book):
        for place, anchor in re.findall(r"\]\(([^)#\s]*GLOSSARY\.md)(#[^)]*)?\)", cell.source):
            if place != "../GLOSSARY.md":
                yield f"cell {number}: the glossary is ../GLOSSARY.md, not {place}"
            if anchor and anchor[1:] not in anchors:
                yield f"cell {number}: the glossary has no word with the anchor {anchor}"


def _tags(book: NotebookNode) -> Iterator[str]:
    for n, cell in enumerate(book.cells):
        unknown = set(cell.metadata.get("tags", [])) - TAGS
        if unknown:
            yield f"cell {n} has the tags {sorted(unknown)}; known are {sorted(TAGS)}"


def _outputs(book: NotebookNode) -> Iterator[str]:
    for n, cell in _code_cells(book):
        for output in cell.outputs:
            data = output.get("data", {})
            for mime in set(data) - MIMES:
                yield f"cell {n} stores {mime}"
            yield from _picture(n, output)
            html = "".join(data.get("text/html", ""))
            for tag in ("<script", "<svg", "<iframe"):
                if tag in html:
                    yield f"cell {n} stores {tag}>, which a fresh clone does not show"


def _picture(n: int, output: NotebookNode) -> Iterator[str]:
    data = output.get("data", {})
    html = "".join(data.get("text/html", ""))
    alt = output.get("metadata", {}).get("image/png", {}).get("alt", "")
    plain = "".join(data.get("text/plain", ""))
    said = bool(plain) and not plain.startswith("<Figure")
    if "image/png" in data and not (alt or said or re.search(r'\balt="[^"]+"', html)):
        yield f"cell {n} stores a picture without alt text"
    for image in re.findall(r"<img\b[^>]*>", html):
        if not re.search(r'\balt="[^"]+"', image):
            yield f"cell {n} stores an <img> without alt text"
