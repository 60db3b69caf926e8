"""Every kernel that a reader can copy is one that Numba accepts for a GPU.

Printed code is run; each kernel in it must have been launched (a kernel nobody launches has no
types to check), be accepted by Numba's CUDA type inference, and compile to PTX where the toolchain
is installed. A cell whose kernel Numba is to refuse carries the tag `typing-refused`. Kernels of a
chapter are looked at where the chapter is run, in `notebooks/NN_noun.ipynb::kernels`.
"""

import doctest
import importlib
import pkgutil
import re
import textwrap

import nbformat
import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel

import smemnb
from tests.house import printed
from tests.house.chapter_kernels import code_cells, seen, watch
from tests.house.notebook_form import ROOT, chapters
from tests.house.printed import run_cells

pytestmark = pytest.mark.slow

SETUP = "import numpy as np\nfrom numba import cuda, float32\nfrom smemnb import trace"
GOOD = """@cuda.jit
def double(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * inp[i]"""
LAUNCH = "double[1, 32](np.zeros(32, np.float32), np.ones(32, np.float32))"
UNTYPED = """@cuda.jit
def shaped(out, n):
    tile = cuda.shared.array((n, 32), float32)
    out[0] = tile[0, 0]"""


def problems(cells, refused=(), *, ptx=False):
    """What is wrong with the kernels of these code cells, run in a process of their own."""
    return printed.problems(cells, run_cells(cells, ptx=ptx), refused)


def notebook(path):
    """The code cells of a chapter, those that are to raise within a `try`, and the tagged ones."""
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if "raises-exception" in cell.metadata.get("tags", []):
            body = textwrap.indent(cell.source, "    ")
            cell.source = f"try:\n{body}\nexcept Exception as error:\n    print(error)"
    return code_cells(book)


def readme():
    """The Python of README.md that defines kernels, one cell per fence."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return [fence for fence in fences if "cuda.jit" in fence]


def docstring_examples():
    """(name, cells) of each docstring whose examples define a kernel."""
    for found in pkgutil.walk_packages(smemnb.__path__, "smemnb."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            if any("cuda.jit" in example.source for example in test.examples):
                yield test.name, [f"from {found.name} import *", *(e.source for e in test.examples)]


@pytest.mark.toolchain
@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter_to_ptx(path):
    """Kernels of a chapter compile."""
    assert problems(*notebook(path), ptx=True) == []


def test_readme():
    """README.md prints a kernel, and it passes type inference."""
    assert readme() != []
    assert problems(readme()) == []


@pytest.mark.toolchain
def test_readme_to_ptx():
    """The kernel of README.md compiles."""
    assert problems(readme(), ptx=True) == []


def test_docstrings():
    """Kernels in the examples of docstrings pass type inference."""
    assert [
        (name, found) for name, cells in docstring_examples() if (found := problems(cells))
    ] == []


def test_accepted():
    """A kernel that Numba accepts has no problem."""
    assert problems([SETUP, GOOD, LAUNCH]) == []


@pytest.mark.toolchain
def test_accepted_to_ptx():
    """It compiles too, also where it calls a device function."""
    twice = "@cuda.jit(device=True)\ndef twice(x):\n    return x + x"
    calling = GOOD.replace("2 * inp[i]", "twice(inp[i])")
    assert problems([SETUP, GOOD, LAUNCH, twice, calling, LAUNCH], ptx=True) == []


def test_each_problem_is_named():
    """Never launched; refused and not tagged; tagged and not refused."""
    launch = "try:\n    shaped[1, 1](np.zeros(1, np.float32), 32)\nexcept TypeError:\n    pass"
    unlaunched = GOOD.replace("double", "triple")
    cells = [SETUP, GOOD, LAUNCH, unlaunched, UNTYPED, launch]
    seen = run_cells(cells)
    never, refused = printed.problems(cells, seen)
    assert never.startswith("triple ") and refused.startswith("shaped: TypingRefused: ")
    tagged, *others = printed.problems(cells, seen, {1, 4})
    assert tagged.startswith("double is tagged typing-refused") and others == [never]


def test_kernels_of_a_notebook(tmp_path):
    """What the process of a notebook records of its launches is what a run of its own records."""
    bad = "try:\n    shaped[1, 1](np.zeros(1, np.float32), 32)\nexcept TypeError:\n    pass"
    cells = [SETUP, GOOD, LAUNCH, GOOD.replace("double", "triple"), UNTYPED, bad]
    kernel = RunningKernel(CURRENT_ENV_KERNEL_NAME, cwd=str(tmp_path))
    try:
        watch(kernel)
        for cell in cells:
            kernel.await_reply(kernel.execute_cell_input(cell), timeout=60)
        found = seen(kernel)
    finally:
        kernel.stop()
    assert [one[:7] for one in printed.problems(cells, found)] == ["triple ", "shaped:"]
