"""The gaps of nbval that conftest.py closes stay closed.

Each test runs pytest in a folder of its own, on one small notebook, with the repository's
conftest.py and settings.
"""

import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.house.notebook_form import ROOT

pytestmark = pytest.mark.slow


def ran(source, text="", count=1, *, result=""):
    """A cell as stored: run, with this printed text or this result."""
    cell = new_code_cell(source, execution_count=count)
    if text:
        cell.outputs.append(new_output("stream", name="stdout", text=text))
    if result:
        data = {"text/plain": result}
        cell.outputs.append(new_output("execute_result", data=data, execution_count=count))
    return cell


def verdict(folder, *cells):
    """Passed and failed cells, and all that pytest said."""
    for name in ("conftest.py", "nbval.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    nbformat.write(new_notebook(cells=list(cells)), folder / "10_tiny.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "--color=no", "10_tiny.ipynb"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed)", done.stdout)}
    return counts.get("passed", 0), counts.get("failed", 0), done.stdout


def test_one_notebook_for_the_quick_cases(tmp_path):
    """Right output passes; a wrong one, a missing one, an unrun cell and a heard `;` fail.

    The cells are in one notebook because starting a kernel takes a second.
    """
    passed, failed, said = verdict(
        tmp_path,
        ran("print(1 + 1)", "2\n"),
        ran("1 + 1;"),
        ran("1 + 1", result="2"),
        ran("print(1 + 1)", "3\n"),
        ran("print(1 + 1)"),
        new_code_cell("print(1 + 1)"),
        ran("1 + 1;", result="2"),
        new_code_cell(""),
    )
    assert (passed, failed) == (4, 4), said
    assert said.count("Cell outputs differ") == 3
    assert said.count("the stored cell was never run") == 1


@pytest.mark.exhaustive
def test_dead_kernel_fails_at_once(tmp_path):
    """A kernel that dies fails its cell in seconds, not after the cell timeout of 120 s."""
    start = time.monotonic()
    passed, failed, said = verdict(tmp_path, ran("import os\nos._exit(1)"), ran("1;"))
    assert (passed, failed) == (0, 2), said
    assert "the kernel died while it ran this cell" in said
    assert time.monotonic() - start < 60


@pytest.mark.exhaustive
def test_private_environment(tmp_path):
    """Kernels of tests see the lockstep device, no progress file, and private folders."""
    source = (
        "import os, tempfile\n"
        "print(os.environ['SMEMNB_DEVICE'], os.environ['SMEMNB_PROGRESS'])\n"
        "print(os.environ['IPYTHONDIR'].startswith(tempfile.gettempdir()))"
    )
    passed, _, said = verdict(tmp_path, ran(source, "lockstep off\nTrue\n"))
    assert passed == 1, said
