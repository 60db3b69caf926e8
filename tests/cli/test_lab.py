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

from smemnb.cli.copied_pages import RECORD
from smemnb.cli.lab import command, copy_of, how_to_install, lay_out, open_lab, pages, workbook
from smemnb.errors import SmemnbError
from tests.house.notebook_form import NOTEBOOKS


def chapter(text, outputs=()):
    """A notebook of one code cell, as text."""
    cell = {"cell_type": "code", "source": text, "metadata": {}, "execution_count": 1}
    return json.dumps({"cells": [{**cell, "outputs": list(outputs)}], "nbformat": 4})


def code(path):
    """The one code cell of a made-up chapter, below the note of a new version."""
    *_, cell = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cell


def note(path):
    """The first cell or line of a page, where it is the note of a new version."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return text.split("\n")[0] if text.startswith(">") else ""


def saved(path, change=lambda book: None):
    """Store a notebook again as JupyterLab does, after a change."""
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    book["metadata"] = {"language_info": {"name": "python", "version": "3.99"}}
    change(book)
    path.write_text(json.dumps(book, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("10_threads", "12_shared_memory"):
        (folder / f"{name}.ipynb").write_text(chapter("first"), encoding="utf-8")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != RECORD)


def test_first_time(source, tmp_path):
    """All chapters are copied."""
    copied = lay_out(source, tmp_path / "mine")
    assert copied.new == ("10_threads.ipynb", "12_shared_memory.ipynb")
    assert copied.beside == ()
    assert names(tmp_path / "mine") == names(source)


def test_work_is_kept(source, tmp_path):
    """A chapter that was worked on stays as it is, and nothing is laid beside it."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "10_threads.ipynb").write_text("my work")
    copied = lay_out(source, mine)
    assert (copied.new, copied.beside) == ((), ())
    assert (mine / "10_threads.ipynb").read_text() == "my work"


def test_nothing_to_do(source, tmp_path):
    """A folder that has everything is not written to: it may be read-only."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    before = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in mine.iterdir()}
    lay_out(source, mine)
    assert before == {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in mine.iterdir()
    }


def test_deleted_chapter_comes_back(source, tmp_path):
    """A chapter that was deleted is absent, so it is copied."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "10_threads.ipynb").unlink()
    assert lay_out(source, mine).new == ("10_threads.ipynb",)


def test_outputs_stay_behind(source, tmp_path):
    """The copy has no outputs, so no answers; the workbook keeps its own, and only text counts."""
    mine, page = tmp_path / "mine", source / "10_threads.ipynb"
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
    beside = (mine / "GLOSSARY.new.md").read_text(encoding="utf-8")
    assert beside.endswith("\n\nlane, warp") and "(GLOSSARY.md)" in note(mine / "GLOSSARY.new.md")


@pytest.mark.parametrize("as_lines", [False, True])
def test_links_to_the_glossary(source, tmp_path, as_lines):
    """They lead beside the chapter in the copy; other links, and code, are as they were."""
    text = "A [bank](../GLOSSARY.md#bank),\n[all](../GLOSSARY.md), [next](12_shared_memory.ipynb)."
    made = json.loads(chapter("print('](../GLOSSARY.md#bank)')"))
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    made["cells"].append(cell | ({"source": text.splitlines(keepends=True)} if as_lines else {}))
    (source / "10_threads.ipynb").write_text(json.dumps(made), encoding="utf-8")
    lay_out(source, tmp_path / "mine")
    copied = json.loads((tmp_path / "mine" / "10_threads.ipynb").read_text(encoding="utf-8"))
    code_cell, told = ("".join(cell["source"]) for cell in copied["cells"])
    assert code_cell == "print('](../GLOSSARY.md#bank)')"
    assert told == text.replace("../GLOSSARY.md", "GLOSSARY.md")
    assert lay_out(source, tmp_path / "mine").replaced == ()


