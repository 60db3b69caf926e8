"""`smemnb lab`: a learner's own copy of the workbook, opened in JupyterLab.

Chapters, without their stored outputs (the answers), and the glossary are copied where they are
absent. When the workbook has changed since, a page that is as it was copied becomes the new one
(`copied_pages` knows). A page in which someone worked is never written again: the new one is laid
beside it under another name, and says at its top whose it is beside. A page is there whole or not
at all; the mere beginning of a page, which a full disk left with an earlier version, is completed.
A contents page (`contents`) is written anew at each start, and opened. What becomes of chapters
that only an earlier version had is in `earlier_chapters`.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import SmemnbError
from ..exercises.whole_file import is_plain, leftovers, write_whole
from .contents import CONTENTS, lay_contents
from .copied_pages import CopiedPages, version
from .earlier_chapters import TOOK_ITS_PLACE, Earlier, clear_earlier
from .machine import jupyter_kernel

GLOSSARY = "GLOSSARY.md"
SETTINGS = Path(__file__).with_name("jupyter")
"""Jupyter settings of `smemnb lab`: code cells have line numbers, as reports name lines; Markdown
opens rendered; JupyterLab does not ask whether to fetch news, which it does even with
`--LabApp.news_url=None`; and outputs are saved without views that no kernel knows any more
(`saved_outputs`). A learner's own settings go before them."""


@dataclass(frozen=True)
class Copied:
    """What laying out the workbook did.

    Names of pages copied, replaced, of new versions beside a learner's own, and of chapters that
    only an earlier version had.
    """

    new: tuple[str, ...]
    replaced: tuple[str, ...]
    beside: tuple[tuple[str, str], ...]
    earlier: Earlier


def how_to_install() -> str:
    """The command that brings what the workbook is opened with, in a checkout and elsewhere."""
    wheel = (Path(__file__).resolve().parents[1] / "workbook").is_dir()
    return 'pip install "smemnb[lab]"' if wheel else 'pip install -e ".[lab]"'


