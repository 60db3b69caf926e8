"""The one form a chapter is stored in, and what differs from it.

`canonical` gives the bytes; `form_problems` says in words what else is wrong. The storing tool
(tests/notebooks_store.py) and the test use the same two functions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
MAX_BYTES = 500_000
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
PATHS = re.compile(r"(?<![\w.])/(?:root|tmp|home|Users|private|var/folders)/|\b[A-Z]:\\+Users\b")
PICTURE = re.compile(r"[A-Za-z0-9+/=\\n]{200,}")


def chapters() -> list[Path]:
    """The notebooks of the repository, in order."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def canonical(notebook: NotebookNode) -> str:
    """The text of the file: sorted keys, indent 1, tags as the only cell metadata."""
    book = nbformat.from_dict(notebook)
    book.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE})
    book.nbformat, book.nbformat_minor = 4, 5
    seen: set[str] = set()
    for cell in book.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": sorted(tags)} if tags else {})
        cell.source = cell.source.strip("\n")
        cell.id = _free_id(cell, seen)
        cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.outputs = _outputs(cell.outputs)
    return str(nbformat.writes(book, version=nbformat.NO_CONVERT)).rstrip("\n") + "\n"


def _free_id(cell: NotebookNode, seen: set[str]) -> str:
    """The cell's id, or one made from its text, so that storing twice gives the same bytes."""
    name = str(cell.get("id") or hashlib.sha256(cell.source.encode()).hexdigest()[:8])
    while name in seen:
        name = hashlib.sha256(name.encode()).hexdigest()[:8]
    seen.add(name)
    return name


def _outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs with neighbouring pieces of one stream joined and private parts left out."""
    kept: list[NotebookNode] = []
    for output in outputs:
        last = kept[-1] if kept else None
        if output.output_type == "stream" and last is not None:
            if last.output_type == "stream" and last.name == output.name:
                last.text += output.text
                continue
        if output.output_type == "error":
            # a traceback names files of this machine; nbval compares name and text
            output.traceback = [f"{output.ename}: {output.evalue}"]
        output.pop("transient", None)
        kept.append(output)
    return kept


def form_problems(path: Path) -> Iterator[str]:
    """What keeps the file from being a stored chapter, one sentence each."""
    text = path.read_bytes().decode("utf-8")
    book = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    if not re.fullmatch(r"[1-9]\d_[a-z0-9]+(_[a-z0-9]+)*\.ipynb", path.name):
        yield f"{path.name} is not named NN_noun.ipynb"
    if len(text.encode()) > MAX_BYTES:
        yield f"{len(text.encode())} bytes, more than {MAX_BYTES}"
    if text != canonical(nbformat.reads(text, as_version=4)):
        yield "not in canonical form; run python tests/notebooks_store.py --format"
    if "widgets" in book.metadata:
        yield "widget state is stored"
    if book.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"
    for match in PATHS.finditer(PICTURE.sub("", text)):
        yield f"a path of some machine: {text_around(PICTURE.sub('', text), match.start())}"
    yield from _execution_problems(book)


def _execution_problems(book: NotebookNode) -> Iterator[str]:
    code = [cell for cell in book.cells if cell.cell_type == "code" and cell.source.strip()]
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)):
        yield f"cells were run as {counts}, not 1 to {len(code)} from a fresh kernel"
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "code" and not cell.source.strip():
            yield f"cell {number} is empty"


def text_around(text: str, position: int, width: int = 40) -> str:
    """The text around a position, on one line."""
    return text[max(0, position - width) : position + width].replace("\n", " ").strip()
