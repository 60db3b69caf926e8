"""The sources of the site: what lies in the repository, as Sphinx reads it.

    index.md        docs/index.md with the table of chapters
    chapters/       the notebooks, their bold words linked to the glossary
    glossary.md     GLOSSARY.md, whose headings are the anchors of its words
    explorer.md     docs/explorer.md with the explorer in it
    replay.md       docs/replay.md with replays in it
    changelog.md    CHANGELOG.md
    api/            the pages of `docs.reference`

All but `explorer`, `replay` and `reference` is text in and text out, and needs the standard library
only.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"

NOTE: Final = """```{admonition} A reading copy
Each cell shows the output that is stored with it, and nothing can be run.
[The contents](../index.md) say how to work through the chapters.
```"""
"""What stands below the head of each chapter."""

_WORD = re.compile(r"^### (?P<word>.+)$", flags=re.MULTILINE)
_LISTED = re.compile(r"^\| `(?P<stem>\d\d[b-z]?_\w+)` \| (?P<measures>.+) \|$", re.MULTILINE)
_BOLD = re.compile(r"(?<![\w*\[])\*\*(?P<word>[^*\n]+)\*\*(?![\w*])")
_LINK = re.compile(r"\]\((?:\.\./)?GLOSSARY\.md(?P<anchor>#[^)]*)?\)")
_OUTPUT_LINK = re.compile(r'href="(?:\.\./)?GLOSSARY\.md(?P<anchor>#[^"]*)?"')


def write(folder: Path) -> None:
    """All sources of the site, in a folder that is empty or absent."""
    from . import explorer, reference, replay

    folder.mkdir(parents=True, exist_ok=True)
    _put(folder / "index.md", index())
    shutil.copyfile(ROOT / "GLOSSARY.md", folder / "glossary.md")
    _put(folder / "explorer.md", explorer.filled((DOCS / "explorer.md").read_text("utf-8")))
    _put(folder / "replay.md", replay.filled((DOCS / "replay.md").read_text("utf-8")))
    shutil.copyfile(ROOT / "CHANGELOG.md", folder / "changelog.md")
    shutil.copyfile(DOCS / "THIRD_PARTY.md", folder / "THIRD_PARTY.md")
    for path in chapters():
        _put(folder / "chapters" / path.name, chapter(path.read_text("utf-8")))
    for name, text in reference.pages().items():
        _put(folder / "api" / f"{name}.rst", text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def chapters() -> list[Path]:
    """The chapters, in the order in which they are read."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def index() -> str:
    """The contents page: what each chapter is called, and what README.md says that it measures."""
    readme = (ROOT / "README.md").read_text("utf-8")
    measures = {row["stem"]: row["measures"] for row in _LISTED.finditer(readme)}
    rows = ["| no. | chapter | what it measures |", "|---|---|---|"]
    tree = []
    for path in chapters():
        number, _, _ = path.stem.partition("_")
        place = f"chapters/{path.name}"
        rows.append(f"| {number} | [{title(path)}]({place}) | {measures.get(path.stem, '')} |")
        tree.append(f"{number} {title(path)} <chapters/{path.stem}>")
    others = ["explorer", "replay", "glossary", "api/index", "changelog", "Licences <THIRD_PARTY>"]
    trees = _toctree("Chapters", tree) + _toctree("Beside them", others)
    text = (DOCS / "index.md").read_text("utf-8")
    return text.replace("<!-- chapters -->", "\n".join(rows)) + trees


def title(path: Path) -> str:
    """The heading of a chapter.

    >>> title(chapters()[0])
    'Threads'
    """
    first = "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"])
    return first.splitlines()[0].removeprefix("# ")


def _toctree(caption: str, entries: list[str]) -> str:
    listed = "\n".join(entries)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def anchor(word: str) -> str:
    """The anchor of a word in the glossary.

    >>> anchor("extra wavefronts")
    'extra-wavefronts'
    """
    return re.sub(r"\W+", "-", word.lower()).strip("-")


def terms(text: str) -> Iterator[str]:
    """The words that the glossary explains: a heading each."""
    yield from (found["word"] for found in _WORD.finditer(text))


def chapter(text: str) -> str:
    """A notebook as a page of the site: with a note, and links from bold words to the glossary."""
    book: dict[str, Any] = json.loads(text)
    known = set(terms((ROOT / "GLOSSARY.md").read_text("utf-8")))
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = linked("".join(cell["source"]), known)
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = _OUTPUT_LINK.sub(_to_page, "".join(data["text/html"]))
    book["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": NOTE})
    if "id" in book["cells"][0]:
        book["cells"][1]["id"] = "reading-copy"
    return json.dumps(book, ensure_ascii=False, indent=1)


def _to_page(found: re.Match[str]) -> str:
    return f'href="../glossary.html{found["anchor"] or ""}"'


def linked(text: str, known: set[str]) -> str:
    """The text of a cell with its links into the glossary.

    >>> linked("A **bank** holds [words](GLOSSARY.md#word). **Needs** no GPU.", {"bank"})
    'A [**bank**](../glossary.md#bank) holds [words](../glossary.md#word). **Needs** no GPU.'
    """

    def link(found: re.Match[str]) -> str:
        for word in (found["word"], found["word"].removesuffix("s")):
            if word in known:
                return f"[**{found['word']}**](../glossary.md#{anchor(word)})"
        return found[0]

    text = _LINK.sub(lambda found: f"](../glossary.md{found['anchor'] or ''})", text)
    return _BOLD.sub(link, text)
