"""The lower bounds of pyproject.toml are tested: as pins, by a workflow."""

import runpy
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.house.notebook_form import ROOT

SCRIPT = ROOT / ".ci" / "lowest.py"
lowest = runpy.run_path(str(SCRIPT))["lowest"]


def test_pins_are_the_bounds():
    """Each requirement that users and testers install has a pin, its own lower bound."""
    said = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    pins = dict(line.split("==") for line in said.stdout.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {}
    for line in (*project["dependencies"], *extras["lab"], *extras["test"]):
        asked = Requirement(line)
        (low,) = (one.version for one in asked.specifier if one.operator == ">=")
        wanted[asked.name] = Version(low)
    assert {name: Version(version) for name, version in pins.items()} == wanted
    assert len(pins) >= 14


@pytest.mark.parametrize(
    ("lines", "words"),
    [(["numpy"], "no lower bound"), (["numpy<3"], "no lower"), (["a>=1", "a[b]>=2"], "1 and 2")],
)
def test_a_bound_is_missing(lines, words):
    with pytest.raises(ValueError, match=words):
        lowest({"dependencies": lines})


def test_a_workflow_installs_them():
    """The pins constrain an installation of a workflow that runs the tests."""
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    job = text.split("\n  lowest:\n", 1)[1]
    for step in ("python .ci/lowest.py > lowest.txt", "-c lowest.txt", "-m pytest"):
        assert step in job
