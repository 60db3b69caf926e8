"""The rhythm of a chapter: sizes, head, closing, tags and pictures.

Each rule is a generator of sentences; `style_problems` runs them all. CONTRIBUTING.md lists the
rules for authors ("A chapter"). A checkpoint, whose title says so, is shorter and has nothing to
try: its problems are what there is to do.
"""

from __future__ import annotations

import ast
import base64
import re
import statistics
from collections.abc import Iterator

from nbformat import NotebookNode

CELLS, CHECKPOINT_CELLS = (25, 45), (12, 45)
CODE_MEDIAN, CODE_MOST, KERNEL_MOST, LONG_CODE = 3, 8, 30, 10
PROSE_MEDIAN, PROSE_MOST = 40, 90
OUTPUT_LINES, SOURCE_LINES = 15, 40
PICTURE_BYTES = 40_000
TAGS = {"nbval-ignore-output", "raises-exception", "typing-refused"}
MIMES = {"text/plain", "text/html", "image/png"}
WORDS = ("powerful", "professional", "hidden trap", "obviously", "blazing", "seamless")
EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50]")


def style_problems(book: NotebookNode) -> list[str]:
    """Every breach of the rules, with the number of its cell (from 0)."""
    rules = (_size, _head, _closing, _setup, _code, _rhythm, _prose, _words, _tags, _outputs)
    return [problem for rule in rules for problem in rule(book)]


def is_checkpoint(book: NotebookNode) -> bool:
    """Whether the title says that this is a checkpoint."""
    return bool(book.cells) and book.cells[0].source.startswith("# Checkpoint")


def defines_kernel(source: str) -> bool:
    """Whether the cell defines a function decorated with something of `cuda`."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return False
    return any(
        "cuda.jit" in ast.unparse(mark)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
    )


def prose_words(source: str) -> int:
    """Words of a text cell outside of code fences, tables, tags and link targets."""
    text = re.sub(r"```.*?```", " ", source, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("|")]
    return len(re.findall(r"[^\W_]+(?:[-'\u2019.][^\W_]+)*", "\n".join(lines)))


def code_lines(source: str) -> int:
    """Lines of a code cell that are not blank."""
    return sum(1 for line in source.splitlines() if line.strip())


def _code_cells(book: NotebookNode) -> list[tuple[int, NotebookNode]]:
    return [(n, cell) for n, cell in enumerate(book.cells) if cell.cell_type == "code"]


def _prose_cells(book: NotebookNode) -> list[tuple[int, NotebookNode]]:
    return [(n, cell) for n, cell in enumerate(book.cells) if cell.cell_type == "markdown"]


def _size(book: NotebookNode) -> Iterator[str]:
    least, most = CHECKPOINT_CELLS if is_checkpoint(book) else CELLS
    if not least <= len(book.cells) <= most:
        yield f"{len(book.cells)} cells, wanted {least} to {most}"


def _head(book: NotebookNode) -> Iterator[str]:
    head = book.cells[0].source if book.cells else ""
    if not re.match(r"# [^\d\s]", head):
        yield "cell 0 does not start with a title without a number"
    for part in ("**You will**", "**Needs**", "**Before**"):
        if part not in head:
            yield f"cell 0 lacks {part}"
    if not re.search(r"\d+ minutes", head):
        yield "cell 0 does not say how many minutes"
    bullets = len(re.findall(r"^[-*] ", head, flags=re.MULTILINE))
    if bullets != 3:
        yield f"cell 0 has {bullets} bullets, wanted 3"


def _closing(book: NotebookNode) -> Iterator[str]:
    text = "\n".join(cell.source for _, cell in _prose_cells(book))
    order = [text.find(mark) for mark in ("## Try to break it", "## Now you can")]
    if is_checkpoint(book):
        order[0] = 0
    if -1 in order or order != sorted(order):
        yield 'the chapter does not end with "## Try to break it", then "## Now you can"'
        return
    closing = text[order[1] :]
    if len(re.findall(r"^[-*] ", closing, flags=re.MULTILINE)) != 3:
        yield '"## Now you can" has not exactly 3 bullets'
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
    cells = [(n, code_lines(cell.source), cell.source) for n, cell in _code_cells(book)]
    if not cells:
        return
    median = statistics.median(lines for _, lines, _ in cells)
    if median > CODE_MEDIAN:
        yield f"median code cell has {median:g} lines, at most {CODE_MEDIAN}"
    plain = [(n, lines) for n, lines, source in cells if not defines_kernel(source)]
    long = [n for n, lines in plain if lines > CODE_MOST]
    if len(long) * 10 > len(plain):
        yield f"cells {long} have over {CODE_MOST} lines; one in ten may (kernel cells aside)"
    for n, lines, source in cells:
        if lines > KERNEL_MOST:
            yield f"cell {n} has {lines} lines, at most {KERNEL_MOST}"
        if re.search(r"^\s*[!%]{1,2}\s*(pip|conda|apt|wget|curl)", source, flags=re.MULTILINE):
            yield f"cell {n} installs or downloads"
        if "NBVAL_" in source:
            yield f"cell {n}: use a tag in place of the NBVAL comment"


def _rhythm(book: NotebookNode) -> Iterator[str]:
    long = [cell.cell_type == "code" and code_lines(cell.source) > LONG_CODE for cell in book.cells]
    for n in range(1, len(long)):
        if long[n - 1] and long[n]:
            yield f"cells {n - 1} and {n} are two code cells over {LONG_CODE} lines in a row"


def _prose(book: NotebookNode) -> Iterator[str]:
    counts = [(n, prose_words(cell.source)) for n, cell in _prose_cells(book)]
    if not counts:
        yield "no prose"
        return
    median = statistics.median(words for _, words in counts)
    if median > PROSE_MEDIAN:
        yield f"median text cell has {median:g} words, at most {PROSE_MEDIAN}"
    for n, cell in _prose_cells(book):
        if "cuda.jit" in "".join(re.findall(r"```.*?```", cell.source, flags=re.DOTALL)):
            yield f"cell {n} prints a kernel in prose, where nothing checks it; use a code cell"
    for n, words in counts:
        if words > PROSE_MOST:
            yield f"cell {n} has {words} words, at most {PROSE_MOST}"


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
            most = SOURCE_LINES if "show_source(" in cell.source else OUTPUT_LINES
            text = "".join(output.get("text", "") or ("" if html else data.get("text/plain", "")))
            if len(text.splitlines()) > most:
                yield f"cell {n} prints {len(text.splitlines())} lines, at most {most}"


def _picture(n: int, output: NotebookNode) -> Iterator[str]:
    data = output.get("data", {})
    html = "".join(data.get("text/html", ""))
    stored = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", html)
    if "image/png" in data:
        stored.append("".join(data["image/png"]))
    for picture in stored:
        size = len(base64.b64decode(picture))
        if size > PICTURE_BYTES:
            yield f"cell {n} stores a picture of {size} bytes, at most {PICTURE_BYTES}"
    alt = output.get("metadata", {}).get("image/png", {}).get("alt", "")
    plain = "".join(data.get("text/plain", ""))
    said = bool(plain) and not plain.startswith("<Figure")
    if "image/png" in data and not (alt or said or re.search(r'\balt="[^"]+"', html)):
        yield f"cell {n} stores a picture without alt text"
    for image in re.findall(r"<img\b[^>]*>", html):
        if not re.search(r'\balt="[^"]+"', image):
            yield f"cell {n} stores an <img> without alt text"
