"""Chapters that only an earlier version had: nobody's work is lost, and the folder has no twins."""

import json

from smemnb.cli.contents import CONTENTS, lay_contents
from smemnb.cli.earlier_chapters import TOOK_ITS_PLACE, Earlier, earlier_in
from smemnb.cli.lab import lay_out, workbook

OLD = "02_banks.ipynb"
NEW = TOOK_ITS_PLACE[OLD]  # several


def written(folder, name, text):
    """A chapter of one cell in a folder of canonical chapters."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": [text]}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(book))
    return folder


def upgraded(tmp_path, work):
    """A learner's folder from before and after a chapter got its new name; what was said."""
    mine = tmp_path / "mine"
    lay_out(written(tmp_path / "before", OLD, "# Banks"), mine)
    before = work(mine / OLD)
    for name in NEW:
        written(tmp_path / "after", name, f"# From {name}")
    copied = lay_out(tmp_path / "after", mine)
    return mine, before, copied.earlier


def test_untouched(tmp_path):
    """A page in which nobody worked is taken away; its successors are there."""
    mine, _, earlier = upgraded(tmp_path, lambda page: None)
    assert earlier == Earlier((), (OLD,))
    assert sorted(page.name for page in mine.glob("*.ipynb")) == sorted(NEW)


def test_work_is_kept(tmp_path):
    """A page in which someone worked keeps its bytes, and the contents link it and what is new."""

    def work(page):
        page.write_text(page.read_text().replace("# Banks", "# My banks"))
        return page.read_bytes()

    mine, before, earlier = upgraded(tmp_path, work)
    assert earlier == Earlier((OLD,), ())
    assert (mine / OLD).read_bytes() == before
    assert earlier_in(mine) == (OLD,)
    assert lay_contents(tmp_path / "after", mine)
    text = (mine / CONTENTS).read_text()
    assert all(f"]({name})" in text for name in (OLD, *NEW))


def test_a_workbook_without_the_successors(tmp_path):
    """An earlier chapter stays where nothing took its place, or only a part of it did."""
    mine = tmp_path / "mine"
    before = written(tmp_path / "before", OLD, "# Banks")
    lay_out(before, mine)
    assert lay_out(before, mine).earlier == Earlier((), ())
    assert lay_out(written(before, NEW[0], "# A part"), mine).earlier == Earlier((), ())
    assert (mine / OLD).exists()


def test_successors_are_chapters_of_today():
    """What took a chapter's place is in the workbook, and no chapter of today is an earlier one."""
    today = {page.name for page in workbook().glob("*.ipynb")}
    assert {one for found in TOOK_ITS_PLACE.values() for one in found} <= today
    assert not today & set(TOOK_ITS_PLACE)
