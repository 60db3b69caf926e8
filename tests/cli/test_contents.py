"""The contents page of a learner's copy: chapters, minutes, progress; work in it is kept."""

import json
import re

import pytest

from smemnb.cli.contents import CONTENTS, PARTS, Chapter, contents, lay_contents
from smemnb.cli.lab import workbook
from smemnb.exercises.progress import remember
from smemnb.exercises.registry import exercises


def chapters():
    return sorted(map(Chapter.of, workbook().glob("*.ipynb")), key=lambda one: one.place)


def rows(text):
    """The cells of the table's rows, by the file of their chapter."""
    cells = [line.strip("| ").split(" | ") for line in text.split("\n") if line.startswith("| [")]
    return {row[0].partition("](")[2].partition(")")[0]: row for row in cells}


def test_heads():
    """Every chapter of this workbook has a title, aims and minutes."""
    for one in chapters():
        assert one.title and one.aims and one.minutes, one.file


def test_nothing_done():
    """All chapters in their order, and each exercise counted once."""
    text = contents(chapters(), ())
    assert list(rows(text)) == [one.file for one in chapters()]
    counts = [row[-1].split(" of ") for row in rows(text).values() if " of " in row[-1]]
    assert sum(int(all_of) for _, all_of in counts) == len(exercises())
    assert {done for done, _ in counts} == {"0"}
    assert f"Begin with [{chapters()[0].title}]({chapters()[0].file})." in text


def test_some_done():
    """A chapter whose exercises are all done has its mark; the next open one is named."""
    first = chapters()[0]
    done = [one.name for one in exercises() if f"{one.chapter}.ipynb" == first.file]
    text = contents(chapters(), done)
    row = rows(text)[first.file]
    assert row[-1] == f"{len(done)} of {len(done)}" and row[0].endswith("✓")
    assert sum(row[0].endswith("✓") for row in rows(text).values()) == 1
    assert f"Go on with [{chapters()[1].title}]" in text
    everything = contents(chapters(), [one.name for one in exercises()])
    assert "Go on with" not in everything and "Begin with" not in everything


def test_a_bar_in_a_title(tmp_path):
    """What a table would read as the end of a cell is escaped; a chapter may say no minutes."""
    cell = {"cell_type": "markdown", "source": ["# One | two\n", "\n", "- see;"]}
    page = tmp_path / "x.ipynb"
    page.write_text(json.dumps({"cells": [cell]}))
    made = Chapter.of(page)
    assert made == Chapter("x.ipynb", "One | two", ("see",), None)
    assert r"[One \| two](x.ipynb)" in contents([made], ())


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Progress is kept, in a folder of this test."""
    monkeypatch.setenv("SMEMNB_PROGRESS", "on")
    monkeypatch.setenv("SMEMNB_HOME", str(tmp_path / "home"))


def test_written_anew_with_progress(tmp_path, recorded):
    """Each start writes what is done now."""
    mine = tmp_path / "mine"
    mine.mkdir()
    assert lay_contents(workbook(), mine)
    before = (mine / CONTENTS).read_text(encoding="utf-8")
    assert f"0 of {len(exercises())} exercises" in before
    remember(exercises()[0].name, done=True)
    assert lay_contents(workbook(), mine)
    assert f"1 of {len(exercises())} exercises" in (mine / CONTENTS).read_text(encoding="utf-8")


def test_how_to_begin_anew(tmp_path, recorded):
    """The foot names the file of the progress, and what brings an untouched chapter."""
    mine = tmp_path / "mine"
    mine.mkdir()
    lay_contents(workbook(), mine)
    foot = (mine / CONTENTS).read_text(encoding="utf-8").rstrip().split("\n")[-1]
    assert f"`{tmp_path / 'home' / 'progress.json'}`" in foot
    assert foot.count("delete") == 2


def test_work_in_it_is_kept(tmp_path, recorded):
    """A page with the learner's own notes is never written again."""
    mine = tmp_path / "mine"
    mine.mkdir()
    lay_contents(workbook(), mine)
    (mine / CONTENTS).write_text("my notes")
    remember(exercises()[0].name, done=True)
    assert not lay_contents(workbook(), mine)
    assert (mine / CONTENTS).read_text() == "my notes"


def page(folder, name):
    """A chapter of a title and minutes alone."""
    cell = {"cell_type": "markdown", "source": [f"# Title of {name}\n", "\n", "25 minutes"]}
    (folder / f"{name}.ipynb").write_text(json.dumps({"cells": [cell]}), encoding="utf-8")


def test_parts(tmp_path, recorded):
    """Chapters stand below the name of their part, by their numbers."""
    source, mine = tmp_path / "notebooks", tmp_path / "mine"
    source.mkdir()
    mine.mkdir()
    names = ["10_grid", "14_coalescing", "22_slots", "34_slices", "36_checkpoint", "90_errata"]
    for name in sorted(names, reverse=True):
        page(source, name)
    assert lay_contents(source, mine)
    text = (mine / CONTENTS).read_text(encoding="utf-8")
    assert [file.removesuffix(".ipynb") for file in rows(text)] == names
    heads = re.findall(r"^## (.+)$", text, flags=re.M)
    files = [list(rows(part)) for part in re.split(r"^## .+$", text, flags=re.M)]
    assert heads == [PARTS[1], PARTS[2], PARTS[3], PARTS[9]]
    assert [len(found) for found in files] == [0, 2, 1, 2, 1]
    assert {row[2] for row in rows(text).values()} == {"25"}


def test_the_glossary_is_linked():
    """It lies beside the page."""
    assert "](GLOSSARY.md)" in contents(chapters(), ())
