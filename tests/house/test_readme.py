"""What README.md says is what happens."""

import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from smemnb.cli.doctor import BOUNDS
from tests.house.notebook_form import ROOT, chapters

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def fenced(marker):
    """The text of the fence after a marker comment."""
    match = re.search(rf"<!-- {marker} -->\n```\w+\n(.*?)```\n", README, flags=re.DOTALL)
    assert match, f"README.md has no {marker}"
    return match[1]


@pytest.mark.parametrize("name", ["open", "test", "open-windows", "test-windows"])
def test_one_line(name):
    """Each command is one line, makes an environment, and quotes its brackets."""
    (line,) = fenced(f"command: {name}").splitlines()
    extras = "[lab]" if name.startswith("open") else "[lab,test]"
    assert "-m venv .venv" in line and f'install -e ".{extras}"' in line


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_build_runs_the_test_command():
    """The function of .ci/run that reads README.md gives the test command, and is used."""
    (function,) = re.findall(r"^readme_command\(\) \{.*\}$", CI, flags=re.MULTILINE)
    assert "command=$(readme_command test)" in CI
    script = f"{function}\nreadme_command test"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == fenced("command: test")


@pytest.mark.slow
def test_example(tmp_path):
    """The kernel of the example prints the report below it (notebooks_store.py --readme)."""
    (tmp_path / "transpose.py").write_text(fenced("example: kernel"), encoding="utf-8")
    command = [sys.executable, "transpose.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == fenced("example: output")


def test_chapters_are_listed():
    """The table of chapters is the folder of notebooks."""
    listed = re.findall(r"^\| `(\d\d[b-z]?_\w+)` \|", README, flags=re.MULTILINE)
    assert listed == [path.stem for path in chapters()]


def test_rooms_exist():
    """Every path that README.md names is there."""
    named = set(re.findall(r"`((?:smemnb|notebooks)/[\w/.]*|[A-Z]+\.md|LICENSE[\w-]*)`", README))
    assert len(named) >= 8
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_doctor_knows_the_bounds():
    """`smemnb doctor` judges versions by the bounds of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {}
    for line in project["dependencies"]:
        name, low, high = re.match(r"([\w-]+)>=([\d.]+)(?:,<([\d.]+))?", line).groups()
        if high is not None:
            wanted[name] = (numbers(low), numbers(high))
    assert wanted == BOUNDS


def numbers(version):
    return tuple(int(part) for part in version.split("."))
