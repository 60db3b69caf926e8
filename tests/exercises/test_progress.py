import json
import multiprocessing
import os
import threading

import pytest
from writers import many

from smemnb.exercises.check import check
from smemnb.exercises.hints import hint
from smemnb.exercises.progress import OFF, _write, file, folder, progress, remember
from smemnb.exercises.registry import find

SCALE = find("ex00_scale")


def stored():
    return json.loads(file().read_text())["exercises"]


def test_done_stays_done(home):
    """A check that fails later does not take an exercise back."""
    assert progress().done == ()
    assert check("ex00_scale", SCALE.solution)
    assert not check("ex00_scale", SCALE.wrong_kernel(SCALE.wrong[0]))
    assert stored() == {"ex00_scale": {"done": True, "checks": 2, "hints": 0}}
    assert progress().done == ("ex00_scale",)
    assert [path.name for path in sorted(home.iterdir())] == ["progress.json", "progress.lock"]


def test_table():
    """Chapters with their exercises, done or open."""
    before = repr(progress())
    remember("ex00_scale", done=True)
    assert "10_threads\n  open  ex00_scale" in before
    assert "10_threads\n  done  ex00_scale" in repr(progress())
    assert "Twice the input" in before


def test_hints_are_remembered():
    """The highest hint that was seen is kept."""
    hint("ex00_scale", 2)
    hint("ex00_scale", 1)
    assert stored()["ex00_scale"]["hints"] == 2


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"schema": 1}', '{"schema": 1, "exercises": {"a": 3}}', '{"schema": "2"}'],
)
def test_damaged_file(text):
    """A damaged file is moved aside as it was, and a new one begun; the verdict stands."""
    folder().mkdir(parents=True)
    file().write_text(text)
    assert "damaged" in repr(progress())
    assert file().read_text() == text
    verdict = check("ex00_scale", SCALE.solution)
    assert verdict
    assert "progress.damaged-1.json" in verdict.note
    assert (folder() / "progress.damaged-1.json").read_text() == text
    assert stored()["ex00_scale"]["done"] is True
    file().write_text("again")
    remember("ex00_scale", done=True)
    assert (folder() / "progress.damaged-1.json").read_text() == text
    assert (folder() / "progress.damaged-2.json").read_text() == "again"


def test_newer_file():
    """A file of a newer smemnb is left alone, and the verdict says that nothing was recorded."""
    folder().mkdir(parents=True)
    text = '{"schema": 2, "exercises": {"ex00_scale": "all of it"}}'
    file().write_text(text)
    verdict = check("ex00_scale", SCALE.solution)
    assert verdict
    assert "progress.json was written by a newer smemnb (schema 2" in verdict.note
    assert "newer smemnb" in repr(progress())
    assert file().read_text() == text


def test_other_entries_are_kept():
    """Exercises and keys that this version does not know survive a check."""
    folder().mkdir(parents=True)
    file().write_text('{"schema": 1, "exercises": {"ex99_old": {"done": true, "stars": 3}}}')
    remember("ex00_scale", checks=1)
    assert stored()["ex99_old"] == {"done": True, "stars": 3}


def test_no_folder(home, tmp_path):
    """Where nothing can be written the verdict stands, with a note, and nothing is left behind."""
    home.write_text("a file where the folder should be")
    verdict = check("ex00_scale", SCALE.solution)
    assert verdict
    assert verdict.note.startswith("not recorded: ")
    assert str(tmp_path) not in repr(verdict)
    assert repr(progress())


def test_file_is_a_folder():
    """The same with a folder where the file should be; no temporary file stays."""
    file().mkdir(parents=True)
    assert remember("ex00_scale", done=True).startswith("not recorded: ")
    with pytest.raises(OSError):
        _write({})
    assert not list(folder().glob("*.tmp"))


@pytest.mark.parametrize("name", [".progress.json.0123456789abcdef.part", "progress.x1y2.tmp"])
def test_killed_writer(name):
    """What a killed writer left, of this version or an earlier one, goes with the next record."""
    folder().mkdir(parents=True)
    (folder() / name).write_text("{half")
    remember("ex00_scale", done=True)
    assert sorted(path.name for path in folder().iterdir()) == ["progress.json", "progress.lock"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
@pytest.mark.parametrize("before", [None, '{"schema": 1, "exercises": {}}', "damaged"])
def test_link(tmp_path, before):
    """A progress.json that is a link stays one: the file that it leads to is written."""
    folder().mkdir(parents=True)
    (tmp_path / "cloud").mkdir()
    real = tmp_path / "cloud" / "mine.json"
    if before is not None:
        real.write_text(before)
    file().symlink_to(real)
    note = remember("ex00_scale", done=True)
    assert file().is_symlink()
    assert json.loads(real.read_text())["exercises"]["ex00_scale"]["done"] is True
    assert ("damaged" in note) is (before == "damaged")
    assert progress().done == ("ex00_scale",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe():
    """A named pipe would be waited for without end: it is refused, and stays as it is."""
    folder().mkdir(parents=True)
    os.mkfifo(file())
    assert "no plain file" in repr(progress())
    assert remember("ex00_scale", done=True).startswith("not recorded: progress.json is no plain")
    assert not file().is_file()


def test_off(monkeypatch, home):
    """SMEMNB_PROGRESS=off writes nothing at all."""
    monkeypatch.setenv("SMEMNB_PROGRESS", "off")
    verdict = check("ex00_scale", SCALE.solution)
    assert (bool(verdict), verdict.note) == (True, "")
    hint("ex00_scale", 1)
    assert repr(progress()).endswith(OFF)
    assert not home.exists()


def test_threads():
    """Four threads at once lose nothing, and a reader never meets half a file."""
    writers = [threading.Thread(target=many, args=(25 * i,)) for i in range(4)]
    for writer in writers:
        writer.start()
    seen = {"damaged" in repr(progress())}
    while any(writer.is_alive() for writer in writers):
        seen.add("damaged" in repr(progress()))
    for writer in writers:
        writer.join()
    assert seen == {False}
    assert stored()["both"]["checks"] == 100
    assert len(stored()) == 101


def test_processes():
    """Two processes at once lose nothing."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=many, args=(25 * i,)) for i in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert stored()["both"]["checks"] == 50
    assert len(stored()) == 51