def workbook() -> Path:
    """The folder of the canonical chapters: of the installed package, or of the checkout.

    Raises:
        SmemnbError: neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parent / "notebooks", package / "workbook"):
        if any(folder.glob("*.ipynb")):
            return folder
    raise SmemnbError("the workbook's chapters are not installed; install smemnb again")


def pages(source: Path) -> list[Path]:
    """The workbook's pages: the chapters, then the glossary.

    A wheel has the glossary among its chapters, a checkout has it one folder up.
    """
    glossary = [folder / GLOSSARY for folder in (source, source.parent)]
    return [*sorted(source.glob("*.ipynb")), *[path for path in glossary if path.is_file()][:1]]


def without_outputs(page: Path) -> bytes:
    """A page for a learner: a chapter without the outputs of its cells, any other as it is.

    Outputs stand below the questions they answer, and a learner is to guess first. Links to the
    glossary lead beside the chapter, where it lies in the copy, and no longer one folder up.
    """
    data = page.read_bytes()
    if page.suffix != ".ipynb":
        return data
    book = json.loads(data)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
        elif cell["cell_type"] == "markdown":
            lines, is_text = cell["source"], isinstance(cell["source"], str)
            cell["source"] = beside_glossary(lines) if is_text else [*map(beside_glossary, lines)]
    return _stored(book)


def beside_glossary(text: str) -> str:
    """A text whose links to the glossary one folder up lead to the one beside it.

    >>> beside_glossary("A [bank](../GLOSSARY.md#bank).")
    'A [bank](GLOSSARY.md#bank).'
    """
    return text.replace(f"](../{GLOSSARY}", f"]({GLOSSARY}")


def lay_out(source: Path, folder: Path) -> Copied:
    """Copy the pages that are absent from the folder, and new versions; no work is written over."""
    folder.mkdir(parents=True, exist_ok=True)
    record = CopiedPages.of(folder)
    versions = {page.name: without_outputs(page) for page in pages(source)}
    for name, data in versions.items():
        record.note(name, data)
        record.note(name, beside(name, data))
    record.write(folder)
    new: list[str] = []
    replaced: list[str] = []
    others: list[tuple[str, str]] = []
    for name, data in versions.items():
        target = folder / name
        _clear_up(target)
        if not target.exists() or _is_half(target, data):
            write_whole(target, data)
            new.append(name)
        elif _holds(target, data):
            pass
        elif record.is_untouched(target, name):
            write_whole(target, data)
            replaced.append(name)
        elif record.newest.get(name) != version(data):
            others.append((name, _laid_beside(target, beside(name, data), record)))
        record.newest[name] = version(data)
    record.write(folder)
    earlier = clear_earlier(folder, record)
    return Copied(tuple(new), tuple(replaced), tuple(others), earlier)


def beside(name: str, data: bytes) -> bytes:
    """A new version of a page, with a first cell or line that says which page it lies beside."""
    note = (
        f"> **A new version of this page**, laid beside your own [{name}]({name}), which is as you"
        " left it. The workbook has changed since you began."
    )
    if not name.endswith(".ipynb"):
        return f"{note}\n\n".encode() + data
    book = json.loads(data)
    cell = {"cell_type": "markdown", "id": "new-version", "metadata": {}, "source": [note]}
    book["cells"].insert(0, cell)
    return _stored(book)


def _stored(book: Any) -> bytes:
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def _laid_beside(target: Path, data: bytes, record: CopiedPages) -> str:
    """Lay a new version beside a page; the name that it got."""
    other = _free(target, data, record)
    if not other.exists() or not _holds(other, data):
        write_whole(other, data)
    return other.name


def _holds(page: Path, data: bytes) -> bool:
    return is_plain(page) and page.read_bytes() == data


def _is_half(page: Path, data: bytes) -> bool:
    """Whether a page is a mere beginning of ours: nobody has worked in it."""
    if not is_plain(page) or page.stat().st_size >= len(data):
        return False
    return data.startswith(page.read_bytes())


LEFT_SECONDS = 60
"""A page is written in less; a part of one that is older belongs to a process that was killed."""


def _clear_up(page: Path) -> None:
    for left in leftovers(page):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                left.unlink()


def copy_of(source: Path, folder: str) -> tuple[Path, Copied]:
    """Lay out the workbook in a folder that a learner named; the folder, and what was copied.

    Raises:
        SmemnbError: nothing can be written there, in one line with what to do.
    """
    try:
        target = Path(folder).expanduser().resolve()
        copied = lay_out(source, target)
        lay_contents(source, target)
        return target, copied
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder, a circle of links
        raise SmemnbError(_no_copy(folder, error)) from None


def open_lab(folder: str, *, port: int | None, browser: bool, more: list[str]) -> int:
    """Lay out the workbook and run JupyterLab in it until it is stopped; its exit code.

    Raises:
        SmemnbError: JupyterLab is not installed, the folder is the repository's own, or it cannot
            be written.
    """
    source = workbook()
    # os.path, because Path raises where there is no such user, or a circle of links
    if os.path.realpath(os.path.expanduser(folder)) == os.path.realpath(source):  # noqa: PTH111
        raise SmemnbError(f"{folder} is the workbook itself; name another --folder for your copy")
    if find_spec("jupyterlab") is None:
        raise SmemnbError(f"JupyterLab is not installed here: {how_to_install()}")
    target, copied = copy_of(source, folder)
    os.chdir(target)
    print(_said(copied, target))
    kernel_python, ours = jupyter_kernel()
    if not ours:
        other = kernel_python or "nothing"
        print(f"  notebooks will run {other}, not this Python: smemnb doctor says the cure")
    sys.stdout.flush()  # the server takes this process over
    return _run(command(target, CONTENTS, port=port, browser=browser, more=more))


_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def _no_copy(folder: str, error: Exception) -> str:
    """Why there is no copy of the workbook in a folder, and what to do."""
    said = f"no copy of the workbook can be made in {folder}: "
    if isinstance(error, FileExistsError | NotADirectoryError):
        return f"{said}it is, or lies in, a file. Name a folder: smemnb lab --folder FOLDER"
    why = (getattr(error, "strerror", None) or str(error)).rstrip(".")
    if getattr(error, "errno", None) in _FULL:
        return f"{said}{why}. Pages that were copied are whole; make room and run it again"
    return f"{said}{why}. Name a folder that you may write to: smemnb lab --folder FOLDER"


def command(
    folder: Path, page: str, *, port: int | None, browser: bool, more: list[str]
) -> list[str]:
    """The command that opens a page, with JupyterLab's news and update questions off."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        page,
        f"--ServerApp.root_dir={folder}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
        f"--LabApp.default_url=/lab/tree/{page}",  # the address that the server prints
        *([] if browser else ["--no-browser"]),
        *([] if port is None else [f"--port={port}"]),
        *more,
    ]


def _run(words: list[str]) -> int:
    own = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (own, str(SETTINGS))))
    if os.name == "posix":
        # the server takes this process over, so that signals reach it
        os.execv(words[0], words)
    with subprocess.Popen(words) as server:
        while True:
            try:
                return server.wait()
            except KeyboardInterrupt:
                continue  # the server got it too, and asks or stops


def _free(target: Path, data: bytes, record: CopiedPages) -> Path:
    """A name for a new version: free, or of a version beside the page in which nobody worked."""
    number = 1
    while True:
        extra = ".new" if number == 1 else f".new-{number}"
        other = target.with_name(f"{target.stem}{extra}{target.suffix}")
        if not other.exists() or _is_half(other, data) or record.is_untouched(other, target.name):
            return other
        number += 1


def _said(copied: Copied, folder: Path) -> str:
    lines = [f"your workbook: {folder}"]
    if copied.new:
        lines.append(f"  copied: {', '.join(copied.new)}")
    if copied.replaced:
        lines.append(f"  brought up to date: {', '.join(copied.replaced)}")
    lines += [
        f"  {name} has a newer version, beside yours as {other}; yours is as you left it"
        for name, other in copied.beside
    ]
    lines += [
        f"  {name}, in which you worked, is as you left it; {' and '.join(TOOK_ITS_PLACE[name])}"
        " took its place"
        for name in copied.earlier.kept
    ]
    if copied.earlier.taken_away:
        lines.append(f"  replaced by today's chapters: {', '.join(copied.earlier.taken_away)}")
    return "\n".join(lines)
