"""Every kernel that a reader can copy is one that Numba accepts for a GPU.

Printed code is run; each kernel in it must have been launched (a kernel nobody launches has no
types to check), be accepted by Numba's CUDA type inference, and compile to PTX where the toolchain
is installed. A cell whose kernel Numba is to refuse carries the tag `typing-refused`.
"""

import doctest
import importlib
import pkgutil
import re

import nbformat
import pytest

import smemnb
from tests.house.notebook_form import ROOT, chapters
from tests.house.printed import kernels_in, run_cells

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
    """What is wrong with the kernels of these code cells; `refused` are the tagged ones."""
    seen = run_cells(cells, ptx=ptx)
    said = []
    for number, cell in enumerate(cells):
        for name, source in kernels_in(cell):
            records = [record for record in seen if record.source == source]
            refusals = [record.refused for record in records if record.refused]
            if not records:
                said.append(f"{name} is never launched")
            elif number in refused and not refusals:
                said.append(f"{name} is tagged typing-refused, and Numba accepts it")
            elif number not in refused:
                said += [f"{name}: {refusal}" for refusal in refusals]
            said += [f"{name}: {r.ptx_error}" for r in records if r.ptx_error]
    return said


def notebook(path):
    """The code cells of a chapter, those left out that are to raise, and the tagged numbers."""
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    tags = [set(cell.metadata.get("tags", [])) for cell in cells]
    kept = [
        f"try:\n{indented(cell.source)}\nexcept Exception as error:\n    print(error)"
        if "raises-exception" in tag
        else cell.source
        for cell, tag in zip(cells, tags, strict=True)
    ]
    return kept, {n for n, tag in enumerate(tags) if "typing-refused" in tag}


def indented(source):
    return "\n".join("    " + line for line in source.splitlines())


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


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter(path):
    """Kernels of a chapter pass type inference, or are tagged and do not."""
    assert problems(*notebook(path)) == []


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
    refused, never, tagged = problems(cells)[1], problems(cells)[0], problems(cells, {1, 4})
    assert never == "triple is never launched"
    assert refused.startswith("shaped: TypingRefused: ")
    assert tagged == ["double is tagged typing-refused, and Numba accepts it", never]
