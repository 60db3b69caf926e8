"""The browser stage of .ci/run: left out where nothing can run it, unless it is demanded."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.house.notebook_form import ROOT

CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")


def stage(required, chromium, work):
    """Exit code and words of the stage, and what the other stages require."""
    names = r"^(?:no_browser|browser_tests)\(\) \{$.*?^\}$"
    functions = re.findall(names, CI, flags=re.MULTILINE | re.DOTALL)
    assert len(functions) == 2
    begin = re.findall(r"^wanted=.*\n.*$", CI, flags=re.MULTILINE)
    script = [*begin, *functions, 'echo "others $SMEMNB_REQUIRE"', "browser_tests"]
    done = subprocess.run(
        ["bash", "-uc", "\n".join(script)],
        cwd=ROOT,
        env={
            **os.environ,
            "SMEMNB_REQUIRE": required,
            "SMEMNB_CHROMIUM": chromium,
            "python": sys.executable,
            "work": str(work),
        },
        capture_output=True,
        text=True,
    )
    others, *said = done.stdout.splitlines()
    return done.returncode, said, set(filter(None, others.split(" ")[1].split(",")))


@pytest.mark.parametrize(
    ("lacks", "required", "code", "others"),
    [
        ("Chromium", "gpu", 0, {"gpu"}),
        ("Chromium", "gpu,browser", 1, {"gpu"}),
        ("pip", "", 0, set()),
        ("pip", "browser", 1, set()),
    ],
)
def test_nothing_to_run_it(tmp_path, lacks, required, code, others):
    """Without a Chromium or its driver: said in a line, and a failure only where it is demanded."""
    chromium = "no-such-program" if lacks == "Chromium" else sys.executable
    found, said, required_elsewhere = stage(required, chromium, tmp_path)
    assert (found, required_elsewhere) == (code, others)
    assert len(said) == 1 and lacks in said[0]


@pytest.mark.parametrize("name", ["tests", "nightly"])
def test_demanded(name):
    """The workflows that run .ci/run demand the browser."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    runs = text.split("- run: bash .ci/run\n")[1:]
    assert runs
    for run in runs:
        assert "SMEMNB_REQUIRE: browser" in run.split("- ")[0]
