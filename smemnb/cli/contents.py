"""The contents page of a learner's copy: every chapter as a link, its minutes, what is done.

`smemnb lab` writes it anew each time it starts and opens it. It is Markdown, which JupyterLab shows
rendered. A page that the learner wrote into is theirs and stays as it is, like any other page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ..exercises.home import file
from ..exercises.progress import progress
from ..exercises.registry import exercises
from ..exercises.whole_file import write_whole
from .copied_pages import CopiedPages
from .earlier_chapters import TOOK_ITS_PLACE, earlier_in

CONTENTS = "CONTENTS.md"

PARTS = {
    1: "Foundations",
    2: "Tiles",
    3: "Products",
    4: "The chip",
    5: "Patterns",
    6: "Asynchronous copies and tensor cores",
    7: "Hopper and attention",
    9: "Errata",
}
"""What the chapters of a ten are about, by the ten of their number; those below 10 have no part."""


@dataclass(frozen=True)
class Chapter:
    """A chapter as the contents show it.

    Attributes:
        file: name of the notebook.
        title: its first heading.
        aims: what the reader will be able to do.
        minutes: that it takes; None where it does not say so.
    """

    file: str
    title: str
    aims: tuple[str, ...]
    minutes: int | None

    @property
    def place(self) -> tuple[int, str, str]:
        """Where the chapter stands among the others: its number, the letter behind it, its name."""
        number = re.match(r"(\d+)([a-z]?)_", self.file)
        return (int(number[1]), number[2], self.file) if number else (0, "", self.file)

    @property
    def part(self) -> str:
        """The part of the book that it belongs to, "" for none."""
        ten = self.place[0] // 10
        return PARTS.get(ten, "Further chapters") if ten else ""

    @classmethod
    def of(cls, page: Path) -> Chapter:
        """Read the head of a chapter: its first cell."""
        cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
        head = "".join(cells[0]["source"]) if cells and cells[0]["cell_type"] == "markdown" else ""
        title = re.match(r"# (.+)", head)
        minutes = re.search(r"(\d+) minutes", head)
        aims = re.findall(r"^- (.+?)[;.]?$", head, flags=re.MULTILINE)
        return cls(
            page.name,
            title[1].strip() if title else page.stem,
            tuple(aims),
            int(minutes[1]) if minutes else None,
        )


def contents(chapters: Sequence[Chapter], done: Sequence[str], earlier: Sequence[str] = ()) -> str:
    """The page as Markdown.

    Args:
        chapters: in the order in which they are read, as `Chapter.place` has it.
        done: names of the exercises that are done.
        earlier: files of earlier chapters in the learner's folder.
    """
    known = {one.file: _exercises(one) for one in chapters}
    names = [name for found in known.values() for name in found]
    ready = sum(name in done for name in names)
    tables: list[str] = []
    for part, found in groupby(chapters, lambda one: one.part):
        tables += [f"## {part}", ""] if part else []
        tables += ["| chapter | you will | minutes | exercises done |", "|---|---|---:|---:|"]
        tables += [*(_row(one, known[one.file], done) for one in found), ""]
    return "\n".join(
        [
            "# Contents",
            "",
            f"{ready} of {len(names)} exercises are done. {_next(chapters, known, done)}",
            "",
            *tables,
            *_earlier(earlier, {one.file: one.title for one in chapters}),
            "The [glossary](GLOSSARY.md) explains the words. `smemnb lab` writes this page anew"
            " each time it starts, from your progress; `smemnb.progress()` in a cell says it at"
            " once.",
            "",
            f"Your progress is kept in `{file()}`: delete that file to begin anew. If you delete a"
            " chapter from this folder, the next `smemnb lab` lays it here as it was at first.",
            "",
        ]
    )


def _exercises(chapter: Chapter) -> list[str]:
    stem = chapter.file.removesuffix(".ipynb")
    return [one.name for one in exercises() if one.chapter == stem]


def _row(chapter: Chapter, names: Sequence[str], done: Sequence[str]) -> str:
    ready = sum(name in done for name in names)
    count = f"{ready} of {len(names)}" if names else ""
    mark = " \N{CHECK MARK}" if names and ready == len(names) else ""
    cells = (
        f"[{chapter.title}]({chapter.file}){mark}",
        "; ".join(chapter.aims),
        "" if chapter.minutes is None else str(chapter.minutes),
        count,
    )
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _earlier(names: Sequence[str], titles: dict[str, str]) -> list[str]:
    """What took the place of chapters that only an earlier version had."""
    if not names:
        return []
    rows = [
        f"| [{name}]({name}) | "
        + ", ".join(f"[{titles.get(new, new)}]({new})" for new in TOOK_ITS_PLACE[name])
        + " |"
        for name in names
    ]
    return [
        "You worked in these chapters of an earlier version. They are as you left them, and their"
        " checks go on working.",
        "",
        "| your chapter | took its place |",
        "|---|---|",
        *rows,
        "",
    ]


def _next(chapters: Sequence[Chapter], known: dict[str, list[str]], done: Sequence[str]) -> str:
    """Where to go on: the first chapter with an exercise that is open."""
    if not done:
        found: Iterator[Chapter] = iter(chapters)
        said = "Begin with"
    else:
        found = (one for one in chapters if set(known[one.file]) - set(done))
        said = "Go on with"
    first = next(found, None)
    return "" if first is None else f"{said} [{first.title}]({first.file})."


def lay_contents(source: Path, folder: Path) -> bool:
    """Write the contents page into a learner's folder; whether the page there is ours.

    Args:
        source: the folder of the canonical chapters.
        folder: the learner's.
    """
    chapters = sorted(map(Chapter.of, source.glob("*.ipynb")), key=lambda one: one.place)
    data = contents(chapters, progress().done, earlier_in(folder)).encode()
    record, page = CopiedPages.of(folder), folder / CONTENTS
    if page.exists() and not record.is_untouched(page, CONTENTS):
        return False
    record.note(CONTENTS, data)
    record.write(folder)
    write_whole(page, data)
    return True
