"""`smemnb lab`: a learner's own copy of the workbook, opened in JupyterLab.

Chapters, without their stored outputs (the answers), and the glossary are copied where they are
absent. A file of the learner's is never written again: when the workbook has changed since a page
was copied, the new version is laid beside it under another name. What was copied is remembered in
`.smemnb.json` in the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import SmemnbError
from .machine import jupyter_kernel

RECORD = ".smemnb.json"
GLOSSARY = "GLOSSARY.md"
SETTINGS = Path(__file__).with_name("jupyter")
"""Jupyter settings of `smemnb lab`: without them JupyterLab asks whether to fetch news, even with
`--LabApp.news_url=None`."""


@dataclass(frozen=True)
class Copied:
    """What laying out the workbook did: names of pages copied, and of new versions."""

    new: tuple[str, ...]
    beside: tuple[tuple[str, str], ...]


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

    Outputs stand below the questions they answer, and a learner is to guess first.
    """
    data = page.read_bytes()
    if page.suffix != ".ipynb":
        return data
    book = json.loads(data)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def lay_out(source: Path, folder: Path) -> Copied:
    """Copy the pages that are absent from the folder; touch nothing that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = _record(folder)
    new: list[str] = []
    beside: list[tuple[str, str]] = []
    for page in pages(source):
        data = without_outputs(page)
        digest = hashlib.sha256(data).hexdigest()
        target = folder / page.name
        if not target.exists():
            target.write_bytes(data)
            new.append(page.name)
        elif seen.get(page.name) != digest and target.read_bytes() != data:
            other = _free(target, data)
            if not other.exists():
                other.write_bytes(data)
            beside.append((page.name, other.name))
        seen[page.name] = digest
    text = json.dumps({"schema": 1, "copied": seen}, indent=1, sort_keys=True) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8")
    return Copied(tuple(new), tuple(beside))


def open_lab(folder: str, *, port: int | None, browser: bool, more: list[str]) -> int:
    """Lay out the workbook and run JupyterLab in it until it is stopped; its exit code.

    Raises:
        SmemnbError: JupyterLab is not installed, or the folder is the repository's own.
    """
    if find_spec("jupyterlab") is None:
        raise SmemnbError('JupyterLab is not installed here: pip install -e ".[lab]"')
    source, target = workbook(), Path(folder).expanduser().resolve()
    if target == source.resolve():
        raise SmemnbError(f"{target} is the workbook itself; name another --folder for your copy")
    copied = lay_out(source, target)
    print(_said(copied, target))
    kernel_python, ours = jupyter_kernel()
    if not ours:
        other = kernel_python or "nothing"
        print(f"  notebooks will run {other}, not this Python: smemnb doctor says the cure")
    sys.stdout.flush()  # the server takes this process over
    first = sorted(source.glob("*.ipynb"))[0].name
    return _run(command(target, first, port=port, browser=browser, more=more), target)


def command(
    folder: Path, chapter: str, *, port: int | None, browser: bool, more: list[str]
) -> list[str]:
    """The command that opens a chapter, with JupyterLab's news and update questions off."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        chapter,
        f"--ServerApp.root_dir={folder}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
        *([] if browser else ["--no-browser"]),
        *([] if port is None else [f"--port={port}"]),
        *more,
    ]


def _run(words: list[str], folder: Path) -> int:
    os.chdir(folder)
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


def _record(folder: Path) -> dict[str, str]:
    """Digest of each page as it was last copied; empty if the record is absent or damaged."""
    try:
        copied = json.loads((folder / RECORD).read_text(encoding="utf-8"))["copied"]
        return {str(name): str(digest) for name, digest in copied.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _free(target: Path, data: bytes) -> Path:
    """A name for a new version: free, or holding this very version already."""
    number = 1
    while True:
        extra = ".new" if number == 1 else f".new-{number}"
        other = target.with_name(f"{target.stem}{extra}{target.suffix}")
        if not other.exists() or other.read_bytes() == data:
            return other
        number += 1


def _said(copied: Copied, folder: Path) -> str:
    lines = [f"your workbook: {folder}"]
    if copied.new:
        lines.append(f"  copied: {', '.join(copied.new)}")
    lines += [
        f"  {name} has a newer version, beside yours as {other}; yours is as you left it"
        for name, other in copied.beside
    ]
    return "\n".join(lines)
