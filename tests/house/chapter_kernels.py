"""The kernels of a chapter, looked at in the process in which pytest runs its cells.

`watch` and `seen` are sent to the Jupyter kernel of a notebook before its first cell and after its
last; between them `tests.house.printed` records what Numba's type inference says of each launch.
So a chapter is run once for its outputs and for its kernels.
"""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbformat import NotebookNode

from tests.house.notebook_form import NOTEBOOKS
from tests.house.printed import Seen, problems

MODULE = "__import__('tests.house.printed', fromlist=['printed'])"
REPLY_SECONDS = 60


class Kernels(pytest.Item):
    """Each kernel of the chapter was launched, and Numba accepts it or is meant to refuse it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.add_marker("slow")

    def runtest(self) -> None:
        """Ask the chapter's process what it has seen."""
        notebook: Any = self.parent
        cells, refused = code_cells(notebook.nb)
        assert problems(cells, seen(notebook.kernel), refused) == []

    def reportinfo(self) -> tuple[Path, int, str]:
        """The notebook and the name of this test."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def is_chapter(path: Path) -> bool:
    """Whether a notebook is one of the repository's chapters."""
    return path.resolve().parent == NOTEBOOKS


def code_cells(book: NotebookNode) -> tuple[list[str], set[int]]:
    """The sources of the code cells, and the numbers of those whose kernel is to be refused."""
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    tags = [cell.metadata.get("tags", []) for cell in cells]
    return [cell.source for cell in cells], {
        number for number, some in enumerate(tags) if "typing-refused" in some
    }


def watch(kernel: Any) -> None:
    """Have the kernel record inferences from its first cell on; nothing is imported for it yet."""
    asked(kernel, f"{MODULE}.record_in_shell()", silent=True)


def seen(kernel: Any) -> list[Seen]:
    """What the kernel has recorded."""
    said = asked(kernel, "", user_expressions={"seen": f"{MODULE}.recorded_in_shell()"})
    text = said["user_expressions"]["seen"]["data"]["text/plain"]
    return [Seen(**record) for record in json.loads(ast.literal_eval(text))]


def asked(kernel: Any, code: str, **options: Any) -> dict[str, Any]:
    """The content of the reply to a piece of code that leaves no trace in the history.

    Raises:
        RuntimeError: the kernel died, does not answer, or the code raised.
    """
    message = kernel.kc.execute(code, store_history=False, allow_stdin=False, **options)
    end = time.monotonic() + REPLY_SECONDS
    while time.monotonic() < end and kernel.is_alive():
        try:
            reply = kernel.get_message(stream="shell", timeout=1)
        except Empty:
            continue
        if reply["parent_header"].get("msg_id") == message:
            content: dict[str, Any] = reply["content"]
            if content["status"] != "ok":
                raise RuntimeError(f"{content.get('ename')}: {content.get('evalue')}")
            kernel.await_idle(message, REPLY_SECONDS)
            return content
    raise RuntimeError("the kernel does not answer")
