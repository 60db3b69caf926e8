"""Run chapters from a fresh kernel and store them in canonical form.

    python tests/notebooks_store.py                     all chapters
    python tests/notebooks_store.py 14_banks            one of them
    python tests/notebooks_store.py --format 14_banks   its form only, nothing is run
    python tests/notebooks_store.py --readme            the report of the example in README.md

The kernel gets the environment of the tests (conftest.py), so what is stored is what the tests
compare with. A chapter that raises, or takes 30 s or more, is not stored; other breaches of the
rules are listed after storing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.house.notebook_form import NOTEBOOKS, canonical, chapters, form_problems
from tests.house.notebook_numbers import number_problems
from tests.house.notebook_style import style_problems

MOST_SECONDS = 30
CELL_TIMEOUT_SECONDS = 120


def run(book: nbformat.NotebookNode, folder: Path) -> float:
    """Execute every cell in place, in a kernel of this Python; the seconds it took."""
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        book,
        kernel_name="python3",
        timeout=CELL_TIMEOUT_SECONDS,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    start = time.perf_counter()
    client.execute()
    return time.perf_counter() - start


def store(path: Path, *, execute: bool) -> list[str]:
    """Store one chapter; the problems that are left."""
    book = nbformat.read(path, as_version=4)
    if execute:
        try:
            seconds = run(book, path.parent)
        except CellExecutionError as error:
            return [f"not stored, a cell raised:\n{error}"]
        if seconds >= MOST_SECONDS:
            return [f"not stored, took {seconds:.0f} s, allowed are {MOST_SECONDS}"]
    path.write_bytes(canonical(book).encode())
    return [*form_problems(path), *style_problems(book), *number_problems(book)]


def store_readme() -> int:
    """Run the example of README.md and put what it prints below it; its exit code."""
    path = NOTEBOOKS.parent / "README.md"
    text = path.read_text(encoding="utf-8")
    kernel, output = (
        re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```\n", text, flags=re.DOTALL)
        for name in ("kernel", "output")
    )
    assert kernel and output, "README.md has lost its example"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "transpose.py"
        script.write_text(kernel[1], encoding="utf-8")
        done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        text = text[: output.start(1)] + done.stdout + text[output.end(1) :]
        path.write_bytes(text.encode())
    return done.returncode


def main(argv: list[str] | None = None) -> int:
    """The number of chapters with problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="*", help="14_banks; all chapters if none is named")
    parser.add_argument("--format", action="store_true", help="form only, run nothing")
    parser.add_argument("--readme", action="store_true", help="store README.md's example")
    options = parser.parse_args(argv)
    if options.readme:
        return store_readme()
    paths = [NOTEBOOKS / (Path(name).stem + ".ipynb") for name in options.chapter] or chapters()
    failed = 0
    for path in paths:
        problems = store(path, execute=not options.format)
        failed += bool(problems)
        print(f"{path.name}: {'in order' if not problems else ''}")
        for problem in problems:
            print(f"  {problem}")
    return failed


if __name__ == "__main__":
    import conftest  # noqa: F401  (it sets the environment of the kernels)

    sys.exit(main())