def test_pages_of_this_workbook():
    """Every chapter, and one glossary."""
    found = [page.name for page in pages(workbook())]
    assert found == [*sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")), "GLOSSARY.md"]


def test_newer_version_is_laid_beside(source, tmp_path):
    """Beside a page that was worked on the new one comes under another name, once, and says so."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "10_threads.ipynb").write_text("my work")
    (source / "10_threads.ipynb").write_text(chapter("second"))
    assert lay_out(source, mine).beside == (("10_threads.ipynb", "10_threads.new.ipynb"),)
    assert code(mine / "10_threads.new.ipynb")["source"] == "second"
    assert "(10_threads.ipynb)" in note(mine / "10_threads.new.ipynb")
    assert lay_out(source, mine).beside == ()
    assert (mine / "10_threads.ipynb").read_text() == "my work"
    assert len(names(mine)) == 3


def test_newer_version_of_a_page_beside(source, tmp_path):
    """The page beside is a page, too: as it was copied it is replaced, worked on it stays."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "10_threads.ipynb").write_text("my work")
    beside = {}
    for version in ("second", "third", "fourth"):
        (source / "10_threads.ipynb").write_text(chapter(version))
        ((_, beside[version]),) = lay_out(source, mine).beside
        if version == "third":
            (mine / beside[version]).write_text("more work")
    assert beside == {
        "second": "10_threads.new.ipynb",
        "third": "10_threads.new.ipynb",
        "fourth": "10_threads.new-2.ipynb",
    }
    assert (mine / "10_threads.ipynb").read_text() == "my work"
    assert (mine / "10_threads.new.ipynb").read_text() == "more work"
    assert code(mine / "10_threads.new-2.ipynb")["source"] == "fourth"


def test_untouched_page_is_brought_up_to_date(source, tmp_path):
    """A page that nobody worked on becomes the new one; no other page comes."""
    mine, later = tmp_path / "mine", ("second", "third", "first")
    lay_out(source, mine)
    (mine / "12_shared_memory.ipynb").write_text("my work")
    for version in later:
        (source / "10_threads.ipynb").write_text(chapter(version))
        copied = lay_out(source, mine)
        assert (copied.new, copied.beside) == ((), ())
        assert copied.replaced == ("10_threads.ipynb",)
        assert code(mine / "10_threads.ipynb")["source"] == version
    assert (mine / "12_shared_memory.ipynb").read_text() == "my work"
    assert names(mine) == names(source)


def ran(book):
    book["cells"][0]["execution_count"] = 7


def has_output(book):
    book["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["24"]}]


def has_answer(book):
    book["cells"][0]["source"] = ["first", " and mine"]


def has_cell(book):
    book["cells"].append({"cell_type": "markdown", "metadata": {}, "source": ["mine"]})


def lost_cell(book):
    book["cells"].clear()


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        (lambda book: None, True),
        (ran, True),
        (has_output, False),
        (has_answer, False),
        (has_cell, False),
        (lost_cell, False),
    ],
    ids=["saved", "ran", "output", "answer", "cell", "deleted"],
)
def test_what_is_work(source, tmp_path, change, replaced):
    """JupyterLab's saving and counting is nobody's work; an output, a text or a cell is."""
    mine, page = tmp_path / "mine", "10_threads.ipynb"
    lay_out(source, mine)
    saved(mine / page, change)
    before = (mine / page).read_bytes()
    (source / page).write_text(chapter("second"))
    copied = lay_out(source, mine)
    assert (copied.replaced, len(copied.beside)) == ((page,) if replaced else (), 1 - replaced)
    assert ((mine / page).read_bytes() == before) is not replaced


def test_record_of_an_earlier_smemnb(source, tmp_path):
    """A folder of the version before: what is as it was copied last is brought up to date."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    stored = json.loads((mine / RECORD).read_text())
    (mine / RECORD).write_text(json.dumps({"schema": 1, "copied": stored["copied"]}))
    (mine / "12_shared_memory.ipynb").write_text("my work")
    for page in source.iterdir():
        page.write_text(chapter("second"))
    copied = lay_out(source, mine)
    assert copied.replaced == ("10_threads.ipynb",)
    assert copied.beside == (("12_shared_memory.ipynb", "12_shared_memory.new.ipynb"),)
    assert (mine / "12_shared_memory.ipynb").read_text() == "my work"


@pytest.mark.skipif(os.name != "posix", reason="a limit of POSIX")
def test_no_room_for_a_newer_version(source, tmp_path):
    """Where a new version does not fit, the page is the old one, and the next time the new one."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    for _ in range(2):  # both were about to be written, and neither was
        for page in source.iterdir():
            page.write_text(chapter("long " * 1000 + str(_)))
        done = subprocess.run(
            [sys.executable, "-c", SMALL_DISK, source, mine], capture_output=True, text=True
        )
        assert done.stdout == "OSError\n"
        assert {code(mine / name)["source"] for name in names(mine)} == {"first"}
        assert names(mine) == names(source)
    assert lay_out(source, mine).replaced == ("10_threads.ipynb", "12_shared_memory.ipynb")


@pytest.mark.parametrize("record", ["", "[]", '{"copied": 3}', "{"])
def test_damaged_record(source, tmp_path, record):
    """Without a readable record, files are still kept, and what differs is laid beside."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    (mine / "10_threads.ipynb").write_text("my work")
    (mine / RECORD).write_text(record)
    assert lay_out(source, mine).beside == (("10_threads.ipynb", "10_threads.new.ipynb"),)
    assert (mine / "10_threads.ipynb").read_text() == "my work"
    assert json.loads((mine / RECORD).read_text())["schema"] == 2


@pytest.mark.parametrize("cut", [0, 1, 40])
def test_half_a_chapter(source, tmp_path, cut):
    """A beginning of a page, left by a full disk, is nobody's work: it is completed."""
    mine = tmp_path / "mine"
    lay_out(source, mine)
    page = mine / "10_threads.ipynb"
    whole = page.read_bytes()
    page.write_bytes(whole[:cut])
    (mine / RECORD).unlink()
    copied = lay_out(source, mine)
    assert (copied.new, copied.beside) == (("10_threads.ipynb",), ())
    assert page.read_bytes() == whole


