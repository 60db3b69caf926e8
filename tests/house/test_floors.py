"""The floors of the house hold, and the checker sees it when they do not."""

import subprocess
import sys

import pytest

from tests.house.floors import FLOORS, house_problems, imports
from tests.house.notebook_form import ROOT

PACKAGE = ROOT / "smemnb"


def build(folder, files):
    """A made-up package with these files."""
    package = folder / "smemnb"
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_house():
    """The package keeps every rule of the house."""
    assert house_problems(PACKAGE) == []


def test_rooms_exist():
    """The checker looks at modules on every floor: none of them is empty by mistake."""
    rooms = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in PACKAGE.rglob("*.py")}
    assert {FLOORS[room] for room in rooms if room in FLOORS} == set(range(8))


def test_import_is_cheap():
    """`import smemnb` and the NumPy-only rooms bring neither Numba nor Matplotlib."""
    for name in ("smemnb", "smemnb.rules", "smemnb.lockstep"):
        code = f"import sys, {name}; print(sorted({{'numba', 'matplotlib'}} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tracing/trace.py", "from ..simulator import launch\nfrom ..errors import SmemnbError"),
        ("cli/lab.py", "import smemnb.exercises.check\nfrom .. import errors"),
        ("rules/bank.py", "import math\nimport numpy as np\nfrom .layout import Padded"),
        ("rules/__init__.py", "from .bank import wavefronts\nfrom . import layout"),
        ("simulator/hook.py", "from numba import cuda"),
        ("__init__.py", "from .cli import main"),
    ],
)
def test_what_is_allowed(tmp_path, name, text):
    """Down, inside a room, tracing to simulator, and anything in the package's own __init__."""
    assert house_problems(build(tmp_path, {name: text})) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rules/a.py", "from ..tracing import trace", "imports tracing, on floor 3, from floor 1"),
        ("rules/a.py", "import smemnb.cli", "imports cli, on floor 7, from floor 1"),
        ("rules/a.py", "def f():\n    from ..figures import b", "imports figures, on floor 4"),
        ("rules/a.py", "from ..kernels import b", "imports kernels, on floor 3, from floor 1"),
        ("simulator/a.py", "from ..tracing import b", "imports tracing, its neighbour on floor 3"),
        ("cli/a.py", "import smemnb", "the package root is for users only"),
        ("cli/a.py", "from smemnb import trace", "imports smemnb.trace: the package root"),
        ("cli/deep/a.py", "from ... import check", "imports smemnb.check: the package root"),
        ("cli/__init__.py", "from .. import check", "imports smemnb.check: the package root"),
        ("lockstep/a.py", "import numba", "imports numba; lockstep imports NumPy only"),
        ("cellar/a.py", "", "is on no floor"),
        ("rules/utils.py", "", "the name utils says nothing"),
        ("cli/core/a.py", "", "the name core says nothing"),
    ],
)
def test_each_breach_is_named(tmp_path, name, text, said):
    """One rule broken, and exactly its sentence comes."""
    problems = house_problems(build(tmp_path, {name: text}))
    assert [said in problem for problem in problems] == [True]


def test_relative_imports_are_resolved(tmp_path):
    """Dots count from the folder of a module, and from the folder that an __init__ stands for."""
    package = build(
        tmp_path, {"cli/deep/a.py": "from ..b import c", "cli/__init__.py": "from .b import c"}
    )
    targets = [
        [asked.target for asked in imports(package / name, package)]
        for name in ("cli/deep/a.py", "cli/__init__.py")
    ]
    assert targets == [["smemnb.cli.b"], ["smemnb.cli.b"]]
