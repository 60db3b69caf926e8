"""A learner's copy of the workbook: made once, never written over."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from smemnb.cli.lab import RECORD, command, lay_out, open_lab, pages, workbook
from smemnb.errors import SmemnbError
from tests.house.notebook_form import NOTEBOOKS


def chapter(text, outputs=()):
    """A notebook of one code cell, as text."""
    cell = {"cell_type": "code", "source": text, "metadata": {}, "execution_count": 1}
    return json.dumps({"cells": [{**cell, "outputs": list(outputs)}], "nbformat": 4})


def code(path):
    """The one cell of a made-up chapter."""
    (cell,) = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cell


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("00_start_here", "01_shared_memory"):
        (folder / f"{name}.ipynb").write_text(chapter("first"), encoding="utf-8")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != RECORD)


def test_first_time(source, tmp_path):
    """All chapters are copied."""
    copied = lay_out(source, tmp_path / "mine")
    assert copied.new == ("00_start_here.ipynb", "01_shared_memory.ipynb")
    assert copied.beside == ()
    assert names(tmp_path / "mine") == names(source)


def test_work_is_kept(source, tmp_path):
    """A chapter that was worked on stays as it is, and nothing is laid beside it."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "00_start_here.ipynb").write_text("my work")
    copied = lay_out(source, mine)
    assert (copied.new, copied.beside) == ((), ())
    assert (mine / "00_start_here.ipynb").read_text() == "my work"


def test_deleted_chapter_comes_back(source, tmp_path):
    """A chapter that was deleted is absent, so it is copied."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "00_start_here.ipynb").unlink()
    assert lay_out(source, mine).new == ("00_start_here.ipynb",)


def test_outputs_stay_behind(source, tmp_path):
    """The copy has no outputs, so no answers; the workbook keeps its own, and only text counts."""
    mine, page = tmp_path / "mine", source / "00_start_here.ipynb"
    answer = {"output_type": "stream", "name": "stdout", "text": "row 6: \u00e9 24"}
    page.write_text(chapter("first \u00e9", [answer]), encoding="utf-8")
    lay_out(source, mine)
    copy = code(mine / page.name)
    assert (copy["source"], copy["outputs"], copy["execution_count"]) == ("first \u00e9", [], None)
    assert code(page)["outputs"] == [answer]
    page.write_text(chapter("first \u00e9"), encoding="utf-8")
    assert lay_out(source, mine).beside == ()


@pytest.mark.parametrize("place", [".", ".."])
def test_glossary_comes_along(source, tmp_path, place):
    """The glossary of a wheel (beside the chapters) or of a checkout (one folder up), kept too."""
    mine = tmp_path / "mine"
    (source / place / "GLOSSARY.md").write_text("lane", encoding="utf-8")
    assert lay_out(source, mine).new[-1] == "GLOSSARY.md"
    (mine / "GLOSSARY.md").write_text("my notes", encoding="utf-8")
    assert lay_out(source, mine).beside == ()
    (source / place / "GLOSSARY.md").write_text("lane, warp", encoding="utf-8")
    assert lay_out(source, mine).beside == (("GLOSSARY.md", "GLOSSARY.new.md"),)
    assert (mine / "GLOSSARY.md").read_text(encoding="utf-8") == "my notes"
    assert (mine / "GLOSSARY.new.md").read_text(encoding="utf-8") == "lane, warp"


def test_pages_of_this_workbook():
    """Every chapter, and one glossary."""
    found = [page.name for page in pages(workbook())]
    assert found == [*sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")), "GLOSSARY.md"]


def test_newer_version_is_laid_beside(source, tmp_path):
    """A changed chapter comes under another name, once; a second change under a third."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "00_start_here.ipynb").write_text("my work")
    for version, name in (("second", "00_start_here.new.ipynb"), ("third", ".new-2.ipynb")):
        (source / "00_start_here.ipynb").write_text(chapter(version))
        ((old, new),) = lay_out(source, mine).beside
        assert old == "00_start_here.ipynb" and new.endswith(name)
        assert code(mine / new)["source"] == version
        assert lay_out(source, mine).beside == ()
    assert (mine / "00_start_here.ipynb").read_text() == "my work"
    assert len(names(mine)) == 4


def test_untouched_chapter_is_not_written_either(source, tmp_path):
    """Also a chapter that nobody worked on keeps its bytes; the new one is beside it."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (source / "00_start_here.ipynb").write_text(chapter("second"))
    lay_out(source, mine)
    assert code(mine / "00_start_here.ipynb")["source"] == "first"


@pytest.mark.parametrize("record", ["", "[]", '{"copied": 3}', "{"])
def test_damaged_record(source, tmp_path, record):
    """Without a readable record, files are still kept, and what differs is laid beside."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "00_start_here.ipynb").write_text("my work")
    (mine / RECORD).write_text(record)
    assert lay_out(source, mine).beside == (("00_start_here.ipynb", "00_start_here.new.ipynb"),)
    assert (mine / "00_start_here.ipynb").read_text() == "my work"
    assert json.loads((mine / RECORD).read_text())["schema"] == 1


def test_the_workbook_itself_is_refused():
    """The canonical chapters are not opened for work."""
    with pytest.raises(SmemnbError, match="is the workbook itself; name another --folder"):
        open_lab(str(NOTEBOOKS), port=None, browser=False, more=[])


def test_checkout_is_preferred():
    """In a checkout the chapters are those of notebooks/."""
    assert workbook() == NOTEBOOKS


def test_command(tmp_path):
    """Port, browser and unknown options reach JupyterLab."""
    words = command(tmp_path, "00_a.ipynb", port=8899, browser=False, more=["--allow-root"])
    assert words[1:4] == ["-m", "jupyterlab", "00_a.ipynb"]
    assert words[-3:] == ["--no-browser", "--port=8899", "--allow-root"]
    assert "--no-browser" not in command(tmp_path, "00_a.ipynb", port=None, browser=True, more=[])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="stops the server by a signal")
def test_server_answers(tmp_path):
    """`smemnb lab --no-browser` serves the learner's copy on the port asked for, and no news."""
    pytest.importorskip("jupyterlab")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "smemnb.cli", "lab", "--folder", str(tmp_path / "mine")]
    words += ["--no-browser", f"--port={port}", "--allow-root", "--IdentityProvider.token=t"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            listed = json.loads(wait_for(f"http://127.0.0.1:{port}/api/contents?token=t", server))
            page = wait_for(f"http://127.0.0.1:{port}/lab?token=t", server)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)
    found = sorted(entry["name"] for entry in listed["content"])
    assert found == sorted([*(path.name for path in NOTEBOOKS.glob("*.ipynb")), "GLOSSARY.md"])
    off = re.search(r'"disabledExtensions": (\[[^]]*\])', page)
    assert "@jupyterlab/apputils-extension:announcements" in json.loads(off[1])


def wait_for(address, server):
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError("the server did not answer")