@pytest.mark.skipif(os.name != "posix", reason="a limit of POSIX")
def test_no_room(source, tmp_path):
    """Where a page does not fit, what is there is whole, and the next time all is there."""
    (source / "12_shared_memory.ipynb").write_text(chapter("long " * 1000))
    mine = tmp_path / "mine"
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, source, mine], capture_output=True, text=True
    )
    assert done.stdout == "OSError\n"
    assert names(mine) == ["10_threads.ipynb"]
    assert lay_out(source, mine).new == ("12_shared_memory.ipynb",)
    assert code(mine / "12_shared_memory.ipynb")["source"] == "long " * 1000


SMALL_DISK = """
import resource, sys
from pathlib import Path
from smemnb.cli.lab import lay_out
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    lay_out(*map(Path, sys.argv[1:]))
except OSError as error:
    print(type(error).__name__)
"""


def test_killed_while_copying(source, tmp_path):
    """What a process that was killed long ago left goes; what is being written now stays."""
    mine = tmp_path / "mine"
    mine.mkdir()
    old, new = (mine / f".10_threads.ipynb.{word}.part" for word in ("0ld", "n3w"))
    old.write_text("half")
    new.write_text("half")
    os.utime(old, (1e9, 1e9))
    lay_out(source, mine)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(source, tmp_path):
    """A named pipe in the place of a page is not read; the page is laid beside it."""
    mine = tmp_path / "mine"
    mine.mkdir()
    os.mkfifo(mine / "10_threads.ipynb")
    assert lay_out(source, mine).beside == (("10_threads.ipynb", "10_threads.new.ipynb"),)


def missing_folders(tmp_path):
    """Folders that cannot be made, and what is said of each."""
    (tmp_path / "afile").write_text("")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    yield tmp_path / "afile", "file"
    yield tmp_path / "afile" / "below", "file"
    yield tmp_path / "circle", "circle"
    yield "~nobody_of_this_name/x", "smemnb lab --folder FOLDER"
    yield "/proc/nothing", "/proc/nothing"


@pytest.mark.skipif(sys.platform != "linux", reason="folders of Linux")
def test_no_such_folder(source, tmp_path):
    """A folder that cannot be made is one line with its cure."""
    for folder, words in missing_folders(tmp_path):
        with pytest.raises(SmemnbError, match="smemnb lab --folder FOLDER") as caught:
            copy_of(source, str(folder))
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_workbook_itself_is_refused():
    """The canonical chapters are not opened for work."""
    with pytest.raises(SmemnbError, match="is the workbook itself; name another --folder"):
        open_lab(str(NOTEBOOKS), port=None, browser=False, more=[])


def test_checkout_is_preferred():
    """In a checkout the chapters are those of notebooks/, and what is missing comes from there."""
    assert workbook() == NOTEBOOKS
    assert how_to_install() == 'pip install -e ".[lab]"'


def test_command(tmp_path):
    """Port, browser and unknown options reach JupyterLab."""
    words = command(tmp_path, "00_a.ipynb", port=8899, browser=False, more=["--allow-root"])
    assert words[1:4] == ["-m", "jupyterlab", "00_a.ipynb"]
    assert words[-3:] == ["--no-browser", "--port=8899", "--allow-root"]
    assert "--LabApp.default_url=/lab/tree/00_a.ipynb" in words  # the address that is printed
    assert "--no-browser" not in command(tmp_path, "00_a.ipynb", port=None, browser=True, more=[])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="stops the server by a signal")
def test_server_answers(tmp_path):
    """`smemnb lab --no-browser` serves the learner's copy on the port asked for, and no news.

    Code cells have line numbers.
    """
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
            tracker = "lab/api/settings/@jupyterlab/notebook-extension:tracker"
            settings = json.loads(wait_for(f"http://127.0.0.1:{port}/{tracker}?token=t", server))
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)
    found = sorted(entry["name"] for entry in listed["content"])
    chapters = [path.name for path in NOTEBOOKS.glob("*.ipynb")]
    assert found == sorted([*chapters, "CONTENTS.md", "GLOSSARY.md"])
    off = re.search(r'"disabledExtensions": (\[[^]]*\])', page)
    assert "@jupyterlab/apputils-extension:announcements" in json.loads(off[1])
    cells = settings["schema"]["properties"]["codeCellConfig"]["default"]
    assert cells["lineNumbers"] is True


def wait_for(address, server):
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError("the server did not answer")
